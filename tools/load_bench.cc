#include "tools/load_bench.h"

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

// One session and what it holds.
struct Loaded {
  std::optional<Session> session;              // mapped
  std::vector<std::vector<std::byte>> copies;  // heap
};

std::vector<RecordInfo> records_of(const Model& model) {
  std::vector<std::uint32_t> ids;
  for (const std::uint32_t id : model.selection().chosen) {
    ids.push_back(id);
    const auto record = model.container().record(id);
    if (record.ok()) ids.insert(ids.end(), record.value().weights.begin(), record.value().weights.end());
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<RecordInfo> records;
  for (const std::uint32_t id : ids) {
    const auto record = model.container().record(id);
    if (record.ok()) records.push_back(record.value());
  }
  return records;
}

Result<Loaded> load(const std::string& path, const LoadBenchOptions& options, LoadWay way) {
  Loaded loaded;
  FATCTX_ASSIGN(const Model model, Model::open(path, options.model));
  if (way == LoadWay::kMapped) {
    FATCTX_ASSIGN(loaded.session, model.begin_session());
    return loaded;
  }
  for (const RecordInfo& record : records_of(model)) {
    std::vector<std::byte> copy;
    copy.reserve(static_cast<std::size_t>(record.size_bytes));
    FATCTX_TRY(stream_record(model.container(), record.id, [&](ByteView bytes) -> Status {
      copy.insert(copy.end(), bytes.begin(), bytes.end());
      return Done{};
    }));
    loaded.copies.push_back(std::move(copy));
  }
  return loaded;
}

// As a consumer does that uploads its weights. The sum keeps the reads from being left out.
std::uint64_t read_all(const Loaded& loaded) {
  const auto sum = [](std::uint64_t total, ByteView bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), total,
                           [](std::uint64_t s, std::byte b) { return s + static_cast<std::uint64_t>(b); });
  };
  std::uint64_t total = 0;
  for (const auto& copy : loaded.copies) total = sum(total, copy);
  if (!loaded.session) return total;
  for (const RecordView& weights : loaded.session->weights()) total = sum(total, weights.bytes());
  const auto binary = loaded.session->binary();
  return binary.ok() ? sum(total, binary.value().bytes()) : total;
}

Status drop_from_page_cache(const std::string& path, const LoadBenchOptions& options) {
  FATCTX_ASSIGN(const Model model, Model::open(path, options.model));
  for (const RecordInfo& record : records_of(model)) FATCTX_TRY(model.container().release(record.id));
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
      FATCTX_ASSIGN(Loaded one, load(path, options, way));
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

  const auto before = process_memory();
  std::vector<Loaded> loaded;
  volatile std::uint64_t seen = 0;
  for (std::uint32_t i = 0; i < sessions; ++i) {
    FATCTX_ASSIGN(Loaded one, load(path, options, way));
    seen = seen + read_all(one);
    loaded.push_back(std::move(one));
  }
  figure.mappings = runtime_metrics().live_mappings;
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
    for (const std::uint32_t id : model.selection().chosen) {
      FATCTX_ASSIGN(const RecordInfo record, model.container().record(id));
      bench.record += (bench.record.empty() ? "" : ", ") + std::string(record.name);
    }
    for (const RecordInfo& record : records_of(model)) bench.record_bytes += record.size_bytes;
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
