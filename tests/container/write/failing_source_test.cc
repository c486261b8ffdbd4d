// Sources whose reads fail, each in turn: the pack or append ends with that error, whatever the read was for.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "container/read/opened_file.h"
#include "support/appended.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace failing_source_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

constexpr std::size_t kLeaf = 64 * 1024;

// The number of the read that fails, counted over all sources.
struct Fault {
  std::uint64_t at = 0;
  std::uint64_t reads = 0;
};

class Failing final : public ByteSource {
 public:
  Failing(Bytes bytes, Fault& fault) : bytes_(std::move(bytes)), fault_(fault) {}
  [[nodiscard]] std::string name() const override { return "failing"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return bytes_.size(); }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (fault_.reads++ == fault_.at) return Error{ErrorCode::kIo, "a fault of the test"};
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return Done{};
  }
  [[nodiscard]] bool makes_bytes() const noexcept override { return false; }

 private:
  const Bytes bytes_;
  Fault& fault_;
};

PackRecord from_source(const std::string& name, Bytes bytes, Fault& fault, std::vector<PackRange> ranges = {}) {
  PackRecord record = support::plain_record(RecordType::kOpaque, name, {});
  record.source.source = std::make_shared<const Failing>(std::move(bytes), fault);
  record.ranges = std::move(ranges);
  return record;
}

Bytes joined(std::initializer_list<ByteView> parts) {
  Bytes all;
  for (const ByteView part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Returns two equal records, two with a range and a run in common, two with pages in common, and compressed ones.
std::vector<PackRecord> records(Fault& fault) {
  const Bytes part = support::pattern(40'003, 1);
  const Bytes first = support::pattern(30'000, 2);
  const Bytes second = support::pattern(31'111, 3);
  const Bytes pages = support::pattern(2 * kLeaf, 4);
  std::vector<PackRecord> all;
  all.push_back(from_source("ranges a", joined({first, part}), fault, {{"own", 0, 30'000}, {"part", 30'000, 40'003}}));
  all.push_back(from_source("ranges b", joined({part, second}), fault, {{"part", 0, 40'003}, {"own", 40'003, 31'111}}));
  all.push_back(from_source("pages a", joined({pages, first}), fault));
  all.push_back(from_source("pages b", joined({ByteView(pages).subspan(kLeaf), second}), fault));
  all.push_back(from_source("equal a", support::pattern(kLeaf + 9, 5), fault));
  all.push_back(from_source("equal b", support::pattern(kLeaf + 9, 5), fault));
  all.push_back(from_source("cold", Bytes(kLeaf + 5, std::byte{6}), fault));
  all.back().codec = Codec::kLz4;
  all.push_back(from_source("last cold", Bytes(kLeaf + 3, std::byte{7}), fault));
  all.back().codec = Codec::kLz4;
  return all;
}

TEST(FailingSource, EachReadThatFailsEndsThePack) {
  for (const Sharing sharing : {Sharing::kOff, Sharing::kPages, Sharing::kBytes}) {
    PackOptions options;
    options.sharing = sharing;
    options.threads = 1;
    for (Fault fault;; ++fault.at) {
      const support::TempDir folder;
      fault.reads = 0;
      const auto packed = support::pack(records(fault), folder.file("m.fatctx"), options);
      if (fault.reads <= fault.at) {
        EXPECT_TRUE(is_ok(packed));
        EXPECT_GT(fault.at, 12U);
        break;
      }
      EXPECT_TRUE(fails_with(packed, ErrorCode::kIo)) << static_cast<int>(sharing) << ", read " << fault.at;
      EXPECT_TRUE(folder.names().empty());
    }
  }
}

TEST(FailingSource, EachReadThatFailsEndsAnAppend) {
  const Bytes before =
      support::packed_bytes({support::plain_record(RecordType::kOpaque, "there", support::pattern(2 * kLeaf, 4))});
  for (const Sharing sharing : {Sharing::kPages, Sharing::kBytes}) {
    AppendOptions options;
    options.sharing = sharing;
    options.threads = 1;
    for (Fault fault;; ++fault.at) {
      fault.reads = 0;
      const support::Appended done = support::append(before, records(fault), options);
      if (fault.reads <= fault.at) {
        EXPECT_TRUE(is_ok(done.report));
        EXPECT_GT(fault.at, 12U);
        break;
      }
      EXPECT_TRUE(fails_with(done.report, ErrorCode::kIo)) << static_cast<int>(sharing) << ", read " << fault.at;
      EXPECT_EQ(Opened(done.bytes).toc.header.generation, 1U);
    }
  }
}

}  // namespace failing_source_test
}  // namespace fatctx::container
