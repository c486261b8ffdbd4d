#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/hash.h"
#include "container/sharing/parallel.h"
#include "container/update/block_index.h"
#include "container/update/checked_leaves.h"
#include "container/update/container_file.h"
#include "fatctx/block_index.h"
#include "mapping/publish.h"

namespace fatctx {

using namespace container;

namespace {

constexpr std::uint64_t kBytesAtOnce = std::uint64_t{1} << 20;

// Writes behind each other, and hashes what it writes.
class IndexWriter {
 public:
  explicit IndexWriter(mapping::OsFile& file) : file_(file) {}
  [[nodiscard]] std::uint64_t size() const noexcept { return at_; }
  [[nodiscard]] DiskHash hash() const noexcept { return hasher_.digest().bytes; }
  Status write(ByteView bytes) {
    hasher_.update(bytes);
    FATCTX_TRY(file_.write_at(at_, bytes));
    at_ += bytes.size();
    return Done{};
  }

 private:
  mapping::OsFile& file_;
  Hasher hasher_;
  std::uint64_t at_ = 0;
};

Status write_keys(const ContainerFile& container, unsigned block_log2, IndexWriter& writer, WorkProgress& progress) {
  const std::uint64_t size = container.name().size;
  const std::uint64_t blocks_end = size >> block_log2 << block_log2;
  const std::size_t block = std::size_t{1} << block_log2;
  std::vector<std::byte> bytes(static_cast<std::size_t>(kBytesAtOnce));
  std::vector<BlockKey> keys;
  progress.begin(blocks_end);
  for (std::uint64_t at = 0; at < blocks_end; at += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min(kBytesAtOnce, blocks_end - at)));
    FATCTX_TRY(container.file->read_at(at, bytes));
    keys.clear();
    for (std::size_t i = 0; i < bytes.size(); i += block) keys.push_back(key_of(ByteView(bytes).subspan(i, block)));
    FATCTX_TRY(writer.write(std::as_bytes(std::span(keys))));
    FATCTX_TRY(progress.add(bytes.size()));
  }
  return Done{};
}

}  // namespace

Result<BlockIndexReport> make_block_index(const std::string& container_path, const std::string& target,
                                          const MakeBlockIndexOptions& options) {
  FATCTX_ASSIGN(const ContainerFile container, ContainerFile::open(container_path));
  const ContainerName name = container.name();
  const unsigned block_log2 = block_log2_for(name.size);
  if (block_log2 > kMostBlockLog2) {
    return Error{ErrorCode::kLimitExceeded, fmt::format("{}: {} bytes are more than a block index has blocks for",
                                                        container_path, static_cast<std::uint64_t>(name.size))};
  }
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending,
                mapping::PendingFile::create(target, options.overwrite));
  WorkProgress progress(options.progress, options.cancel);
  FATCTX_TRY(check_payload(container, Absent::kRefused, sharing::thread_count(options.threads), progress));

  IndexWriter writer(pending->file());
  const BlockIndexHeader header{.magic = kBlockIndexMagic,
                                .version = kBlockIndexVersion,
                                .block_log2 = static_cast<std::uint16_t>(block_log2),
                                .reserved = 0,
                                .of = name};
  FATCTX_TRY(writer.write(std::as_bytes(std::span(&header, 1))));
  auto written = write_keys(container, block_log2, writer, progress);
  if (!written.ok()) return in_context(std::move(written).error(), container_path);
  FATCTX_TRY(writer.write(writer.hash()));
  FATCTX_TRY(container.check_unchanged("make the index"));
  FATCTX_TRY(pending->publish(false));
  return BlockIndexReport{.path = target,
                          .index_bytes = writer.size(),
                          .block_bytes = std::uint64_t{1} << block_log2,
                          .uuid = uuid_text(name.uuid),
                          .generation = name.generation,
                          .file_size = name.size};
}

}  // namespace fatctx
