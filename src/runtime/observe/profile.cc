// The names of kinds and levels of a profile, and its table.
#include "fatctx/profile.h"

#include <array>

#include <fmt/format.h>

namespace fatctx {
namespace {

constexpr std::array<std::string_view, 3> kLevels = {"off", "basic", "detailed"};
constexpr std::array<std::string_view, kProfileEventKinds> kKinds = {"open",    "map",      "verify",  "select",
                                                                     "acquire", "prefetch", "release", "unmap"};

// Quotes a cell, as specified by RFC 4180, if a character in it would end the cell or the line.
std::string cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string_view profile_level_name(ProfileLevel level) noexcept {
  const auto index = static_cast<std::size_t>(level);
  return index < kLevels.size() ? kLevels.at(index) : "unknown";
}

std::optional<ProfileLevel> profile_level_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels.at(i) == name) return static_cast<ProfileLevel>(i);
  }
  return std::nullopt;
}

std::string_view profile_event_name(ProfileEventKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < kKinds.size() ? kKinds.at(index) : "unknown";
}

std::string Profile::csv() const {
  std::string text;
  if (level == ProfileLevel::kDetailed) {
    text = "start_ns,event,duration_ns,bytes,thread,ok,path,record_id,record\n";
    for (const ProfileEvent& event : events) {
      text += fmt::format("{},{},{},{},{},{},{},{},{}\n", event.start_ns, profile_event_name(event.kind),
                          event.duration_ns, event.bytes, event.thread, event.ok ? 1 : 0, cell(event.path),
                          event.record_id == 0 ? std::string() : fmt::to_string(event.record_id), cell(event.record));
    }
    return text;
  }
  text = "event,count,failed,total_ns,longest_ns,bytes\n";
  for (const ProfileTotal& total : totals) {
    text += fmt::format("{},{},{},{},{},{}\n", profile_event_name(total.kind), total.count, total.failed,
                        total.total_ns, total.longest_ns, total.bytes);
  }
  return text;
}

}  // namespace fatctx
