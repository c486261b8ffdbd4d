#include "container/fetch/source_file.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "container/read/leaves.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kBytesOfOpening = std::uint64_t{64} << 10U;
constexpr std::uint64_t kBytesPerRead = std::uint64_t{1} << 20U;
constexpr int kMostIdleReads = 200;  // a source that waits between its tries has a limit of its own

// Calls `use` with each piece under the range, where the piece begins, and the range that both have. `pieces`: by their
// offset, without overlap.
template <typename Pieces, typename Use>
void for_each_piece(Pieces& pieces, ByteRange range, const Use& use) {
  auto piece = pieces.upper_bound(range.offset);
  if (piece != pieces.begin()) --piece;
  for (; piece != pieces.end() && piece->first < range.offset + range.size; ++piece) {
    const ByteRange both = overlap({piece->first, piece->second.size()}, range);
    if (both.size != 0) use(piece->second, piece->first, both);
  }
}

}  // namespace

Result<std::unique_ptr<SourceFile>> SourceFile::open(const RepairSource& source) {
  FATCTX_ASSIGN(const std::uint64_t size, source.open());
  std::unique_ptr<SourceFile> file(new SourceFile(source, size));
  FATCTX_TRY(file->read_ahead({{0, std::min(kBytesOfOpening, size)}}));
  return file;
}

Result<mapping::FileIdentity> SourceFile::identity() const {
  mapping::FileIdentity identity;
  identity.size = size_;
  identity.regular = true;
  return identity;
}

Status SourceFile::stream(const std::vector<ByteRange>& ranges, const TakeBytes& take) const {
  ByteSet lacking;
  for (const ByteRange& range : ranges) lacking.add(range);
  const TakeBytes once = [&](std::uint64_t offset, ByteView bytes) -> Status {
    read_bytes_ += bytes.size();
    for (const ByteRange& part : lacking.within({offset, bytes.size()})) {
      FATCTX_TRY(take(part.offset, bytes.subspan(static_cast<std::size_t>(part.offset - offset),
                                                 static_cast<std::size_t>(part.size))));
      lacking.remove(part);
    }
    return Done{};
  };
  for (int idle = 0; !lacking.empty();) {
    const std::uint64_t before = lacking.bytes();
    FATCTX_TRY(source_->read(lacking.ranges(), once));
    idle = lacking.bytes() < before ? 0 : idle + 1;
    if (idle == kMostIdleReads) return Error{ErrorCode::kIo, "it brings none of the bytes that it was asked for"};
  }
  return Done{};
}

Status SourceFile::read_ahead(const std::vector<ByteRange>& ranges) const {
  std::vector<ByteRange> lacking;
  for (const ByteRange& range : ranges) {
    if (!within(range, size_)) {
      return Error{ErrorCode::kTruncated,
                   fmt::format("it has {} bytes, and ends before byte {}", size_, range.offset + range.size)};
    }
    std::uint64_t at = range.offset;
    for (const ByteRange& part : have_.within(range)) {
      if (part.offset > at) lacking.push_back({at, part.offset - at});
      at = part.offset + part.size;
    }
    if (at < range.offset + range.size) lacking.push_back({at, range.offset + range.size - at});
  }
  if (lacking.empty()) return Done{};
  std::map<std::uint64_t, std::vector<std::byte>> fresh;
  for (const ByteRange& range : lacking) fresh[range.offset].resize(static_cast<std::size_t>(range.size));
  FATCTX_TRY(stream(lacking, [&](std::uint64_t offset, ByteView bytes) -> Status {
    for_each_piece(fresh, {offset, bytes.size()}, [&](std::vector<std::byte>& piece, std::uint64_t at, ByteRange both) {
      std::memcpy(piece.data() + (both.offset - at), bytes.data() + (both.offset - offset),
                  static_cast<std::size_t>(both.size));
    });
    return Done{};
  }));
  for (const ByteRange& range : lacking) have_.add(range);
  pieces_.merge(fresh);
  return Done{};
}

Status SourceFile::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  const ByteRange wanted{offset, buffer.size()};
  if (wanted.size == 0) return Done{};
  FATCTX_TRY(read_ahead({wanted}));
  for_each_piece(pieces_, wanted, [&](const std::vector<std::byte>& piece, std::uint64_t at, ByteRange both) {
    std::memcpy(buffer.data() + (both.offset - offset), piece.data() + (both.offset - at),
                static_cast<std::size_t>(both.size));
  });
  return Done{};
}

RepairSource source_here(const std::string& path, const mapping::FileIdentity& target) {
  const auto file = std::make_shared<std::unique_ptr<mapping::OsFile>>();
  const auto open = [path, target, file]() -> Result<std::uint64_t> {
    FATCTX_ASSIGN(*file, mapping::open_for_reading(path));
    FATCTX_ASSIGN(const mapping::FileIdentity identity, (*file)->identity());
    if (!identity.regular) return Error{ErrorCode::kNotRegularFile, "not a regular file"};
    if (identity.device == target.device && identity.inode == target.inode) {
      return Error{ErrorCode::kInvalidArgument, "it is the file that is to be repaired"};
    }
    return identity.size;
  };
  const auto read = [file](const std::vector<ByteRange>& ranges, const TakeBytes& take) -> Status {
    std::vector<std::byte> bytes;
    for (const ByteRange& range : ranges) {
      for (std::uint64_t done = 0; done < range.size; done += bytes.size()) {
        bytes.resize(static_cast<std::size_t>(std::min(kBytesPerRead, range.size - done)));
        FATCTX_TRY((*file)->read_at(range.offset + done, bytes));
        FATCTX_TRY(take(range.offset + done, bytes));
      }
    }
    return Done{};
  };
  return {path, open, read};
}

}  // namespace fatctx::container
