// Two appends in a row crash while they write the same slot, with every mixture of the bytes of both and of the earlier
// content. Everything that a torn slot can name was written before the slot, and exists.
#include <gtest/gtest.h>

#include <algorithm>

#include "container/edit/append.h"
#include "crash/both_forms.h"
#include "crash/oracle.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::crash {
namespace torn_slots_test {

using container::kSectorSize;

struct OneAppend {
  Bytes before_slots;  // at the first barrier
  Bytes after;
};

OneAppend append_to(const FormSample& sample, const Bytes& start, std::size_t size, std::uint32_t seed) {
  Bytes file = start;
  std::vector<Call> log;
  Appender appender = appender_over(std::make_unique<RecordingFile>(file, log), "file", {}).value();
  EXPECT_TRUE(support::is_ok(appender.add(support::binary_record("new", "arch", support::pattern(size, seed)))));
  EXPECT_TRUE(support::is_ok(appender.commit()));
  OneAppend result{file, file};
  for (const std::uint64_t slot : sample.form.slots) {
    const auto at = static_cast<std::ptrdiff_t>(slot);
    std::copy_n(start.begin() + at, kSectorSize, result.before_slots.begin() + at);
  }
  return result;
}

// Returns the offsets within the slot at `at` where the bytes differ.
std::vector<std::size_t> changing(const Bytes& from, const Bytes& to, std::uint64_t at) {
  std::vector<std::size_t> places;
  for (std::size_t i = static_cast<std::size_t>(at); i < at + kSectorSize; ++i) {
    if (from[i] != to[i]) places.push_back(i);
  }
  return places;
}

// Returns `onto` with a part of the slot taken from `other`: the bytes behind `cut`, or those before it.
Bytes torn(Bytes onto, const Bytes& other, std::uint64_t slot, std::size_t cut, bool end_first) {
  const auto first = static_cast<std::ptrdiff_t>(end_first ? cut : slot);
  const auto last = static_cast<std::ptrdiff_t>(end_first ? slot + kSectorSize : cut);
  std::copy(other.begin() + first, other.begin() + last, onto.begin() + first);
  return onto;
}

// The second append adds less than the first. It may thus overwrite only the beginning of the data that the first
// append's slot names, while that append's table of contents is still whole.
void mix_two_appends(const FormSample& sample) {
  const Bytes& first = sample.first;
  Oracle oracle;
  ASSERT_EQ(oracle.remember(first), "");
  const OneAppend one = append_to(sample, first, 200'000, 7);
  ASSERT_EQ(oracle.remember(one.after), "");
  const Hash128 meant_first = opened(one.after, one.after.size()).value().header.toc_hash;
  const std::uint64_t slot = sample.form.slots[1];
  std::uint64_t states = 0;
  std::uint64_t completed = 0;  // times that the second append completed the slot of the first
  for (const bool end_first : {false, true}) {
    for (const std::size_t cut : changing(one.before_slots, one.after, slot)) {
      const Bytes crashed = torn(one.before_slots, one.after, slot, cut, end_first);
      ASSERT_EQ(oracle.look(crashed, crashed.size(), 1).violation, "");
      if (generation_of(crashed) != 1) continue;  // all changed bytes are written
      const OneAppend two = append_to(sample, crashed, 3'000, 8);
      ASSERT_EQ(oracle.remember(two.after), "");
      for (const bool second_end_first : {false, true}) {
        for (const std::size_t second_cut : changing(two.before_slots, two.after, slot)) {
          const Bytes state = torn(two.before_slots, two.after, slot, second_cut, second_end_first);
          const Found found = oracle.look(state, state.size(), 1);
          ASSERT_EQ(found.violation, "") << "cuts at " << cut << " and " << second_cut;
          ++states;
          if (opened(state, state.size()).value().header.toc_hash == meant_first) ++completed;
        }
      }
      oracle.forget(two.after);
    }
  }
  EXPECT_GT(states, 5'000U);
  EXPECT_GT(completed, 0U) << "what the test is about";
  std::printf("%llu mixtures; in %llu of them the slot of the first append is whole\n",
              static_cast<unsigned long long>(states), static_cast<unsigned long long>(completed));
}

TEST(TornSlots, OfTwoAppendsInARowNeverNameWhatIsNotThere) {
  for (const FormSample& sample : samples()) {
    SCOPED_TRACE(name_of_form(sample.extent_log2));
    mix_two_appends(sample);
  }
}

}  // namespace torn_slots_test
}  // namespace fatctx::crash
