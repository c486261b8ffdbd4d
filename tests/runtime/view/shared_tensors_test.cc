// Blobs with the same tensors at other offsets: each tensor is stored once, and a view of it points into the mapping
// with the alignment that the blob gives it. Shows S3.70.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "container/read/tensor_table.h"
#include "fatctx/container.h"
#include "fatctx/import_gguf.h"
#include "fatctx/import_safetensors.h"
#include "fatctx/packer.h"
#include "fatctx/profile.h"
#include "runtime/open/step_watch.h"
#include "support/gguf_file.h"
#include "support/hostile_file.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/tensor_corpus.h"

namespace fatctx {
namespace shared_tensors_test {

using support::blob_record;
using support::Bytes;
using support::bytes_of;
using support::corpus_tensors;
using support::CorpusTensor;
using support::fails_with;
using support::is_ok;
using support::shuffled;
using support::TempDir;

using Expected = std::map<std::string, Bytes>;  // tensors of a blob, by name

Expected expected_of(const std::vector<CorpusTensor>& tensors) {
  Expected expected;
  for (const CorpusTensor& tensor : tensors) expected.emplace(tensor.name, tensor.bytes);
  return expected;
}

std::vector<CorpusTensor> joined(std::vector<CorpusTensor> a, const std::vector<CorpusTensor>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Checks that every tensor is inside the mapped file: no budget was given, so no copy was made.
void expect_direct(const Container& container, const std::string& blob, const Expected& expected,
                   std::uint64_t alignment) {
  SCOPED_TRACE(blob);
  const auto table = container.tensors(container.find(blob).value().id);
  ASSERT_TRUE(is_ok(table));
  EXPECT_EQ(table.value().size(), expected.size());
  EXPECT_EQ(table.value().weights_id(), container.find(blob).value().id);
  for (const auto& [name, bytes] : expected) {
    const auto view = table.value().view(name);
    ASSERT_TRUE(is_ok(view)) << name;
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), view.value().bytes().begin(), view.value().bytes().end()))
        << name;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.value().bytes().data()) % alignment, 0U) << name;
  }
}

std::size_t recipes_in(const Container& container) {
  return static_cast<std::size_t>(std::count_if(support::records_in(container).begin(),
                                                support::records_in(container).end(),
                                                [](const RecordInfo& record) { return record.recipe; }));
}

struct Opened {
  PackReport report;
  Container container;
};

Opened packed(const TempDir& folder, std::vector<PackRecord> records, PackOptions options = {}) {
  options.overwrite = true;
  const std::string path = folder.file("out");
  auto report = support::pack(std::move(records), path, options);
  if (!report.ok()) throw std::runtime_error(to_text(report.error()));
  auto container = Container::open(path);
  if (!container.ok()) throw std::runtime_error(to_text(container.error()));
  return {std::move(report).value(), std::move(container).value()};
}

void expect_near_floor(const PackReport& report, std::uint64_t floor) {
  EXPECT_LE(report.stored_bytes * 100, floor * 103) << "floor " << floor;
}

TEST(SharedTensors, TwoSafetensorsFilesWithTheSameTensorsInAnotherOrder) {
  const TempDir folder;
  const auto common = corpus_tensors(1, 40);
  const std::vector<CorpusTensor> of[2] = {joined(common, corpus_tensors(2, 3)),
                                           shuffled(joined(common, corpus_tensors(3, 4)), 9)};
  std::vector<PackRecord> records;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string path = folder.file("m" + std::to_string(i) + ".safetensors");
    support::write_file(path, support::safetensors_bytes(of[i]));
    records.push_back(weights_from_safetensors(path, "blob" + std::to_string(i)).value());
  }

  const Opened opened = packed(folder, records);

  expect_near_floor(opened.report, bytes_of(common) + bytes_of(corpus_tensors(2, 3)) + bytes_of(corpus_tensors(3, 4)));
  EXPECT_EQ(recipes_in(opened.container), 1U);
  for (std::size_t i = 0; i < 2; ++i) {
    expect_direct(opened.container, "blob" + std::to_string(i), expected_of(of[i]), 4);
  }
  EXPECT_TRUE(opened.container.verify().value().findings.empty());
}

// Two variants of one model, as for 8 and 16 kHz: most tensors are equal, on pages of 4 KiB or not.
TEST(SharedTensors, TwoFilesOfExternalDataOfOneModel) {
  const TempDir folder;
  const auto common = corpus_tensors(4, 30);
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{4096}}) {
    SCOPED_TRACE(alignment);
    const auto first = joined(corpus_tensors(5, 2), common);
    const auto second = shuffled(joined(corpus_tensors(6, 2), common), 2);
    const std::vector<PackRecord> records = {blob_record("m16", first, alignment), blob_record("m8", second, 64, 320)};

    const Opened opened = packed(folder, records);

    // The padding between pages belongs to the blob that is stored whole.
    const std::uint64_t padding = alignment == 64 ? 0 : records[0].source.bytes.size() - bytes_of(first);
    expect_near_floor(opened.report,
                      bytes_of(common) + bytes_of(corpus_tensors(5, 2)) + bytes_of(corpus_tensors(6, 2)) + padding);
    expect_direct(opened.container, "m16", expected_of(first), 64);
    expect_direct(opened.container, "m8", expected_of(second), 64);
  }
}

TEST(SharedTensors, AGgufAndASafetensorsFileWithTheSameData) {
  const TempDir folder;
  const auto tensors = corpus_tensors(7, 40);
  support::GgufWriter writer;
  std::uint64_t at = 0;
  std::vector<std::uint64_t> offsets;
  for (const CorpusTensor& tensor : tensors) {
    offsets.push_back(at);
    writer.tensor(tensor.name, {tensor.bytes.size() / 4}, support::GgufWriter::kF32, at, tensor.bytes.size());
    at = (at + tensor.bytes.size() + 31) / 32 * 32;
  }
  Bytes gguf = writer.write();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::copy(tensors[i].bytes.begin(), tensors[i].bytes.end(),
              gguf.begin() + static_cast<std::ptrdiff_t>(writer.data_begin() + offsets[i]));
  }
  const auto order = shuffled(tensors, 4);
  support::write_file(folder.file("m.gguf"), gguf);
  support::write_file(folder.file("m.safetensors"), support::safetensors_bytes(order));

  for (const bool swapped : {false, true}) {
    std::vector<PackRecord> records = {
        weights_from_gguf(folder.file("m.gguf"), swapped ? "b" : "a").value(),
        weights_from_safetensors(folder.file("m.safetensors"), swapped ? "a" : "b").value()};
    const Opened opened = packed(folder, records);

    expect_near_floor(opened.report, bytes_of(tensors));
    expect_direct(opened.container, swapped ? "b" : "a", expected_of(tensors), 32);
    expect_direct(opened.container, swapped ? "a" : "b", expected_of(tensors), 4);
    EXPECT_FALSE(opened.container.find(swapped ? "b" : "a").value().recipe) << "the better aligned one stays whole";
  }
}

TEST(SharedTensors, ATensorThatTheOtherHasOnlyUnalignedIsStoredAgain) {
  const TempDir folder;
  auto tensors = corpus_tensors(8, 20);
  PackRecord whole = blob_record("a", tensors);
  // The second blob has the same tensors at multiples of 64 bytes; in the first, one of them is at a multiple of 4.
  PackRecord moved = blob_record("b", shuffled(tensors, 1));
  whole.source.bytes.insert(whole.source.bytes.begin() + static_cast<std::ptrdiff_t>(whole.tensors[19].offset_in_blob),
                            4, std::byte{1});
  whole.tensors[19].offset_in_blob += 4;

  const Opened opened = packed(folder, {whole, moved});

  expect_direct(opened.container, "a", expected_of(tensors), 4);
  expect_direct(opened.container, "b", expected_of(tensors), 64);
}

TEST(SharedTensors, TheOrderOfTheInputsAndTheirNamesChangeNothing) {
  const auto common = corpus_tensors(10, 25);
  std::vector<PackRecord> records;
  for (std::uint64_t i = 0; i < 4; ++i) {
    records.push_back(blob_record("blob" + std::to_string(i), shuffled(joined(common, corpus_tensors(20 + i, 2)), i),
                                  i == 3 ? 4 : 64, 32 * i));
  }
  for (const Sharing sharing : {Sharing::kPages, Sharing::kBytes}) {
    PackOptions options;
    options.sharing = sharing;
    const Bytes expected = support::packed_bytes(records, options);
    std::mt19937_64 random(1);
    for (int round = 0; round < 4; ++round) {
      std::shuffle(records.begin(), records.end(), random);
      options.threads = static_cast<std::uint32_t>(round == 3 ? 7 : round);
      EXPECT_TRUE(support::packed_bytes(records, options) == expected) << round;
    }
  }
}

TEST(SharedTensors, ABlobThatABinaryRefersToStaysInOneRangeUnlessBytesAreAskedFor) {
  const TempDir folder;
  const auto tensors = corpus_tensors(11, 30);
  PackRecord binary = support::binary_record("code", "x86-64-v2", support::pattern(5000, 3));
  binary.weights = {"a", "b"};
  const std::vector<PackRecord> records = {binary, blob_record("a", tensors), blob_record("b", shuffled(tensors, 1))};

  const Opened by_pages = packed(folder, records);
  EXPECT_EQ(recipes_in(by_pages.container), 0U);
  EXPECT_TRUE(is_ok(by_pages.container.acquire("b")));

  PackOptions options;
  options.sharing = Sharing::kBytes;
  const Opened by_bytes = packed(folder, records, options);
  expect_near_floor(by_bytes.report, bytes_of(tensors));
  expect_direct(by_bytes.container, "a", expected_of(tensors), 64);
  expect_direct(by_bytes.container, "b", expected_of(tensors), 64);
}

TEST(SharedTensors, BlobsOfOneArrangementShareWholePagesAndStayInOneRange) {
  const TempDir folder;
  auto tensors = corpus_tensors(12, 40);
  const PackRecord first = blob_record("a", tensors, 4096);
  for (std::size_t i = 0; i < tensors.size(); i += 4) {
    std::reverse(tensors[i].bytes.begin(), tensors[i].bytes.end());
  }
  const Opened opened = packed(folder, {first, blob_record("b", tensors, 4096)});
  EXPECT_EQ(recipes_in(opened.container), 0U);
  EXPECT_LT(opened.report.stored_bytes, first.source.bytes.size() * 8 / 5);
}

TEST(SharedTensors, TheWholeBlobIsComposedWithinTheBudget) {
  const TempDir folder;
  const auto tensors = corpus_tensors(13, 30);
  const std::vector<PackRecord> records = {blob_record("a", tensors), blob_record("b", shuffled(tensors, 1))};
  const Opened opened = packed(folder, records);
  const auto& all = support::records_in(opened.container);
  const auto recipe = std::find_if(all.begin(), all.end(), [](const RecordInfo& record) { return record.recipe; });
  ASSERT_NE(recipe, all.end());
  EXPECT_TRUE(fails_with(opened.container.acquire(recipe->id), ErrorCode::kCopyNotAllowed));

  OpenOptions options;
  options.max_copied_bytes = recipe->size_bytes + 65'536;
  const auto again = Container::open(folder.file("out"), options);
  const auto view = again.value().acquire(recipe->id);
  ASSERT_TRUE(is_ok(view));
  const Bytes& given = records[recipe->name == "a" ? 0 : 1].source.bytes;
  EXPECT_TRUE(std::equal(given.begin(), given.end(), view.value().bytes().begin(), view.value().bytes().end()));
}

// Both blobs have the same small tensors in another order, so that one of them refers to the leaves of the other.
std::vector<PackRecord> two_of_small_tensors() {
  std::vector<CorpusTensor> tensors;
  for (std::uint32_t i = 0; i < 100; ++i) tensors.push_back({"t" + std::to_string(i), support::pattern(4'000, i)});
  return {blob_record("a", tensors), blob_record("b", shuffled(tensors, 1))};
}

RecordInfo recipe_in(const Container& container) {
  const auto all = support::records_in(container);
  return *std::find_if(all.begin(), all.end(), [](const RecordInfo& record) { return record.recipe; });
}

TEST(SharedTensors, EachLeafUnderThemIsComparedOnce) {
  const TempDir folder;
  const Opened opened = packed(folder, two_of_small_tensors());
  const RecordInfo recipe = recipe_in(opened.container);
  const std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> compared = 0;

  {
    const StepWatch watch(stop, compared);
    ASSERT_TRUE(is_ok(opened.container.tensors(recipe.id)));
  }

  EXPECT_GE(compared, recipe.size_bytes);
  EXPECT_LE(compared, std::filesystem::file_size(folder.file("out")));
}

// Returns the checks that a profile of the call tells of.
std::vector<ProfileEvent> checks_in(const std::function<void()>& call) {
  start_profile({.level = ProfileLevel::kDetailed});
  call();
  std::vector<ProfileEvent> found = stop_profile().events;
  start_profile({.level = ProfileLevel::kOff});
  std::erase_if(found, [](const ProfileEvent& event) { return event.kind != ProfileEventKind::kVerify; });
  return found;
}

TEST(SharedTensors, AProfileTellsOfTheirCheckAndOfNoSecondOne) {
  const TempDir folder;
  const Opened opened = packed(folder, two_of_small_tensors());
  const Container composing = Container::open(folder.file("out"), {.max_copied_bytes = 1U << 30}).value();
  const RecordInfo recipe = recipe_in(opened.container);
  const auto tensors = [&] { EXPECT_TRUE(is_ok(opened.container.tensors(recipe.id))); };
  const auto whole = [&] { EXPECT_TRUE(is_ok(composing.acquire(recipe.id))); };

  const std::vector<ProfileEvent> of_tensors = checks_in(tensors);
  const std::vector<ProfileEvent> again = checks_in(tensors);
  const std::vector<ProfileEvent> of_whole = checks_in(whole);

  EXPECT_TRUE(again.empty());
  for (const std::vector<ProfileEvent>* checks : {&of_tensors, &of_whole}) {
    ASSERT_EQ(checks->size(), 1U);
    EXPECT_TRUE(checks->front().ok);
    EXPECT_EQ(checks->front().record_id, recipe.id);
    EXPECT_EQ(checks->front().record, recipe.name);
  }
  EXPECT_EQ(of_tensors[0].bytes, 100U * 4'000);
  EXPECT_EQ(of_whole[0].bytes, recipe.size_bytes);
}

TEST(SharedTensors, ADamagedTensorIsFoundBeforeItIsShown) {
  const TempDir folder;
  const auto tensors = corpus_tensors(14, 30);
  std::vector<PackRecord> records = {blob_record("a", tensors), blob_record("b", shuffled(tensors, 1))};
  Bytes file = support::packed_bytes(records);
  std::uint64_t at = 0;
  std::string recipe;
  {
    const auto container = Container::open(Source::of_memory(file)).value();
    for (const RecordInfo& record : support::records_in(container)) {
      if (record.type != RecordType::kWeightBlob) continue;
      if (record.recipe) recipe = record.name;
      if (!record.recipe) at = record.file_offset + record.size_bytes / 2;
    }
  }
  file[static_cast<std::size_t>(at)] ^= std::byte{1};
  const auto container = Container::open(Source::of_memory(file)).value();
  EXPECT_TRUE(fails_with(container.tensors(container.find(recipe).value().id), ErrorCode::kChecksumMismatch, "F26"));
}

TEST(SharedTensors, OfAFileThatWasCutAreAnErrorAlsoWithoutChecks) {
  const TempDir folder;
  const auto tensors = corpus_tensors(15, 30);
  const std::string path = folder.file("out");
  ASSERT_TRUE(is_ok(support::pack({blob_record("a", tensors), blob_record("b", shuffled(tensors, 1))}, path)));
  const auto container = Container::open(path, {.verify = VerifyPolicy::kNone}).value();
  const auto& all = support::records_in(container);
  const auto recipe = std::find_if(all.begin(), all.end(), [](const RecordInfo& record) { return record.recipe; });
  ASSERT_NE(recipe, all.end());
  ASSERT_TRUE(is_ok(container.tensors(recipe->id)));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_TRUE(fails_with(container.tensors(recipe->id), ErrorCode::kChanged));
}

// Our packer copies such a tensor; others need not.
TEST(SharedTensors, ATensorThatWouldLoseItsAlignmentIsComposed) {
  const TempDir folder;
  const auto tensor = [](const char* name, std::uint64_t offset, std::uint64_t size) {
    return PackTensor{.name = name, .dtype = DType::kI8, .shape = {size}, .offset_in_blob = offset, .size_bytes = size};
  };
  const Bytes small = support::pattern(4'000, 71);
  const Bytes large = support::pattern(120'000, 72);
  PackRecord a = support::plain_record(RecordType::kWeightBlob, "a", Bytes(1, std::byte{9}));
  PackRecord b = a;
  b.name = "b";
  for (const Bytes* part : {&small, &large}) {
    a.source.bytes.insert(a.source.bytes.end(), part->begin(), part->end());
  }
  a.tensors = {tensor("small", 1, small.size()), tensor("large", 1 + small.size(), large.size())};
  a.source.bytes.resize(a.source.bytes.size() + 50'000, std::byte{8});
  b.source.bytes.insert(b.source.bytes.end(), large.begin(), large.end());
  b.source.bytes.resize(1 + large.size() + 3, std::byte{7});  // the second tensor begins at a multiple of 4
  b.tensors = {tensor("large", 1, large.size()), tensor("small", b.source.bytes.size(), small.size())};
  b.source.bytes.insert(b.source.bytes.end(), small.begin(), small.end());

  support::HostileFile file(support::packed_bytes({a, b}));
  const Bytes packed = file.bytes();
  std::uint32_t id = 0;
  std::vector<PackTensor> as_floats = b.tensors;
  as_floats[1].dtype = DType::kF32;
  as_floats[1].shape = {small.size() / 4};
  {
    const auto container = Container::open(Source::of_memory(packed)).value();
    const RecordInfo record = container.find("b").value();
    ASSERT_TRUE(record.recipe) << "the test is about a blob that is made from another one";
    id = record.id;
    EXPECT_TRUE(is_ok(container.tensors(id)));
    const Bytes table = container::build_tensor_table(as_floats, record.size_bytes).value();
    const RecordInfo stored = container.find("b.tensors").value();
    ASSERT_EQ(table.size(), stored.size_bytes);
    file.in_payload = [table, at = stored.file_offset](Bytes& out) {
      std::copy(table.begin(), table.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
    };
    file.rehash_payload = true;
  }
  const Bytes changed = file.bytes();

  EXPECT_TRUE(fails_with(Container::open(Source::of_memory(changed)).value().tensors(id), ErrorCode::kCopyNotAllowed));
  const auto allowed = Container::open(Source::of_memory(changed), {.max_copied_bytes = 1 << 20}).value();
  const auto table = allowed.tensors(id);
  ASSERT_TRUE(is_ok(table));
  const auto view = table.value().view("small");
  ASSERT_TRUE(is_ok(view));
  EXPECT_TRUE(std::ranges::equal(view.value().bytes(), small));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.value().bytes().data()) % 4, 0U);
}

}  // namespace shared_tensors_test
}  // namespace fatctx
