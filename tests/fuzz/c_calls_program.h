// The table of handles that a program of C calls works on, and the checks that every call must pass. The calls are in
// c_calls_*.cc, one subject each.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fatctx/fatctx.h"
#include "fuzz/c_calls_files.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"

namespace fatctx::fuzz {

// A struct of the caller in its own memory, so that the address sanitizer detects an access behind its end. The bytes
// behind struct_size must stay unchanged.
template <typename T>
class Sized {
 public:
  explicit Sized(std::uint8_t choice, std::uint32_t multiple = 1) {
    static constexpr std::uint32_t kOdd[] = {0, 4, 7, 8, 9, 12, 16, sizeof(T) / 2, sizeof(T) - 1, sizeof(T) - 4};
    size_ = choice < std::size(kOdd) ? kOdd[choice] / multiple * multiple : sizeof(T);
    if (choice == kLarger || choice == kLargerAndSet) size_ = sizeof(T) + 8;
    bytes_.assign(std::max<std::size_t>(size_, sizeof(T)), kUntouched);
    std::memcpy(bytes_.data(), &size_, sizeof size_);
    if (size_ > sizeof size_) std::memset(bytes_.data() + sizeof size_, 0, size_ - sizeof size_);
    if (choice == kLargerAndSet) bytes_.back() = std::byte{1};
  }
  // Copies as much of `whole` as struct_size allows, in whole pointers: half a pointer is invalid in every version.
  Sized(std::uint8_t choice, const T& whole) : Sized(choice, static_cast<std::uint32_t>(sizeof(void*))) {
    if (size_ <= sizeof size_) return;
    std::memcpy(bytes_.data() + sizeof size_, reinterpret_cast<const std::byte*>(&whole) + sizeof size_,
                std::min<std::size_t>(size_, sizeof(T)) - sizeof size_);
  }
  ~Sized() {
    const auto from = std::max<std::size_t>(size_, sizeof size_);
    for (std::size_t i = from; i < bytes_.size(); ++i) {
      require(bytes_[i] == kUntouched, "nothing is written behind struct_size");
    }
  }
  Sized(const Sized&) = delete;
  Sized& operator=(const Sized&) = delete;

  [[nodiscard]] T* get() { return reinterpret_cast<T*>(bytes_.data()); }
  // Returns true if the struct has every field.
  [[nodiscard]] bool whole() const { return size_ >= sizeof(T); }

 private:
  static constexpr std::byte kUntouched = std::byte{0xa5};
  static constexpr std::uint8_t kLarger = 10;
  static constexpr std::uint8_t kLargerAndSet = 11;  // a field that only a newer program knows
  std::vector<std::byte> bytes_;
  std::uint32_t size_ = 0;
};

// The target of the `user` pointer of callbacks: their answers, and the memory that they gave out and got back.
struct Callee {
  explicit Callee(std::uint8_t chosen) : answer(chosen) {}

  static void release(void* user) {
    if (user != nullptr) ++static_cast<Callee*>(user)->releases;  // null if the struct was too short for `user`
  }
  // Returns a code that a callback may return, with a message that does not fit one line as it is.
  [[nodiscard]] std::int32_t say(fatctx_error* error) const;
  void gave(const void* bytes);
  void got_back(const void* bytes);
  // Requires that all its memory has come back, and that the library released it if it took it.
  void require_gone();
  [[nodiscard]] bool gone();

  const std::uint8_t answer;
  bool owed = false;
  std::atomic<int> releases = 0;

 private:
  std::mutex mutex_;
  std::multiset<const void*> out_;
};

class Program {
 public:
  explicit Program(Input input) : input_(input) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void run();

 private:
  enum Kind : std::size_t {
    kDevice,
    kContainer,
    kModel,
    kSession,
    kTable,
    kView,
    kPacker,
    kProvider,
    kAllocator,
    kAccess,
    kPrefetch,
    kLock,
    kAppender,
    kReport,
    kLoaded,
    kLoadSignal,
    kLoadList,
    kFetchPlan,
    kKinds
  };
  struct Handle {
    std::uint64_t id = 0;
    bool open = false;
  };
  // The acquired ranges of a range access. A range whose id the caller had no room for is only counted.
  struct Ranges {
    std::vector<std::uint64_t> ids;
    std::uint64_t count = 0;
  };
  // The target of the `user` pointer of a progress callback.
  struct Work {
    Program* program;
    bool stops;
    bool closes;  // closes a handle from within the call
  };
  static constexpr std::uint64_t kNotWritten = ~std::uint64_t{0};
  static constexpr unsigned kMostLongCalls = 6;

  // Takes a handle. Byte 0 to 199: handles of this kind, newest first, closed ones included; 200 to 219: zero; 220 to
  // 239: of another kind; from 240: invented.
  std::uint64_t handle(Kind kind);
  fatctx_view view_handle() { return {handle(kView), nullptr, 0}; }
  bool null() { return (nulls_ >> (null_bit_++ % 8) & 1) != 0; }
  template <typename T>
  T* out(T& value) {
    return null() ? nullptr : &value;
  }
  const char* text(const char* value) { return null() ? nullptr : value; }
  const char* word();
  const char* path();
  const char* out_path() { return text(files().out.c_str()); }

  // Checks the outcome of a call; every call that can fail passes through here.
  std::int32_t checked(std::int32_t code);
  // Returns true if the program may make another slow call. Many programs are better than long ones.
  bool affordable() { return long_calls_++ < kMostLongCalls; }
  bool ok(std::int32_t code) { return checked(code) == FATCTX_OK; }
  template <typename T>
  void made(std::int32_t code, Kind kind, const T& value) {
    if (checked(code) != FATCTX_OK) {
      require(value.id == 0 || value.id == kNotWritten, "a call that fails makes no handle", error_.message);
      return;
    }
    require(value.id != 0 && value.id != kNotWritten, "a call that succeeds makes a handle");
    handles_[kind].push_back({value.id, true});
  }
  void made_view(std::int32_t code, const fatctx_view& view);
  static std::int32_t close_id(Kind kind, std::uint64_t id, fatctx_error* error);
  void closed(Kind kind, std::uint64_t id, bool gone);
  void close(Kind kind);
  void close_one(std::uint8_t which) { close(static_cast<Kind>(which % kKinds)); }
  void close_everything();
  void stop_recorders();
  static bool guard_is_installed();
  void leave_nothing();

  void borrowed(const fatctx_text& text) {
    for (std::uint64_t i = 0; i < text.size; ++i) sum_ = static_cast<unsigned char>(sum_ + text.data[i]);
  }
  template <typename Number>
  void borrowed(const Number* numbers, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) sum_ = static_cast<unsigned char>(sum_ + numbers[i]);
  }
  // Calls `write`, a function that writes a text, with a buffer of any size that the address sanitizer watches.
  template <typename Write>
  void texted(const Write& write) {
    const std::size_t capacity = std::size_t{input_.byte()} * 16;
    std::vector<char> buffer(capacity, '#');
    std::size_t size = 0;
    const bool asks = null();
    std::size_t* const asked = out(size);
    if (!ok(write(asks ? nullptr : buffer.data(), capacity, asked)) || asks || capacity == 0) return;
    const auto end = std::find(buffer.begin(), buffer.end(), '\0');
    require(end != buffer.end(), "a text ends within its buffer");
    if (asked == nullptr) return;
    const auto written = static_cast<std::size_t>(end - buffer.begin());
    require(size < capacity ? written == size : written < capacity && written + 4 >= capacity,
            "a text is whole, or cut at its last character");
  }

  const fatctx_open_options* open_options();
  fatctx_open_options more_open_options(fatctx_open_options options);
  const fatctx_model_options* model_options();
  // Lifetime: until the program ends, because the library may hold it that long.
  Callee& callee(std::uint8_t answer) { return callees_.emplace_back(answer); }
  fatctx_release release_of(Callee& callee) {
    callee.owed = !null();
    return callee.owed ? &Callee::release : nullptr;
  }
  static void taken(Callee& callee, std::int32_t code) { callee.owed = callee.owed && code == FATCTX_OK; }
  Work* work(std::uint8_t choice);

  static std::int32_t progress(void* user, std::uint64_t done, std::uint64_t total);
  static std::int32_t sink(void* user, const void* bytes, std::uint64_t size);
  static void finding(void* user, const fatctx_error* found);
  static std::uint32_t consumer(void* user, char* reason, std::size_t capacity);
  static std::uint32_t prepare(void* user, const fatctx_prepare_request* request, const void** binary,
                               std::uint64_t* binary_size, char* reason, std::size_t capacity);
  static void trace_line(void* user, const char* line, std::uint64_t size);
  static void difference(void* user, const fatctx_replay_difference* found);
  static void profile_event(void* user, const fatctx_profile_event* event);

  void call();
  void make_containers(std::uint8_t which);
  void open_other_containers(std::uint8_t which);
  void use_containers(std::uint8_t which);
  void look_at_records(fatctx_container container, std::uint8_t which);
  void read_records(fatctx_container container, std::uint8_t which);
  void read_into_memory(fatctx_container container, std::uint8_t choice);
  void use_sharing(std::uint8_t which);
  void compare(std::uint8_t at);
  void use_models(std::uint8_t which);
  void use_sessions(fatctx_session of, std::uint8_t which);
  void use_session_records(fatctx_session of);
  void use_views(std::uint8_t which);
  void use_packers(std::uint8_t which);
  fatctx_pack_record record_of_words();
  void add_record();
  void use_appenders(std::uint8_t which);
  void open_appender();
  void use_fetch_plans(std::uint8_t which);
  void begin_fetch();
  void use_rewrites(std::uint8_t which);
  fatctx_rewrite_options rewrite_options();
  void rewrite_containers(std::uint8_t which);
  void ids_came(std::int32_t code, const std::vector<std::uint32_t>& ids, std::uint64_t count);
  void use_words(std::uint8_t which);
  void use_devices(std::uint8_t which);
  void use_soc_tables();
  void name_everything();
  void text_of_error();
  void use_memory(std::uint8_t which);
  void use_prefetches(std::uint8_t which);
  fatctx_prefetch_options prefetch_options(Work* work);
  void use_seams(std::uint8_t which);
  void use_ranges(std::uint8_t which);
  void use_metrics(std::uint8_t which);
  void read_report();
  void use_recorders(std::uint8_t which);
  void replay_trace();
  void use_view_caches(std::uint8_t which);
  void use_dlcs(std::uint8_t which);
  void import_dlc();
  void use_stored_dlcs(std::uint8_t which);
  Sized<fatctx_dlc_choice>& dlc_choice();
  void use_loads(std::uint8_t which);
  void use_load_signals(std::uint8_t which);
  void use_load_lists(std::uint8_t which);
  void load();
  void start_list();
  fatctx_source load_source();
  fatctx_load_options load_options(bool in_list);

  // The memory that the pointers of an added record point to.
  struct RecordParts {
    fatctx_pack_tensor tensors[2] = {};
    fatctx_pack_range ranges[2] = {};
    fatctx_graph graphs[1] = {};
  };
  struct Options {
    std::optional<Sized<fatctx_open_options>> open;
    fatctx_model_options model = {};
    std::uint32_t boundaries[3] = {73, 81, 90};
    std::optional<Sized<fatctx_dlc_choice>> choice;
  };

  Input input_;
  std::array<std::vector<Handle>, kKinds> handles_;
  std::map<std::uint64_t, Ranges> ranges_;  // of the range accesses
  std::deque<Callee> callees_;
  std::deque<Work> works_;
  std::deque<fatctx_prefetch_options> prefetches_;  // of background prefetches, which borrow them
  fatctx_error error_ = {};
  Options options_;
  RecordParts parts_;
  std::uint8_t nulls_ = 0;
  unsigned null_bit_ = 0;
  unsigned long_calls_ = 0;
  std::mutex trace_mutex_;
  std::string trace_;
  volatile unsigned char sum_ = 0;
};

}  // namespace fatctx::fuzz
