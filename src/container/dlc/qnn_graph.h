// Reads the description of a graph and its tensors as the tools for Snapdragon write it: in the metadata of a DLC, in
// the output of the context-binary utility (both have the same keys), and beside a converted model (other keys).
#pragma once

#include <string>
#include <vector>

#include "base/json_place.h"
#include "fatctx/description.h"

namespace fatctx::container::dlc {

inline constexpr std::string_view kQnnOwner = "qnn";  // marks options that the compiler states

// The keys of the same facts in one of the two forms.
struct QnnWords {
  const char* type;
  const char* shape;
  const char* quantisation;
  const char* encoding;
  const char* scale_offset;
};
inline constexpr QnnWords kUtilityWords = {"dataType", "dimensions", "quantizeParams", "quantizationEncoding",
                                           "scaleOffset"};
inline constexpr QnnWords kConverterWords = {"data_type", "dims", "quant_params", "encoding", "scale_offset"};

struct QnnTensor {
  DescribedTensor described;
  bool fixed_point = false;
};

// Reads type, shape and scales. Errors: invalid_argument.
[[nodiscard]] Result<QnnTensor> read_qnn_tensor(const JsonPlace& place, const QnnWords& words, std::string name);

// Returns the object with the facts: the utility nests them one level deeper, under "info".
[[nodiscard]] JsonPlace inner_place(const JsonPlace& place);

// Reads a list of tensors with names. Errors: invalid_argument.
[[nodiscard]] Result<std::vector<QnnTensor>> read_qnn_tensors(const JsonPlace& list);

// Returns the numbers that the compiler states about a graph and for which DescribedGraph has no member, under the
// compiler's own names: `optimizationLevel`, `ioTensorSize`, `startOpIndex`, ... Values of other kinds are left out.
[[nodiscard]] std::vector<DescribedOption> qnn_graph_facts(const JsonPlace& graph);

}  // namespace fatctx::container::dlc
