// The bytes of a record that is packed: every failure of reading, of a sink and of a caller who stops reaches the
// caller.
#include "container/write/input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "container/format/hash.h"
#include "container/write/publish_records.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace input_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

Input input_of(Bytes bytes) {
  PackSource source;
  source.bytes = std::move(bytes);
  return Input::take(source, nullptr).value();
}

class Unreadable final : public ByteSource {
 public:
  [[nodiscard]] std::string name() const override { return "unreadable"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return 1'000; }
  [[nodiscard]] Status read_at(std::uint64_t, std::span<std::byte>) const override {
    return Error{ErrorCode::kIo, "it cannot be read"};
  }
  [[nodiscard]] bool makes_bytes() const noexcept override { return false; }
};

TEST(Input, IsEqualToTheSameBytesAndNotToMore) {
  const Bytes bytes = support::pattern(1'000, 1);
  Bytes more = bytes;
  more.push_back(std::byte{1});
  Bytes other = bytes;
  other.back() ^= std::byte{1};
  EXPECT_TRUE(equal_bytes(input_of(bytes), input_of(bytes)).value());
  EXPECT_FALSE(equal_bytes(input_of(bytes), input_of(other)).value());
  EXPECT_FALSE(equal_bytes(input_of(bytes), input_of(more)).value());
  EXPECT_FALSE(equal_bytes(input_of(more), input_of(bytes)).value());
}

TEST(Input, ThatCannotBeReadIsNotEqualToZeros) {
  PackSource source;
  source.source = std::make_shared<const Unreadable>();
  const Input unreadable = Input::take(source, nullptr).value();
  EXPECT_TRUE(fails_with(equal_bytes(unreadable, input_of(Bytes(1'000))), ErrorCode::kIo));
  EXPECT_TRUE(fails_with(equal_bytes(input_of(Bytes(1'000)), unreadable), ErrorCode::kIo));
}

// A source that counts how often it is closed.
class Closeable final : public ByteSource {
 public:
  explicit Closeable(int& closed) : closed_(closed) {}
  [[nodiscard]] std::string name() const override { return "closeable"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return 1'000; }
  [[nodiscard]] Status read_at(std::uint64_t, std::span<std::byte> out) const override {
    std::fill(out.begin(), out.end(), std::byte{1});
    return Done{};
  }
  void close() const noexcept override { ++closed_; }

 private:
  int& closed_;
};

TEST(Input, IsClosedOnceItIsCompared) {
  int closed[2] = {};
  Input inputs[2];
  for (const std::size_t i : {0U, 1U}) {
    PackSource source;
    source.source = std::make_shared<const Closeable>(closed[i]);
    inputs[i] = Input::take(source, nullptr).value();
  }
  EXPECT_TRUE(equal_bytes(inputs[0], inputs[1]).value());
  EXPECT_EQ(closed[0], 1);
  EXPECT_EQ(closed[1], 1);
}

TEST(Input, AnOpenFileIsLookedAtItselfWhereverItsNameIs) {
  const support::TempDir folder;
  std::filesystem::create_directory(folder.file("before"));
  PackSource source;
  source.path = folder.file("before/file");
  support::write_file(source.path, support::pattern(1'000, 4));
  const Input input = Input::take(source, nullptr).value();
  Bytes out(1'000);
  ASSERT_TRUE(is_ok(input.read_at(0, out)));

  std::filesystem::rename(folder.file("before"), folder.file("after"));

  EXPECT_TRUE(is_ok(input.check_unchanged()));
  input.close();
  EXPECT_TRUE(fails_with(input.check_unchanged(), ErrorCode::kNotFound)) << "it is open no more";
}

TEST(Input, EveryFailureOfASinkEndsTheReading) {
  const Input input = input_of(support::pattern((std::size_t{2} << 20) + 5, 2));
  const std::pair<const char*, std::function<Result<Hash128>(const StreamSink&)>> ways[] = {
      {"read", [&](const StreamSink& sink) { return read_input(input, sink); }},
      {"compress", [&](const StreamSink& sink) { return compress_input(input, sink); }},
  };
  for (const auto& [name, way] : ways) {
    for (int failing = 0;; ++failing) {
      int calls = 0;
      const auto read = way([&](ByteView) -> Status {
        if (calls++ == failing) return Error{ErrorCode::kNoSpace, "a fault of the test"};
        return Done{};
      });
      if (calls <= failing) {
        ASSERT_TRUE(is_ok(read));
        EXPECT_GE(failing, 3) << name;
        break;
      }
      EXPECT_TRUE(fails_with(read, ErrorCode::kNoSpace)) << name << " " << failing;
      EXPECT_EQ(calls, failing + 1) << name;
    }
  }
}

TEST(Input, ReadsNothingOnceTheWorkIsStopped) {
  Input input = input_of(support::pattern(1'000, 3));
  const Progress none;
  std::atomic<bool> stop = false;
  WorkProgress progress(none, &stop);
  input.report_to(progress);
  Bytes out(1'000);
  ASSERT_TRUE(is_ok(input.read_at(0, out)));
  EXPECT_EQ(progress.done_bytes(), 1'000U);
  stop = true;
  Bytes untouched(1'000);
  EXPECT_TRUE(fails_with(input.read_at(0, untouched), ErrorCode::kCancelled));
  EXPECT_EQ(untouched, Bytes(1'000));
}

// A source that is asked for its hash when the payload is written, and cancels then.
class CancelsLate final : public ByteSource {
 public:
  explicit CancelsLate(std::atomic<bool>& cancel) : cancel_(cancel) {}
  [[nodiscard]] std::string name() const override { return "late"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return 1'000; }
  [[nodiscard]] Status read_at(std::uint64_t, std::span<std::byte> out) const override {
    std::fill(out.begin(), out.end(), std::byte{1});
    return Done{};
  }
  [[nodiscard]] std::optional<Hash128> hash() const override {
    cancel_ = true;
    return hash128(Bytes(1'000, std::byte{1}));
  }

 private:
  std::atomic<bool>& cancel_;
};

TEST(Input, APackThatIsCancelledBehindItsLastReadMakesNoFile) {
  const support::TempDir folder;
  std::atomic<bool> cancel = false;
  PackOptions options;
  options.cancel = &cancel;
  PackRecord record = support::plain_record(RecordType::kOpaque, "late", {});
  record.source.source = std::make_shared<const CancelsLate>(cancel);

  EXPECT_TRUE(fails_with(support::pack({std::move(record)}, folder.file("m"), options), ErrorCode::kCancelled));

  EXPECT_TRUE(folder.names().empty());
}

}  // namespace input_test
}  // namespace fatctx::container
