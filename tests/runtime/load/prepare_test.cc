// A model that is compiled on the device, because its container has nothing else for that device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "fatctx/model.h"
#include "fatctx/packer.h"
#include "runtime/small_model.h"
#include "support/result_matchers.h"

namespace fatctx {
namespace prepare_test {

using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class Prepare : public ::testing::Test {
 protected:
  Prepare() {
    Packer packer{PackOptions{}};
    PackRecord binary;
    binary.type = RecordType::kContextBinary;
    binary.name = "for SM8650";
    binary.key.backend = "htp";
    binary.key.part = "SM8650";
    binary.key.arch = "v75";
    binary.source.bytes = testing::pattern(9'000, 1);
    PackRecord model;
    model.type = RecordType::kSourceModel;
    model.name = "source";
    model.codec = Codec::kLz4;
    model.source.bytes = model_;
    EXPECT_TRUE(is_ok(packer.add(std::move(binary))));
    EXPECT_TRUE(is_ok(packer.add(std::move(model))));
    EXPECT_TRUE(is_ok(packer.publish(path_)));
  }

  // Returns options whose compiler names the device in its output and counts its calls.
  ModelOptions options(const std::string& device) {
    ModelOptions made;
    made.device = device_from_text(device).value();
    made.prepare = [this](const PrepareRequest& request) -> Result<std::vector<std::byte>> {
      ++asked_;
      EXPECT_EQ(request.record.name, "source");
      EXPECT_TRUE(std::ranges::equal(request.source, model_));
      return bytes_of("compiled for " + request.device.part.value_or("nobody"));
    };
    return made;
  }

  testing::Folder folder_;
  std::string path_ = folder_ / "m.fatctx";
  std::vector<std::byte> model_ = std::vector<std::byte>(300'000, std::byte{'m'});
  int asked_ = 0;
};

TEST_F(Prepare, CompilesOnceForAllSessionsWhenNoRecordFits) {
  const Model model = Model::open(path_, options("SM8850")).value();

  EXPECT_EQ(model.selection().tier, 7);
  EXPECT_EQ(asked_, 1);
  EXPECT_THAT(model.explain(), HasSubstr("source: T7 FALLBACK, a source model, to be compiled"));
  RecordView kept = [&] {
    const Session first = model.begin_session().value();
    const Session second = model.begin_session().value();
    const RecordView of_first = first.binary().value();
    const RecordView of_second = second.binary("any").value();
    EXPECT_EQ(of_first.data(), of_second.data());
    EXPECT_TRUE(first.weights().empty());
    EXPECT_TRUE(fails_with(first.weight("w"), ErrorCode::kNotFound));
    return first.binary().value();
  }();
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(kept.access_path(), AccessPath::kCopied);
  EXPECT_TRUE(std::ranges::equal(kept.bytes(), bytes_of("compiled for SM8850")));
  Session last = model.begin_session().value();
  EXPECT_TRUE(is_ok(last.end()));
}

TEST_F(Prepare, IsNotAskedWhereARecordFits) {
  const Model model = Model::open(path_, options("SM8650")).value();

  EXPECT_EQ(model.selection().tier, 1);
  EXPECT_EQ(asked_, 0);
}

TEST_F(Prepare, WhatTheHookSaysOrDoesEndsTheOpen) {
  ModelOptions failing = options("SM8850");
  failing.prepare = [](const PrepareRequest&) -> Result<std::vector<std::byte>> {
    return Error{ErrorCode::kBackendLibraryMissing, "no compiler here"};
  };
  const auto refused = Model::open(path_, failing);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kBackendLibraryMissing));
  EXPECT_THAT(refused.error().message, HasSubstr("m.fatctx: compiling source model \"source\": no compiler here"));

  failing.prepare = [](const PrepareRequest&) -> Result<std::vector<std::byte>> { return std::vector<std::byte>(); };
  EXPECT_TRUE(fails_with(Model::open(path_, failing), ErrorCode::kInvalidArgument));
  failing.prepare = [](const PrepareRequest&) -> Result<std::vector<std::byte>> { throw std::runtime_error("no"); };
  EXPECT_THROW((void)Model::open(path_, failing), std::runtime_error);
  failing.prepare = {};
  EXPECT_TRUE(fails_with(Model::open(path_, failing), ErrorCode::kNoMatch));
  failing.policy.prepare_hook = true;
  EXPECT_TRUE(fails_with(Model::open(path_, failing), ErrorCode::kInvalidArgument));
}

TEST_F(Prepare, DamageOfTheSourceModelIsFoundBeforeAnybodyCompilesIt) {
  const RecordInfo record = Container::open(path_).value().find("source").value();
  testing::flip_byte(path_, record.file_offset + record.stored_bytes / 2);

  for (const OnDamage on_damage : {OnDamage::kFail, OnDamage::kNext}) {
    ModelOptions asked = options("SM8850");
    asked.on_damage = on_damage;
    const auto refused = Model::open(path_, asked);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kChecksumMismatch);
    EXPECT_EQ(asked_, 0);
  }
}

}  // namespace prepare_test
}  // namespace fatctx
