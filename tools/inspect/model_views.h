// Formats the source models of a file for `fatctx info`: their graphs, nodes, weights, and a summary of what they cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "fatctx/container.h"
#include "fatctx/description.h"
#include "tools/inspect/filters.h"
#include "tools/onnx/onnx_look.h"

namespace fatctx::tools {

// A model, and where it comes from.
struct ModelView {
  std::string name;                     // of the file or the record
  std::optional<std::uint32_t> record;  // of a container
  std::string shapes;                   // how the shapes are known
  OnnxLook look;
};

// Reads the ONNX model in a file. With `infer`, shapes that it does not state are inferred.
// Errors: those of look_at_onnx.
[[nodiscard]] Result<ModelView> model_of_file(const std::string& path, bool infer);

// Returns true if a container has source models that are ONNX, with names that fit `filter.record`.
[[nodiscard]] bool has_models(const Container& container, const ContainerDescription& description,
                              const ViewFilter& filter);

// Reads the source models of a container that are ONNX, those with names that fit `filter.record`. `infer` as above.
// Errors: those of stream_record and look_at_onnx; unsupported, if there is none.
[[nodiscard]] Result<std::vector<ModelView>> models_of_container(const Container& container,
                                                                 const ContainerDescription& description,
                                                                 const ViewFilter& filter, std::uint64_t generation,
                                                                 bool infer = true);

// Returns the bytes of a record. Errors: those of open_whole, find_record and stream_record; limit_exceeded, if it is
// larger than an ONNX model can be.
[[nodiscard]] Result<std::string> stored_model(const std::string& container_path, const std::string& record,
                                               std::uint64_t generation);

// Returns the graphs of the model, with the scales of quantised inputs and outputs.
[[nodiscard]] std::vector<DescribedGraph> graphs_of(const OnnxLook& look);

// Lines of text have at most `width` columns, as far as words allow; 0: any number.
[[nodiscard]] std::string ops_text(const std::vector<ModelView>& models, const ViewFilter& filter, std::size_t width);
[[nodiscard]] std::string models_summary_text(const std::vector<ModelView>& models, std::size_t width);
[[nodiscard]] Json ops_json(const std::vector<ModelView>& models, const ViewFilter& filter);
[[nodiscard]] Json models_summary_json(const std::vector<ModelView>& models);

// Returns "[1, ?, 8]", or "?" if nothing is known.
[[nodiscard]] std::string shape_words(const OnnxShape& shape);

}  // namespace fatctx::tools
