// These systems have no file interface to memory: a block for all bytes is filled through its map.
#include "mapping/sealed_file.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "mapping/sealed_memory.h"

namespace fatctx::mapping {

struct SealedFile::Memory {
  explicit Memory(const SealableBlock& made) noexcept : block(made) {}
  ~Memory() { free_block(block); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  SealableBlock block;
  std::uint64_t size = 0;
  bool sealed = false;
};

SealedFile::SealedFile(std::unique_ptr<Memory> memory) noexcept : memory_(std::move(memory)) {}
SealedFile::SealedFile(SealedFile&&) noexcept = default;
SealedFile::~SealedFile() = default;

int SealedFile::descriptor() const noexcept { return memory_->block.descriptor; }

Result<SealedFile> SealedFile::make(std::uint64_t most_bytes) {
  FATCTX_ASSIGN(const SealableBlock block, make_sealable_block(most_bytes));
  return SealedFile(std::make_unique<Memory>(block));
}

Status SealedFile::write(ByteView bytes) {
  if (memory_->sealed) return Error{ErrorCode::kIo, "sealed memory is not written to"};
  if (!within({memory_->size, bytes.size()}, memory_->block.size_bytes)) {
    return Error{ErrorCode::kInternal,
                 fmt::format("more bytes than the {} that were promised", memory_->block.size_bytes)};
  }
  std::copy(bytes.begin(), bytes.end(), memory_->block.data + memory_->size);
  memory_->size += bytes.size();
  return Done{};
}

Status SealedFile::seal() {
  memory_->sealed = true;
  return mapping::seal(memory_->block);
}

}  // namespace fatctx::mapping
