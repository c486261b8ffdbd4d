#include "tools/bench/load_bench.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "fatctx/extract.h"
#include "fatctx/metrics.h"

namespace fatctx::tools {
namespace {

std::uint64_t now_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

// A session with the memory that it holds.
struct Loaded {
  std::optional<Session> session;              // memory-mapped views
  std::vector<RecordView> views;               // of the session's own records
  std::vector<std::vector<std::byte>> copies;  // heap copies
};

// Returns the binaries of all units, then their weights, each once.
Result<std::vector<RecordInfo>> records_of(const Model& model) {
  std::vector<RecordInfo> records;
  std::vector<std::uint32_t> weights;
  for (const std::uint32_t id : model.selection().chosen) {
    FATCTX_ASSIGN(const RecordInfo record, model.container()->record(id));
    weights.insert(weights.end(), record.weights.begin(), record.weights.end());
    records.push_back(record);
  }
  std::sort(weights.begin(), weights.end());
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
  for (const std::uint32_t id : weights) {
    FATCTX_ASSIGN(const RecordInfo record, model.container()->record(id));
    records.push_back(record);
  }
  return records;
}

// Returns the views of a session: weights first, then binaries.
std::vector<RecordView> views_of(const Session& session) {
  std::vector<RecordView> views;
  for (const SessionRecord& record : session.weights()) views.push_back(record.view);
  for (const SessionRecord& record : session.binaries()) views.push_back(record.view);
  return views;
}

Result<Loaded> load_once(const std::string& path, const LoadBenchOptions& options, LoadWay way) {
  Loaded loaded;
  FATCTX_ASSIGN(const Model model, Model::open(path, options.model));
  if (way == LoadWay::kMapped) {
    FATCTX_ASSIGN(loaded.session, model.begin_session());
    loaded.views = views_of(*loaded.session);
    return loaded;
  }
  FATCTX_ASSIGN(const std::vector<RecordInfo> records, records_of(model));
  for (const RecordInfo& record : records) {
    std::vector<std::byte> copy;
    copy.reserve(static_cast<std::size_t>(record.size_bytes));
    FATCTX_TRY(stream_record(*model.container(), record.id, [&](ByteView bytes) -> Status {
      copy.insert(copy.end(), bytes.begin(), bytes.end());
      return Done{};
    }));
    loaded.copies.push_back(std::move(copy));
  }
  return loaded;
}

// Reads every byte, as an application does that uploads its weights. Returns a sum so that no read is
// optimised away.
std::uint64_t read_all(const Loaded& loaded) {
  const auto sum = [](std::uint64_t total, ByteView bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), total,
                           [](std::uint64_t s, std::byte b) { return s + static_cast<std::uint64_t>(b); });
  };
  std::uint64_t total = 0;
  for (const auto& copy : loaded.copies) total = sum(total, copy);
  for (const RecordView& view : loaded.views) total = sum(total, view.bytes());
  return total;
}

Status drop_from_page_cache(const std::string& path, const LoadBenchOptions& options) {
  FATCTX_ASSIGN(const Model model, Model::open(path, options.model));
  FATCTX_ASSIGN(const std::vector<RecordInfo> records, records_of(model));
  for (const RecordInfo& record : records) FATCTX_TRY(model.container()->release(record.id));
  return Done{};
}

Result<LoadFigure> measure(const std::string& path, const LoadBenchOptions& options, LoadWay way,
                           std::uint32_t sessions) {
  LoadFigure figure{.way = way, .sessions = sessions};
  std::vector<std::uint64_t> times;
  std::uint64_t further = ~std::uint64_t{0};
  for (std::uint32_t repetition = 0; repetition < options.repetitions; ++repetition) {
    if (options.cold) FATCTX_TRY(drop_from_page_cache(path, options));
    std::vector<Loaded> loaded;
    loaded.reserve(sessions);
    const std::uint64_t start = now_ns();
    std::uint64_t last = start;
    for (std::uint32_t i = 0; i < sessions; ++i) {
      FATCTX_ASSIGN(Loaded one, load_once(path, options, way));
      loaded.push_back(std::move(one));
      const std::uint64_t now = now_ns();
      if (i > 0) further = std::min(further, now - last);
      last = now;
    }
    times.push_back(last - start);
  }
  std::sort(times.begin(), times.end());
  figure.min_ns = times.front();
  figure.median_ns = times[times.size() / 2];
  figure.further_min_ns = sessions > 1 ? further : 0;

  give_back_freed_memory();  // memory freed by the loads above would hide what the next ones take
  const auto before = process_memory();
  std::vector<Loaded> loaded;
  volatile std::uint64_t seen = 0;
  for (std::uint32_t i = 0; i < sessions; ++i) {
    FATCTX_ASSIGN(Loaded one, load_once(path, options, way));
    seen = seen + read_all(one);
    loaded.push_back(std::move(one));
  }
  const RuntimeMetrics metrics = runtime_metrics();
  figure.mappings = metrics.live_mappings;
  for (const ContainerMetrics& container : metrics.containers) figure.composed_bytes += container.composed_bytes;
  if (const auto after = process_memory(); before && after) {
    figure.memory = ProcessMemory{.anonymous_bytes = after->anonymous_bytes - before->anonymous_bytes,
                                  .file_backed_bytes = after->file_backed_bytes - before->file_backed_bytes};
  }
  return figure;
}

}  // namespace

const char* load_way_name(LoadWay way) noexcept {
  switch (way) {
    case LoadWay::kMapped:
      return "mapped";
    case LoadWay::kHeapEach:
      return "a heap copy each";
  }
  return "unknown";
}

Result<LoadBench> bench_load(const std::string& path, const LoadBenchOptions& options) {
  LoadBench bench;
  {
    FATCTX_ASSIGN(const Model model, Model::open(path, options.model));
    FATCTX_ASSIGN(const std::vector<RecordInfo> records, records_of(model));
    for (const RecordInfo& record : records) {
      bench.record_bytes += record.size_bytes;
      if (record.type != RecordType::kContextBinary) continue;
      bench.record += (bench.record.empty() ? "" : ", ") + std::string(record.name);
    }
  }
  for (const std::uint32_t sessions : options.sessions) {
    for (const LoadWay way : {LoadWay::kMapped, LoadWay::kHeapEach}) {
      FATCTX_ASSIGN(const LoadFigure figure, measure(path, options, way, sessions));
      bench.figures.push_back(figure);
    }
  }
  return bench;
}

}  // namespace fatctx::tools
