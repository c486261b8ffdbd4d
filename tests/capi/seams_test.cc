// Seams for embedders through C: mapping of files, placement of views, limits of a consumer, ranges on request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <set>

#include "capi/c_model.h"
#include "fatctx/file_mapping.h"
#include "support/aligned_memory.h"
#include "support/descriptors.h"

namespace fatctx::capi::testing {
namespace seams_test {

using ::testing::HasSubstr;

// A mapping provider that reads into memory, as a system without mmap would, and counts what it gives and takes back.
struct ReadingProvider {
  std::map<const void*, Bytes> live;
  std::int32_t answer = FATCTX_OK;
  int maps = 0;
  int releases = 0;

  [[nodiscard]] fatctx_mapping_callbacks callbacks() {
    auto made = sized<fatctx_mapping_callbacks>();
    made.name = "reading";
    made.map = [](void* user, int descriptor, std::uint64_t offset, std::uint64_t size, const void** mapped,
                  fatctx_error* error) -> std::int32_t {
      auto* self = static_cast<ReadingProvider*>(user);
      ++self->maps;
      if (self->answer == FATCTX_ERROR_IO) {
        error->has_os_error = 1;
        error->os_error = 5;
        std::snprintf(error->message, sizeof error->message, "the cable is out");
      }
      if (self->answer != FATCTX_OK) return self->answer;
      Bytes bytes(static_cast<std::size_t>(size));
      EXPECT_TRUE(support::read_descriptor(descriptor, bytes.data(), bytes.size(), offset));
      *mapped = bytes.data();
      self->live.emplace(*mapped, std::move(bytes));
      return FATCTX_OK;
    };
    made.unmap = [](void* user, const void* mapped, std::uint64_t size) {
      auto* self = static_cast<ReadingProvider*>(user);
      EXPECT_EQ(self->live.at(mapped).size(), size);
      self->live.erase(mapped);
    };
    made.release = [](void* user) { ++static_cast<ReadingProvider*>(user)->releases; };
    made.user = this;
    return made;
  }
};

struct CountingAllocator {
  std::set<void*> live;
  std::int32_t allocate_answer = FATCTX_OK;
  std::int32_t filled_answer = FATCTX_OK;
  int allocations = 0;
  int filled = 0;
  int releases = 0;

  [[nodiscard]] fatctx_allocator_callbacks callbacks() {
    auto made = sized<fatctx_allocator_callbacks>();
    made.name = "shared memory";
    made.allocate = [](void* user, std::uint64_t size, std::uint64_t alignment, fatctx_block* block,
                       fatctx_error*) -> std::int32_t {
      auto* self = static_cast<CountingAllocator*>(user);
      EXPECT_EQ(block->data, nullptr);
      EXPECT_EQ(block->descriptor, -1);
      if (self->allocate_answer != FATCTX_OK) return self->allocate_answer;
      const std::uint64_t rounded = (size + alignment - 1) / alignment * alignment;
      block->data = support::aligned_memory(alignment, rounded);
      block->size = rounded;
      self->live.insert(block->data);
      ++self->allocations;
      return FATCTX_OK;
    };
    made.filled = [](void* user, const fatctx_block* block, fatctx_error*) -> std::int32_t {
      auto* self = static_cast<CountingAllocator*>(user);
      EXPECT_TRUE(self->live.contains(block->data));
      ++self->filled;
      return self->filled_answer;
    };
    made.give_back = [](void* user, const fatctx_block* block) {
      EXPECT_EQ(static_cast<CountingAllocator*>(user)->live.erase(block->data), 1U);
      support::free_aligned(block->data);
    };
    made.release = [](void* user) { ++static_cast<CountingAllocator*>(user)->releases; };
    made.user = this;
    return made;
  }
};

class CSeams : public CModel {
 protected:
  [[nodiscard]] fatctx_mapping_provider create(ReadingProvider& provider) {
    const auto callbacks = provider.callbacks();
    fatctx_mapping_provider handle = {};
    EXPECT_EQ(fatctx_mapping_provider_create(&callbacks, &handle, &error), FATCTX_OK) << text_of(error);
    return handle;
  }
  [[nodiscard]] fatctx_view_allocator create(CountingAllocator& allocator) {
    const auto callbacks = allocator.callbacks();
    fatctx_view_allocator handle = {};
    EXPECT_EQ(fatctx_view_allocator_create(&callbacks, &handle, &error), FATCTX_OK) << text_of(error);
    return handle;
  }
  // Returns the error code of an open that must not make a handle.
  [[nodiscard]] std::int32_t refused_open(const fatctx_open_options& options) {
    fatctx_container container = {};
    const std::int32_t code = fatctx_container_open(path.c_str(), &options, &container, &error);
    EXPECT_EQ(container.id, 0U);
    return code;
  }
  [[nodiscard]] fatctx_view weights(fatctx_container container) {
    fatctx_view view = {};
    EXPECT_EQ(fatctx_container_acquire(container, 5, &view, &error), FATCTX_OK) << text_of(error);
    return view;
  }
};

// Shows S5.13.
TEST_F(CSeams, AProviderMapsInPlaceOfTheSystemAndIsHeldUntilTheLastView) {
  ReadingProvider provider;
  auto options = sized<fatctx_open_options>();
  options.mapping_provider = create(provider);
  const fatctx_container container = open(&options);
  const fatctx_container again = open(&options);
  EXPECT_EQ(fatctx_mapping_provider_close(options.mapping_provider, &error), FATCTX_OK);
  const fatctx_view view = weights(container);

  EXPECT_EQ(provider.maps, 1) << "two opens with one provider meet in one mapping";
  EXPECT_TRUE(equal_bytes(view, weights_bytes()));
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(again, &error), FATCTX_OK);
  EXPECT_EQ(provider.live.size(), 1U);
  EXPECT_EQ(provider.releases, 0);
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_TRUE(provider.live.empty());
  EXPECT_EQ(provider.releases, 1);
}

TEST_F(CSeams, AProviderThatCannotMapLeadsToACopyAndAnyOtherAnswerIsTheError) {
  ReadingProvider provider;
  auto options = sized<fatctx_open_options>();
  options.mapping_provider = create(provider);

  provider.answer = FATCTX_ERROR_UNSUPPORTED;
  const fatctx_container container = open(&options);
  auto report = sized<fatctx_open_report>();
  ASSERT_EQ(fatctx_container_report(container, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.mapped, 0U);
  EXPECT_THAT(std::string(view_of(report.copy_reason)), HasSubstr("reading"));
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);

  provider.answer = FATCTX_ERROR_IO;
  EXPECT_EQ(refused_open(options), FATCTX_ERROR_IO);
  EXPECT_THAT(error.message, HasSubstr("the cable is out"));
  EXPECT_EQ(error.os_error, 5);
  provider.answer = FATCTX_ERROR_NO_RESOURCE;
  EXPECT_EQ(refused_open(options), FATCTX_ERROR_NO_RESOURCE);
  EXPECT_THAT(error.message, HasSubstr("map answers no_resource"));
  EXPECT_EQ(fatctx_mapping_provider_close(options.mapping_provider, &error), FATCTX_OK);
  EXPECT_EQ(provider.releases, 1);
}

TEST_F(CSeams, AnAllocatorPlacesViewsAndGetsEveryBlockBack) {
  CountingAllocator allocator;
  auto options = sized<fatctx_open_options>();
  options.allocator = create(allocator);
  const fatctx_container container = open(&options);
  EXPECT_EQ(fatctx_view_allocator_close(options.allocator, &error), FATCTX_OK);
  const fatctx_view first = weights(container);
  const fatctx_view second = weights(container);

  EXPECT_TRUE(equal_bytes(first, weights_bytes()));
  EXPECT_EQ(first.data, second.data) << "one block for all";
  EXPECT_EQ(allocator.live.count(const_cast<void*>(first.data)), 1U);
  EXPECT_EQ(allocator.allocations, 1);
  EXPECT_EQ(allocator.filled, 1);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_view_close(first, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_view_close(second, &error), FATCTX_OK);
  EXPECT_TRUE(allocator.live.empty());
  EXPECT_EQ(allocator.releases, 1);
}

TEST_F(CSeams, AnswersOfAnAllocatorAreTheErrorsOfAcquire) {
  CountingAllocator allocator;
  auto options = sized<fatctx_open_options>();
  options.allocator = create(allocator);
  const fatctx_container container = open(&options);
  fatctx_view view = {};

  allocator.allocate_answer = FATCTX_ERROR_BACKEND_LIBRARY_MISSING;
  EXPECT_EQ(fatctx_container_acquire(container, 5, &view, &error), FATCTX_ERROR_BACKEND_LIBRARY_MISSING);
  EXPECT_THAT(error.message, HasSubstr("shared memory"));
  allocator.allocate_answer = FATCTX_OK;
  allocator.filled_answer = FATCTX_ERROR_NO_RESOURCE;
  EXPECT_EQ(fatctx_container_acquire(container, 5, &view, &error), FATCTX_ERROR_NO_RESOURCE);
  EXPECT_EQ(allocator.allocations, 1);
  EXPECT_TRUE(allocator.live.empty()) << "the block that could not be registered was given back";
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_view_allocator_close(options.allocator, &error), FATCTX_OK);
}

TEST_F(CSeams, CallbacksThatAreNeededAreAskedForAndNothingIsHeldThen) {
  ReadingProvider provider;
  CountingAllocator allocator;
  fatctx_mapping_provider no_provider = {};
  fatctx_view_allocator no_allocator = {};
  const auto refused = [&](const char* what, const auto& callbacks, auto create_it, auto* handle) {
    EXPECT_EQ(create_it(&callbacks, handle, &error), FATCTX_ERROR_INVALID_ARGUMENT) << what;
    EXPECT_THAT(error.message, HasSubstr(what));
  };
  auto mapping = provider.callbacks();
  mapping.map = nullptr;
  refused("map is null", mapping, fatctx_mapping_provider_create, &no_provider);
  mapping = provider.callbacks();
  mapping.unmap = nullptr;
  refused("unmap is null", mapping, fatctx_mapping_provider_create, &no_provider);
  mapping = provider.callbacks();
  mapping.name = nullptr;
  refused("name", mapping, fatctx_mapping_provider_create, &no_provider);
  mapping = provider.callbacks();
  mapping.struct_size = 4;
  refused("struct_size", mapping, fatctx_mapping_provider_create, &no_provider);
  auto placing = allocator.callbacks();
  placing.allocate = nullptr;
  refused("allocate is null", placing, fatctx_view_allocator_create, &no_allocator);
  placing = allocator.callbacks();
  placing.give_back = nullptr;
  refused("give_back is null", placing, fatctx_view_allocator_create, &no_allocator);
  EXPECT_EQ(provider.releases + allocator.releases, 0) << "a caller whose call fails keeps what is behind `user`";

  auto options = sized<fatctx_open_options>();
  options.mapping_provider.id = 77;
  EXPECT_EQ(refused_open(options), FATCTX_ERROR_STALE_HANDLE);
}

// Shows S5.13.
TEST_F(CSeams, AConsumerThatCannotTakeMappedMemoryGetsCopiesAndItsReasonIsReported) {
  auto options = sized<fatctx_model_options>();
  options.device = device();
  options.consumer = [](void* user, char* reason, std::size_t capacity) -> std::uint32_t {
    ++*static_cast<int*>(user);
    EXPECT_EQ(reason[0], '\0');
    std::snprintf(reason, capacity, "librpcmem is missing");
    return 0;
  };
  int asked = 0;
  options.consumer_user = &asked;
  fatctx_model model = {};
  fatctx_container container = {};
  ASSERT_EQ(fatctx_model_open(path.c_str(), &options, &model, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_model_container(model, &container, &error), FATCTX_OK);
  const fatctx_session session = begin(model);
  fatctx_view binary = {};
  auto info = sized<fatctx_view_info>();
  auto report = sized<fatctx_open_report>();
  ASSERT_EQ(fatctx_session_binary(session, nullptr, &binary, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_view_describe(binary, &info, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_container_report(container, &report, &error), FATCTX_OK);

  EXPECT_EQ(asked, 1);
  EXPECT_STREQ(fatctx_access_path_name(info.access_path), "copied");
  EXPECT_THAT(std::string(view_of(report.copy_reason)), HasSubstr("librpcmem is missing"));

  auto require = sized<fatctx_open_options>();
  require.file_mapping = FATCTX_FILE_MAPPING_REQUIRE;
  options.open = &require;
  fatctx_model none = {};
  EXPECT_EQ(fatctx_model_open(path.c_str(), &options, &none, &error), FATCTX_ERROR_COPY_NOT_ALLOWED);
  auto mapping = sized<fatctx_file_mapping_info>();
  EXPECT_EQ(fatctx_file_mapping_describe(&mapping, &error), FATCTX_OK);
  EXPECT_EQ(mapping.available, 1U);
  EXPECT_GE(mapping.fallbacks, 1U);
  EXPECT_GE(mapping.page_bytes, 4096U);
  EXPECT_FALSE(view_of(mapping.how).empty());
  EXPECT_EQ(view_of(mapping.provider), "posix");
  EXPECT_EQ(mapping.granule_bytes, mapping.page_bytes);
  EXPECT_EQ(mapping.stitched, 1U);
  EXPECT_EQ(mapping.sealed_memory, fatctx::file_mapping_capability().sealed_memory ? 1U : 0U);
  EXPECT_EQ(fatctx_view_close(binary, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_session_close(session, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_model_close(model, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_device_close(options.device, &error), FATCTX_OK);
}

TEST_F(CSeams, RangesAreProvidedRegisteredAndReleasedAndKeepTheMapping) {
  struct Device {
    std::set<const void*> registered;
    std::int32_t answer = FATCTX_OK;
    int releases = 0;
  } device;
  auto hooks = sized<fatctx_range_hooks>();
  hooks.provided = [](void* user, const void* aligned, std::uint64_t, fatctx_error* told) -> std::int32_t {
    auto* self = static_cast<Device*>(user);
    if (self->answer == FATCTX_OK) self->registered.insert(aligned);
    std::snprintf(told->message, sizeof told->message, "the device is full");
    return self->answer;
  };
  hooks.released = [](void* user, const void* aligned, std::uint64_t) {
    EXPECT_EQ(static_cast<Device*>(user)->registered.erase(aligned), 1U);
  };
  hooks.release = [](void* user) { ++static_cast<Device*>(user)->releases; };
  hooks.user = &device;

  const fatctx_container container = open();
  const fatctx_view view = weights(container);
  fatctx_range_access access = {};
  ASSERT_EQ(fatctx_range_access_create(view, &hooks, &access, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);

  auto first = sized<fatctx_range>();
  auto second = sized<fatctx_range>();
  std::uint64_t outstanding = 0;
  ASSERT_EQ(fatctx_range_access_provide(access, 5'000, 100, &first, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_range_access_provide(access, 140'000, 10'000, &second, &error), FATCTX_OK) << text_of(error);
  const Bytes expected = weights_bytes();
  EXPECT_EQ(std::memcmp(first.data, expected.data() + 5'000, 100), 0);
  EXPECT_EQ(static_cast<const char*>(first.aligned) + first.data_start, first.data);
  EXPECT_EQ(first.data_start, 5'000U - 4'096U);
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(device.registered.size(), 2U);

  EXPECT_EQ(fatctx_range_access_release(access, first.id, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_range_access_release(access, first.id, &error), FATCTX_ERROR_STALE_HANDLE);
  EXPECT_EQ(fatctx_range_access_outstanding(access, &outstanding, &error), FATCTX_OK);
  EXPECT_EQ(outstanding, 1U);
  device.answer = FATCTX_ERROR_NO_RESOURCE;
  EXPECT_EQ(fatctx_range_access_provide(access, 0, 1, &first, &error), FATCTX_ERROR_NO_RESOURCE);
  EXPECT_THAT(error.message, HasSubstr("the device is full"));
  EXPECT_EQ(fatctx_range_access_provide(access, expected.size(), 1, &first, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_range_access_close(access, &error), FATCTX_OK);
  EXPECT_TRUE(device.registered.empty()) << "the last owner gives back what is outstanding";
  EXPECT_EQ(device.releases, 1);
}

}  // namespace seams_test
}  // namespace fatctx::capi::testing
