#include "runtime/ort/ep/chosen_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "fatctx/content_hash.h"
#include "runtime/ort/ep/weight_location.h"
#include "runtime/select/nothing_fits.h"

namespace fatctx::ort {
namespace {

Error with_file(Error error, const Container& container) {
  return in_context(std::move(error), container.report().path);
}

}  // namespace

Device this_device() {
  const RuntimeVersion version = runtime_version();
  Device device;
  device.backend = kBackend;
  device.arch = std::string(kArch);
  device.sdk = Version{.major = version.major, .minor = version.minor};
  return device;
}

Result<GraphChoice> GraphChoice::of(const Container& container, const std::string& group) {
  const Device device = this_device();
  SelectPolicy policy;
  policy.group = group;
  auto selected = container.select(device, policy);
  if (!selected.ok()) {
    // Not what the application asked for: what the model asks of the container.
    return with_file({ErrorCode::kMalformed, selected.error().message}, container);
  }
  Selection& selection = selected.value();
  if (selection.chosen.empty()) {
    return nothing_fits(container.report().path, selection, container.candidates(), device, policy);
  }
  FATCTX_ASSIGN(ContainerDescription description, container.describe());
  std::string explanation = explain_text(selection, container.candidates(), device, policy);
  return GraphChoice(container, std::move(selection), std::move(description), std::move(explanation));
}

// The chosen record of the unit.
Result<RecordInfo> GraphChoice::record_of(const GraphWanted& wanted) const {
  std::string units;
  std::optional<RecordInfo> found;
  for (const std::uint32_t id : selection_.chosen) {
    FATCTX_ASSIGN(const RecordInfo record, container_.record(id));
    units += fmt::format("{}\"{}\"", units.empty() ? "" : ", ", record.key.unit);
    const bool named = record.key.unit == (wanted.unit.empty() ? wanted.name : wanted.unit);
    if (named || (wanted.unit.empty() && selection_.chosen.size() == 1)) found = record;
  }
  if (found) return *found;
  return Error{
      ErrorCode::kNotFound,
      fmt::format("{}: no graph \"{}\" among those of backend {} in group \"{}\": {}", container_.report().path,
                  wanted.unit.empty() ? wanted.name : wanted.unit, kBackend, selection_.group, units)};
}

Result<ChosenGraph> GraphChoice::graph(const GraphWanted& wanted) const {
  FATCTX_ASSIGN(const RecordInfo record, record_of(wanted));
  FATCTX_ASSIGN(RecordView graph, container_.acquire(record.id));
  const OpenReport report = container_.report();
  ChosenGraph chosen{
      .key = fmt::format("{} {} {} {}", report.uuid, report.generation, to_hex(report.toc_hash.bytes), record.id),
      .record = std::string(record.name),
      .unit = std::string(record.key.unit),
      .digest = {},
      .graph = std::move(graph),
      .weights = {},
      .explanation = explanation_,
      .warnings = selection_.warnings};
  for (const std::uint32_t id : record.weights) {
    FATCTX_ASSIGN(const RecordInfo blob, container_.record(id));
    FATCTX_ASSIGN(RecordView bytes, container_.acquire(id));
    chosen.weights.push_back({.location = location_of_blob(blob, description_.find(id)),
                              .record = std::string(blob.name),
                              .bytes = std::move(bytes)});
    // Views of one record differ by how the container was opened: mapped, copied, verified or not.
    chosen.key += fmt::format(" {}", fmt::ptr(chosen.weights.back().bytes.data()));
  }
  FATCTX_ASSIGN(const Hash128 digest, content_hash_with_weights(container_, record));
  chosen.digest = to_hex(digest.bytes);
  return chosen;
}

}  // namespace fatctx::ort
