#include "tools/cli/same_bytes.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "fatctx/extract.h"

namespace fatctx::tools {

namespace {

// A source of up to `wanted` bytes from where the last call stopped; fewer at the end.
using NextBytes = std::function<Result<std::string_view>(std::size_t wanted)>;

Result<std::optional<std::uint64_t>> compare(const Container& container, const RecordInfo& record,
                                             const NextBytes& source, const Progress& progress) {
  std::optional<std::uint64_t> difference;
  std::uint64_t at = 0;
  const ByteSink sink = [&](ByteView bytes) -> Status {
    FATCTX_ASSIGN(const std::string_view found, source(bytes.size()));
    const std::string_view wanted(reinterpret_cast<const char*>(bytes.data()),
                                  bytes.size());  // char may alias anything
    const auto pair = std::mismatch(found.begin(), found.end(), wanted.begin());
    const auto same = static_cast<std::uint64_t>(pair.first - found.begin());
    at += same;
    if (same == bytes.size()) return Done{};
    difference = at;
    return Error{ErrorCode::kInternal, "only to stop the stream"};
  };
  auto status = stream_record(container, record.id, sink, progress);
  if (difference) return difference;
  if (!status.ok()) return std::move(status).error();
  FATCTX_ASSIGN(const std::string_view more, source(1));
  if (!more.empty()) difference = at;
  return difference;
}

}  // namespace

Result<std::optional<std::uint64_t>> first_difference(const Container& container, const RecordInfo& record,
                                                      const std::string& path, const Progress& progress) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{ErrorCode::kNotFound, fmt::format("{}: cannot be opened", path)};
  std::vector<char> buffer;
  const NextBytes source = [&](std::size_t wanted) -> Result<std::string_view> {
    buffer.resize(std::max(buffer.size(), wanted));
    in.read(buffer.data(), static_cast<std::streamsize>(wanted));
    if (in.bad()) return Error{ErrorCode::kIo, fmt::format("{}: cannot be read", path)};
    return std::string_view(buffer.data(), static_cast<std::size_t>(in.gcount()));
  };
  return compare(container, record, source, progress);
}

Result<std::optional<std::uint64_t>> first_difference_in(const Container& container, const RecordInfo& record,
                                                         std::string_view bytes) {
  const NextBytes source = [&bytes](std::size_t wanted) -> Result<std::string_view> {
    const std::string_view next = bytes.substr(0, wanted);
    bytes.remove_prefix(next.size());
    return next;
  };
  return compare(container, record, source, {});
}

}  // namespace fatctx::tools
