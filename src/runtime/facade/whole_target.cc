#include "runtime/facade/whole_target.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "runtime/facade/select_from.h"

namespace fatctx {
namespace {

// Returns true if the error is about the bytes of this record, which are damaged or not present. Any other error would
// also occur for the next record, or is the caller's.
bool is_damage(ErrorCode code) {
  return code == ErrorCode::kChecksumMismatch || code == ErrorCode::kMalformed || code == ErrorCode::kCodec ||
         code == ErrorCode::kNotPresent || code == ErrorCode::kIo;
}

// Acquires the records that a session of `chosen` holds, up to the first damaged one.
Result<std::optional<DamagedRecord>> acquire_chosen(const Container& container,
                                                    const std::vector<std::uint32_t>& chosen,
                                                    std::vector<RecordView>& views) {
  std::vector<std::uint32_t> ids = chosen;
  for (const std::uint32_t id : chosen) {
    FATCTX_ASSIGN(const RecordInfo record, container.record(id));
    if (record.type == RecordType::kSourceModel) return std::optional<DamagedRecord>();  // read when it is compiled
    ids.insert(ids.end(), record.weights.begin(), record.weights.end());
  }
  std::sort(ids.begin() + static_cast<std::ptrdiff_t>(chosen.size()), ids.end());
  ids.erase(std::unique(ids.begin() + static_cast<std::ptrdiff_t>(chosen.size()), ids.end()), ids.end());
  for (const std::uint32_t id : ids) {
    auto view = container.acquire(id);
    if (view.ok()) {
      views.push_back(std::move(view).value());
      continue;
    }
    if (!is_damage(view.error().code)) return std::move(view).error();
    FATCTX_ASSIGN(const RecordInfo record, container.record(id));
    DamagedRecord damaged{.record_id = id, .name = std::string(record.name), .error = std::move(view).error()};
    damaged.error.where.record_id = id;
    return std::optional(std::move(damaged));
  }
  return std::optional<DamagedRecord>();
}

Status mark(const Container& container, std::vector<Candidate>& candidates, std::uint32_t damaged) {
  for (Candidate& candidate : candidates) {
    FATCTX_ASSIGN(const RecordInfo record, container.record(candidate.record_id));
    if (record.id == damaged) candidate.state = RecordState::kBad;
    if (std::find(record.weights.begin(), record.weights.end(), damaged) != record.weights.end()) {
      candidate.weights_ok = false;
    }
  }
  return Done{};
}

Error none_is_whole(const std::vector<DamagedRecord>& damaged) {
  Error first = damaged.front().error;
  first.message += "; no other target is whole";
  for (std::size_t i = 1; i < damaged.size(); ++i) {
    first.message += fmt::format("{}{}", i == 1 ? ": " : "; ", to_text(damaged[i].error));
  }
  return first;
}

}  // namespace

Result<WholeTarget> choose_whole_target(const Container& container, std::vector<Candidate>& candidates,
                                        const Device& device, const SelectPolicy& policy) {
  std::vector<DamagedRecord> damaged;
  for (;;) {
    WholeTarget target;
    auto selection = select_from(container, candidates, device, policy);
    if (!selection.ok()) return in_context(std::move(selection).error(), container.path());
    target.selection = std::move(selection).value();
    const std::vector<std::uint32_t>& chosen = target.selection.chosen;
    if (chosen.empty() && !damaged.empty()) return none_is_whole(damaged);
    FATCTX_ASSIGN(std::optional<DamagedRecord> found, acquire_chosen(container, chosen, target.views));
    if (!found) {
      if (!damaged.empty()) {
        std::vector<std::string>& warnings = target.selection.warnings;
        warnings.insert(std::lower_bound(warnings.begin(), warnings.end(), "damaged_choice"), "damaged_choice");
      }
      target.selection.damaged = std::move(damaged);
      return target;
    }
    // A record that the caller forces is chosen again even if it is known to be damaged.
    const bool again = std::any_of(damaged.begin(), damaged.end(),
                                   [&](const DamagedRecord& known) { return known.record_id == found->record_id; });
    if (again) return none_is_whole(damaged);
    FATCTX_TRY(mark(container, candidates, found->record_id));
    damaged.push_back(*std::move(found));
  }
}

}  // namespace fatctx
