// The table of malformed files: every rule of the format has a file that breaks only this rule, with every checksum
// right. The file is refused for this rule and no other. scripts/mutants.py removes each check of the reader in
// turn and expects a row to fail.
//
// The rows are in lies_header.h, lies_toc.h and lies_verify.h; those of tensor tables are in tensor_table_test.cc.
// Shows S5.5, S3.70.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "container/check/lies_verify.h"
#include "container/check/verify.h"
#include "container/format/rules.h"
#include "container/read/lies_header.h"
#include "container/read/lies_toc.h"
#include "container/read/open.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace table_of_lies_test {

using support::HostileFile;
using support::is_error;
using support::is_ok;
using support::MemoryFile;

MemoryFile damaged(const Lie& lie) {
  HostileFile file(support::unsealed_sample());
  lie.damage(file);
  return MemoryFile(file.bytes());
}

void expect_refused(const Lie& lie) {
  SCOPED_TRACE(lie.name);
  MemoryFile file = damaged(lie);

  const auto opened = read_toc(file, file.size());

  ASSERT_FALSE(opened.ok());
  EXPECT_TRUE(is_error(opened.error(), lie.code, lie.rule));
  EXPECT_TRUE(opened.error().where.file_offset.has_value()) << to_text(opened.error());
  EXPECT_NE(opened.error().message.find(lie.words), std::string::npos) << to_text(opened.error());
  const auto report = verify_container(file, {});
  ASSERT_TRUE(is_ok(report)) << "a broken rule is a finding";
  ASSERT_EQ(report.value().findings.size(), 1U);
  EXPECT_EQ(to_text(report.value().findings.front().error), to_text(opened.error()));
}

TEST(TableOfLies, AFileTakenApartAndPutTogetherIsTheSameFile) {
  for (const auto* sample : {&support::unsealed_sample(), &support::sealed_sample()}) {
    HostileFile file(*sample);
    EXPECT_EQ(file.bytes(), *sample);
    file.rehash_payload = true;
    EXPECT_EQ(file.bytes(), *sample) << "recomputed hashes differ from the packer's";
  }
}

TEST(TableOfLies, EveryLieOfTheHeaderIsRefusedForItsRule) {
  for (const Lie& lie : kHeaderLies) expect_refused(lie);
}

TEST(TableOfLies, EveryLieOfTheTableOfContentsIsRefusedForItsRule) {
  for (const Lie& lie : kTocLies) expect_refused(lie);
}

TEST(TableOfLies, EveryLieBehindTheTableOfContentsIsFoundByVerify) {
  for (const Lie& lie : kVerifyLies) {
    SCOPED_TRACE(lie.name);
    MemoryFile file = damaged(lie);
    ASSERT_TRUE(is_ok(read_toc(file, file.size()))) << "an open does not look there";

    const auto report = verify_container(file, {});

    ASSERT_TRUE(is_ok(report));
    const auto& findings = report.value().findings;
    ASSERT_FALSE(findings.empty());
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                            [&](const VerifyFinding& finding) {
                              return is_error(finding.error, lie.code, lie.rule) &&
                                     finding.error.where.file_offset.has_value();
                            }))
        << "the first finding is: " << to_text(findings.front().error);
  }
}

TEST(TableOfLies, EveryRuleHasARow) {
  std::set<std::string_view> shown;
  for (const Lie& lie : kHeaderLies) shown.insert(lie.rule);
  for (const Lie& lie : kTocLies) shown.insert(lie.rule);
  for (const Lie& lie : kVerifyLies) shown.insert(lie.rule);

  for (const Rule& rule : kRules) {
    EXPECT_TRUE(shown.contains(rule.id)) << rule.id << " needs a row";
    shown.erase(rule.id);
  }
  EXPECT_TRUE(shown.empty()) << *shown.begin() << " is not in rules.h";
}

TEST(TableOfLies, NamesOfRowsAreUnique) {
  std::set<std::string_view> names;
  for (const Lie& lie : kHeaderLies) EXPECT_TRUE(names.insert(lie.name).second) << lie.name;
  for (const Lie& lie : kTocLies) EXPECT_TRUE(names.insert(lie.name).second) << lie.name;
  for (const Lie& lie : kVerifyLies) EXPECT_TRUE(names.insert(lie.name).second) << lie.name;
}

}  // namespace table_of_lies_test
}  // namespace fatctx::container
