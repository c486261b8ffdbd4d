// Measures how long loading takes, and where: a recorder that is off until it is switched on.
//
// While it is off, each call that could be recorded costs one relaxed atomic load. There is one recorder per process,
// because there is one mapping per file and process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx {

enum class ProfileLevel : std::uint8_t {
  kOff,
  kBasic,     // totals for each kind of event
  kDetailed,  // every event as well
};
[[nodiscard]] std::string_view profile_level_name(ProfileLevel level) noexcept;  // "off", "basic", "detailed"
[[nodiscard]] std::optional<ProfileLevel> profile_level_from_name(std::string_view name) noexcept;

// Kinds of events. An event is nested in another if one call makes the other: acquire contains verify, open contains
// map.
enum class ProfileEventKind : std::uint8_t {
  kOpen,      // bytes: size of the container
  kMap,       // bytes: mapped
  kVerify,    // bytes: checked, by a view (if anything was left to check), a stream or a verify call
  kSelect,    // no bytes
  kAcquire,   // bytes: of the view
  kPrefetch,  // bytes: brought in
  kRelease,   // bytes: given back
  kUnmap,     // bytes: were mapped
};
inline constexpr std::size_t kProfileEventKinds = 8;
[[nodiscard]] std::string_view profile_event_name(ProfileEventKind kind) noexcept;  // "open", "map", ...

struct ProfileEvent {
  ProfileEventKind kind = ProfileEventKind::kOpen;
  std::uint64_t start_ns = 0;  // of the steady clock
  std::uint64_t duration_ns = 0;
  std::uint64_t bytes = 0;
  std::uint32_t thread = 0;  // 1, 2, ... in the order in which threads were first seen
  bool ok = true;            // false: the call gave an error
  std::string path = {};
  std::uint32_t record_id = 0;  // 0: the event is about no single record
  std::string record = {};      // its name
};

struct ProfileTotal {
  ProfileEventKind kind = ProfileEventKind::kOpen;
  std::uint64_t count = 0;
  std::uint64_t failed = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;
  std::uint64_t bytes = 0;
};

// Called for each event, in the order in which they ended, when the outermost call of this library ends; on its thread
// and with no lock held; from several threads at once. Calls of this library from inside the hook are not recorded.
// Must not throw. Lifetime: held until another profile is started or this one is stopped, and by calls that are in it.
using ProfileHook = std::function<void(const ProfileEvent& event)>;

struct ProfileOptions {
  ProfileLevel level = ProfileLevel::kBasic;
  ProfileHook hook = {};
  std::size_t max_events = 1'000'000;  // kDetailed keeps that many; the totals go on
};

struct Profile {
  ProfileLevel level = ProfileLevel::kOff;
  std::vector<ProfileTotal> totals;  // kinds that happened, in the order of the enumeration
  std::vector<ProfileEvent> events;  // kDetailed only, in the order in which they ended
  std::uint64_t dropped_events = 0;  // beyond max_events

  // Returns comma-separated values with a title line, quoted where needed: an event a line if detailed, else a total a
  // line.
  [[nodiscard]] std::string csv() const;
};

// Discards the recorded events and starts anew, at any time and from any thread. kOff stops.
void start_profile(const ProfileOptions& options = {});
// Returns the events recorded so far.
[[nodiscard]] Profile current_profile();
// Returns the same, and stops.
Profile stop_profile();

}  // namespace fatctx
