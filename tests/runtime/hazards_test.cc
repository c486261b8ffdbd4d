// What may happen to a file while it is mapped, for every way to its bytes, under eight readers.
//
// Each path holds what it shows and asks for it again and again; the event comes in between. What readers may see before,
// while and after it is one table, row by row the promises of docs/loading.md ("Bad days"). The guard is installed; what
// happens without it stands at the end. Amounts: FATCTX_HAZARD_ROUNDS (replacements), FATCTX_RACE_OPENS (opens and
// verifies that race truncation). Shows S3.64.
#include "fatctx/mapping_guard.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
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
#include "fatctx/range_access.h"
#include "mapping/unique_fd.h"
#include "runtime/chip_model.h"
#include "support/appended.h"
#include "support/child_process.h"
#include "support/sanitized.h"
#include "support/sliced_container.h"

namespace fatctx {
namespace {

using support::Bytes;
using support::is_ok;
using Seen = std::set<std::string>;

constexpr int kReaders = 8;

int amount(const char* variable, int ordinary) {
  const char* asked = std::getenv(variable);
  return asked == nullptr ? ordinary : std::atoi(asked);
}

// "right"; "zeros" if other bytes than the right ones are all zeros; "other".
std::string look(ByteView bytes, ByteView right) {
  if (bytes.size() != right.size()) return "other";
  bool zeros = false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    // A reader does not ask before it reads.
    const auto byte = *reinterpret_cast<const volatile std::byte*>(bytes.data() + i);
    if (byte == right[i]) continue;
    if (byte != std::byte{0}) return "other";
    zeros = true;
  }
  return zeros ? "zeros" : "right";
}

template <typename T>
std::string word(const Result<T>& result) {
  return result.ok() ? "right" : std::string(error_code_name(result.error().code));
}

// What a file holds that the paths lead to. Payload has no zeros, so that "zeros" can be told.
struct Made {
  Bytes file;
  Bytes record;               // bytes of the record
  std::uint64_t payload = 0;  // a byte of the file that the record shows
};

constexpr const char* kRecord = "weights";

Bytes without_zeros(Bytes bytes) {
  for (std::byte& byte : bytes) byte |= std::byte{1};
  return bytes;
}

std::uint64_t middle_of(const Bytes& file, std::string_view name) {
  const Container container = Container::open_memory(file).value();
  const RecordInfo record = container.find(name).value();
  return record.file_offset + record.stored_bytes / 2;
}

const Made& plain_file() {
  static const Made made = [] {
    Made one;
    one.record = without_zeros(support::pattern(300'000, 71));
    PackRecord weights = support::plain_record(RecordType::kWeightBlob, kRecord, one.record);
    weights.tensors = {{.name = "t", .dtype = DType::kI8, .shape = {290'000}, .size_bytes = 290'000}};
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
    for (std::size_t at = 0; at < 3'000'000; ++at) one.record.push_back(static_cast<std::byte>(1 + at / 7 % 250));
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
    Made one{.file = container.bytes(), .record = container.expected(kRecord)};
    one.payload = middle_of(one.file, "store 0");
    return one;
  }();
  return made;
}

// The second of two chips that share their bytes at any offset: mapped in parts, built in parts.
const Made& chips_file() {
  static const Made made = [] {
    support::ChipCorpus corpus = support::make_chip_corpus(77, {.tensors = 12});
    PackOptions options;
    options.sharing = Sharing::kBytes;
    Made one{.record = without_zeros(corpus.chips[2])};
    std::vector<PackRecord> records;
    records.push_back(support::binary_record("base", "x86-64-v2", without_zeros(corpus.chips[0])));
    records.push_back(support::binary_record(kRecord, "x86-64-v3", one.record));
    one.file = support::packed_bytes(std::move(records), std::move(options));
    one.payload = middle_of(one.file, "base");
    return one;
  }();
  return made;
}

// One way to the bytes: what a reader holds, and what it does again and again.
struct Path {
  const char* name;
  const Made& (*made)();
  OpenOptions open = {};
  bool cached = false;  // with a cache folder
  // What every reader shares, made before the event.
  std::function<std::shared_ptr<void>(const Container&)> hold = {};
  std::function<Seen(const Container&, void* held, const std::string& file)> use;
  // What may be seen once bytes are gone: of the held view, and of who asks anew.
  bool view_is_mapped = true;   // holds a view of pages of the file
  bool asks_the_file = true;    // what it does reads or checks the file
};

std::shared_ptr<void> hold_view(const Container& container) {
  auto view = container.acquire(kRecord);
  EXPECT_TRUE(is_ok(view));
  return view.ok() ? std::make_shared<RecordView>(std::move(view).value()) : nullptr;
}

// Reads the held view, and asks for it again.
template <const Made& (*kMade)()>
Seen use_view(const Container& container, void* held, const std::string&) {
  Seen seen = {"view " + look(static_cast<RecordView*>(held)->bytes(), kMade().record)};
  seen.insert(word(container.acquire(kRecord)));
  return seen;
}

// Makes its copy anew each time: nobody holds one.
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
  all.push_back({.name = "Stitched", .made = sliced_file, .hold = hold_view, .use = use_view<sliced_file>});
  all.push_back({.name = "ComposedInMemory",
                 .made = chips_file,
                 .open = {.max_copied_bytes = std::uint64_t{1} << 40},
                 .hold = hold_view,
                 .use = use_view<chips_file>});
  all.push_back(
      {.name = "ComposedInACacheFolder", .made = chips_file, .cached = true, .hold = hold_view, .use = use_view<chips_file>});
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
                   return std::make_shared<WeightView>(
                       container.tensors(id_of(container)).value().view("t").value());
                 },
                 .use = [](const Container& container, void* held, const std::string&) -> Seen {
                   const ByteView right = ByteView(plain_file().record).first(290'000);
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
                   const auto range = access->provide(1'000, 250'000);
                   if (!range.ok()) return {"range " + word(range)};
                   const ByteView right = ByteView(plain_file().record).subspan(1'000, 250'000);
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
  bool harmless;     // readers notice nothing
  Seen view;         // what the pages of a held view may show afterwards
  Seen asked;        // what who asks anew may get
  Seen end;          // what check() says at the end to a holder of a mapping
};

const std::vector<EventRow>& events() {
  static const Seen gone = {"changed", "truncated", "mapping_lost"};
  static const std::vector<EventRow> rows = {
      {Event::kTruncate, "truncated", false, {"zeros"}, gone, {"changed", "mapping_lost"}},
      {Event::kTruncateAndRegrow,
       "truncated and regrown",
       false,
       {"zeros"},
       {"changed", "checksum_mismatch", "mapping_lost"},
       {"right", "changed", "mapping_lost"}},
      {Event::kRewritePayload, "rewritten in place", false, {"other"}, {"checksum_mismatch"}, {"right"}},
      {Event::kRewriteAll, "another container written in place", false, {"other"}, {"changed", "checksum_mismatch"}, {"changed"}},
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

// Another container with payload of its own and the same size.
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
      // Between the header and whatever the record shows.
      ASSERT_EQ(::truncate(path.c_str(), 0x10000 + 100), 0);
      return;
    case Event::kTruncateAndRegrow:
      ASSERT_EQ(::truncate(path.c_str(), 0x10000 + 100), 0);
      ASSERT_EQ(::truncate(path.c_str(), size), 0);
      return;
    case Event::kRewritePayload: {
      const std::byte wrong = made.file[static_cast<std::size_t>(made.payload)] ^ std::byte{0x40};
      write_at(path, made.payload, ByteView(&wrong, 1));
      // Who looked while the first write was going on has seen the times of after it and the bytes of before.
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
      ASSERT_TRUE(is_ok(appender.value().add(support::plain_record(RecordType::kOpaque, "more", support::pattern(70'000, 5)))));
      ASSERT_TRUE(is_ok(appender.value().commit()));
      return;
    }
  }
}

// Each item of `seen` but the allowed ones.
Seen beside(const Seen& seen, const Seen& allowed) {
  Seen rest;
  std::ranges::set_difference(seen, allowed, std::inserter(rest, rest.end()));
  return rest;
}

class Hazard : public ::testing::TestWithParam<Path> {
 protected:
  void SetUp() override { ASSERT_TRUE(is_ok(install_mapping_guard())); }

  // Eight readers, and the event in between. Gives what was seen in uses that ended before it, and that began after it.
  struct Observed {
    Seen before;
    Seen during;
    Seen after;
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
    std::atomic<int> phase{0};  // 0: before; 1: the event is going on; 2: after
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
    EXPECT_EQ(beside(observed.during, allowed), Seen{});
    // Once it has happened, who asks the file hears of it, every time. Nothing that is not asked of the payload does.
    const bool unheard = row.harmless || !path.asks_the_file || prefetch || info ||
                         std::string_view(path.name) == "RangeAccess";
    if (!unheard) allowed.erase("right");
    if (!unheard && !path.view_is_mapped) allowed.erase("view right");
    if (!row.harmless && path.view_is_mapped) allowed.erase("view right");
    EXPECT_EQ(beside(observed.after, allowed), Seen{});
    EXPECT_FALSE(observed.after.empty());

    if (path.view_is_mapped && observed.after.contains("view zeros") && row.event == Event::kTruncate) {
      EXPECT_EQ(observed.end, Seen{"mapping_lost"}) << "who read zeros is told";
    }
    const bool copies = path.open.file_mapping == FileMapping::kDisabled || path.open.verify == VerifyPolicy::kPrivateCopy;
    EXPECT_EQ(beside(observed.end, copies ? Seen{"right"} : row.end), Seen{});
  }
}

}  // namespace
}  // namespace fatctx
