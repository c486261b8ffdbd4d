// Checks beside the load: when damage is told, who waits, and in which order handles may go.
#include "runtime/view/beside_checks.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "fatctx/model.h"
#include "runtime/open/container_impl.h"
#include "support/child_process.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace beside_checks_test {

using support::Bytes;
using support::is_ok;

constexpr std::uint64_t kSize = std::uint64_t{12} << 20;
const OpenOptions kBeside = {.verify = VerifyPolicy::kBesideLoad};

class BesideLoad : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<PackRecord> records;
    PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(kSize, 51));
    weights.tensors = {{.name = "t", .dtype = DType::kI8, .shape = {1000}, .offset_in_blob = 64, .size_bytes = 1000}};
    records.push_back(std::move(weights));
    PackRecord binary = support::binary_record("binary", "x86-64-v2", support::pattern(kSize / 2, 52));
    binary.weights = {"weights"};
    records.push_back(std::move(binary));
    records.push_back(support::plain_record(RecordType::kOpaque, "other", support::pattern(kSize / 4, 53)));
    ASSERT_TRUE(is_ok(support::pack(std::move(records), path_)));
    model_.device = Device();
    model_.device->arch = "x86-64-v2";
    model_.open = kBeside;
  }
  void damage(std::string_view name, std::uint64_t at = 5'000'000) const {
    const RecordInfo record = Container::open(path_).value().find(name).value();
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(record.file_offset + at % record.size_bytes));
    file.put('\x7e');
  }

  support::TempDir folder_;
  std::string path_ = folder_.file("m.fatctx");
  ModelOptions model_;
};

TEST_F(BesideLoad, AWholeRecordIsGoodAndIsCheckedOncePerLook) {
  const Container container = Container::open(path_, kBeside).value();
  EXPECT_EQ(verify_policy_name(support::report_of(container).verify), "beside_load");
  const RecordView view = container.acquire("weights").value();
  EXPECT_TRUE(is_ok(container.await_checks()));
  EXPECT_TRUE(std::ranges::equal(view.bytes(), support::pattern(kSize, 51)));
  EXPECT_EQ(mapped_of(container)->verification_of(*mapped_of(container)->toc().find(view.record_id())),
            RecordState::kOk);
  EXPECT_TRUE(is_ok(container.acquire("weights")));
  EXPECT_TRUE(is_ok(container.await_checks()));
}

TEST_F(BesideLoad, DamageIsToldByTheWaitAndThenByEveryAcquire) {
  damage("weights");
  const Container container = Container::open(path_, kBeside).value();
  const auto view = container.acquire("weights");
  ASSERT_TRUE(is_ok(view)) << "nobody has looked at the bytes yet, or the policy is not kept";
  const auto told = container.await_checks();
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(told.error().where.record_id, view.value().record_id());
  EXPECT_NE(told.error().message.find(path_), std::string::npos);
  EXPECT_FALSE(container.await_checks().ok()) << "it stays";
  EXPECT_EQ(container.acquire("weights").error().code, ErrorCode::kChecksumMismatch) << "known by now";
  EXPECT_TRUE(is_ok(container.acquire("other")));
  const std::uint32_t other = container.find("other").value().id;
  EXPECT_TRUE(is_ok(container.await_checks({&other, 1}))) << "only those that are named";
  const std::uint32_t missing = 99;
  EXPECT_EQ(container.await_checks({&missing, 1}).error().code, ErrorCode::kNotFound);
}

TEST_F(BesideLoad, ASessionWithDamagedBytesDoesNotEndWell) {
  damage("weights");
  const Model model = Model::open(path_, model_).value();
  auto session = model.begin_session();
  ASSERT_TRUE(is_ok(session));
  EXPECT_EQ(session.value().await_checks().error().code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(session.value().end().error().code, ErrorCode::kChecksumMismatch);
  EXPECT_TRUE(is_ok(session.value().await_checks())) << "an ended session has no records";

  ModelOptions next = model_;
  next.on_damage = OnDamage::kNext;
  const auto refused = Model::open(path_, next);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("beside_load"), std::string::npos);
}

TEST_F(BesideLoad, TheEndOfASessionWaitsForItsChecks) {
  damage("binary");
  Session session = Model::open(path_, model_).value().begin_session().value();
  EXPECT_EQ(session.end().error().code, ErrorCode::kChecksumMismatch) << "nobody else has waited";
}

TEST_F(BesideLoad, WhatIsUsedAtOnceIsCheckedAtOnce) {
  damage("weights", 100);
  const Container container = Container::open(path_, kBeside).value();
  const std::uint32_t weights = container.find("weights").value().id;
  EXPECT_EQ(container.tensor(weights, "t").error().code, ErrorCode::kChecksumMismatch);
  OpenOptions copied = kBeside;
  copied.file_mapping = FileMapping::kDisabled;
  EXPECT_EQ(Container::open(path_, copied).value().acquire("weights").error().code, ErrorCode::kChecksumMismatch);
}

TEST_F(BesideLoad, HandlesMayGoInEveryOrderWhileAChecksRuns) {
  for (int round = 0; round < 60; ++round) {
    std::optional<Model> model = Model::open(path_, model_).value();
    std::optional<Container> container = *model->container();
    std::optional<Session> session = model->begin_session().value();
    std::optional<RecordView> view = session->weights().front().view;
    std::optional<RecordView> other = container->acquire("other").value();
    std::optional<std::thread> waiting;
    if (round % 3 == 0) waiting.emplace([kept = *session] { EXPECT_TRUE(is_ok(kept.await_checks())); });
    for (int step = 0; step < 4; ++step) {
      switch ((round + step * (round % 2 == 0 ? 1 : 3)) % 4) {
        case 0:
          model.reset();
          break;
        case 1:
          container.reset();
          break;
        case 2:
          session.reset();
          break;
        default:
          other.reset();
      }
    }
    EXPECT_EQ(view->bytes()[7], support::pattern(8, 51)[7]) << "a view outlives the checks";
    if (waiting) waiting->join();
  }
}

TEST_F(BesideLoad, AChildChecksByItself) {
  const Container container = Container::open(path_, kBeside).value();
  const std::uint32_t weights = container.acquire("weights").value().record_id();
  EXPECT_EQ(support::in_child([&] {
              if (container.await_checks().ok()) return 1;  // it cannot know the parent's
              if (!container.await_checks({&weights, 1}).ok()) return 2;
              if (!container.acquire("other").ok()) return 3;
              return 0;
            }),
            0);
  EXPECT_TRUE(is_ok(container.await_checks()));
}

TEST_F(BesideLoad, AChildThatNamesADamagedRecordIsTold) {
  damage("weights");
  const Container container = Container::open(path_, kBeside).value();
  const std::uint32_t weights = container.acquire("weights").value().record_id();
  EXPECT_EQ(support::in_child([&] {
              const auto told = container.await_checks({&weights, 1});
              return told.ok() || told.error().code != ErrorCode::kChecksumMismatch ? 1 : 0;
            }),
            0);
}

TEST_F(BesideLoad, WithoutAThreadARecordIsCheckedAtOnceAndNoWaitKnowsIt) {
  damage("weights");
  const int result = support::in_child([&] {
    ::alarm(20);  // for a wait that never ends
    const Container container = Container::open(path_, kBeside).value();
    rlimit limit{};
    if (::getrlimit(RLIMIT_NPROC, &limit) != 0) return support::kChildSkipped;
    const rlimit none{0, limit.rlim_max};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) return support::kChildSkipped;
    if (::geteuid() == 0 && (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0)) {
      return support::kChildSkipped;
    }
    const auto refused = container.acquire("weights");
    if (refused.ok() || refused.error().code != ErrorCode::kChecksumMismatch) return 1;
    if (!container.acquire("other").ok()) return 2;
    if (!container.await_checks().ok()) return 3;
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0) return support::kChildSkipped;
    if (!container.acquire("binary").ok()) return 4;
    // The thread that now runs has finished what waited before "binary" when the first wait ends.
    return container.await_checks().ok() && container.await_checks().ok() ? 0 : 5;
  });
  if (result == support::kChildSkipped) GTEST_SKIP() << "the limit cannot be lowered here";
  EXPECT_EQ(result, 0);
}

TEST_F(BesideLoad, AChangeOfTheFileMakesANewCheck) {
  Session session = Model::open(path_, model_).value().begin_session().value();
  ASSERT_TRUE(is_ok(session.await_checks()));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  damage("weights");
  EXPECT_EQ(session.end().error().code, ErrorCode::kChecksumMismatch);
}

}  // namespace beside_checks_test
}  // namespace fatctx
