// Arbitrary text as the JSON that the vendor's tools write about graphs: it is refused with a reason, or its graphs
// are those that a description can hold.
#include "fatctx/import_qnn_json.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fatctx;
  fuzz::Input input(data, size);
  const auto text = fuzz::text_of(input.rest());

  if (const auto nodes = nodes_from_qnn_json(text, "net.json"); !nodes.ok()) {
    fuzz::require_good(nodes.error());
    fuzz::require(nodes.error().message.starts_with("net.json"), "an error names the file", nodes.error().message);
  } else {
    for (const QnnNode& node : nodes.value().nodes)
      fuzz::require(!node.op.empty(), "a node has an operator", node.name);
  }
  const auto found = graphs_from_qnn_json(text, "net.json");

  if (!found.ok()) {
    fuzz::require_good(found.error());
    fuzz::require(found.error().code == ErrorCode::kInvalidArgument, "bad JSON is an invalid argument",
                  found.error().message);
    fuzz::require(found.error().message.starts_with("net.json"), "an error names the file", found.error().message);
    return 0;
  }
  fuzz::require(!found.value().graphs.empty(), "what was read has a graph");
  for (const DescribedGraph& graph : found.value().graphs) {
    fuzz::require(!graph.inputs.empty() || !graph.name.empty(), "a graph has inputs or a name");
    for (const DescribedTensor& tensor : graph.inputs) {
      fuzz::require(tensor.scales.size() < 2 || tensor.axis < tensor.shape.size(), "several scales have an axis",
                    tensor.name);
    }
  }
  for (const std::string& note : found.value().notes) {
    fuzz::require(note.find_first_of("\r\n") == std::string::npos, "a note is one line", note);
  }
  return 0;
}
