#include "tools/cli/find_record.h"

#include <charconv>

#include <fmt/format.h>

namespace fatctx::tools {

Result<RecordInfo> find_record(const Container& container, const std::string& text) {
  if (!text.starts_with('#')) return container.find(text);
  std::uint32_t id = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + 1, end, id);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is not a record id; allowed: # and a number, or a record's name", text)};
  }
  return container.record(id);
}

}  // namespace fatctx::tools
