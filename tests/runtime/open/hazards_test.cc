// Events that may happen to a file while it is mapped, for every way to its bytes, under eight readers.
//
// Each path holds its view and requests it again and again; the event occurs in between. One table has the results that
// readers may see before, during and after the event: row by row the promises of docs/loading_failures.md ("Bad days").
// The guard is installed; the last tests run without it. Amounts: FATCTX_HAZARD_ROUNDS (replacements),
// FATCTX_RACE_OPENS (opens and verifies that race truncation). Shows S3.64.
#include "fatctx/mapping_guard.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "fatctx/appender.h"
#include "fatctx/extract.h"
#include "fatctx/info.h"
#include "fatctx/model.h"
#include "fatctx/range_access.h"
#include "mapping/unique_fd.h"
#include "runtime/open/container_impl.h"
#include "runtime/view/composed_view.h"
#include "support/amount.h"
#include "support/appended.h"
#include "support/chip_corpus.h"
#include "support/look.h"
#include "support/result_matchers.h"
#include "support/sanitized.h"
#include "support/sliced_container.h"

namespace fatctx {
namespace hazards_test {

using support::amount;
using support::Bytes;
using support::is_ok;
using support::look;
using Seen = std::set<std::string>;

constexpr int kReaders = 8;

template <typename T>
std::string word(const Result<T>& result) {
  return result.ok() ? "right" : std::string(error_code_name(result.error().code));
}

// A file that the paths lead to. Its payload has no zeros, so that "zeros" can be recognized.
struct Made {
  Bytes file;
  Bytes record;               // bytes of the record
  std::uint64_t payload = 0;  // offset of one of the record's bytes in the file
};

constexpr const char* kRecord = "weights";

Bytes without_zeros(Bytes bytes) {
  for (std::byte& byte : bytes) byte |= std::byte{1};
  return bytes;
}

std::uint64_t middle_of(const Bytes& file, std::string_view name) {
  const Container container = Container::open(Source::of_memory(file)).value();
  const RecordInfo record = container.find(name).value();
  return record.file_offset + record.stored_bytes / 2;
}

const Made& plain_file() {
  static const Made made = [] {
    Made one;
    one.record = without_zeros(support::pattern(130'000, 71));
    PackRecord weights = support::plain_record(RecordType::kWeightBlob, kRecord, one.record);
    weights.tensors = {{.name = "t", .dtype = DType::kI8, .shape = {120'000}, .size_bytes = 120'000}};
    PackRecord binary = support::binary_record("binary", "x86-64-v2", support::pattern(9'000, 72));
    binary.weights = {kRecord};
    std::vector<PackRecord> records;
    records.push_back(std::move(weights));
    records.push_back(std::move(binary));
    one.file = support::packed_bytes(std::move(records));
    one.payload = middle_of(one.file, kRecord);
    return one;
  }();
  return made;
}

const Made& cold_file() {
  static const Made made = [] {
    Made one;
    for (std::size_t at = 0; at < 400'000; ++at) one.record.push_back(static_cast<std::byte>(1 + at / 7 % 250));
    PackRecord record = support::plain_record(RecordType::kSourceModel, kRecord, one.record);
    record.codec = Codec::kLz4;
    std::vector<PackRecord> records;
    records.push_back(std::move(record));
    one.file = support::packed_bytes(std::move(records));
    one.payload = middle_of(one.file, kRecord);
    return one;
  }();
  return made;
}

const Made& sliced_file() {
  static const Made made = [] {
    constexpr std::uint64_t kGranule = support::kGranule;
    support::SlicedContainer container({without_zeros(support::pattern(64 * kGranule, 73))});
    support::SlicedRecord record{support::plain_record(RecordType::kOpaque, kRecord, {}), {}};
    for (std::uint64_t i = 64; i-- > 0;) record.slices.push_back({{i * kGranule, kGranule}, 0});
    container.add(std::move(record));
    Made one;
    one.file = container.bytes();
    one.record = container.expected(kRecord);
    one.payload = middle_of(one.file, "store 0");
    return one;
  }();
  return made;
}

// Returns the second of two chips that share their bytes at any offset: partly mapped, partly composed.
const Made& chips_file() {
  static const Made made = [] {
    const support::ChipCorpus corpus = support::make_chip_corpus(77, {.tensors = 6});
    Made one;
    // The packer chooses which of the two is stored whole; this needs the other one.
    for (const bool swapped : {false, true}) {
      one.record = without_zeros(corpus.chips[swapped ? 0 : 2]);
      PackOptions options;
      options.sharing = Sharing::kBytes;
      std::vector<PackRecord> records;
      records.push_back(support::binary_record("base", "x86-64-v2", without_zeros(corpus.chips[swapped ? 2 : 0])));
      records.push_back(support::binary_record(kRecord, "x86-64-v3", one.record));
      one.file = support::packed_bytes(std::move(records), std::move(options));
      if (Container::open(Source::of_memory(one.file)).value().find(kRecord).value().recipe) break;
    }
    const support::TempDir folder;
    support::write_file(folder.file("chips"), one.file);
    const Container container = Container::open(folder.file("chips"), {.max_copied_bytes = UINT64_MAX}).value();
    const RecordView view = container.acquire(kRecord).value();
    const auto live = live_composed(*mapped_of(container), view.record_id());
    const auto mapped = std::ranges::find_if(live->pieces(), [](const auto& piece) { return !piece.built; });
    one.payload = mapped->offset + mapped->size / 2;
    return one;
  }();
  return made;
}

// A way to the bytes: the object that a reader holds, and the use that it repeats.
struct Path {
  const char* name;
  const Made& (*made)();
  OpenOptions open = {};
  bool cached = false;  // with a cache folder
  // Makes the object that all readers share, before the event.
  std::function<std::shared_ptr<void>(const Container&)> hold = {};
  std::function<Seen(const Container&, void* held, const std::string& file)> use;
  // Results that are possible once bytes are gone: of the held view, and of a new request.
  bool view_is_mapped = true;  // holds a view of pages of the file
  bool asks_the_file = true;   // the use reads or checks the file
};

void PrintTo(const Path& path, std::ostream* out) { *out << path.name; }

std::shared_ptr<void> hold_view(const Container& container) {
  auto view = container.acquire(kRecord);
  EXPECT_TRUE(is_ok(view));
  return view.ok() ? std::make_shared<RecordView>(std::move(view).value()) : nullptr;
}

// Reads the held view, and requests it again.
template <const Made& (*kMade)()>
Seen use_view(const Container& container, void* held, const std::string&) {
  Seen seen = {"view " + look(static_cast<RecordView*>(held)->bytes(), kMade().record)};
  seen.insert(word(container.acquire(kRecord)));
  return seen;
}

// Makes a new copy each time: nothing holds one.
Seen use_fresh_copy(const Container& container, void*, const std::string&) {
  const auto view = container.acquire(kRecord);
  return {view.ok() ? "view " + look(view.value().bytes(), plain_file().record) : word(view)};
}

std::uint32_t id_of(const Container& container) { return container.find(kRecord).value().id; }

template <const Made& (*kMade)()>
Seen use_stream(const Container& container, void*, const std::string&) {
  Bytes bytes;
  const auto streamed = stream_record(container, id_of(container), [&](ByteView part) -> Status {
    bytes.insert(bytes.end(), part.begin(), part.end());
    return Done{};
  });
  return {streamed.ok() ? "view " + look(bytes, kMade().record) : word(streamed)};
}

std::vector<Path> paths() {
  std::vector<Path> all;
  all.push_back({.name = "Direct", .made = plain_file, .hold = hold_view, .use = use_view<plain_file>});
  all.push_back({.name = "BesideLoad",
                 .made = plain_file,
                 .open = {.verify = VerifyPolicy::kBesideLoad},
                 .hold = hold_view,
                 .use = [](const Container& container, void* held, const std::string&) -> Seen {
                   Seen seen = {"view " + look(static_cast<RecordView*>(held)->bytes(), plain_file().record)};
                   const auto view = container.acquire(kRecord);
                   if (!view.ok()) return seen.insert(word(view)), seen;
                   const std::uint32_t id = view.value().record_id();
                   return seen.insert(word(container.await_checks({&id, 1}))), seen;
                 }});
  all.push_back({.name = "ReadInto",
                 .made = plain_file,
                 .use = [](const Container& container, void*, const std::string&) -> Seen {
                   Bytes bytes(plain_file().record.size());
                   const auto read = read_record(container, id_of(container), bytes);
                   return {read.ok() ? "view " + look(bytes, plain_file().record) : word(read)};
                 },
                 .view_is_mapped = false});
  all.push_back({.name = "Stitched", .made = sliced_file, .hold = hold_view, .use = use_view<sliced_file>});
  all.push_back({.name = "ComposedInMemory",
                 .made = chips_file,
                 .open = {.max_copied_bytes = std::uint64_t{1} << 40},
                 .hold = hold_view,
                 .use = use_view<chips_file>});
  all.push_back({.name = "ComposedInACacheFolder",
                 .made = chips_file,
                 .cached = true,
                 .hold = hold_view,
                 .use = use_view<chips_file>});
  const OpenOptions copied = {.file_mapping = FileMapping::kDisabled};
  const OpenOptions sealed = {.verify = VerifyPolicy::kPrivateCopy};
  all.push_back({.name = "Copied",
                 .made = plain_file,
                 .open = copied,
                 .hold = hold_view,
                 .use = use_view<plain_file>,
                 .view_is_mapped = false,
                 .asks_the_file = false});
  all.push_back(
      {.name = "CopiedAnew", .made = plain_file, .open = copied, .use = use_fresh_copy, .view_is_mapped = false});
  all.push_back({.name = "PrivateCopy",
                 .made = plain_file,
                 .open = sealed,
                 .hold = hold_view,
                 .use = use_view<plain_file>,
                 .view_is_mapped = false,
                 .asks_the_file = false});
  all.push_back(
      {.name = "PrivateCopyAnew", .made = plain_file, .open = sealed, .use = use_fresh_copy, .view_is_mapped = false});
  all.push_back({.name = "Stream", .made = plain_file, .use = use_stream<plain_file>, .view_is_mapped = false});
  all.push_back({.name = "ColdStream", .made = cold_file, .use = use_stream<cold_file>, .view_is_mapped = false});
  all.push_back({.name = "TensorView",
                 .made = plain_file,
                 .hold = [](const Container& container) -> std::shared_ptr<void> {
                   return std::make_shared<WeightView>(container.tensors(id_of(container)).value().view("t").value());
                 },
                 .use = [](const Container& container, void* held, const std::string&) -> Seen {
                   const ByteView right = ByteView(plain_file().record).first(120'000);
                   return {"view " + look(static_cast<WeightView*>(held)->bytes(), right),
                           word(container.tensors(id_of(container)))};
                 }});
  all.push_back({.name = "RangeAccess",
                 .made = plain_file,
                 .hold = [](const Container& container) -> std::shared_ptr<void> {
                   return std::make_shared<RangeAccess>(container.acquire(kRecord).value());
                 },
                 .use = [](const Container& container, void* held, const std::string&) -> Seen {
                   const auto* access = static_cast<RangeAccess*>(held);
                   const auto range = access->provide(1'000, 100'000);
                   if (!range.ok()) return {"range " + word(range)};
                   const ByteView right = ByteView(plain_file().record).subspan(1'000, 100'000);
                   Seen seen = {"view " + look(ByteView(range.value().data, range.value().size_bytes), right)};
                   if (!access->release(range.value().id).ok()) seen.insert("range not released");
                   seen.insert(word(container.check()));
                   return seen;
                 }});
  all.push_back({.name = "Prefetch",
                 .made = plain_file,
                 .use = [](const Container& container, void*, const std::string&) -> Seen {
                   return {word(container.prefetch(id_of(container)))};
                 },
                 .view_is_mapped = false});
  all.push_back({.name = "Verify",
                 .made = plain_file,
                 .use = [](const Container& container, void*, const std::string&) -> Seen {
                   const auto report = container.verify_record(id_of(container));
                   if (!report.ok()) return {word(report)};
                   if (report.value().findings.empty()) return {"right"};
                   return {std::string(error_code_name(report.value().findings.front().error.code))};
                 },
                 .view_is_mapped = false});
  all.push_back({.name = "Info",
                 .made = plain_file,
                 .use = [](const Container& container, void*, const std::string&) -> Seen {
                   const auto description = container.describe();
                   if (!description.ok()) return {word(description)};
                   return {word(info_json(container, description.value(), {.sharing = true}))};
                 },
                 .view_is_mapped = false});
  all.push_back({.name = "Extract",
                 .made = plain_file,
                 .use = [](const Container& container, void*, const std::string& file) -> Seen {
                   static std::atomic<int> number{0};
                   const std::string out = file + ".out" + std::to_string(++number);
                   const auto done = extract_record(container, id_of(container), out, true);
                   if (!done.ok()) return {std::filesystem::exists(out) ? "half a file" : word(done)};
                   const Bytes bytes = support::read_file(out);
                   std::filesystem::remove(out);
                   return {"view " + look(bytes, plain_file().record)};
                 },
                 .view_is_mapped = false});
  return all;
}

enum class Event { kTruncate, kTruncateAndRegrow, kRewritePayload, kRewriteAll, kRename, kUnlink, kAppend };

struct EventRow {
  Event event;
  const char* name;
  bool harmless;  // readers notice nothing
  Seen view;      // possible content of a held view's pages afterwards
  Seen asked;     // possible results of a new request
  Seen end;       // final result of check() for the holder of a mapping
};

const std::vector<EventRow>& events() {
  static const Seen gone = {"changed", "truncated", "mapping_lost"};
  static const std::vector<EventRow> rows = {
      {Event::kTruncate, "truncated", false, {"zeros"}, gone, {"changed", "mapping_lost"}},
      {Event::kTruncateAndRegrow,
       "truncated and regrown",
       false,
       {"zeros"},
       {"changed", "checksum_mismatch", "not_present", "mapping_lost"},
       {"right", "changed", "mapping_lost"}},
      {Event::kRewritePayload, "rewritten in place", false, {"other"}, {"checksum_mismatch"}, {"right"}},
      {Event::kRewriteAll,
       "another container written in place",
       false,
       {"other", "zeros"},
       {"changed", "checksum_mismatch", "not_present"},
       {"changed"}},
      {Event::kRename, "replaced by rename", true, {}, {}, {"right"}},
      {Event::kUnlink, "unlinked", true, {}, {}, {"right"}},
      {Event::kAppend, "appended to", true, {}, {}, {"right"}},
  };
  return rows;
}

void write_at(const std::string& path, std::uint64_t offset, ByteView bytes) {
  const mapping::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)),
            static_cast<ssize_t>(bytes.size()));
}

void wait_for_another_time() { std::this_thread::sleep_for(std::chrono::milliseconds(15)); }

// Returns another container of the same size, with payload of its own.
Bytes another_file(const Made& made) {
  std::vector<PackRecord> records;
  records.push_back(support::plain_record(RecordType::kOpaque, "other", support::pattern(made.record.size(), 99)));
  Bytes bytes = support::packed_bytes(std::move(records));
  bytes.resize(made.file.size(), std::byte{0x5a});
  return bytes;
}

void make_happen(Event event, const std::string& path, const Made& made) {
  const auto size = static_cast<off_t>(made.file.size());
  switch (event) {
    case Event::kTruncate:
      // Between the header and the record's bytes.
      ASSERT_EQ(::truncate(path.c_str(), 0x10000 + 100), 0);
      return;
    case Event::kTruncateAndRegrow:
      ASSERT_EQ(::truncate(path.c_str(), 0x10000 + 100), 0);
      ASSERT_EQ(::truncate(path.c_str(), size), 0);
      return;
    case Event::kRewritePayload: {
      const std::byte wrong = made.file[static_cast<std::size_t>(made.payload)] ^ std::byte{0x40};
      write_at(path, made.payload, ByteView(&wrong, 1));
      // A check during the first write may have seen the new times together with the old bytes.
      wait_for_another_time();
      write_at(path, made.payload, ByteView(&wrong, 1));
      return;
    }
    case Event::kRewriteAll:
      write_at(path, 0, another_file(made));
      wait_for_another_time();
      write_at(path, 0, another_file(made));
      return;
    case Event::kRename: {
      support::write_file(path + ".new", another_file(made));
      ASSERT_EQ(::rename((path + ".new").c_str(), path.c_str()), 0);
      return;
    }
    case Event::kUnlink:
      ASSERT_EQ(::unlink(path.c_str()), 0);
      return;
    case Event::kAppend: {
      auto appender = Appender::open(path);
      ASSERT_TRUE(is_ok(appender));
      ASSERT_TRUE(
          is_ok(appender.value().add(support::plain_record(RecordType::kOpaque, "more", support::pattern(70'000, 5)))));
      ASSERT_TRUE(is_ok(appender.value().commit()));
      return;
    }
  }
}

// Returns the items of `seen` that are not allowed.
Seen beside(const Seen& seen, const Seen& allowed) {
  Seen rest;
  std::ranges::set_difference(seen, allowed, std::inserter(rest, rest.end()));
  return rest;
}

class Hazard : public ::testing::TestWithParam<Path> {
 protected:
  void SetUp() override { ASSERT_TRUE(is_ok(install_mapping_guard())); }

  // The results of eight readers: of uses that ended before the event, during it, and of uses that began after it.
  struct Observed {
    Seen before;
    Seen during;
    Seen after;
    Seen last;  // of one more use, when no reader holds anything any more
    Seen end;
  };
  [[nodiscard]] Observed observe(const Path& path, const EventRow& row) const {
    const support::TempDir folder;
    const std::string file = folder.file("m.fatctx");
    const Made& made = path.made();
    support::write_file(file, made.file);
    OpenOptions options = path.open;
    if (path.cached) {
      options.cache_folder = folder.file("cache");
      EXPECT_EQ(::mkdir(options.cache_folder.c_str(), 0700), 0);
    }
    const auto opened = Container::open(file, options);
    EXPECT_TRUE(is_ok(opened));
    if (!opened.ok()) return {};
    const Container& container = opened.value();
    const std::shared_ptr<void> held = path.hold ? path.hold(container) : nullptr;

    Observed observed;
    std::mutex mutex;
    std::atomic<int> phase{0};  // 0: before; 1: during the event; 2: after
    std::array<std::array<std::atomic<int>, kReaders>, 3> uses{};
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    for (std::size_t reader = 0; reader < kReaders; ++reader) {
      readers.emplace_back([&, reader] {
        while (!stop) {
          const int began = phase;
          const Seen seen = path.use(container, held.get(), file);
          const int ended = phase;
          const std::lock_guard lock(mutex);
          Seen& into = began == 2 ? observed.after : ended == 0 ? observed.before : observed.during;
          into.insert(seen.begin(), seen.end());
          ++uses[static_cast<std::size_t>(began == ended ? began : 1)][reader];
        }
      });
    }
    const auto every_reader_has = [&](std::size_t in_phase, int count) {
      for (const auto& of_reader : uses[in_phase]) {
        while (of_reader < count) std::this_thread::yield();
      }
    };
    every_reader_has(0, 2);
    wait_for_another_time();
    phase = 1;
    make_happen(row.event, file, made);
    phase = 2;
    every_reader_has(2, 3);
    stop = true;
    for (std::thread& reader : readers) reader.join();
    observed.last = path.use(container, held.get(), file);
    observed.end = {word(container.check())};
    return observed;
  }
};

INSTANTIATE_TEST_SUITE_P(Paths, Hazard, ::testing::ValuesIn(paths()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_P(Hazard, EightReadersSeeWhatIsPromised) {
  const Path& path = GetParam();
  const bool info = std::string_view(path.name) == "Info";
  const bool prefetch = std::string_view(path.name) == "Prefetch";
  const bool copies =
      path.open.file_mapping == FileMapping::kDisabled || path.open.verify == VerifyPolicy::kPrivateCopy;
  for (const EventRow& row : events()) {
    SCOPED_TRACE(row.name);
    const Observed observed = observe(path, row);
    const Seen right = {"right", "view right"};
    EXPECT_EQ(beside(observed.before, right), Seen{});

    Seen allowed = right;
    if (!row.harmless) {
      if (path.view_is_mapped) {
        for (const std::string& view : row.view) allowed.insert("view " + view);
      }
      if (path.asks_the_file) allowed.insert(row.asked.begin(), row.asked.end());
    }
    Seen meanwhile = allowed;  // also temporary results
    if (row.event == Event::kTruncateAndRegrow && path.asks_the_file) meanwhile.insert("truncated");
    EXPECT_EQ(beside(observed.during, meanwhile), Seen{});
    // After the event, every request that reads the file reports it. Requests that do not read the payload do not.
    const bool unheard =
        row.harmless || !path.asks_the_file || prefetch || info || std::string_view(path.name) == "RangeAccess";
    if (!unheard) allowed.erase("right");
    if (!row.harmless && path.view_is_mapped) allowed.erase("view right");
    // Other readers get the copy that some reader still holds.
    if (!unheard && !path.view_is_mapped && !copies) allowed.erase("view right");
    EXPECT_EQ(beside(observed.after, allowed), Seen{});
    if (!unheard && !path.view_is_mapped) allowed.erase("view right");
    EXPECT_EQ(beside(observed.last, allowed), Seen{});
    EXPECT_FALSE(observed.after.empty());

    if (path.view_is_mapped && observed.after.contains("view zeros") && row.event == Event::kTruncate) {
      EXPECT_EQ(observed.end, Seen{"mapping_lost"}) << "who read zeros is told";
    }
    EXPECT_EQ(beside(observed.end, copies ? Seen{"right"} : row.end), Seen{});
  }
}

// Without the guard, the system ends a process that touches lost pages; a request gets an error.
TEST_P(Hazard, WithoutTheGuardOnlyTouchingEndsTheProcess) {
  if (support::kSanitized) GTEST_SKIP() << "the sanitizer handles the signal";
  const Path& path = GetParam();
  const support::TempDir folder;
  const std::string file = folder.file("m.fatctx");
  const Made& made = path.made();
  support::write_file(file, made.file);
  OpenOptions options = path.open;
  if (path.cached) {
    options.cache_folder = folder.file("cache");
    ASSERT_EQ(::mkdir(options.cache_folder.c_str(), 0700), 0);
  }
  const auto run = [&](bool touch) {
    support::write_file(file, made.file);
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      (void)std::signal(SIGBUS, SIG_DFL);
      const auto container = Container::open(file, options);
      if (!container.ok()) ::_exit(1);
      const std::shared_ptr<void> held = path.hold ? path.hold(container.value()) : nullptr;
      if (::truncate(file.c_str(), 0x10000 + 100) != 0) ::_exit(2);
      const auto asked = container.value().acquire(kRecord);
      if (!touch) ::_exit(asked.ok() == path.asks_the_file ? 3 : 0);
      (void)path.use(container.value(), held.get(), file);
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  };
  const int asked = run(false);
  EXPECT_TRUE(WIFEXITED(asked) && WEXITSTATUS(asked) == 0) << asked;
  const int touched = run(true);
  if (path.view_is_mapped) {
    EXPECT_TRUE(WIFSIGNALED(touched) && WTERMSIG(touched) == SIGBUS) << touched;
  } else {
    EXPECT_TRUE(WIFEXITED(touched) && WEXITSTATUS(touched) == 0) << touched;
  }
}

Made short_file() {
  Made one;
  one.record = without_zeros(support::pattern(61'000, 74));
  std::vector<PackRecord> records;
  records.push_back(support::plain_record(RecordType::kOpaque, kRecord, one.record));
  one.file = support::packed_bytes(std::move(records));
  return one;
}

// Cuts a file at every page border, and a byte before and behind each.
TEST(HazardOfACut, EveryBorderOfAPageIsToldAndReadAsZeros) {
  ASSERT_TRUE(is_ok(install_mapping_guard()));
  const Made made = short_file();
  const std::uint64_t size = made.file.size();
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  ASSERT_GE(size / page, 48U);
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  const Seen told = {"changed", "truncated", "mapping_lost", "bad_magic"};
  for (std::uint64_t border = 0; border <= size; border += page) {
    for (const std::uint64_t cut : {border - 1, border, border + 1}) {
      if (cut > size) continue;  // also true for the size below zero
      SCOPED_TRACE("cut to " + std::to_string(cut));
      support::write_file(path, made.file);
      const auto opened = Container::open(path, {.verify = VerifyPolicy::kNone});
      ASSERT_TRUE(is_ok(opened));
      const Container& container = opened.value();
      const RecordInfo record = container.find(kRecord).value();
      const RecordView view = container.acquire(record.id).value();
      ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(cut)), 0);
      const std::uint64_t before = lost_mappings();

      const Seen whole = {"right"};
      const Seen& promised = cut == size ? whole : told;
      EXPECT_TRUE(promised.contains(word(container.acquire(record.id))));
      EXPECT_TRUE(promised.contains(word(container.check())));
      EXPECT_TRUE(promised.contains(word(container.lock(record.id))) || cut == size);
      EXPECT_TRUE(promised.contains(word(Container::open(path))));
      EXPECT_TRUE(
          promised.contains(word(stream_record(container, record.id, [](ByteView) -> Status { return Done{}; }))));
      const auto verified = container.verify();
      EXPECT_EQ(verified.ok() && verified.value().findings.empty(), cut == size);
      const auto by_path = verify_file(path);
      EXPECT_EQ(by_path.ok() && by_path.value().findings.empty(), cut == size);
      EXPECT_TRUE(is_ok(container.describe()) || cut < size);
      EXPECT_TRUE(promised.contains(word(container.prefetch(record.id))));
      EXPECT_EQ(lost_mappings(), before) << "nothing of the library touches a page";

      const ByteView shown = view.bytes();
      const std::uint64_t kept = cut <= record.file_offset ? 0 : std::min(cut - record.file_offset, record.size_bytes);
      EXPECT_EQ(look(shown.first(static_cast<std::size_t>(kept)),
                     ByteView(made.record).first(static_cast<std::size_t>(kept))),
                "right");
      for (std::size_t at = static_cast<std::size_t>(kept); at < shown.size(); ++at) {
        ASSERT_EQ(*reinterpret_cast<const volatile unsigned char*>(shown.data() + at), 0U) << at;
      }
      const std::uint64_t there = (cut + page - 1) / page * page;  // the rest of the last page reads as zeros by itself
      const bool lost = there < record.file_offset + record.size_bytes;
      EXPECT_EQ(lost_mappings() - before, lost ? 1U : 0U);
      EXPECT_EQ(word(container.check()), lost ? "mapping_lost" : cut == size ? "right" : "changed");
    }
  }
}

// Opens and verifies a file while another thread cuts it and restores it. Neither operation touches a page.
TEST(HazardOfACut, OpensAndVerifiesThatRaceItGetNoSignal) {
  const Made& made = plain_file();
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  support::write_file(path, made.file);
  const int rounds = amount("FATCTX_RACE_OPENS", 1000);
  const std::uint64_t lost = lost_mappings();

  std::atomic<bool> stop{false};
  std::atomic<int> left{rounds};
  std::atomic<int> whole{0};
  std::atomic<int> refused{0};
  std::thread writer([&] {
    for (std::uint64_t cut = 1, cuts = 0; !stop; cut = cut * 7 % made.file.size(), ++cuts) {
      ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(cut)), 0);
      std::this_thread::yield();
      write_at(path, 0, made.file);
      // The pause grows until a reader succeeds, so that a slow build sees whole files, too.
      const std::uint64_t longest = whole == 0 ? 800 + 100 * cuts : 800;
      std::this_thread::sleep_for(std::chrono::microseconds(cut % longest));
    }
  });
  // A busy machine may not run the writer for a while.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto go_on = [&] {
    return left-- > 0 || ((whole == 0 || refused == 0) && std::chrono::steady_clock::now() < patience);
  };
  std::mutex mutex;
  Seen seen;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&, reader] {
      while (go_on()) {
        Seen now;
        const auto opened = Container::open(path);
        now.insert("open " + word(opened));
        refused += opened.ok() ? 0 : 1;
        if (opened.ok()) {
          const auto id = opened.value().find(kRecord).value().id;
          now.insert(word(opened.value().acquire(id)));
          now.insert(word(opened.value().prefetch(id)));
          now.merge(use_stream<plain_file>(opened.value(), nullptr, path));
          const auto report = opened.value().verify();
          now.insert(word(report));
          if (report.ok() && report.value().findings.empty()) ++whole;
        }
        if (reader % 2 == 0) now.insert(word(verify_file(path)));
        std::this_thread::yield();
        const std::lock_guard lock(mutex);
        seen.merge(now);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  stop = true;
  writer.join();

  // A check looks at mapped bytes only under a lease or with the guard, which then counts the loss.
  EXPECT_TRUE(lost_mappings() == lost || seen.contains("mapping_lost") || seen.contains("changed"));
  EXPECT_GT(whole, 0);
  EXPECT_GT(refused, 0) << "the file was cut while somebody opened it";
  const Seen typed = {
      "right",      "view right",   "changed",        "truncated",      "checksum_mismatch",      "not_present",
      "open right", "open changed", "open truncated", "open malformed", "open checksum_mismatch", "open bad_magic",
      "malformed",  "mapping_lost"};
  EXPECT_EQ(beside(seen, typed), Seen{});
}

// A session that computed with changed bytes does not end successfully, even without a signal.
TEST(HazardOfASession, ItsEndTellsOfBytesThatChangedUnderIt) {
  struct Row {
    Event event;
    ErrorCode code;  // kInternal: none
  };
  const Row rows[] = {{Event::kTruncateAndRegrow, ErrorCode::kNotPresent},
                      {Event::kRewritePayload, ErrorCode::kChecksumMismatch},
                      {Event::kRewriteAll, ErrorCode::kChanged},
                      {Event::kTruncate, ErrorCode::kChanged},
                      {Event::kRename, ErrorCode::kInternal},
                      {Event::kUnlink, ErrorCode::kInternal},
                      {Event::kAppend, ErrorCode::kInternal}};
  for (const Row& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.event));
    const support::TempDir folder;
    const std::string path = folder.file("m.fatctx");
    support::write_file(path, plain_file().file);
    Device device;
    device.arch = "x86-64-v2";
    const Model model = Model::open(path, {.device = device}).value();
    Session session = model.begin_session().value();
    Session copy = session;
    wait_for_another_time();
    make_happen(row.event, path, plain_file());

    const auto ended = session.end();
    if (row.code == ErrorCode::kInternal) {
      EXPECT_TRUE(is_ok(ended));
      EXPECT_TRUE(is_ok(copy.end()));
    } else {
      EXPECT_TRUE(!ended.ok() && ended.error().code == row.code) << word(Result<Done>(ended));
      EXPECT_FALSE(copy.end().ok());
    }
    EXPECT_TRUE(session.weights().empty()) << "given back in any case";
  }
}

// A file is replaced by rename again and again: every open sees one of the two whole, and old views stay unchanged.
TEST(HazardOfAReplacement, EveryOpenSeesOneWholeFile) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  std::vector<Bytes> payload;
  std::vector<Bytes> files;
  for (const unsigned seed : {81U, 82U}) {
    payload.push_back(support::pattern(120'000, seed));
    std::vector<PackRecord> records;
    records.push_back(support::plain_record(RecordType::kOpaque, kRecord, payload.back()));
    files.push_back(support::packed_bytes(std::move(records)));
  }
  support::write_file(path, files[0]);
  const Container first = Container::open(path).value();
  const RecordView old = first.acquire(kRecord).value();

  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::array<std::atomic<int>, 2> saw{};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&] {
      while (!stop) {
        const auto container = Container::open(path);
        const auto view = container.ok() ? container.value().acquire(kRecord) : Result<RecordView>(container.error());
        if (!view.ok()) {
          ++wrong;
          continue;
        }
        const bool second = std::ranges::equal(view.value().bytes(), payload[1]);
        if (!second && !std::ranges::equal(view.value().bytes(), payload[0])) ++wrong;
        ++saw[second ? 1 : 0];
        wrong += container.value().check().ok() ? 0 : 1;
      }
    });
  }
  const int rounds = amount("FATCTX_HAZARD_ROUNDS", 300);
  for (int round = 0; round < rounds || saw[0] == 0 || saw[1] == 0; ++round) {
    support::write_file(path + ".new", files[static_cast<std::size_t>(round % 2)]);
    ASSERT_EQ(::rename((path + ".new").c_str(), path.c_str()), 0);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();

  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(std::ranges::equal(old.bytes(), payload[0])) << "whoever holds the first one still has it";
  EXPECT_TRUE(is_ok(first.check()));
}

}  // namespace hazards_test
}  // namespace fatctx
