// Writes the views of `fatctx info` as CSV: RFC 4180 with a line of titles, but with line feeds alone. Control
// characters in names are escaped as everywhere in the output of the command.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/description.h"
#include "fatctx/sharing.h"
#include "tools/inspect/filters.h"
#include "tools/inspect/model_views.h"

namespace fatctx::tools {

// Rows of texts under titles. Escapes cells, and quotes those that need it.
class CsvText {
 public:
  explicit CsvText(const std::vector<std::string>& titles) { add_row(titles); }
  void add_row(const std::vector<std::string>& cells);
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

[[nodiscard]] std::string records_csv(const Container& container, const ContainerDescription& description,
                                      const ViewFilter& filter);
// Returns a row for each input and output of the graphs, each with the name of its record or file.
[[nodiscard]] std::string graphs_csv(const std::vector<std::pair<std::string, DescribedGraph>>& graphs);
[[nodiscard]] std::string tensors_csv(const TensorTable& tensors, const ViewFilter& filter);
[[nodiscard]] std::string ops_csv(const std::vector<ModelView>& models, const ViewFilter& filter);
[[nodiscard]] std::string sharing_csv(const Container& container, const SharingReport& report);

// Returns the graphs of a container that fit the filter, each with the name of its record.
[[nodiscard]] std::vector<std::pair<std::string, DescribedGraph>> graphs_by_record(
    const Container& container, const ContainerDescription& description, const ViewFilter& filter);

}  // namespace fatctx::tools
