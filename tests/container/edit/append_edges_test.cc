// Appends of records whose bytes the file has already, at the edges: inputs that fail at any read, segments of one
// leaf, the most pieces of a record, damaged leaf hashes, and the number of inputs that are open.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "container/check/verify.h"
#include "container/read/leaves.h"
#include "container/read/opened_file.h"
#include "support/appended.h"
#include "support/process_files.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace append_edges_test {

using support::append;
using support::Appended;
using support::Bytes;
using support::is_ok;

Bytes joined(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// A source that asks before each read whether it may succeed.
class AskingSource final : public ByteSource {
 public:
  AskingSource(Bytes bytes, std::function<Status()> ask) : bytes_(std::move(bytes)), ask_(std::move(ask)) {}
  [[nodiscard]] std::string name() const override { return "the source"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return bytes_.size(); }
  [[nodiscard]] bool makes_bytes() const noexcept override { return false; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    FATCTX_TRY(ask_());
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return Done{};
  }

 private:
  Bytes bytes_;
  std::function<Status()> ask_;
};

PackRecord asking(const std::string& name, Bytes bytes, std::function<Status()> ask) {
  PackRecord record = support::binary_record(name, "riscv-" + name, {});
  record.source.source = std::make_shared<AskingSource>(std::move(bytes), std::move(ask));
  return record;
}

TEST(AppendEdges, AReadOfAnInputThatFailsOnceIsAnErrorWhateverTheFileHas) {
  const Bytes stored = support::pattern(3 * kLeafSize + 500, 1);
  const Bytes fresh = support::pattern(3 * kLeafSize, 2);
  const Bytes tail = support::pattern(900, 3);
  const auto leaf = [](const Bytes& bytes, std::size_t index) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(index * kLeafSize);
    return Bytes(first, first + kLeafSize);
  };
  const std::vector<Bytes> inputs = {
      stored,
      fresh,
      joined({leaf(stored, 1), leaf(fresh, 0), leaf(stored, 2), tail}),
      joined({support::pattern(kLeafSize, 4), leaf(fresh, 2)}),
      joined({support::pattern(kLeafSize, 5), leaf(stored, 0), support::pattern(kLeafSize, 6)}),
      joined({support::pattern(kLeafSize, 6), tail})};
  const Bytes before = support::packed_bytes({support::binary_record("stored", "riscv", stored)});
  for (int nth = 0;; ++nth) {
    SCOPED_TRACE(nth);
    ASSERT_LT(nth, 200);
    int reads = 0;
    const auto ask = [&]() -> Status {
      return reads++ == nth ? Status(Error{ErrorCode::kIo, "a fault of the test"}) : Status(Done{});
    };
    std::vector<PackRecord> records;
    for (std::size_t i = 0; i < inputs.size(); ++i) records.push_back(asking(std::to_string(i), inputs[i], ask));

    const Appended done = append(before, std::move(records), {.threads = 1});

    if (reads <= nth) {
      ASSERT_TRUE(is_ok(done.report));
      const Opened opened(done.bytes);
      for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(opened.bytes_of(std::to_string(i)).value(), inputs[i]);
      EXPECT_GE(done.report.value().shared_bytes, stored.size() + 5 * kLeafSize);
      break;
    }
    ASSERT_TRUE(support::fails_with(done.report, ErrorCode::kIo));
    EXPECT_EQ(Opened(done.bytes).toc.header.generation, 1U);
  }
}

TEST(AppendEdges, ASegmentOfOneLeafIsASourceToo) {
  const Bytes leaf = support::pattern(kLeafSize, 11);
  const Bytes next = joined({support::pattern(kLeafSize, 12), leaf});
  const Bytes before = support::packed_bytes({support::binary_record("old", "v73", leaf)});
  for (const Sharing sharing : {Sharing::kPages, Sharing::kBytes}) {
    const Appended done = append(before, {support::binary_record("new", "v75", next)}, {.sharing = sharing});
    ASSERT_TRUE(is_ok(done.report));
    EXPECT_EQ(done.report.value().shared_bytes, kLeafSize);
    EXPECT_EQ(Opened(done.bytes).bytes_of("new").value(), next);
  }
  const Bytes shifted = joined({support::pattern(100, 13), leaf});
  const Appended done = append(before, {support::binary_record("new", "v75", shifted)}, {.sharing = Sharing::kBytes});
  ASSERT_TRUE(is_ok(done.report));
  EXPECT_GE(done.report.value().shared_bytes, kLeafSize - 1'000);
  EXPECT_EQ(Opened(done.bytes).bytes_of("new").value(), shifted);
}

// Nothing proves the payload then.
TEST(AppendEdges, ASegmentWhoseLeafHashesAreDamagedIsNoSource) {
  const Bytes stored = support::pattern(4 * kLeafSize, 21);
  Bytes before = support::packed_bytes({support::binary_record("old", "v73", stored)});
  const Opened opened(before);
  for (const Segment& segment : opened.toc.toc.segments) {
    if (segment.kind == SegmentKind::kLeaves) before[static_cast<std::size_t>(segment.offset)] ^= std::byte{1};
  }
  before[static_cast<std::size_t>(opened.record("old").file_offset) + kLeafSize] ^= std::byte{1};
  const Bytes next = joined({support::pattern(100, 22), stored});
  for (const Sharing sharing : {Sharing::kPages, Sharing::kBytes}) {
    const Appended done = append(before, {support::binary_record("new", "v75", next)}, {.sharing = sharing});
    ASSERT_TRUE(is_ok(done.report));
    EXPECT_EQ(done.report.value().shared_bytes, 0U);
    EXPECT_EQ(Opened(done.bytes).bytes_of("new").value(), next);
  }
}

// The first and the last of three leaves, in turn, so that each is a piece of its own.
class TurningSource final : public ByteSource {
 public:
  TurningSource(Bytes three_leaves, std::size_t leaves) : bytes_(std::move(three_leaves)), leaves_(leaves) {}
  [[nodiscard]] std::string name() const override { return "turns"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return leaves_ * kLeafSize; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    for (std::size_t done = 0; done < out.size();) {
      const std::uint64_t at = offset + done;
      const std::size_t within = static_cast<std::size_t>(at % kLeafSize);
      const std::size_t size = std::min(out.size() - done, std::size_t{kLeafSize} - within);
      const std::size_t from = (at / kLeafSize % 2 == 0 ? 0 : 2 * kLeafSize) + within;
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(from), size,
                  out.begin() + static_cast<std::ptrdiff_t>(done));
      done += size;
    }
    return Done{};
  }

 private:
  Bytes bytes_;
  std::size_t leaves_;
};

TEST(AppendEdges, ARecordMayHaveFourThousandAndNinetySixPieces) {
  const Bytes three = support::pattern(3 * kLeafSize, 31);
  PackRecord record = support::binary_record("new", "v75", {});
  record.source.source = std::make_shared<TurningSource>(three, 4'096);

  const Appended done = append(support::packed_bytes({support::binary_record("old", "v73", three)}),
                               {std::move(record)}, {.sharing = Sharing::kPages});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_EQ(Opened(done.bytes).record("new").slice_count, 4'096U);
  EXPECT_EQ(done.report.value().shared_bytes, 4'096 * kLeafSize);
}

// There may be more inputs than a process may have descriptors.
TEST(AppendEdges, InputsThatSharePiecesAreNotKeptOpen) {
  const support::TempDir folder;
  const Bytes stored = support::pattern(kLeafSize, 41);
  const Bytes parts[] = {support::pattern(2 * kLeafSize, 42),
                         joined({support::pattern(kLeafSize, 43), stored, support::pattern(kLeafSize, 44)})};
  std::vector<PackRecord> records;
  for (const std::size_t i : {0U, 1U}) {
    support::write_file(folder.file(std::to_string(i)), parts[i]);
    PackRecord record = support::binary_record("a" + std::to_string(i), "a" + std::to_string(i), {});
    record.source.path = folder.file(std::to_string(i));
    records.push_back(std::move(record));
  }
  const Bytes before = support::packed_bytes({support::binary_record("stored", "v73", stored)});
  const std::size_t descriptors = support::open_descriptors();
  std::size_t most = 0;
  const auto count = [&]() -> Status {
    most = std::max(most, support::open_descriptors());
    return Done{};
  };
  // It is compared with leaves of both, which are opened for that.
  records.push_back(asking("b",
                           joined({Bytes(parts[0].begin(), parts[0].begin() + kLeafSize),
                                   Bytes(parts[1].begin() + 2 * kLeafSize, parts[1].end()), stored}),
                           count));

  const Appended done = append(before, std::move(records), {.threads = 1});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_EQ(done.report.value().shared_bytes, 4 * kLeafSize);
  EXPECT_EQ(most, descriptors);
}

// Warnings tell of the file's records as they are called there, and only of those of the same target.
TEST(AppendEdges, NewRecordsAreComparedWithThoseOfTheFile) {
  const auto record = [](const std::string& name, const std::string& arch, const std::string& graph) {
    PackRecord made = support::binary_record(name, arch, support::pattern(500, static_cast<std::uint32_t>(arch[1])));
    made.description.graphs = {{graph, {}, {}}};
    return made;
  };
  const Bytes before = support::packed_bytes({record("old", "v73", "decode")});
  for (const std::string of : {"", "group", "unit"}) {
    PackRecord added = record("new", "v75", "prefill");
    if (of == "group") added.key.group = "other";
    if (of == "unit") added.key.unit = "other";

    const Appended done = append(before, {std::move(added)});

    ASSERT_TRUE(is_ok(done.report));
    const std::vector<std::string>& warnings = done.report.value().warnings;
    if (of.empty()) {
      ASSERT_EQ(warnings.size(), 1U);
      EXPECT_EQ(warnings[0].find("group \"model\", unit \"main\": the graphs of \"new\" are not those of \"old\": "),
                0U)
          << warnings[0];
    } else {
      EXPECT_TRUE(warnings.empty()) << of << ": " << warnings[0];
    }
  }
}

TEST(AppendEdges, WhetherTheNameStayedIsUnknownIfItCannotBeLookedUp) {
  const support::TempDir folder;
  const std::string room = folder.file("room");
  const std::string path = room + "/m.fatctx";
  std::filesystem::create_directory(room);
  support::write_file(path, support::unsealed_sample());
  Appender appender = Appender::open(path).value();
  ASSERT_TRUE(is_ok(appender.add(support::binary_record("new", "v75", support::pattern(10, 1)))));
  std::filesystem::rename(room, folder.file("moved"));
  std::filesystem::create_symlink(room, room);

  const auto report = appender.commit();

  ASSERT_TRUE(support::fails_with(report, ErrorCode::kCommitUnknown));
  EXPECT_NE(report.error().message.find("the new generation is written, and nobody knows"), std::string::npos)
      << report.error().message;
  EXPECT_EQ(Opened(support::read_file(folder.file("moved/m.fatctx"))).toc.header.generation, 2U);
}

}  // namespace append_edges_test
}  // namespace fatctx::container
