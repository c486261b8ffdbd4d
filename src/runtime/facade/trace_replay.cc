// Replays a trace: makes the same calls again and compares their results.
#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "fatctx/container.h"
#include "fatctx/trace.h"
#include "runtime/facade/select_from.h"
#include "runtime/facade/trace_lines.h"

namespace fatctx {
namespace {

constexpr std::string_view kSchema = "fatctx.trace/1";
constexpr std::size_t kMaxLine = std::size_t{1} << 20;
constexpr std::size_t kMaxDepth = 16;  // deeper than any trace; reading is recursive

Error at_line(std::size_t number, std::string_view what) {
  return {ErrorCode::kInvalidArgument, fmt::format("trace: line {}: {}", number, what)};
}

Result<Json> parse_line(std::string_view text, std::size_t number) {
  if (text.size() > kMaxLine) return at_line(number, fmt::format("has {} bytes, at most {}", text.size(), kMaxLine));
  JsonFault fault;
  auto json = read_json(text, kMaxDepth, fault);
  if (!json || json->members() == nullptr) return at_line(number, "is not a JSON object");
  return *std::move(json);
}

std::string text_of(const Json& json, const char* key) {
  const Json* member = json.find(key);
  return member != nullptr && member->text() != nullptr ? *member->text() : std::string();
}

// Returns the object, or one without members if the line has none.
Json object_of(const Json& json, const char* key) {
  const Json* member = json.find(key);
  return member == nullptr ? Json::object() : *member;
}

class Replay {
 public:
  Status line(const Json& json, std::size_t number) {
    const std::string call = text_of(json, "call");
    const std::string path = text_of(json, "path");
    if (path.empty()) return at_line(number, "names no \"path\"");
    const Json* gave = json.find("gave");
    if (gave == nullptr) return at_line(number, "does not say what the call gave");
    if (call == "open") return open(json, path, *gave, number);
    if (call == "select") return select(json, path, *gave, number);
    if (call == "view") return view(json, path, *gave, number);
    return at_line(number, fmt::format("\"call\" is \"{}\"; allowed are \"open\", \"select\" and \"view\"", call));
  }

  [[nodiscard]] ReplayReport report() && { return std::move(report_); }

 private:
  struct Opened {
    std::string path;
    std::string toc_hash;
    Container container;
  };

  void compare(std::size_t number, std::string call, const Json& then, const Json& now) {
    ++report_.calls;
    if (then == now) return;
    report_.differences.push_back({number, std::move(call), json_line(then), json_line(now)});
  }

  Status open(const Json& json, const std::string& path, const Json& gave, std::size_t number) {
    const Json options_json = object_of(json, "options");
    if (json.find("way") || options_json.find("mapping_provider") || options_json.find("allocator")) {
      ++report_.skipped;
      return Done{};
    }
    auto options = trace::open_options_from(options_json);
    if (!options.ok()) return at_line(number, options.error().message);
    const std::string file = text_of(json, "file");
    const Source source = file.empty() ? Source(path) : Source(file).named(path);
    const auto opened = Container::open(source, options.value());
    compare(number, "open " + path, gave, opened.ok() ? trace::gave(opened.value()) : trace::gave(opened.error()));
    if (opened.ok()) remember(path, opened.value());
    return Done{};
  }

  void remember(const std::string& path, const Container& container) {
    std::string toc_hash = trace::toc_hash(container);
    std::erase_if(opened_, [&](const Opened& old) { return old.path == path && old.toc_hash == toc_hash; });
    opened_.push_back({path, std::move(toc_hash), container});
  }

  // Returns the container that a line is about: the one with the same content if it was opened, else the newest of that
  // path.
  [[nodiscard]] const Container* find(const Json& json, const std::string& path) const {
    const std::string toc_hash = text_of(json, "toc_hash");
    const Container* newest = nullptr;
    for (const Opened& opened : opened_) {
      if (opened.path != path) continue;
      newest = &opened.container;
      if (opened.toc_hash == toc_hash) return newest;
    }
    return newest;
  }

  Status select(const Json& json, const std::string& path, const Json& gave, std::size_t number) {
    const Container* container = find(json, path);
    if (container == nullptr) {
      ++report_.skipped;
      return Done{};
    }
    const Json* described = json.find("device");
    auto device = device_from_json(json_line(described == nullptr ? Json() : *described));
    if (!device.ok()) return at_line(number, device.error().message);
    auto policy = trace::select_policy_from(object_of(json, "policy"));
    if (!policy.ok()) return at_line(number, policy.error().message);
    auto read = container->candidates();
    if (!read.ok()) return at_line(number, read.error().message);
    std::vector<Candidate> candidates = std::move(read).value();
    auto states = trace::take_states(object_of(json, "states"), candidates);
    if (!states.ok()) return at_line(number, states.error().message);
    const auto selected = select_from(*container, candidates, device.value(), policy.value());
    compare(number, "select " + path, gave,
            selected.ok() ? trace::gave(selected.value(), *container) : trace::gave(selected.error()));
    return Done{};
  }

  Status view(const Json& json, const std::string& path, const Json& gave, std::size_t number) {
    const Json* id = json.find("record");
    if (id == nullptr || id->number() == nullptr || *id->number() > UINT32_MAX) {
      return at_line(number, "\"record\" is not the id of a record");
    }
    const Container* container = find(json, path);
    if (container == nullptr) {
      ++report_.skipped;
      return Done{};
    }
    const auto record = static_cast<std::uint32_t>(*id->number());
    auto acquired = container->acquire(record);
    compare(number, fmt::format("view {} record {}", path, record), gave,
            acquired.ok() ? trace::gave(acquired.value(), *container) : trace::gave(acquired.error()));
    if (acquired.ok()) views_.push_back(std::move(acquired).value());
    return Done{};
  }

  ReplayReport report_;
  std::vector<Opened> opened_;
  std::vector<RecordView> views_;  // kept to the end, so that nothing is unmapped between two calls
};

}  // namespace

Result<ReplayReport> replay_trace(std::string_view trace) {
  Replay replay;
  std::size_t number = 0;
  bool begun = false;
  while (!trace.empty()) {
    ++number;
    const std::string_view text = trace.substr(0, trace.find('\n'));
    trace.remove_prefix(std::min(text.size() + 1, trace.size()));
    if (text.empty()) continue;
    FATCTX_ASSIGN(const Json json, parse_line(text, number));
    if (const std::string schema = text_of(json, "schema"); !begun || !schema.empty()) {
      if (schema != kSchema) {
        return at_line(number, fmt::format("\"schema\" is \"{}\"; this version reads \"{}\"", schema, kSchema));
      }
      begun = true;
      continue;
    }
    FATCTX_TRY(replay.line(json, number));
  }
  if (!begun) return at_line(1, fmt::format("there is nothing; a trace begins with its schema, \"{}\"", kSchema));
  return std::move(replay).report();
}

}  // namespace fatctx
