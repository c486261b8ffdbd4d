#include "runtime/ort/ep/chosen_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "fatctx/content_hash.h"
#include "runtime/ort/ep/weight_location.h"

namespace fatctx::ort {
namespace {

// Returns the chosen record of the unit.
Result<RecordInfo> record_of(const Model& model, const GraphWanted& wanted) {
  const std::vector<std::uint32_t>& ids = model.selection().chosen;
  std::string units;
  std::optional<RecordInfo> found;
  for (const std::uint32_t id : ids) {
    FATCTX_ASSIGN(const RecordInfo record, model.container()->record(id));
    units += fmt::format("{}\"{}\"", units.empty() ? "" : ", ", record.key.unit);
    const bool named = record.key.unit == (wanted.unit.empty() ? wanted.name : wanted.unit);
    if (named || (wanted.unit.empty() && ids.size() == 1)) found = record;
  }
  if (found) return *found;
  return Error{ErrorCode::kNotFound,
               fmt::format("{}: no graph \"{}\" among those of backend {} in group \"{}\": {}", model.path(),
                           wanted.unit.empty() ? wanted.name : wanted.unit, kBackend, model.selection().group, units)};
}

}  // namespace

Status ChosenGraph::await_checks() const {
  return !container || weight_ids.empty() ? Status(Done{}) : container->await_checks(weight_ids);
}

Device this_device() {
  const RuntimeVersion version = runtime_version();
  Device device;
  device.backend = kBackend;
  device.arch = std::string(kArch);
  device.sdk = Version{.major = version.major, .minor = version.minor};
  return device;
}

Result<ChosenTarget> choose_target(const Container& container, const std::string& group) {
  ModelOptions options;
  options.device = this_device();
  options.policy.group = group;
  auto model = Model::choose(container, options);
  if (!model.ok()) {
    Error error = std::move(model).error();
    // The request comes from the model, not from the application.
    if (error.code == ErrorCode::kInvalidArgument) error.code = ErrorCode::kMalformed;
    return error;
  }
  FATCTX_ASSIGN(ContainerDescription description, container.describe());
  return ChosenTarget{.model = std::move(model).value(), .description = std::move(description)};
}

Result<ChosenGraph> chosen_graph(const ChosenTarget& target, const GraphWanted& wanted) {
  const Container& container = *target.model.container();
  FATCTX_ASSIGN(const RecordInfo record, record_of(target.model, wanted));
  FATCTX_ASSIGN(RecordView graph, container.acquire(record.id));
  // The graph is small, and ONNX Runtime parses it now.
  FATCTX_TRY(container.await_checks({&record.id, 1}));
  ChosenGraph chosen{.key = {.container = container.identity(), .record_id = record.id, .weights = {}},
                     .record = std::string(record.name),
                     .unit = std::string(record.key.unit),
                     .digest = {},
                     .graph = std::move(graph),
                     .weights = {},
                     .explanation = target.model.explain(),
                     .warnings = target.model.selection().warnings};
  for (const std::uint32_t id : record.weights) {
    FATCTX_ASSIGN(const RecordInfo blob, container.record(id));
    FATCTX_ASSIGN(RecordView bytes, container.acquire(id));
    chosen.weights.push_back({.location = location_of_blob(blob, target.description.find(id)),
                              .record = std::string(blob.name),
                              .bytes = std::move(bytes)});
    chosen.key.weights.push_back(reinterpret_cast<std::uintptr_t>(chosen.weights.back().bytes.data()));
  }
  chosen.container = container;
  chosen.weight_ids.assign(record.weights.begin(), record.weights.end());
  FATCTX_ASSIGN(const Hash128 digest, content_hash_with_weights(container, record));
  chosen.digest = to_hex(digest.bytes);
  return chosen;
}

}  // namespace fatctx::ort
