#include "tools/facts/spill_fill.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <span>
#include <type_traits>

#include <fmt/format.h>

#include "tools/onnx/ep_context_facts.h"

namespace fatctx::tools {

namespace {

// Returns true if one device may load both. A fact that a record lacks fits everything. Versions do not
// count, since a binary of another SDK still shares the buffer of the one beside it.
bool for_one_device(const RecordInfo& a, const RecordInfo& b) {
  const auto fits = [](const auto& x, const auto& y) {
    const std::remove_cvref_t<decltype(x)> unsaid = {};
    return x == y || x == unsaid || y == unsaid;
  };
  return a.type == b.type && a.key.group == b.key.group && a.key.backend == b.key.backend &&
         fits(a.key.qnn_soc, b.key.qnn_soc) && fits(a.key.part, b.key.part) && fits(a.key.arch, b.key.arch) &&
         fits(a.key.vtcm_mb, b.key.vtcm_mb) && fits(a.key.variant, b.key.variant);
}

}  // namespace

Result<std::int64_t> spill_fill_of(const RecordDescription& said) {
  std::int64_t largest = 0;
  for (const DescribedGraph& graph : said.graphs) {
    if (graph.spill_fill_bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Error{
          ErrorCode::kMalformed,
          fmt::format("graph \"{}\": a spill-fill buffer of {} bytes, more than an EPContext node can ask for; "
                      "say the right one with --max-size",
                      graph.name, graph.spill_fill_bytes),
          {.record_id = said.record_id}};
    }
    largest = std::max(largest, static_cast<std::int64_t>(graph.spill_fill_bytes));
  }
  const std::string noted = ep_context_fact(said.options, kMaxSizeFact);
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(noted.data(), noted.data() + noted.size(), number);
  const bool whole = problem == std::errc() && end == noted.data() + noted.size();
  return whole ? std::max(largest, number) : largest;
}

Result<std::int64_t> spill_fill_of_group(std::span<const RecordInfo> records, const ContainerDescription& description,
                                         const RecordInfo& record) {
  std::int64_t largest = 0;
  for (const RecordInfo& other : records) {
    const RecordDescription* said = description.find(other.id);
    if (said == nullptr || !for_one_device(other, record)) continue;
    auto size = spill_fill_of(*said);
    if (!size.ok()) return in_context(std::move(size).error(), fmt::format("record \"{}\"", other.name));
    largest = std::max(largest, size.value());
  }
  return largest;
}

}  // namespace fatctx::tools
