// Repairs in memory: sources that count and fail, and damage.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "container/edit/repair.h"
#include "container/read/open.h"
#include "fatctx/repair.h"
#include "support/memory_file.h"
#include "support/temp_dir.h"

namespace fatctx::container::repair_support {

[[nodiscard]] inline ByteRange place_of(const support::Bytes& bytes, const std::string& record) {
  const OpenedToc opened = read_toc(support::MemoryFile(bytes), bytes.size()).value();
  for (const RecordInfo& one : opened.toc.records) {
    if (one.name == record) return {one.file_offset, one.stored_bytes};
  }
  throw std::runtime_error("no such record");
}

inline void spoil(support::Bytes& bytes, ByteRange range) {
  for (std::uint64_t i = 0; i < range.size; ++i) bytes[static_cast<std::size_t>(range.offset + i)] ^= std::byte{0x5a};
}
inline void zero(support::Bytes& bytes, ByteRange range) {
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(range.offset), range.size, std::byte{0});
}

// A source in memory that counts what it gives.
struct Memory {
  static constexpr std::uint64_t kOpening = 65'536;  // the first read: header, and table of a small file

  explicit Memory(support::Bytes given) : bytes(std::move(given)) {}

  [[nodiscard]] RepairSource source(std::string name = "memory") {
    return {std::move(name),
            [this]() -> Result<std::uint64_t> {
              if (cannot_open) return *cannot_open;
              return bytes.size();
            },
            [this](const std::vector<ByteRange>& ranges, const TakeBytes& take) -> Status {
              const int number = reads++;
              if (fails && fails(number, ranges)) return Error{code, "the line is dead"};
              for (const ByteRange& range : ranges) {
                const std::uint64_t size = std::min<std::uint64_t>(range.size, most);
                for (std::uint64_t done = 0; done < size; done += piece) {
                  const std::uint64_t now = std::min(piece, size - done);
                  given += now;
                  support::Bytes part(bytes.begin() + static_cast<std::ptrdiff_t>(range.offset + done),
                                      bytes.begin() + static_cast<std::ptrdiff_t>(range.offset + done + now));
                  if (lie && range.offset >= kOpening) lie(part);
                  FATCTX_TRY(take(range.offset + done, part));
                }
              }
              return Done{};
            }};
  }

  support::Bytes bytes;
  std::uint64_t piece = 10'007;
  std::uint64_t most = UINT64_MAX;  // bytes that one range gives
  std::function<void(support::Bytes&)> lie;
  std::optional<Error> cannot_open;
  std::function<bool(int number, const std::vector<ByteRange>& ranges)> fails;  // read number `number`, from 0
  ErrorCode code = ErrorCode::kIo;                                              // what a failing read returns
  std::uint64_t given = 0;
  int reads = 0;
};

[[nodiscard]] inline Result<RepairReport> repaired(support::MemoryFile& file, Memory& source,
                                                   RepairOptions options = {}) {
  options.threads = 1;
  options.sources.push_back(source.source());
  return repair_file(file, "m.fatctx", options);
}

}  // namespace fatctx::container::repair_support
