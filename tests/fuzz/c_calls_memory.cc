// Memory: prefetch, release and lock; and the seams through which callers map files, place views and access ranges.
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>

#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {
namespace {

// Allocates a block of exactly the requested size, so that the address sanitizer detects an access behind its end.
void* block_of(std::uint64_t size, std::uint64_t alignment) {
  void* block = nullptr;
  const auto aligned = std::max<std::size_t>(static_cast<std::size_t>(alignment), sizeof(void*));
  return ::posix_memalign(&block, aligned, static_cast<std::size_t>(size)) == 0 ? block : nullptr;
}

// Maps by reading, as on a system without mmap.
std::int32_t map(void* user, int descriptor, std::uint64_t offset, std::uint64_t size, const void** mapped,
                 fatctx_error* error) {
  if (user == nullptr) return FATCTX_ERROR_UNSUPPORTED;  // the struct was too short for `user`
  auto& callee = *static_cast<Callee*>(user);
  if (const std::int32_t code = callee.say(error); code != FATCTX_OK) return code;
  void* const block = block_of(size, 4096);
  if (block == nullptr) return FATCTX_ERROR_OUT_OF_MEMORY;
  if (::pread(descriptor, block, size, static_cast<off_t>(offset)) != static_cast<ssize_t>(size)) {
    std::free(block);
    return FATCTX_ERROR_IO;
  }
  callee.gave(block);
  *mapped = block;
  return FATCTX_OK;
}

void unmap(void* user, const void* mapped, std::uint64_t) {
  static_cast<Callee*>(user)->got_back(mapped);
  std::free(const_cast<void*>(mapped));
}

std::int32_t allocate(void* user, std::uint64_t size, std::uint64_t alignment, fatctx_block* block,
                      fatctx_error* error) {
  if (user == nullptr) return FATCTX_ERROR_NO_RESOURCE;
  auto& callee = *static_cast<Callee*>(user);
  require(block->data == nullptr && block->descriptor == -1, "a block comes empty");
  if (callee.answer < 128) {  // other callees fail when the block is filled
    if (const std::int32_t code = callee.say(error); code != FATCTX_OK) return code;
  }
  block->data = block_of(size, alignment);
  if (block->data == nullptr) return FATCTX_ERROR_OUT_OF_MEMORY;
  block->size = size;
  callee.gave(block->data);
  return FATCTX_OK;
}

std::int32_t filled(void* user, const fatctx_block*, fatctx_error* error) {
  return static_cast<Callee*>(user)->say(error);
}

void give_back(void* user, const fatctx_block* block) {
  static_cast<Callee*>(user)->got_back(block->data);
  std::free(block->data);
}

std::int32_t provided(void* user, const void* aligned, std::uint64_t size, fatctx_error* error) {
  auto& callee = *static_cast<Callee*>(user);
  require(size != 0, "pages that are provided are some");
  if (const std::int32_t code = callee.say(error); code != FATCTX_OK) return code;
  callee.gave(aligned);
  return FATCTX_OK;
}

void released(void* user, const void* aligned, std::uint64_t) { static_cast<Callee*>(user)->got_back(aligned); }

}  // namespace

void Program::use_memory(std::uint8_t which) {
  fatctx_record_lock lock = {kNotWritten};
  fatctx_release_options options = {};
  options.struct_size = sizeof options;
  switch (which % 4) {
    case 0:
    case 1: {
      const std::uint64_t id = handle(which % 4 == 0 ? kContainer : kSession);
      const std::uint8_t choice = input_.byte();
      options.keep_cached = choice >> 7;
      Sized<fatctx_release_options> given(input_.byte(), options);
      Sized<fatctx_release_report> report(input_.byte());
      const fatctx_release_options* const said = out(*given.get());
      fatctx_release_report* const into = out(*report.get());
      const std::int32_t code = which % 4 == 0 ? fatctx_container_release({id}, choice % 9, said, into, &error_)
                                               : fatctx_session_release({id}, said, into, &error_);
      if (ok(code) && report.whole()) {
        require(into->released_bytes <= into->asked_bytes, "no more is released than was asked for");
      }
      return;
    }
    case 2: {
      const fatctx_container of = {handle(kContainer)};
      return made(fatctx_container_lock(of, input_.byte() % 9, out(lock), &error_), kLock, lock);
    }
    default: {
      // Cuts a file that is mapped: the guard is installed and turns the access into an error.
      std::error_code ignored;
      const auto size = std::filesystem::file_size(files().out, ignored);
      if (ignored || !guard_is_installed()) return;
      std::filesystem::resize_file(files().out, size / 256 * input_.byte(), ignored);
      return;
    }
  }
}

fatctx_prefetch_options Program::prefetch_options(Work* work) {
  fatctx_prefetch_options options = {};
  fatctx_prefetch_options_init(&options, sizeof options);
  const std::uint8_t budget = input_.byte();
  if (budget < 128) options.max_bytes = std::uint64_t{budget} * 1000;
  options.progress = null() ? nullptr : &progress;
  options.user = work;
  return options;
}

void Program::use_prefetches(std::uint8_t which) {
  fatctx_prefetch prefetch = {kNotWritten};
  if (which % 8 < 5) {
    const std::uint8_t choice = input_.byte();
    Work* const watched = work(choice);
    const bool background = which % 8 >= 3;
    if (background) watched->closes = false;  // it runs on another thread than the program
    const fatctx_prefetch_options& options = prefetches_.emplace_back(prefetch_options(watched));
    if (background) {
      const std::uint64_t id = handle(which % 8 == 3 ? kContainer : kSession);
      const fatctx_prefetch_options* const said = null() ? nullptr : &options;
      const std::int32_t code =
          which % 8 == 3 ? fatctx_container_prefetch_in_background({id}, choice % 9, said, out(prefetch), &error_)
                         : fatctx_session_prefetch_in_background({id}, said, out(prefetch), &error_);
      return made(code, kPrefetch, prefetch);
    }
    static constexpr Kind kOf[] = {kContainer, kSession, kView};
    const std::uint64_t id = handle(kOf[which % 8]);
    Sized<fatctx_prefetch_options> given(input_.byte(), options);
    Sized<fatctx_prefetch_report> report(input_.byte());
    const fatctx_prefetch_options* const said = out(*given.get());
    fatctx_prefetch_report* const into = out(*report.get());
    const std::int32_t code = which % 8 == 0   ? fatctx_container_prefetch({id}, choice % 9, said, into, &error_)
                              : which % 8 == 1 ? fatctx_session_prefetch({id}, said, into, &error_)
                                               : fatctx_thin_dlc_prefetch({id, nullptr, 0}, said, into, &error_);
    if (ok(code) && report.whole())
      require(into->done_bytes <= into->asked_bytes, "no more is done than was asked for");
    return;
  }
  const fatctx_prefetch of = {handle(kPrefetch)};
  if (which % 8 == 5) {
    (void)checked(fatctx_prefetch_cancel(of, &error_));
  } else if (which % 8 == 6) {
    std::uint32_t done = 2;
    std::uint64_t bytes = 0;
    std::uint32_t* const said = out(done);
    if (ok(fatctx_prefetch_state(of, said, out(bytes), &error_))) require(done < 2, "done is yes or no");
  } else {
    Sized<fatctx_prefetch_report> report(input_.byte());
    (void)checked(fatctx_prefetch_wait(of, out(*report.get()), &error_));
  }
}

void Program::use_seams(std::uint8_t which) {
  Callee& user = callee(input_.byte());
  const std::uint8_t size = input_.byte();
  const char* const name = word();
  if (which % 2 == 0) {
    fatctx_mapping_provider provider = {kNotWritten};
    fatctx_mapping_callbacks callbacks = {};
    callbacks.name = name;
    callbacks.map = null() ? nullptr : &map;
    callbacks.unmap = null() ? nullptr : &unmap;
    callbacks.release = release_of(user);
    callbacks.user = &user;
    Sized<fatctx_mapping_callbacks> given(size, callbacks);
    const std::int32_t code = fatctx_mapping_provider_create(out(*given.get()), out(provider), &error_);
    taken(user, given.whole() ? code : FATCTX_ERROR_UNSUPPORTED);
    return made(code, kProvider, provider);
  }
  fatctx_view_allocator allocator = {kNotWritten};
  fatctx_allocator_callbacks callbacks = {};
  callbacks.name = name;
  callbacks.allocate = null() ? nullptr : &allocate;
  callbacks.filled = null() ? nullptr : &filled;
  callbacks.give_back = null() ? nullptr : &give_back;
  callbacks.release = release_of(user);
  callbacks.user = &user;
  Sized<fatctx_allocator_callbacks> given(size, callbacks);
  const std::int32_t code = fatctx_view_allocator_create(out(*given.get()), out(allocator), &error_);
  taken(user, given.whole() ? code : FATCTX_ERROR_UNSUPPORTED);
  made(code, kAllocator, allocator);
}

void Program::use_ranges(std::uint8_t which) {
  fatctx_range_access access = {kNotWritten};
  if (which % 4 == 0) {
    const fatctx_view of = view_handle();
    Callee& user = callee(input_.byte());
    fatctx_range_hooks hooks = {};
    hooks.provided = &provided;
    hooks.released = &released;
    hooks.release = release_of(user);
    hooks.user = &user;
    Sized<fatctx_range_hooks> whole(255, hooks);
    const fatctx_range_hooks* const given = out(*whole.get());
    const std::int32_t code = fatctx_range_access_create(of, given, out(access), &error_);
    taken(user, given == nullptr ? FATCTX_ERROR_INVALID_ARGUMENT : code);
    return made(code, kAccess, access);
  }
  const fatctx_range_access of = {handle(kAccess)};
  Ranges& ranges = ranges_[of.id];
  if (which % 4 == 1) {
    Sized<fatctx_range> range(input_.byte());
    const std::uint64_t offset = std::uint64_t{input_.byte()} * 100;
    const std::uint64_t size = std::uint64_t{input_.byte()} * 50;
    fatctx_range* const into = out(*range.get());
    if (!ok(fatctx_range_access_provide(of, offset, size, into, &error_))) return;
    ++ranges.count;
    if (into->struct_size >= offsetof(fatctx_range, id) + sizeof into->id) ranges.ids.push_back(into->id);
    if (!range.whole()) return;
    require(into->size == size && into->data_start + size <= into->aligned_size, "a range lies in its pages");
    borrowed(static_cast<const unsigned char*>(into->aligned), 1);
    borrowed(static_cast<const unsigned char*>(into->data) + (size - 1), 1);
  } else if (which % 4 == 2) {
    const std::uint8_t at = input_.byte();
    const std::uint64_t id = at < ranges.ids.size() ? ranges.ids[at] : at;
    const bool known = std::find(ranges.ids.begin(), ranges.ids.end(), id) != ranges.ids.end();
    const std::int32_t code = checked(fatctx_range_access_release(of, id, &error_));
    if (code != FATCTX_OK) return;
    std::erase(ranges.ids, id);
    --ranges.count;
    require(known || ranges.ids.size() <= ranges.count, "only what was provided is released");
  } else {
    std::uint64_t count = 0;
    std::uint64_t* const into = out(count);
    if (ok(fatctx_range_access_outstanding(of, into, &error_))) {
      require(count == ranges.count, "what is outstanding was provided and not released");
    }
  }
}

}  // namespace fatctx::fuzz
