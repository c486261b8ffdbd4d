#include "runtime/ort/ep/embedded.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "base/immortal.h"
#include "fatctx/content_hash.h"
#include "runtime/open/live_table.h"

namespace fatctx::ort {
namespace {

// Views are aligned only as far as the buffer is; weights need more than malloc guarantees.
constexpr std::align_val_t kPageAlignment{4096};

class AlignedCopy {
 public:
  explicit AlignedCopy(std::string_view text)
      : size_(text.size()), data_(static_cast<std::byte*>(::operator new(text.size(), kPageAlignment))) {
    std::memcpy(data_, text.data(), text.size());
  }
  ~AlignedCopy() { ::operator delete(data_, kPageAlignment); }
  AlignedCopy(const AlignedCopy&) = delete;
  AlignedCopy& operator=(const AlignedCopy&) = delete;
  [[nodiscard]] ByteView bytes() const noexcept { return {data_, size_}; }

 private:
  std::size_t size_;
  std::byte* data_;
};

constinit Immortal<LiveTable<Hash128, AlignedCopy>> g_copies;

std::shared_ptr<const AlignedCopy> copy_of(std::string_view payload) {
  const ByteView bytes = std::as_bytes(std::span(payload.data(), payload.size()));
  LiveTable<Hash128, AlignedCopy>::Claim claim(g_copies.get(), content_hash(bytes));
  if (const auto& live = claim.live(); live && std::ranges::equal(live->bytes(), bytes)) return live;
  auto made = std::make_shared<const AlignedCopy>(payload);
  claim.finish(made);
  return made;
}

}  // namespace

Result<Container> open_embedded(const ContextNode& node, const OpenOptions& options) {
  if (node.cache.empty()) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("EPContext node \"{}\": embed_mode is 1 and ep_cache_context is empty", node.name)};
  }
  const auto copy = copy_of(node.cache);
  auto opened = Container::open(Source::of_memory(copy->bytes(), copy), options);
  if (opened.ok()) return opened;
  return in_context(std::move(opened).error(), fmt::format("EPContext node \"{}\": the embedded container", node.name));
}

}  // namespace fatctx::ort
