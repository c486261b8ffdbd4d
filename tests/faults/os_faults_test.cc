// Every system call fails in turn, once or for ever, in every operation that reads or writes a container. The operation
// gives a typed error that describes the failure, or does not need the call. Nothing stays behind, and the next attempt
// succeeds. Shows S5.15.
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "faults/os_faults.h"
#include "faults/ways.h"
#include "runtime/open/registry.h"
#include "runtime/small_model.h"
#include "support/process_files.h"
#include "support/sanitized.h"

namespace fatctx {
namespace os_faults_test {

using faults::Fault;
using faults::Injected;
using faults::Kind;
using faults::Way;

struct Kinds {
  const char* name;
  Fault fault;
  std::set<ErrorCode> allowed;  // empty: it must succeed
};

std::vector<Kinds> kinds() {
  using enum ErrorCode;
  return {
      {"EIO", {.error_number = EIO}, {kIo, kCommitUnknown}},
      {"ENOMEM", {.error_number = ENOMEM}, {kNoResource, kOutOfMemory, kCommitUnknown}},
      {"EMFILE", {.error_number = EMFILE, .descriptors_only = true}, {kNoResource}},
      {"EINTR", {.kind = Kind::kInterrupt}, {}},
      {"a short transfer", {.kind = Kind::kShort}, {}},
  };
}

class OsFaults : public faults::EveryWay {};

// Returns whether the operation may only succeed if the call does. A view in a cache folder may be lost by a power
// failure.
bool must_succeed(const Way& way, const std::string& call) {
  const bool only_cached = std::string(way.name) == "composed views in a cache folder";
  return call == "pwrite" || ((call == "fdatasync" || call == "fsync") && !only_cached);
}

TEST_P(OsFaults, AreTypedErrorsAndLeaveNothing) {
  const Way& way = GetParam();
  const auto good = way.work(path_);
  ASSERT_TRUE(good.ok()) << to_text(good.error());
  const auto descriptors = support::open_descriptors();

  for (Kinds kind : kinds()) {
    for (const bool for_ever : {false, true}) {
      kind.fault.for_ever = for_ever;
      long call = 0;
      for (bool met = true; met; call += support::kStride) {
        ASSERT_LT(call, 2'000) << "it never got through";
        kind.fault.call = call;
        std::string at;
        auto result = [&] {
          const Injected injected(kind.fault);
          auto done = way.work(path_);
          met = injected.met();
          at = injected.call();
          return done;
        }();
        SCOPED_TRACE(std::string(kind.name) + (for_ever ? " for ever" : " once") + " from call " +
                     std::to_string(call) + " on, " + at);
        if (result.ok()) {
          EXPECT_EQ(result.value(), good.value()) << "success has to mean the same as ever";
          EXPECT_FALSE(met && kind.fault.kind == Kind::kError && must_succeed(way, at));
        } else if (const Error& error = result.error(); error.where.rule == "F14") {
          // One of two copies could not be read: the file opens with the other, and verify reports it.
          EXPECT_NE(error.message.find("unreadable"), std::string::npos);
        } else {
          const bool unasked = at == "fstatfs" && error.code == ErrorCode::kRemoteFilesystem;  // it may be remote
          EXPECT_TRUE(unasked || kind.allowed.contains(error.code)) << to_text(error);
          EXPECT_FALSE(error.message.empty());
          EXPECT_EQ(error.message.find('\n'), std::string::npos);
          EXPECT_EQ(error.where.os_error, unasked ? 0 : kind.fault.error_number) << to_text(error);
        }
        EXPECT_EQ(support::open_descriptors(), descriptors);
        EXPECT_EQ(testing::mappings_of(path_), 0);
        EXPECT_EQ(support::maps_of("sliced.fatctx"), 0U);
        EXPECT_EQ(support::maps_of("memfd:fatctx"), 0U);
        EXPECT_EQ(Registry::process().live_count(), 0U);
        EXPECT_EQ(temporaries(), 0U) << "a temporary was left";
        if (HasFailure()) return;
      }
      if (kind.fault.kind == Kind::kError && !kind.fault.descriptors_only) {
        EXPECT_GT(call, way.least_calls) << "are the library's calls led through the faults at all?";
      }
    }
  }
  const auto again = way.work(path_);
  ASSERT_TRUE(again.ok()) << to_text(again.error());
  EXPECT_EQ(again.value(), good.value());
}

INSTANTIATE_TEST_SUITE_P(Ways, OsFaults, ::testing::ValuesIn(faults::ways()), faults::name_of);

}  // namespace os_faults_test
}  // namespace fatctx
