#include "container/edit/evidence.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "container/format/disk_format.h"
#include "container/format/names.h"

namespace fatctx::container {
namespace {

Error wrong(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message)}; }

// Returns whether the text is a day of the calendar, as YYYY-MM-DD.
bool is_date(const std::string& text) {
  constexpr std::string_view kForm = "dddd-dd-dd";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !digit : text[i] != kForm[i]) return false;
  }
  const auto number = [&](std::size_t at, std::size_t count) { return std::atoi(text.substr(at, count).c_str()); };
  return std::chrono::year_month_day(std::chrono::year(number(0, 4)),
                                     std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                     std::chrono::day(static_cast<unsigned>(number(8, 2))))
      .ok();
}

}  // namespace

Status check_note(const EvidenceNote& note) {
  struct Text {
    const char* what;
    const std::string& text;
    bool needed;
  };
  for (const Text& text : std::array{Text{"the device", note.device, true}, Text{"the tool", note.tool, false},
                                     Text{"the metric", note.metric, true}, Text{"the value", note.value, true}}) {
    if (text.text.empty() && text.needed) return wrong(fmt::format("{} of the note is missing", text.what));
    if (text.text.empty()) continue;
    auto fits = check_name(text.text, kMaxNameSize, true, text.what);
    if (!fits.ok()) return wrong(std::move(fits).error().message);
  }
  if (is_date(note.date)) return Done{};
  return wrong(note.date.empty() || !is_valid_utf8(note.date)
                   ? "the date of the note is missing; write it as 2026-11-22"
                   : fmt::format("the date of the note is \"{}\"; write a day as 2026-11-22", note.date));
}

Status add_note(ContainerDescription& description, std::uint32_t record_id, EvidenceNote note) {
  auto& records = description.records;
  auto at = std::lower_bound(records.begin(), records.end(), record_id,
                             [](const RecordDescription& said, std::uint32_t id) { return said.record_id < id; });
  if (at == records.end() || at->record_id != record_id) {
    at = records.insert(at, RecordDescription{});
    at->record_id = record_id;
  }
  if (std::find(at->notes.begin(), at->notes.end(), note) != at->notes.end()) {
    return Error{ErrorCode::kExists,
                 fmt::format("the note of {} with {} on {} already exists", note.date, note.metric, note.device),
                 {.record_id = record_id}};
  }
  at->notes.push_back(std::move(note));
  return Done{};
}

}  // namespace fatctx::container
