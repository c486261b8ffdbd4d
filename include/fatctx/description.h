// The evolvable part of a container: facts about a record for people and runtimes, never needed to find, bind or select
// bytes. Stored as protobuf; these are the host's plain structs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace fatctx {

struct DescribedOption {
  std::string key;
  std::string value;
  std::string owner;  // execution provider or tool the option belongs to; may be empty
};

// How stored numbers stand for others: as scale * (stored + offset). ONNX calls -offset the zero point.
struct DescribedScale {
  double scale = 0;
  std::int64_t offset = 0;
  friend bool operator==(const DescribedScale&, const DescribedScale&) = default;
};

struct DescribedTensor {  // an input or output of a graph
  std::string name;
  std::string dtype;                // dtype_name()
  std::vector<std::int64_t> shape;  // -1 for a dynamic dimension
  // Empty: none is stated. One: of the whole tensor. Several: of each index along dimension `axis`.
  std::vector<DescribedScale> scales = {};
  std::uint32_t axis = 0;
};

struct DescribedGraph {
  std::string name;
  std::vector<DescribedTensor> inputs;
  std::vector<DescribedTensor> outputs;
  // Memory that a session of an NPU takes for data that does not fit into its fast memory; 0: not stated. Sessions that
  // share one such buffer need one as large as the largest of their graphs.
  std::uint64_t spill_fill_bytes = 0;
  // Facts of the compiler in its own words: its optimisation level, the size of operators' data, ...
  std::vector<DescribedOption> options = {};
};

// A measurement or an observation of a record. All texts are the caller's own; the library neither looks up nor invents
// any.
struct EvidenceNote {
  std::string device;  // "Galaxy S24"
  std::string tool;    // the tool of the measurement, with its version: "qnn-net-run 2.51"; may be empty
  std::string metric;  // "latency_ms"
  std::string value;   // "3.1"
  std::string date;    // "2026-11-22"
  friend bool operator==(const EvidenceNote&, const EvidenceNote&) = default;
};

struct RecordDescription {
  std::uint32_t record_id = 0;
  std::string producer;  // tool and version that made the payload; no command line, no path
  std::string format;    // "iree-vmfb", "irpa", "qnn-context-binary", ...; empty if unknown
  std::vector<DescribedGraph> graphs;
  std::vector<DescribedOption> options;
  std::vector<EvidenceNote> notes;  // in the order in which they were added
};

// Returns the spill-fill bytes that a session of the record needs; 0 if nothing is stated for any of its graphs.
[[nodiscard]] inline std::uint64_t largest_spill_fill(const RecordDescription& record) {
  std::uint64_t largest = 0;
  for (const DescribedGraph& graph : record.graphs) largest = std::max(largest, graph.spill_fill_bytes);
  return largest;
}

struct ContainerDescription {
  std::string name;    // of the model
  std::string writer;  // "fatctx 0.1.0"
  std::vector<DescribedOption> options;
  std::vector<RecordDescription> records;  // by ascending record id; records without anything to say are left out

  // Returns the description of that record, or null.
  [[nodiscard]] const RecordDescription* find(std::uint32_t record_id) const noexcept {
    const auto found = std::lower_bound(records.begin(), records.end(), record_id,
                                        [](const RecordDescription& r, std::uint32_t id) { return r.record_id < id; });
    return found == records.end() || found->record_id != record_id ? nullptr : &*found;
  }
};

}  // namespace fatctx
