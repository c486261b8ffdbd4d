// Seams for embedders through C: who maps files, and where views are placed.
#include <string>

#include <fmt/format.h>

#include "base/immortal.h"
#include "capi/callbacks.h"
#include "capi/objects.h"
#include "fatctx/mapping_guard.h"

namespace fatctx::capi {

Error error_of_callback(std::string_view name, std::int32_t code, const fatctx_error& told) {
  const std::string_view message = until_nul(told.message);
  Error error{static_cast<ErrorCode>(code), message.empty()
                                                ? fmt::format("{} answers {}", name, fatctx_error_code_name(code))
                                                : std::string(message)};
  if (told.has_os_error != 0) error.where.os_error = told.os_error;
  return error;
}

namespace {

class CallersProvider final : public MappingProvider {
 public:
  explicit CallersProvider(const fatctx_mapping_callbacks& callbacks)
      : callbacks_(callbacks), name_(callbacks.name), user_(callbacks.user, callbacks.release) {}
  void arm() noexcept { user_.arm(); }

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] Result<ByteView> map(int descriptor, std::uint64_t offset, std::uint64_t size) override {
    const void* mapped = nullptr;
    FATCTX_TRY(status_of_callback("map", [&](fatctx_error* error) {
      return callbacks_.map(user_.get(), descriptor, offset, size, &mapped, error);
    }));
    if (mapped == nullptr) return Error{ErrorCode::kInternal, "map answers ok and gives no address"};
    return ByteView(static_cast<const std::byte*>(mapped), static_cast<std::size_t>(size));
  }
  void unmap(ByteView mapped) noexcept override {
    quietly([&] { callbacks_.unmap(user_.get(), mapped.data(), mapped.size()); });
  }

 private:
  fatctx_mapping_callbacks callbacks_;
  std::string name_;
  CallersUser user_;
};

class CallersAllocator final : public ViewAllocator {
 public:
  explicit CallersAllocator(const fatctx_allocator_callbacks& callbacks)
      : callbacks_(callbacks), name_(callbacks.name), user_(callbacks.user, callbacks.release) {}
  void arm() noexcept { user_.arm(); }

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] Result<Block> allocate(std::uint64_t size_bytes, std::uint64_t alignment) override {
    fatctx_block block = {nullptr, 0, -1, 0};
    FATCTX_TRY(status_of_callback("allocate", [&](fatctx_error* error) {
      return callbacks_.allocate(user_.get(), size_bytes, alignment, &block, error);
    }));
    if (block.data == nullptr) return Error{ErrorCode::kInternal, "allocate answers ok and gives no address"};
    return Block{static_cast<std::byte*>(block.data), block.size, block.descriptor};
  }
  [[nodiscard]] Status filled(const Block& block) override {
    if (callbacks_.filled == nullptr) return Done{};
    const fatctx_block given = as_given(block);
    return status_of_callback("filled",
                              [&](fatctx_error* error) { return callbacks_.filled(user_.get(), &given, error); });
  }
  void release(const Block& block) noexcept override {
    const fatctx_block given = as_given(block);
    quietly([&] { callbacks_.give_back(user_.get(), &given); });
  }

 private:
  [[nodiscard]] static fatctx_block as_given(const Block& block) noexcept {
    return {block.data, block.size_bytes, block.descriptor, 0};
  }

  fatctx_allocator_callbacks callbacks_;
  std::string name_;
  CallersUser user_;
};

// The answer of fatctx_file_mapping_describe(), whose text lives as long as the process.
constinit Immortal<MappingCapability> capability_of_the_process;

// A handle over callbacks; `check` looks at those that are needed.
template <typename Callers, typename Callbacks, typename Handle, typename Check>
std::int32_t make_seam(const Callbacks* callbacks, Handle* out, std::string_view name, fatctx_error* error,
                       const Check& check) noexcept {
  std::shared_ptr<Callers> made;
  const std::int32_t code =
      make_handle(out, name, error, [&]() -> Result<std::shared_ptr<typename Behind<Handle>::Object>> {
        FATCTX_TRY(not_null(callbacks, "callbacks"));
        Callbacks given = {};
        FATCTX_TRY(read_sized(callbacks, given));
        FATCTX_TRY(not_null(given.name, "the name of the callbacks"));
        FATCTX_TRY(check(given));
        made = std::make_shared<Callers>(given);
        return std::shared_ptr<typename Behind<Handle>::Object>(made);
      });
  if (code == FATCTX_OK) made->arm();
  return code;
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_mapping_guard_install(fatctx_error* error) {
  return guarded(error, [] { return fatctx::install_mapping_guard(); });
}

int32_t fatctx_file_mapping_describe(fatctx_file_mapping_info* info, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    const fatctx::MappingCapability& capability = capability_of_the_process.get(
        [] { return std::make_unique<fatctx::MappingCapability>(fatctx::file_mapping_capability()); });
    fatctx_file_mapping_info filled = {};
    filled.available = flag(capability.available);
    filled.how = text_out(capability.how);
    filled.page_bytes = capability.page_bytes;
    filled.fallbacks = fatctx::file_mapping_fallbacks();
    filled.provider = text_out(capability.provider);
    filled.granule_bytes = capability.granule_bytes;
    filled.stitched = flag(capability.stitched);
    filled.sealed_memory = flag(capability.sealed_memory);
    filled.lost_mappings = fatctx::lost_mappings();
    filled.guard_installed = flag(fatctx::mapping_guard_installed());
    return write_sized(filled, info, "info");
  });
}

int32_t fatctx_mapping_provider_create(const fatctx_mapping_callbacks* callbacks, fatctx_mapping_provider* provider,
                                       fatctx_error* error) {
  return make_seam<CallersProvider>(callbacks, provider, "provider", error,
                                    [](const fatctx_mapping_callbacks& given) -> fatctx::Status {
                                      FATCTX_TRY(not_null(given.map, "map"));
                                      return not_null(given.unmap, "unmap");
                                    });
}

int32_t fatctx_mapping_provider_close(fatctx_mapping_provider provider, fatctx_error* error) {
  return close_handle(provider, error);
}

int32_t fatctx_view_allocator_create(const fatctx_allocator_callbacks* callbacks, fatctx_view_allocator* allocator,
                                     fatctx_error* error) {
  return make_seam<CallersAllocator>(callbacks, allocator, "allocator", error,
                                     [](const fatctx_allocator_callbacks& given) -> fatctx::Status {
                                       FATCTX_TRY(not_null(given.allocate, "allocate"));
                                       return not_null(given.give_back, "give_back");
                                     });
}

int32_t fatctx_view_allocator_close(fatctx_view_allocator allocator, fatctx_error* error) {
  return close_handle(allocator, error);
}

}  // extern "C"
