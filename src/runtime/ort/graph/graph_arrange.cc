#include "runtime/ort/graph/graph_arrange.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <onnxruntime_session_options_config_keys.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "mapping/os_file.h"
#include "mapping/scratch_files.h"
#include "runtime/ort/graph/graph_tensors.h"
#include "runtime/ort/graph/graph_unpack.h"
#include "runtime/ort/graph/graph_walk.h"
#include "runtime/ort/graph/graph_write.h"

namespace fatctx::ort {
namespace {

constexpr const char* kArrangedLocation = "fatctx.arranged";
constexpr std::string_view kBlockDomain = "com.microsoft.nchwc";
constexpr std::size_t kCompareStep = 1 << 16;
constexpr std::size_t kModelFile = 0;
constexpr std::size_t kWeightFile = 1;

using WrittenFile = std::unique_ptr<mapping::OsFile>;

bool parse_graph(ByteView bytes, onnx::ModelProto& model) {
  return bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
         model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

template <typename Matches>
std::size_t count_nodes(onnx::ModelProto& model, const Matches& matches) {
  std::size_t count = 0;
  for (const onnx::GraphProto* const graph : graphs_of(*model.mutable_graph())) {
    count += static_cast<std::size_t>(std::count_if(graph->node().begin(), graph->node().end(), matches));
  }
  return count;
}

bool is_convolution(const onnx::NodeProto& node) { return node.op_type() == "Conv" || node.op_type() == "FusedConv"; }
bool works_on_blocks(const onnx::NodeProto& node) { return node.domain() == kBlockDomain; }

// Lets ONNX Runtime write the graph as an ordinary session would run it.
Status write_optimised(ByteView model, std::span<const DataFile> files, const mapping::ScratchFiles& out,
                       const Ort::Env& env) {
  try {
    Ort::SessionOptions options;
    options.SetGraphOptimizationLevel(ORT_ENABLE_ALL);
    options.SetOptimizedModelFilePath(out.path(kModelFile).c_str());
    options.AddConfigEntry(kOrtSessionOptionsOptimizedModelExternalInitializersFileName, out.name(kWeightFile).c_str());
    options.AddConfigEntry(kOrtSessionOptionsOptimizedModelExternalInitializersMinSizeInBytes,
                           std::to_string(kExternalBytes).c_str());
    // The session exists only for the model that it writes. ONNX Runtime warns that this model suits one kind of
    // processor, which is its purpose.
    options.AddConfigEntry(kOrtSessionOptionsConfigDisablePrepacking, "1");
    options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_ERROR);
    options.DisableCpuMemArena();
    options.SetIntraOpNumThreads(1);
    add_files_in_memory(options, files);
    const Ort::Session session(env, model.data(), model.size(), options);
  } catch (const Ort::Exception& error) {
    return Error{ErrorCode::kMalformed, error.what()};
  }
  return Done{};
}

Result<WrittenFile> open_written(const mapping::ScratchFiles& files, std::size_t index) {
  return mapping::open_for_reading(files.path(index));
}

Status read_written_model(const mapping::ScratchFiles& files, onnx::ModelProto& model) {
  FATCTX_ASSIGN(const WrittenFile file, open_written(files, kModelFile));
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file->identity());
  std::vector<std::byte> bytes(identity.size);
  FATCTX_TRY(file->read_at(0, bytes));
  if (parse_graph(bytes, model)) return Done{};
  return Error{ErrorCode::kMalformed,
               fmt::format("ONNX Runtime has written {} bytes that are not a model", bytes.size())};
}

// Where a weight of the graph before is stored.
struct StoredWeight {
  std::string location;
  std::uint64_t offset = 0;
  ByteView bytes;
};

std::uint64_t number_in(const onnx::TensorProto& tensor, const std::string& key) {
  const std::string text = external_entry(tensor, key);
  std::uint64_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::map<std::string, StoredWeight> stored_weights(onnx::ModelProto& model, std::span<const DataFile> files,
                                                   std::string_view passing) {
  std::map<std::string, StoredWeight> stored;
  for (const onnx::GraphProto* const graph : graphs_of(*model.mutable_graph())) {
    for (const auto& tensor : graph->initializer()) {
      const std::string location = external_entry(tensor, "location");
      if (!is_outside(tensor) || location == passing) continue;
      const auto file = std::ranges::find(files, location, &DataFile::location);
      const ByteRange range = {number_in(tensor, "offset"), number_in(tensor, "length")};
      if (file == files.end() || !within(range, file->bytes.size())) continue;
      stored.insert({tensor.name(), {location, range.offset, file->bytes.subspan(range.offset, range.size)}});
    }
  }
  return stored;
}

Result<bool> has_bytes(const mapping::OsFile& file, std::uint64_t offset, ByteView wanted) {
  std::array<std::byte, kCompareStep> read;
  while (!wanted.empty()) {
    const auto part = std::span(read).first(std::min(read.size(), wanted.size()));
    FATCTX_TRY(file.read_at(offset, part));
    if (!std::ranges::equal(part, wanted.first(part.size()))) return false;
    offset += part.size();
    wanted = wanted.subspan(part.size());
  }
  return true;
}

// Lets the graph read its weights from where they were stored before, if they are the same, or else from new bytes.
class WrittenWeights {
 public:
  WrittenWeights(std::map<std::string, StoredWeight> stored, WrittenFile file, std::uint64_t size)
      : stored_(std::move(stored)), file_(std::move(file)), size_(size) {}

  Result<AlignedBytes> take(onnx::ModelProto& model) {
    for (onnx::GraphProto* const graph : graphs_of(*model.mutable_graph())) {
      for (auto& tensor : *graph->mutable_initializer()) {
        if (is_outside(tensor)) FATCTX_TRY(place(tensor));
      }
    }
    // All at once, because a buffer that grows leaves holes in the heap.
    AlignedBytes bytes(total_);
    for (const Moved& moved : moved_) {
      FATCTX_TRY(file_->read_at(moved.from, std::span(bytes).subspan(moved.to, moved.size)));
    }
    return bytes;
  }

 private:
  struct Moved {
    std::uint64_t from = 0;
    std::size_t to = 0;
    std::size_t size = 0;
  };

  Status place(onnx::TensorProto& tensor) {
    const ByteRange range = {number_in(tensor, "offset"), number_in(tensor, "length")};
    if (!within(range, size_)) {
      return Error{ErrorCode::kTruncated, fmt::format("ONNX Runtime has written {} bytes of weights, and \"{}\" ends "
                                                      "behind them",
                                                      size_, tensor.name())};
    }
    const auto found = stored_.find(tensor.name());
    if (found != stored_.end() && found->second.bytes.size() == range.size) {
      const StoredWeight& before = found->second;
      FATCTX_ASSIGN(const bool same, has_bytes(*file_, range.offset, before.bytes));
      if (same) {
        set_outside(tensor, before.location, before.offset, range.size);
        return Done{};
      }
    }
    const std::size_t offset = next_weight_offset(total_);
    moved_.push_back({.from = range.offset, .to = offset, .size = range.size});
    total_ = offset + range.size;
    set_outside(tensor, kArrangedLocation, offset, range.size);
    return Done{};
  }

  std::map<std::string, StoredWeight> stored_;
  WrittenFile file_;
  std::uint64_t size_;
  std::vector<Moved> moved_;
  std::size_t total_ = 0;
};

// Makes a session, so that a graph that cannot be loaded is an error here and not in each session that uses it.
Status try_loading(const PreparedGraph& graph, std::span<const DataFile> files, const Ort::Env& env) {
  std::vector<DataFile> all(files.begin(), files.end());
  all.push_back({graph.location, graph.bytes});
  try {
    Ort::SessionOptions options;
    options.SetGraphOptimizationLevel(ORT_DISABLE_ALL);
    options.AddConfigEntry(kOrtSessionOptionsConfigDisablePrepacking, "1");
    options.DisableCpuMemArena();
    options.SetIntraOpNumThreads(1);
    add_files_in_memory(options, all);
    const Ort::Session session(env, graph.model.data(), graph.model.size(), options);
  } catch (const Ort::Exception& error) {
    return Error{ErrorCode::kMalformed, fmt::format("ONNX Runtime does not take its own graph: {}", error.what())};
  }
  return Done{};
}

}  // namespace

Result<std::optional<ArrangedGraph>> arrange_graph(ByteView bytes, std::span<const DataFile> files,
                                                   std::string_view passing, const Ort::Env& env) {
  using Nothing = std::optional<ArrangedGraph>;
  onnx::ModelProto before;
  if (!parse_graph(bytes, before)) return Error{ErrorCode::kMalformed, "the graph is not a model"};
  if (count_nodes(before, is_convolution) == 0) return Nothing();
  FATCTX_ASSIGN(const mapping::ScratchFiles written, mapping::ScratchFiles::make(2));
  FATCTX_TRY(write_optimised(bytes, files, written, env));
  onnx::ModelProto model;
  FATCTX_TRY(read_written_model(written, model));
  ArrangedGraph made;
  made.nodes = count_nodes(model, works_on_blocks);
  if (made.nodes == 0) return Nothing();
  FATCTX_ASSIGN(WrittenFile file, open_written(written, kWeightFile));
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file->identity());
  WrittenWeights weights(stored_weights(before, files, passing), std::move(file), identity.size);
  PreparedGraph& graph = made.graph;
  graph.location = kArrangedLocation;
  FATCTX_ASSIGN(graph.bytes, weights.take(model));
  FATCTX_TRY(check_model_size(model.ByteSizeLong()));
  graph.model.resize(model.ByteSizeLong());
  if (!model.SerializeToArray(graph.model.data(), static_cast<int>(graph.model.size()))) throw std::bad_alloc();
  FATCTX_TRY(try_loading(graph, files, env));
  return std::optional(std::move(made));
}

}  // namespace fatctx::ort
