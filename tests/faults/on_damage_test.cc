// Disk reads that fail while a model checks its chosen target.
#include <gtest/gtest.h>

#include <cerrno>

#include "faults/os_faults.h"
#include "runtime/large_model.h"

namespace fatctx::faults {
namespace on_damage_test {

TEST(OnDamageNextFaults, ARecordThatCannotBeReadOnceIsPassedOverAndNamed) {
  const testing::Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  ModelOptions options;
  options.device = testing::cpu("x86-64-v4");
  options.on_damage = OnDamage::kNext;

  int passed_over = 0;
  for (long call = 0;; ++call) {
    const Injected injected({.kind = Kind::kError, .error_number = EIO, .call = call});
    const auto model = Model::open(path, options);
    if (!injected.met()) break;
    if (!model.ok()) continue;  // the read was one of every open, or of the weights, which all targets share
    const Selection& selection = model.value().selection();
    const bool best = model.value().container()->record(selection.chosen.front()).value().name == "small.x86-64-v4";
    ASSERT_EQ(selection.damaged.empty(), best) << "call " << call << " of " << injected.call();
    if (best) continue;
    ++passed_over;
    EXPECT_EQ(selection.damaged.front().error.code, ErrorCode::kIo);
    EXPECT_EQ(selection.damaged.front().error.where.os_error, EIO);
    EXPECT_EQ(selection.damaged.front().name, "small.x86-64-v4");
  }
  EXPECT_GE(passed_over, 1);
}

}  // namespace on_damage_test
}  // namespace fatctx::faults
