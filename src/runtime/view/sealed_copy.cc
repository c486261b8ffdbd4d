#include "runtime/view/sealed_copy.h"

#include "base/immortal.h"
#include "mapping/sealed_memory.h"

namespace fatctx {
namespace {

mapping::SealableBlock sealable(const ViewAllocator::Block& block) noexcept {
  return {.data = block.data, .size_bytes = block.size_bytes, .descriptor = block.descriptor};
}

class SealedAllocator final : public ViewAllocator {
 public:
  std::string_view name() const noexcept override { return "sealed memory"; }
  // Blocks are page-aligned; no record needs a larger alignment than a page.
  Result<Block> allocate(std::uint64_t size_bytes, std::uint64_t /*alignment*/) override {
    FATCTX_ASSIGN(const mapping::SealableBlock made, mapping::make_sealable_block(size_bytes));
    return Block{.data = made.data, .size_bytes = made.size_bytes, .descriptor = made.descriptor};
  }
  Status filled(const Block& block) override { return mapping::seal(sealable(block)); }
  void release(const Block& block) noexcept override { mapping::free_block(sealable(block)); }
};

constinit Immortal<std::shared_ptr<ViewAllocator>> allocator;

}  // namespace

const std::shared_ptr<ViewAllocator>& sealed_allocator() {
  return allocator.get(
      [] { return std::make_unique<std::shared_ptr<ViewAllocator>>(std::make_shared<SealedAllocator>()); });
}

}  // namespace fatctx
