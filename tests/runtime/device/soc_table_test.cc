// The table of SoCs: the built-in one, tables that add to it, and tables that are inconsistent.
#include "fatctx/soc_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "fatctx/device.h"
#include "source_dir.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace soc_table_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string data_file() { return FATCTX_SOURCE_DIR "/data/soc_table.csv"; }

std::string text_of_data() {
  std::ifstream stream(data_file());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

const Soc& row(const SocTable& table, std::string_view part) {
  const auto found = std::ranges::find(table.socs(), part, &Soc::part);
  if (found == table.socs().end()) throw std::runtime_error("no row " + std::string(part));
  return *found;
}

std::vector<std::string> parts(const std::vector<const Soc*>& socs) {
  std::vector<std::string> names;
  for (const Soc* soc : socs) names.push_back(soc->part);
  return names;
}

TEST(SocTable, TheBuiltInOneIsTheFileOfTheSourcesAndHoldsTogether) {
  const auto read = SocTable::read(data_file());

  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(to_json(SocTable::built_in()), to_json(read.value()));
  EXPECT_EQ(read.value().socs().size(), 167u);
  EXPECT_EQ(read.value().version(), "2026.11");
  const auto qualcomm = std::ranges::count(read.value().socs(), "Qualcomm", &Soc::vendor);
  EXPECT_EQ(qualcomm, 135);
}

// Shows S3.4: the parts that upstream tested with.
TEST(SocTable, HasThePartsThatUpstreamTested) {
  const SocTable table = SocTable::built_in();

  for (const auto& [part, number, arch] :
       {std::tuple{"SC8280X", 37u, "v68"}, std::tuple{"SM8350", 30u, "v68"}, std::tuple{"SC8380XP", 60u, "v73"}}) {
    EXPECT_EQ(row(table, part).qnn_soc, number);
    EXPECT_EQ(row(table, part).arch, arch);
  }
}

TEST(SocTable, KeepsNumbersThatAreOftenMistakenForEachOtherApart) {
  const SocTable table = SocTable::built_in();

  EXPECT_EQ(row(table, "SM8750").arch, "v79");
  EXPECT_EQ(row(table, "SM8550").qnn_soc, 43u);
  EXPECT_EQ(row(table, "SM8650").qnn_soc, 57u);
  EXPECT_EQ(row(table, "SM8850").qnn_soc, 87u);
  EXPECT_EQ(row(table, "SC8480XP").qnn_soc, 88u);
  EXPECT_EQ(row(table, "SM8250").runtime, "DSP");
  EXPECT_EQ(table.with_kernel_id(439)->part, "SM8350");
  EXPECT_THAT(row(table, "SM8350P").kernel_ids, ElementsAre(439u));
  EXPECT_EQ(table.with_kernel_id(69), nullptr) << "a QNN number is no kernel number";
}

struct Named {
  const char* name;
  const char* part;
  PartRule rule;
};
const Named kNames[] = {
    {" sm8750\n", "SM8750", PartRule::kExact},
    {"SM8750-AC", "SM8750", PartRule::kAlias},
    {"SDM865", "SM8250", PartRule::kAlias},
    {"x1e80100", "SC8380XP", PartRule::kAlias},
    {"sm8550-ab", "SM8550", PartRule::kStripSuffix},
    {"SM8450-1-AB", "SM8450", PartRule::kStripSuffix},
    {"SM8650P", "SM8650", PartRule::kStripP},
    {"SM8650P-AC", "SM8650", PartRule::kStripP},
    {"SC8380XP", "SC8380XP", PartRule::kExact},
    {"SSG2115P", "SSG2115P", PartRule::kExact},
    {"tensor_g3", "Tensor_G3", PartRule::kExact},
    {"SM8750PP", "SM8750PP", PartRule::kUnknown},
    {"sm9999-ab", "SM9999-AB", PartRule::kUnknown},
    {"SM8750-AD", "SM8750-AD", PartRule::kUnknown},
    {"", "", PartRule::kUnknown},
};

TEST(SocTable, NormalisesPartNamesAndSaysByWhichRule) {
  const SocTable table = SocTable::built_in();
  for (const Named& named : kNames) {
    const NamedPart found = table.name_part(named.name);
    EXPECT_EQ(found.part, named.part) << named.name;
    EXPECT_EQ(found.rule, named.rule) << named.name;
    EXPECT_EQ(found.soc == nullptr, named.rule == PartRule::kUnknown) << named.name;
    if (found.soc != nullptr) {
      EXPECT_TRUE(found.soc->alias_of.empty()) << named.name;
    }
  }
}

TEST(SocTable, SpellingsOfOnePartKnowTheSame) {
  const SocTable table = SocTable::built_in();

  EXPECT_EQ(row(table, "SM8750-AC").vtcm_mb, 8u) << "from SM8750";
  EXPECT_EQ(row(table, "SM8150").qnn_soc, 12u) << "from SDM855";
  EXPECT_THAT(parts(table.with_qnn_soc(69)), ElementsAre("SM8750"));
  EXPECT_THAT(parts(table.with_qnn_soc(52)), UnorderedElementsAre("SA8255", "SA8630", "SA8650", "SA8775"));
  EXPECT_TRUE(table.with_qnn_soc(9999).empty());
}

TEST(SocTable, IsSearchedByNamesAndByWholeNumbers) {
  const SocTable table = SocTable::built_in();

  EXPECT_THAT(parts(table.search("8750")), UnorderedElementsAre("CQ8750S", "SM8750", "SM8750-AC"));
  EXPECT_THAT(parts(table.search("618")), UnorderedElementsAre("SM8750", "SM8750-AC"));
  EXPECT_THAT(parts(table.search("87")), ElementsAre("SM8850")) << "not every name with 87 in it";
  EXPECT_THAT(parts(table.search("8 elite gen")), ElementsAre("SM8850"));
  EXPECT_THAT(parts(table.search("dimensity 9400")), ElementsAre("MT6991"));
  EXPECT_EQ(table.search("").size(), table.socs().size());
  EXPECT_TRUE(table.search("nothing like it").empty());
}

TEST(SocTable, IsJsonWithTheMeaningOfItsTags) {
  const auto json = nlohmann::json::parse(to_json(SocTable::built_in(), "SM8735"));

  EXPECT_EQ(json["schema"], "fatctx.socs/1");
  EXPECT_EQ(json["version"], "2026.11");
  ASSERT_EQ(json["socs"].size(), 1u);
  EXPECT_EQ(json["socs"][0]["kernel_variants"][0]["name"], "SM8735P");
  EXPECT_EQ(json["sources"].size(), json["socs"][0]["sources"].size());
  EXPECT_THAT(json["sources"]["ET-PR19216"].get<std::string>(), HasSubstr("unverified"));
}

const std::string kAddition =
    "#fatctx.soc_table/1\n#version,lab.3\n#extends,built-in\n#source,LAB,measured on the desk\n"
    "vendor,part,qnn_soc,kernel_ids,kernel_lookup,arch,vtcm_mb,runtime,sources\n"
    "Qualcomm,SM9999,120,900;901,901,v85,16,HTP,LAB\n"
    "Qualcomm,SM8650,57,557,557,v75,4,HTP,LAB LRT-H\n";

TEST(SocTable, AFileAddsRowsAndTakesThePlaceOfOthers) {
  const auto table = SocTable::parse(kAddition, "lab.csv");

  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table.value().version(), "2026.11+lab.3");
  EXPECT_EQ(table.value().socs().size(), 168u);
  EXPECT_EQ(row(table.value(), "SM8650").vtcm_mb, 4u);
  EXPECT_EQ(table.value().with_kernel_id(901)->part, "SM9999");
  EXPECT_EQ(table.value().with_kernel_id(900), nullptr) << "it was seen, and leads nowhere";
  EXPECT_EQ(table.value().with_kernel_id(577), nullptr) << "the row of that number was replaced";
  const auto device = device_from_text("SM9999", table.value());
  ASSERT_TRUE(device.ok()) << device.error().message;
  EXPECT_EQ(device.value().arch, "v85");
  EXPECT_FALSE(device_from_text("SM9999").ok());
}

TEST(SocTable, AFileWithoutExtendsStandsAlone) {
  std::string text = kAddition;
  text.erase(text.find("#extends"), std::string("#extends,built-in\n").size());
  text.replace(text.find("LAB LRT-H"), 9, "LAB");
  const auto table = SocTable::parse(text, "lab.csv");

  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table.value().version(), "lab.3");
  EXPECT_EQ(table.value().socs().size(), 2u);
  EXPECT_EQ(table.value().name_part("SM8750").rule, PartRule::kUnknown);
}

struct Lie {
  const char* rows;   // below the titles
  const char* place;  // reported line and column
  const char* remedy;
};
const Lie kLies[] = {
    {"Qualcomm,A1000,,,x,,,,,,,", "lab.csv:4: column qnn_soc: found \"x\"", "decimal number"},
    {"Qualcomm,A1000,,,0,,,,,,,", "lab.csv:4: column qnn_soc: found \"0\"", "leave the cell empty"},
    {"Qualcomm,A1000,,,4294967296,,,,,,,", "lab.csv:4: column qnn_soc", "decimal number"},
    {"Qualcomm,A1000,,,,1;b,,,,,,", "lab.csv:4: column kernel_ids: found \"1;b\"", "618;639"},
    {"Qualcomm,A1000,,,,,,5,,,,", "lab.csv:4: column kernel_variants: found \"5\"", "639=SM8750P"},
    {"Qualcomm,A1000,,,,,,5=,,,,", "lab.csv:4: column kernel_variants", "639=SM8750P"},
    {"Qualcomm,A1000,,,,,,,,2000,,", "lab.csv:4: column vtcm_mb: found \"2000\"", "1 to 1024 MB"},
    {",A1000,,,,,,,,,,", "lab.csv:4: column vendor: found nothing", "name the vendor"},
    {"Qualcomm,,,,,,,,,,,", "lab.csv:4: column part: found nothing", "SM8750"},
    {"Qualcomm,69,,,,,,,,,,", "lab.csv:4: column part: found \"69\"", "no bare number"},
    {"Qualcomm,v79,,,,,,,,,,", "lab.csv:4: column part: found \"v79\"", "no arch"},
    {"Qualcomm,A 1,,,,,,,,,,", "lab.csv:4: column part", "no blanks"},
    {"Qualcomm,A1000,,,", "lab.csv:4: column", "the titles name 12 columns"},
    {"Qualcomm,A1000,,,,,,,,,,,13", "lab.csv:4: column sources: found 13 cells", "quotes"},
    {"Qualcomm,A1000,,,,,,,,,,\nQualcomm,a1000,,,,,,,,,,", "lab.csv:5: column part: found a1000 a second time",
     "lab.csv:4 has it"},
    {"Qualcomm,A1000,,B2;b2,,,,,,,,", "lab.csv:4: column aliases: found b2", "a name stands for one part"},
    {"Qualcomm,A1000,,B2000,,,,,,,,\nQualcomm,B2000,,,,,,,,,,", "lab.csv:4: column aliases: found B2000",
     "lab.csv:5 has it"},
    {"Qualcomm,A1000,A2000,,,,,,,,,\nQualcomm,A2001,,,,,,,,,,", "lab.csv:4: column alias_of: found A2000",
     "did you mean"},
    {"Qualcomm,A1000,A2000,,,,,,,,,\nQualcomm,A2000,A1000,,,,,,,,,", "lab.csv:4: column alias_of: found A2000",
     "another spelling itself"},
    {"Qualcomm,A1000,A2000,,5,,,,,,,\nQualcomm,A2000,,,6,,,,,,,", "lab.csv:4: column qnn_soc: found 5",
     "A2000, the part that it spells in another way, has 6"},
    {"Qualcomm,A1000,,,,7,8,,,,,", "lab.csv:4: column kernel_lookup: found 8", "kernel_ids has it too"},
    {"Qualcomm,A1000,,,,7,7,,,,,\nQualcomm,A2000,,,,7,7,,,,,", "lab.csv:5: column kernel_lookup: found 7 a second time",
     "lab.csv:4 has it"},
    {"Qualcomm,A1000,,,,7,,8=X,,,,", "lab.csv:4: column kernel_variants: found 8", "kernel_ids has it too"},
    {"Qualcomm,A1000,,,,,,,,,HTP,", "lab.csv:4: column arch: found nothing", "a Hexagon arch such as v79"},
    {"Qualcomm,A1000,,,,,,,79,,HTP,", "lab.csv:4: column arch: found 79", "a Hexagon arch such as v79"},
    {"Qualcomm,A1000,,,5,,,,v73,,,\nQualcomm,A2000,,,5,,,,v75,,,", "lab.csv:5: column arch: found v75",
     "parts that share a number have one arch"},
    {"Qualcomm,A1000,,,,,,,,,,WEB", "lab.csv:4: column sources: found WEB", "#source,WEB,MEANING"},
    {"#extend,built-in", "lab.csv:4: column #extend", "allowed are #version,WORD"},
};

TEST(SocTable, RefusesRowsThatLieWithFileLineColumnAndRemedy) {
  for (const Lie& lie : kLies) {
    const auto table = SocTable::parse(
        std::string("#fatctx.soc_table/1\n#version,1\n"
                    "vendor,part,alias_of,aliases,qnn_soc,kernel_ids,kernel_lookup,kernel_variants,arch,vtcm_mb,"
                    "runtime,sources\n") +
            lie.rows + "\n",
        "lab.csv");
    ASSERT_FALSE(table.ok()) << lie.rows;
    EXPECT_EQ(table.error().code, ErrorCode::kInvalidArgument) << lie.rows;
    EXPECT_THAT(table.error().message, HasSubstr(lie.place)) << lie.rows;
    EXPECT_THAT(table.error().message, HasSubstr(lie.remedy)) << lie.rows;
  }
}

TEST(SocTable, RefusesAFrameThatIsNone) {
  const std::pair<const char*, const char*> kFrames[] = {
      {"", "lab.csv:1: found nothing; a table of SoCs begins with the line #fatctx.soc_table/1"},
      {"vendor,part\n", "lab.csv:1: found \"vendor\""},
      {"#fatctx.soc_table/1\nvendor,part\n", "lab.csv: column #version: found nothing"},
      {"#fatctx.soc_table/1\n#version,1\n", "lab.csv: column part: found no line of column titles"},
      {"#fatctx.soc_table/1\n#version,1\nvendor,part,vtcm\n", "column vtcm: found an unknown column; "},
      {"#fatctx.soc_table/1\n#version,1\nvendor,part,archh\n", "did you mean arch?"},
      {"#fatctx.soc_table/1\n#version,1\nvendor,part,part\n", "column part: found the column a second time"},
      {"#fatctx.soc_table/1\n#version,1\nvendor,name\n", "column part: found no such column"},
      {"#fatctx.soc_table/1\n#version,1\n#source,A,x\n#source,A,y\nvendor,part\n", "A a second time"},
  };
  for (const auto& [text, found] : kFrames) {
    const auto table = SocTable::parse(text, "lab.csv");
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_THAT(table.error().message, HasSubstr(found)) << text;
  }
}

TEST(SocTable, EveryPrefixAndEveryChangedByteOfTheFileIsATableOrAnError) {
  const std::string whole = text_of_data();
  constexpr std::size_t kStep = 97;  // prime, so that the cuts reach every kind of place
  for (std::size_t size = 0; size < whole.size(); size += kStep) {
    const auto cut = SocTable::parse(std::string_view(whole).substr(0, size), "cut.csv");
    if (!cut.ok()) {
      EXPECT_THAT(cut.error().message, HasSubstr("cut.csv"));
    }
    std::string changed = whole;
    changed[size] = '"';
    const auto table = SocTable::parse(changed, "changed.csv");
    if (!table.ok()) {
      EXPECT_THAT(table.error().message, HasSubstr("changed.csv"));
    }
  }
}

TEST(SocTable, AFileThatIsNoneOrTooLargeIsNotRead) {
  const support::TempDir folder;
  EXPECT_EQ(SocTable::read(folder.file("absent.csv")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(SocTable::read(folder.path()).error().code, ErrorCode::kNotRegularFile);
  support::write_file(folder.file("large.csv"), support::Bytes((4u << 20) + 1, std::byte{'#'}));
  EXPECT_EQ(SocTable::read(folder.file("large.csv")).error().code, ErrorCode::kLimitExceeded);
}

}  // namespace soc_table_test
}  // namespace fatctx
