#include "tools/pack/manifest_ranges.h"

#include <cstdint>
#include <limits>

namespace fatctx::tools {

Result<std::vector<PackRange>> ranges_at(const JsonPlace& cursor) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  FATCTX_ASSIGN(const auto list, cursor.elements());
  if (list.empty()) return cursor.error("is empty; name at least one range, or leave the key out");
  std::vector<PackRange> ranges;
  for (const JsonPlace& element : list) {
    FATCTX_TRY(element.only_keys({"name", "offset", "size"}));
    PackRange range;
    FATCTX_ASSIGN(const JsonPlace name, element.required("name"));
    FATCTX_ASSIGN(range.name, name.text());
    FATCTX_ASSIGN(const JsonPlace offset, element.required("offset"));
    FATCTX_ASSIGN(range.offset, offset.number(kMost));
    FATCTX_ASSIGN(const JsonPlace size, element.required("size"));
    FATCTX_ASSIGN(range.size_bytes, size.number(kMost));
    if (range.size_bytes == 0) return size.wrong("a whole number of bytes, at least 1");
    ranges.push_back(std::move(range));
  }
  return ranges;
}

Result<std::vector<PackRange>> read_ranges(const std::string& path) {
  FATCTX_ASSIGN(const std::string text, read_text_file(path));
  FATCTX_ASSIGN(const Json document, parse_json(text, path));
  return ranges_at(JsonPlace(path, document));
}

}  // namespace fatctx::tools
