// The malformed files of lie.h again, through files and the whole of Container::open: the error names the file, and
// nothing stays open or mapped.
#include <gtest/gtest.h>

#include <string>

#include "container/check/lies_verify.h"
#include "container/read/lies_header.h"
#include "container/read/lies_toc.h"
#include "fatctx/container.h"
#include "runtime/facade/open_container.h"
#include "support/opened.h"
#include "support/process_files.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace hostile_open_test {

using container::Lie;

support::Bytes damaged(const Lie& lie) {
  support::HostileFile file(support::unsealed_sample());
  lie.damage(file);
  return file.bytes();
}

TEST(HostileOpen, EveryLieIsRefusedByNameAndLeaksNothing) {
  const support::TempDir folder;
  const std::string path = folder.file("lie.fatctx");
  Registry registry;
  const auto expect_refused = [&](const Lie& lie) {
    support::write_file(path, damaged(lie));
    const auto opened = open_container(registry, path);
    EXPECT_TRUE(support::fails_with(opened, lie.code, lie.rule)) << lie.name;
    if (!opened.ok()) {
      EXPECT_TRUE(opened.error().message.starts_with(path + ": ")) << opened.error().message;
      EXPECT_EQ(opened.error().message.find('\n'), std::string::npos) << lie.name;
    }
    const auto report = verify_file(path);
    ASSERT_TRUE(support::is_ok(report)) << lie.name;
    EXPECT_EQ(report.value().findings.size(), 1U) << lie.name;
  };
  expect_refused(container::kHeaderLies[0]);
  const std::size_t descriptors = support::open_descriptors();

  for (const Lie& lie : container::kHeaderLies) expect_refused(lie);
  for (const Lie& lie : container::kTocLies) expect_refused(lie);

  EXPECT_EQ(support::open_descriptors(), descriptors);
  EXPECT_EQ(support::maps_of(folder.path()), 0U);
  EXPECT_EQ(registry.live_count(), 0U);
  support::write_file(path, support::unsealed_sample());
  EXPECT_TRUE(support::is_ok(open_container(registry, path))) << "a refused file does not poison its name";
}

TEST(HostileOpen, ALieOfATensorTableIsToldAtItsPlaceInTheFile) {
  const support::TempDir folder;
  const std::string path = folder.file("table.fatctx");
  support::HostileFile file(support::unsealed_sample());
  container::edit_tensor_table<container::TensorTableHeader>(
      file, 0, [](container::TensorTableHeader& header) { header.blob_size = header.blob_size + 1; });
  support::write_file(path, file.bytes());
  const Container container = Container::open(path).value();
  const RecordInfo weights = container.find("weights").value();
  const RecordInfo table = container.find("weights.tensors").value();

  for (const Error& error :
       {container.tensors(weights.id).error(), container.tensor(weights.id, "layer/0/w").error()}) {
    EXPECT_TRUE(support::is_error(error, ErrorCode::kMalformed, "F37"));
    EXPECT_EQ(error.where.file_offset, table.file_offset + offsetof(container::TensorTableHeader, blob_size));
    EXPECT_EQ(error.where.record_id, table.id);
  }
}

TEST(HostileOpen, AFileCutAtAnyPageIsRefusedWithoutASignal) {
  const support::TempDir folder;
  const std::string path = folder.file("cut.fatctx");
  const support::Bytes& whole = support::unsealed_sample();
  Registry registry;
  for (std::size_t boundary = 0; boundary <= whole.size(); boundary += 4096) {
    for (const std::size_t size : {boundary, boundary + 1}) {
      if (size >= whole.size()) continue;
      support::write_file(path, ByteView(whole).first(size));
      const auto opened = open_container(registry, path);
      ASSERT_FALSE(opened.ok()) << size;
      EXPECT_TRUE(opened.error().code == ErrorCode::kTruncated || opened.error().code == ErrorCode::kBadMagic) << size;
    }
  }
}

TEST(HostileOpen, LostHeaderPagesAreInTheOpenReport) {
  const support::TempDir folder;
  const std::string path = folder.file("degraded.fatctx");
  const char* const expected[16] = {"prologue copy 0", "slot A0", nullptr,           nullptr,   "slot B0", nullptr,
                                    nullptr,           nullptr,   "prologue copy 1", "slot A1", nullptr,   nullptr,
                                    "slot B1",         nullptr,   nullptr,           nullptr};
  for (std::size_t page = 0; page < 16; ++page) {
    support::Bytes file = support::unsealed_sample();
    std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(page * 4096), 4096, std::byte{0xff});
    support::write_file(path, file);
    Registry registry;

    const auto opened = open_container(registry, path);

    ASSERT_TRUE(support::is_ok(opened)) << page;
    std::vector<std::string> loss;  // an open does not read the padding between the sectors
    if (expected[page] != nullptr) loss.emplace_back(expected[page]);
    EXPECT_EQ(support::report_of(opened.value()).degraded, loss);
    EXPECT_TRUE(support::is_ok(opened.value().acquire("weights")));
    EXPECT_FALSE(opened.value().verify().value().findings.empty());
  }
}

}  // namespace hostile_open_test
}  // namespace fatctx
