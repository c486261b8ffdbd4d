// A stitched view that fails half way: its reservation is released with everything that was mapped into it. A read that
// fails during its check is an error.
#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "fatctx/container.h"
#include "faults/os_faults.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "support/result_matchers.h"
#include "support/sliced_container.h"

namespace fatctx {
namespace stitched_reservation_test {

struct Maps {
  int of_the_file = 0;
  int reserved = 0;  // not accessible
  friend bool operator==(const Maps&, const Maps&) = default;
};

Maps maps_now() {
  std::ifstream file("/proc/self/maps");
  Maps maps;
  for (std::string line; std::getline(file, line);) {
    if (line.find("sliced.fatctx") != std::string::npos) ++maps.of_the_file;
    if (line.find(" ---p ") != std::string::npos) ++maps.reserved;
  }
  return maps;
}

TEST(StitchedReservation, LeavesNothingWhenTheNthCallFails) {
  const support::TempDir folder;
  const std::string path = folder.file("sliced.fatctx");
  support::write_file(path, support::sliced_model().bytes());
  const Container container = Container::open(path, {.verify = VerifyPolicy::kNone}).value();
  (void)container.acquire("weights");  // creates the objects that a process creates once
  const Maps before = maps_now();

  int refused = 0;
  for (const bool for_ever : {false, true}) {
    bool met = true;
    for (long call = 0; met; ++call) {
      ASSERT_LT(call, 500) << "it never got through";
      {
        const faults::Injected injected({.error_number = ENOMEM, .call = call, .for_ever = for_ever});
        const auto view = container.acquire("weights");
        met = injected.met();
        if (!view.ok()) {
          ++refused;
          EXPECT_EQ(view.error().code, ErrorCode::kNoResource) << to_text(view.error());
        }
      }
      EXPECT_EQ(maps_now(), before) << "after call " << call;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(refused, static_cast<int>(2 * support::kSlicedGranules)) << "one map for each piece";
  EXPECT_TRUE(support::is_ok(container.acquire("weights")));
}

TEST(StitchedCheck, EndsWithTheErrorOfEachReadThatFails) {
  const support::TempDir folder;
  const std::string path = folder.file("sliced.fatctx");
  support::write_file(path, support::sliced_model().bytes());

  int reads = 0;
  bool met = true;
  for (long call = 0; met; ++call) {
    const Container container = Container::open(path).value();
    const MappedContainer& mapped = *mapped_of(container);
    const RecordInfo& record = *mapped.find("odd").value();
    const faults::Injected injected({.error_number = EIO, .call = call});
    const auto verified = mapped.verify_record(record, 0);
    met = injected.met();
    if (injected.call() != "pread") continue;
    ++reads;
    ASSERT_TRUE(support::fails_with(verified, ErrorCode::kIo)) << "call " << call;
    EXPECT_EQ(verified.error().message.find("fatctx verify"), std::string::npos) << verified.error().message;
    EXPECT_EQ(mapped.verification_of(record), RecordState::kUnknown) << "nobody knows whether it is damaged";
  }
  EXPECT_GE(reads, 2) << "what it has, and what is behind its last byte";
}

}  // namespace stitched_reservation_test
}  // namespace fatctx
