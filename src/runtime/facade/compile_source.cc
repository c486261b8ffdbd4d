#include "runtime/facade/compile_source.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fatctx/extract.h"

namespace fatctx {
namespace {

constexpr std::uint64_t kMostReserved = std::uint64_t{1} << 26;  // a size in a file is not trusted

}  // namespace

Result<RecordView> compile_source(const Container& container, const RecordInfo& source, const Device& device,
                                  const PrepareHook& prepare) {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(std::min(source.size_bytes, kMostReserved)));
  FATCTX_TRY(stream_record(container, source.id, [&](ByteView piece) -> Status {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Done{};
  }));
  auto binary = prepare({.container = container, .record = source, .source = bytes, .device = device});
  const auto about = [&] { return fmt::format("{}: compiling source model \"{}\"", container.path(), source.name); };
  if (!binary.ok()) return in_context(std::move(binary).error(), about());
  if (binary.value().empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: the prepare hook gave no bytes", about())};
  }
  const auto held = std::make_shared<const std::vector<std::byte>>(std::move(binary).value());
  return RecordView(held, source.id, *held, AccessPath::kCopied, held->size());
}

}  // namespace fatctx
