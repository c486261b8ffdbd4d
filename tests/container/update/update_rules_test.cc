// Each rule of the file of an update, broken by itself: the error has the code and the words of this rule. The hashes
// are right, so that no other check comes first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "container/format/disk_format.h"
#include "container/update/part_decoder.h"
#include "container/update/range_coder.h"
#include "container/update/step_models.h"
#include "container/update/update_file.h"
#include "support/forged_update.h"
#include "support/memory_file.h"
#include "support/pattern.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace update_rules_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

constexpr std::uint64_t kMade = 1000;

ContainerName name_of_size(std::uint64_t size) {
  ContainerName name = {};
  name.size = size;
  return name;
}

// An update that makes some bytes out of nothing.
Bytes good_update() {
  const std::vector<UpdateStep> steps = {{.kind = UpdateStep::Kind::kLiteral, .target = 0, .size = kMade}};
  return support::forged_update(name_of_size(kMade), support::pattern(kMade, 3), name_of_size(10), {}, steps);
}

template <typename T>
Bytes with(const Bytes& update, std::size_t at, const std::function<void(T&)>& change) {
  Bytes bytes = update;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  change(value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
  support::rehash_update(bytes);
  return bytes;
}

Result<UpdateFile> opened(Bytes bytes) {
  return UpdateFile::open(std::make_unique<support::MemoryFile>(std::move(bytes)), "u");
}

// Opens the update, and reads all parts, twice: each reading must find the fault.
Status read_twice(const Bytes& bytes) {
  FATCTX_ASSIGN(UpdateFile update, opened(bytes));
  const Status checked = update.check(nullptr);
  FATCTX_ASSIGN(UpdateFile again, opened(bytes));
  StoredPart part;
  while (true) {
    auto more = again.next(part);
    if (!more.ok()) {
      EXPECT_FALSE(checked.ok());
      EXPECT_EQ(checked.ok() ? "" : checked.error().message, more.error().message);
      return std::move(more).error();
    }
    if (more.value()) continue;
    EXPECT_TRUE(checked.ok()) << "the second reading must refuse it, too";
    return checked;
  }
}

constexpr std::size_t kFirstPart = sizeof(UpdateHeader) + sizeof(ContainerName) + sizeof(DiskHash);

TEST(UpdateRules, AGoodOneIsRead) { EXPECT_TRUE(is_ok(read_twice(good_update()))); }

TEST(UpdateRules, OfTheHeaderAreToldByName) {
  struct Lie {
    const char* words;
    ErrorCode code;
    std::function<void(UpdateHeader&)> change;
  };
  const std::vector<Lie> lies = {
      {"version 2", ErrorCode::kUnsupported, [](UpdateHeader& h) { h.version = 2; }},
      {"from 0 files", ErrorCode::kLimitExceeded, [](UpdateHeader& h) { h.old_count = 0; }},
      {"from 17 files", ErrorCode::kLimitExceeded, [](UpdateHeader& h) { h.old_count = 17; }},
      {"flag", ErrorCode::kMalformed, [](UpdateHeader& h) { h.flags = 2; }},
      {"a size that no container has", ErrorCode::kLimitExceeded, [](UpdateHeader& h) { h.made.size = 0; }},
      {"a size that no container has", ErrorCode::kLimitExceeded,
       [](UpdateHeader& h) { h.made.size = kMaxFileSize + 1; }},
  };
  for (const Lie& lie : lies) {
    const auto refused = opened(with<UpdateHeader>(good_update(), 0, lie.change));
    ASSERT_TRUE(fails_with(refused, lie.code)) << lie.words;
    EXPECT_THAT(refused.error().message, HasSubstr(lie.words));
  }
  const auto old_is_too_large = with<ContainerName>(good_update(), sizeof(UpdateHeader),
                                                    [](ContainerName& name) { name.size = kMaxFileSize + 1; });
  EXPECT_TRUE(fails_with(opened(old_is_too_large), ErrorCode::kLimitExceeded));
  Bytes damaged = good_update();
  damaged[sizeof(UpdateHeader) + 3] ^= std::byte{1};
  const auto refused = opened(damaged);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChecksumMismatch));
  EXPECT_THAT(refused.error().message, HasSubstr("the header of the update is damaged"));
}

TEST(UpdateRules, OfAPartAreToldByName) {
  const std::vector<std::function<void(UpdatePart&)>> lies = {
      [](UpdatePart& p) { p.reserved = 1; },
      [](UpdatePart& p) { p.coded_size = static_cast<std::uint32_t>(most_stored_of_part(kMade)) + 1; },
      [](UpdatePart& p) { p.step_count = static_cast<std::uint32_t>(most_steps_of_part(kMade)) + 1; },
  };
  for (const auto& lie : lies) {
    const Status refused = read_twice(with<UpdatePart>(good_update(), kFirstPart, lie));
    ASSERT_TRUE(fails_with(refused, ErrorCode::kMalformed));
    EXPECT_THAT(refused.error().message, HasSubstr("part 0 of the update has impossible sizes"));
  }
  Bytes damaged = good_update();
  damaged[kFirstPart + sizeof(UpdatePart) + 3] ^= std::byte{1};
  const Status refused = read_twice(damaged);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChecksumMismatch));
  EXPECT_THAT(refused.error().message, HasSubstr("part 0 of the update is damaged"));
}

TEST(UpdateRules, ALimitOfTheMadeBytesIsTold) {
  const auto update = opened(good_update());
  ASSERT_TRUE(is_ok(update));
  EXPECT_TRUE(is_ok(update.value().check_size(0, kMade)));
  const Status refused = update.value().check_size(0, kMade - 1);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kLimitExceeded));
  EXPECT_THAT(refused.error().message, HasSubstr("max_made_bytes allows more"));
}

TEST(UpdateRules, ACheckCanBeStopped) {
  auto update = opened(good_update());
  ASSERT_TRUE(is_ok(update));
  const std::atomic<bool> cancel = true;
  EXPECT_TRUE(fails_with(update.value().check(&cancel), ErrorCode::kCancelled));
}

TEST(UpdateRules, ReadsOfAContainerCanBeStopped) {
  const support::MemoryFile file(support::pattern(100, 4));
  std::atomic<bool> cancel = false;
  const UpdateBytes bytes(file, 100, {}, &cancel);
  Bytes read(10);
  EXPECT_TRUE(is_ok(bytes.read_at(20, read)));
  cancel = true;
  EXPECT_TRUE(fails_with(bytes.read_at(20, read), ErrorCode::kCancelled));
}

// A part whose heads of steps are coded by hand.
class PartRules : public ::testing::Test {
 protected:
  void code(StepModels::Head head) {
    part_.step_count = part_.step_count + 1;
    (void)models_.code(encoder_, head);  // false for an unknown kind
  }
  void literal(std::uint64_t size) { code({UpdateStep::Kind::kLiteral, size, LiteralForm::kRaw, {}, 0}); }
  void fill(std::uint64_t size) { code({UpdateStep::Kind::kFill, size, LiteralForm::kPlain, {}, 7}); }

  // Decodes the part. `more` bytes follow the coded ones.
  Status decoded(std::uint64_t raw_size = 0, std::size_t more = 0) {
    Bytes coded = encoder_.finish();
    coded.insert(coded.end(), more, std::byte{0});
    const Bytes raw(static_cast<std::size_t>(raw_size), std::byte{5});
    PartDecoder decoder({10});
    FATCTX_TRY(decoder.begin(part_, {0, kMade}, coded, raw));
    DecodedStep step;
    while (true) {
      FATCTX_ASSIGN(const bool again, decoder.next(step));
      if (!again) return Done{};
      Bytes made(static_cast<std::size_t>(step.step.size));
      if (step.step.kind == UpdateStep::Kind::kLiteral) decoder.literal(step, {}, made);
    }
  }
  static void expect_refused(const Status& refused, const std::string& words) {
    ASSERT_TRUE(fails_with(refused, ErrorCode::kMalformed)) << words;
    EXPECT_THAT(refused.error().message, HasSubstr(words));
  }

  RangeEncoder encoder_;
  StepModels models_;
  UpdatePart part_ = {};
};

TEST_F(PartRules, AGoodOneIsDecoded) {
  literal(400);
  fill(600);
  EXPECT_TRUE(is_ok(decoded(400)));
}

TEST_F(PartRules, ItHasNotTooManySteps) {
  part_.step_count = static_cast<std::uint32_t>(most_steps_of_part(kMade)) + 1;
  expect_refused(decoded(), "more steps than a part may have");
}

TEST_F(PartRules, ItsStepsDoNotEndBeforeTheyAreRead) {
  PartDecoder decoder({10});
  part_.step_count = 1;
  ASSERT_TRUE(is_ok(decoder.begin(part_, {0, kMade}, {}, {})));
  DecodedStep step;
  const auto refused = decoder.next(step);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kMalformed));
  EXPECT_THAT(refused.error().message, HasSubstr("the coded steps end before it"));
}

TEST_F(PartRules, TheyMakeAllOfIt) {
  fill(999);
  expect_refused(decoded(), "there is none");
}

TEST_F(PartRules, NothingFollowsTheLastStep) {
  fill(kMade);
  expect_refused(decoded(0, 1), "bytes follow the last one");
}

TEST_F(PartRules, NoRawByteIsLeft) {
  literal(400);
  fill(600);
  expect_refused(decoded(401), "bytes follow the last one");
}

TEST_F(PartRules, AKindThatIsNoneIsNoStep) {
  code({static_cast<UpdateStep::Kind>(3), 1, LiteralForm::kPlain, {}, 0});
  expect_refused(decoded(), "not a step");
}

TEST_F(PartRules, AStepMakesSomething) {
  fill(0);
  expect_refused(decoded(), "it makes nothing");
}

TEST_F(PartRules, AStepMakesNoMoreThanThePart) {
  fill(1);
  fill(kMade);
  expect_refused(decoded(), "it makes more bytes than its part has");
}

TEST_F(PartRules, ALiteralTakesNoMoreRawBytesThanThereAre) {
  literal(kMade);
  expect_refused(decoded(kMade - 1), "it takes more raw bytes than its part has");
}

}  // namespace update_rules_test
}  // namespace fatctx::container
