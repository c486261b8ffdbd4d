#include "tools/compile/targets_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace fatctx::tools {
namespace targets_file_test {

using support::fails_with;
using support::is_ok;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

TEST(Targets, AListAndAnObjectMeanTheSame) {
  const auto list = parse_targets(R"([{"arch": "x86-64-v3"}, {"arch": "aarch64"}] // all)", "t.json");
  const auto object = parse_targets(
      R"({"schema": "fatctx.targets/1", "targets": [{"arch": "x86-64-v3"}, {"arch": "aarch64"}]})", "t.json");

  ASSERT_TRUE(is_ok(list));
  ASSERT_TRUE(is_ok(object));
  ASSERT_EQ(list.value().targets.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(compiler_flags(list.value().targets[i]), compiler_flags(object.value().targets[i]));
  }
}

TEST(Targets, DefaultFlagsFollowFromTheArch) {
  const auto targets =
      parse_targets(R"([{"arch": "x86-64-v3"}, {"arch": "aarch64", "features": ["i8mm", "dotprod"]}])", "t.json");

  ASSERT_TRUE(is_ok(targets));
  EXPECT_THAT(compiler_flags(targets.value().targets[0]),
              ElementsAre("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                          "--iree-llvmcpu-target-triple=x86_64-unknown-linux-gnu",
                          "--iree-llvmcpu-target-cpu=x86-64-v3", "--iree-opt-const-expr-hoisting=false"));
  EXPECT_THAT(compiler_flags(targets.value().targets[1]),
              ElementsAre("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                          "--iree-llvmcpu-target-triple=aarch64-unknown-linux-gnu", "--iree-llvmcpu-target-cpu=generic",
                          "--iree-llvmcpu-target-cpu-features=+dotprod,+i8mm", "--iree-opt-const-expr-hoisting=false"));
  EXPECT_EQ(target_label(targets.value().targets[1]), "aarch64+dotprod+i8mm");
}

TEST(Targets, AnOptionReplacesTheDefaultAndTheCommonOneOfItsName) {
  const auto targets = parse_targets(R"({"options": ["--iree-opt-level=O2", "--x=1"], "targets": [
      {"arch": "x86-64-v4", "options": ["--iree-opt-const-expr-hoisting=true", "--iree-opt-level=O3"]}]})",
                                     "t.json");

  ASSERT_TRUE(is_ok(targets));
  const auto flags = compiler_flags(targets.value().targets[0]);
  EXPECT_THAT(flags, Contains("--iree-opt-const-expr-hoisting=true"));
  EXPECT_THAT(flags, Not(Contains("--iree-opt-const-expr-hoisting=false")));
  EXPECT_THAT(flags, Contains("--iree-opt-level=O3"));
  EXPECT_THAT(flags, Not(Contains("--iree-opt-level=O2")));
  EXPECT_THAT(flags, Contains("--x=1"));
}

TEST(Targets, AnotherMachineNeedsItsTriple) {
  const auto targets = parse_targets(
      R"([{"arch": "loong64", "triple": "loongarch64-unknown-linux-gnu", "features": ["lsx"]}])", "t.json");

  ASSERT_TRUE(is_ok(targets));
  const auto flags = compiler_flags(targets.value().targets[0]);
  EXPECT_THAT(flags, Contains("--iree-llvmcpu-target-triple=loongarch64-unknown-linux-gnu"));
  EXPECT_THAT(flags, Contains("--iree-llvmcpu-target-cpu-features=+lsx"));
}

struct Mistake {
  const char* text;
  const char* message;  // the beginning of the error
};

const Mistake kMistakes[] = {
    {"7", "t.json: the whole file: found 7; allowed: an array of targets, or an object with the key \"targets\""},
    {"[]", "t.json: the whole file: found no target; at least one is needed"},
    {"{\"targets\": []}", "t.json: /targets: found no target; at least one is needed"},
    {"{}", "t.json: the whole file: the key \"targets\" is missing"},
    {"{\"target\": []}", "t.json: /target: unknown key; did you mean \"targets\"?"},
    {"{\"schema\": \"x\", \"targets\": [{\"arch\": \"aarch64\"}]}", "t.json: /schema: found \"x\"; allowed: "},
    {"[{}]", "t.json: /0: the key \"arch\" is missing"},
    {"[{\"arch\": \"x86-64-v3\", \"feature\": []}]", "t.json: /0/feature: unknown key; did you mean \"features\"?"},
    {"[{\"arch\": \"x86-64-v9\"}]", "t.json: /0/arch: found \"x86-64-v9\"; did you mean \"x86-64-v1\"? known: "},
    {"[{\"arch\": \"m68k\"}]", "t.json: /0/arch: found \"m68k\"; known: "},
    {"[{\"arch\": \"aarch64\", \"features\": [\"i8mm\", \"dotprdo\"]}]",
     "t.json: /0/features/1: found \"dotprdo\"; did you mean \"dotprod\"? allowed: "},
    {"[{\"arch\": \"x86-64-v4\", \"features\": [\"i8mm\"]}]", "t.json: /0/features/0: found \"i8mm\"; "},
    {"[{\"arch\": \"aarch64\", \"options\": \"--x\"}]", "t.json: /0/options: found \"--x\"; allowed: an array"},
    {"[{\"arch\": \"aarch64\", \"options\": [\"-o\"]}]", "t.json: /0/options/0: found \"-o\"; allowed: a flag"},
    {"[{\"arch\": \"aarch64\", \"options\": [\"--o=x\"]}]",
     "t.json: /0/options/0: found \"--o=x\", which fatctx compile sets itself"},
    {"{\"import_options\": [\"--params-scope=x\"], \"targets\": [{\"arch\": \"aarch64\"}]}",
     "t.json: /import_options/0: found \"--params-scope=x\", which fatctx compile sets itself"},
    {"[{\"arch\": \"aarch64\", \"features\": [\"i8mm\", \"sve\"]}, {\"arch\": \"aarch64\", \"features\": [\"sve\", "
     "\"i8mm\"]}]",
     "t.json: /1: the same target as /0: aarch64+i8mm+sve; give one of them a \"variant\""},
};

TEST(Targets, EveryMistakeIsNamedWithItsPlaceAndWhatIsAllowed) {
  for (const Mistake& mistake : kMistakes) {
    const auto targets = parse_targets(mistake.text, "t.json");

    ASSERT_TRUE(fails_with(targets, ErrorCode::kInvalidArgument)) << mistake.text;
    EXPECT_EQ(targets.error().message.rfind(mistake.message, 0), 0U)
        << "expected: " << mistake.message << "\nfound:    " << targets.error().message;
  }
}

TEST(Targets, AVariantTellsTwoOfOneKindApart) {
  const auto targets = parse_targets(
      R"([{"arch": "aarch64"}, {"arch": "aarch64", "variant": "hoisted", "options": ["--iree-opt-const-expr-hoisting=true"]}])",
      "t.json");
  ASSERT_TRUE(is_ok(targets));
  EXPECT_EQ(target_label(targets.value().targets[1]), "aarch64.hoisted");
}

TEST(TargetWord, MeansTheSameAsTheFile) {
  const auto word = parse_target_word("aarch64+i8mm+dotprod");
  const auto file = parse_targets(R"([{"arch": "aarch64", "features": ["dotprod", "i8mm"]}])", "t.json");

  ASSERT_TRUE(is_ok(word));
  ASSERT_TRUE(is_ok(file));
  EXPECT_EQ(compiler_flags(word.value()), compiler_flags(file.value().targets[0]));
  EXPECT_TRUE(is_ok(parse_target_word("cpu:x86-64-v2")));
  EXPECT_TRUE(fails_with(parse_target_word("x86-64-v7"), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(parse_target_word("x86-64-v4+sve"), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(parse_target_word(""), ErrorCode::kInvalidArgument));
}

}  // namespace targets_file_test
}  // namespace fatctx::tools
