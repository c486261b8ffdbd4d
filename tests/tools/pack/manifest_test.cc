#include "tools/pack/manifest.h"
#include "tools/pack/manifest_flags.h"
#include "tools/pack/manifest_read.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "support/result_matchers.h"

namespace fatctx::tools {
namespace manifest_test {

using support::fails_with;
using support::is_ok;

// A manifest that uses everything; each row of the table below makes one thing wrong.
const std::string kWhole = R"({
  // comments are welcome
  "schema": "fatctx.manifest/1",
  "name": "net",
  "group": "chat",
  "options": {"team": "vision", "level": 3, "fast": true, "ep": {"value": "qnn", "owner": "onnxruntime"}},
  "sharing": "pages", "max_pieces": 100, "granule": 16,
  "quant": {"common_arch": "v73", "overrides": "o.json"},
  "records": [
    {"type": "weight_blob", "name": "w", "file": "w.bin", "format": "raw",
     "tensors": {"format": "ranges", "ranges": [
       {"name": "a", "dtype": "int4", "shape": [3, 3], "offset": 64},
       {"name": "b", "dtype": "float16", "shape": [], "offset": 0, "alias": true}]}},
    {"type": "context_binary", "name": "c", "file": "sub/c.bin", "unit": "prefill", "weights": ["w"],
     "target": {"backend": "htp", "arch": "v75", "features": ["x", "y"], "part": "SM8650", "qnn_soc": 57,
                "vtcm_mb": 8, "sdk": "2.48", "api": "1.2", "blob": "3.0.1", "variant": "fp16", "generic": true},
     "graphs": [{"name": "g", "inputs": [{"name": "x", "dtype": "float32", "shape": [-1, 3]}], "outputs": []}],
     "quant": {"weight_type": "uint8"},
     "options": [{"key": "z", "value": 1, "owner": "QNN"}, {"key": "htp_arch", "value": "75", "owner": "QNN"}, {"key": "z", "value": true}],
     "producer": "tool 1"},
    {"type": "weight_blob", "name": "p", "file": "p.irpa", "tensors": {"format": "irpa", "shapes_from": "m.onnx"}},
    {"type": "opaque", "name": "tiles", "file": "tiles.bin",
     "ranges": [{"name": "x", "offset": 3, "size": 8}, {"name": "y", "offset": 11, "size": 1}]},
    {"type": "opaque", "name": "more", "file": "more.bin", "ranges": "more.json"},
    {"type": "context_binary", "name": "d", "file": "/abs/d.bin", "group": "other", "target": {"backend": "cpu"},
     "graphs": {"from": "m.onnx"}}
  ]
})";

Manifest named(const std::string& name) {
  Manifest manifest;
  manifest.name = name;
  return manifest;
}

Result<Manifest> parse(const std::string& text) { return parse_manifest(text, "m.json", "folder"); }

std::string with(const std::string& from, const std::string& to) {
  std::string text = kWhole;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Manifest, EverythingInItArrives) {
  const auto parsed = parse(kWhole);

  ASSERT_TRUE(is_ok(parsed));
  const Manifest& manifest = parsed.value();
  EXPECT_EQ(manifest.name, "net");
  EXPECT_EQ(manifest.sharing.sharing, Sharing::kPages);
  EXPECT_EQ(manifest.sharing.max_pieces, 100U);
  EXPECT_EQ(manifest.sharing.granule_log2, 14U);
  ASSERT_EQ(manifest.options.size(), 4U);  // in order of their keys
  EXPECT_EQ(manifest.options[0].key, "ep");
  EXPECT_EQ(manifest.options[0].owner, "onnxruntime");
  EXPECT_EQ(manifest.options[1].value, "true");
  EXPECT_EQ(manifest.options[2].value, "3");
  ASSERT_EQ(manifest.records.size(), 6U);

  const ManifestRecord& weights = manifest.records[0];
  EXPECT_EQ(weights.record.type, RecordType::kWeightBlob);
  EXPECT_EQ(std::filesystem::path(weights.record.source.path), "folder/w.bin");
  EXPECT_EQ(weights.record.description.format, "raw");
  EXPECT_EQ(weights.where, "m.json: /records/0");
  ASSERT_TRUE(weights.tensors.has_value());
  ASSERT_EQ(weights.tensors->ranges.size(), 2U);
  EXPECT_EQ(weights.tensors->ranges[0].size_bytes, 5U);
  EXPECT_EQ(weights.tensors->ranges[0].offset_in_blob, 64U);
  EXPECT_EQ(weights.tensors->ranges[1].size_bytes, 2U);
  EXPECT_TRUE(weights.tensors->ranges[1].alias);

  ASSERT_EQ(manifest.records[3].record.ranges.size(), 2U);
  EXPECT_EQ(manifest.records[3].record.ranges[0].name, "x");
  EXPECT_EQ(manifest.records[3].record.ranges[0].offset, 3U);
  EXPECT_EQ(manifest.records[3].record.ranges[0].size_bytes, 8U);
  EXPECT_EQ(std::filesystem::path(manifest.records[4].ranges_from), "folder/more.json");

  const PackRecord& binary = manifest.records[1].record;
  EXPECT_EQ(std::filesystem::path(binary.source.path), "folder/sub/c.bin");
  EXPECT_EQ(binary.weights, (std::vector<std::string>{"w"}));
  EXPECT_EQ(binary.key.group, "chat");
  EXPECT_EQ(binary.key.unit, "prefill");
  EXPECT_EQ(binary.key.backend, "htp");
  EXPECT_EQ(binary.key.arch, "v75");
  EXPECT_EQ(binary.key.features, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(binary.key.part, "SM8650");
  EXPECT_EQ(binary.key.qnn_soc, 57U);
  EXPECT_EQ(binary.key.vtcm_mb, 8U);
  EXPECT_EQ(to_text(binary.key.sdk), "2.48");
  EXPECT_EQ(to_text(binary.key.api), "1.2");
  EXPECT_EQ(to_text(binary.key.blob), "3.0.1");
  EXPECT_EQ(binary.key.variant, "fp16");
  EXPECT_TRUE(binary.key.generic);
  ASSERT_EQ(binary.description.graphs.size(), 1U);
  EXPECT_EQ(binary.description.graphs[0].inputs[0].shape, (std::vector<std::int64_t>{-1, 3}));
  EXPECT_EQ(binary.description.producer, "tool 1");
  ASSERT_EQ(binary.description.options.size(), 3U);  // in the order of the list
  EXPECT_EQ(binary.description.options[0].key, "z");
  EXPECT_EQ(binary.description.options[0].value, "1");
  EXPECT_EQ(binary.description.options[0].owner, "QNN");
  EXPECT_EQ(binary.description.options[1].key, "htp_arch");
  EXPECT_EQ(binary.description.options[2].value, "true");
  ASSERT_EQ(manifest.records[1].quant.options.size(), 1U);
  EXPECT_EQ(manifest.records[1].quant.options[0].value, "uint8");
  ASSERT_EQ(manifest.quant.options.size(), 1U);
  EXPECT_EQ(manifest.quant.options[0].key, "common_arch");
  EXPECT_EQ(std::filesystem::path(manifest.quant.overrides_from), "folder/o.json");

  EXPECT_EQ(manifest.records[2].tensors->source, TensorSource::kIrpa);
  EXPECT_EQ(std::filesystem::path(manifest.records[2].tensors->shapes_from), "folder/m.onnx");
  EXPECT_EQ(manifest.records[5].record.source.path, "/abs/d.bin");
  EXPECT_EQ(manifest.records[5].record.key.group, "other");
  EXPECT_EQ(std::filesystem::path(manifest.records[5].graphs_from), "folder/m.onnx");
}

TEST(Manifest, TheGroupIsTheModelsNameUnlessSaid) {
  const auto parsed = parse(with("\"group\": \"chat\",", ""));
  ASSERT_TRUE(is_ok(parsed));
  EXPECT_EQ(parsed.value().records[0].record.key.group, "net");
}

TEST(Manifest, ASourceModelIsCompressedUnlessSaidOtherwiseAndNothingElseIs) {
  const auto codec_of = [](const std::string& rest) {
    const auto parsed =
        parse(R"({"schema": "fatctx.manifest/1", "name": "n", "records": [{"name": "r", "file": "f", )" + rest + "}]}");
    EXPECT_TRUE(is_ok(parsed)) << rest;
    return parsed.value().records[0].record.codec;
  };
  EXPECT_EQ(codec_of(R"("type": "source_model")"), Codec::kLz4);
  EXPECT_EQ(codec_of(R"("type": "source_model", "codec": "none")"), Codec::kNone);
  EXPECT_EQ(codec_of(R"("type": "opaque")"), Codec::kNone);
  EXPECT_EQ(codec_of(R"("type": "opaque", "codec": "lz4")"), Codec::kLz4);
  EXPECT_EQ(codec_of(R"("type": "weight_blob")"), Codec::kNone);
  EXPECT_EQ(codec_of(R"("type": "wrapper_model", "codec": "none")"), Codec::kNone);
}

TEST(Manifest, CodecsThatAreNotTheDefaultAreWrittenAndReadBack) {
  std::vector<PackRecord> records(4);
  const std::vector<std::string> files = {"a", "b", "c", "d"};
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].name = files[i];
    records[i].type = i < 2 ? RecordType::kSourceModel : RecordType::kOpaque;
    records[i].codec = i % 2 == 0 ? Codec::kNone : Codec::kLz4;
  }

  const auto parsed = parse(manifest_text(named("n"), records, files));

  ASSERT_TRUE(is_ok(parsed));
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(parsed.value().records[i].record.codec, records[i].codec) << i;
  }
}

struct Mistake {
  const char* from;
  const char* to;
  const char* message;  // the beginning of the error
};

const Mistake kMistakes[] = {
    {"fatctx.manifest/1", "fatctx.manifest/2",
     "m.json: /schema: found \"fatctx.manifest/2\"; did you mean \"fatctx.manifest/1\"? allowed: "},
    {"\"schema\": \"fatctx.manifest/1\",", "", "m.json: the whole file: the key \"schema\" is missing"},
    {"\"name\": \"net\",", "", "m.json: the whole file: the key \"name\" is missing"},
    {"\"name\": \"net\"", "\"name\": \"\"", "m.json: /name: found \"\"; allowed: a string that is not empty"},
    {"\"name\": \"net\"", "\"name\": 7", "m.json: /name: found 7; allowed: a string that is not empty"},
    {"\"group\": \"chat\"", "\"gruop\": \"chat\"", "m.json: /gruop: unknown key; did you mean \"group\"? allowed: "},
    {"\"level\": 3", "\"level\": []",
     "m.json: /options/level: found an array; allowed: a string, a number, true or false"},
    {"\"owner\": \"onnx", "\"ownr\": \"onnx", "m.json: /options/ep/ownr: unknown key; did you mean \"owner\"?"},
    {"\"type\": \"weight_blob\", \"name\": \"w\"", "\"type\": \"weights\", \"name\": \"w\"",
     "m.json: /records/0/type: found \"weights\"; allowed: \"context_binary\", \"weight_blob\""},
    {"\"type\": \"weight_blob\", \"name\": \"w\"", "\"type\": \"weight_blobs\", \"name\": \"w\"",
     "m.json: /records/0/type: found \"weight_blobs\"; did you mean \"weight_blob\"? allowed: "},
    {"\"type\": \"weight_blob\", \"name\": \"w\"", "\"type\": \"tensor_table\", \"name\": \"w\"",
     "m.json: /records/0/type: found \"tensor_table\"; "},
    {"\"file\": \"w.bin\", ", "", "m.json: /records/0: the key \"file\" is missing"},
    {"\"file\": \"w.bin\"", "\"fiel\": \"w.bin\"", "m.json: /records/0/fiel: unknown key; did you mean \"file\"?"},
    {"\"target\": {\"backend\": \"cpu\"},", "", "m.json: /records/5: a context binary needs the key \"target\""},
    {"{\"backend\": \"cpu\"}", "{}", "m.json: /records/5/target: the key \"backend\" is missing"},
    {"{\"backend\": \"cpu\"}", "\"cpu\"", "m.json: /records/5/target: found \"cpu\"; allowed: an object"},
    {"\"arch\": \"v75\"", "\"arhc\": \"v75\"", "m.json: /records/1/target/arhc: unknown key; did you mean \"arch\"?"},
    {"[\"x\", \"y\"]", "[\"x\", 2]", "m.json: /records/1/target/features/1: found 2; allowed: a string"},
    {"\"qnn_soc\": 57", "\"qnn_soc\": 4294967296",
     "m.json: /records/1/target/qnn_soc: found 4294967296; allowed: a whole number from 0 to 4294967295"},
    {"\"qnn_soc\": 57", "\"qnn_soc\": -1", "m.json: /records/1/target/qnn_soc: found -1; "},
    {"\"vtcm_mb\": 8", "\"vtcm_mb\": \"8\"", "m.json: /records/1/target/vtcm_mb: found \"8\"; allowed: a whole number"},
    {"\"sdk\": \"2.48\"", "\"sdk\": \"2.x\"", "m.json: /records/1/target/sdk: version \"2.x\": "},
    {"\"generic\": true", "\"generic\": 1", "m.json: /records/1/target/generic: found 1; allowed: true or false"},
    {"\"weights\": [\"w\"]", "\"weights\": [\"ww\"]",
     "m.json: /records/1/weights/0: found \"ww\"; did you mean \"w\"? allowed: \"w\", \"p\""},
    {"\"weights\": [\"w\"]", "\"weights\": [\"c\"]", "m.json: /records/1/weights/0: found \"c\"; "},
    {"\"weights\": [\"w\"]", "\"weights\": \"w\"", "m.json: /records/1/weights: found \"w\"; allowed: an array"},
    {"\"format\": \"raw\",", "\"weights\": [\"p\"],",
     "m.json: /records/0/weights: only a context binary refers to weights"},
    {"\"graphs\": {\"from\": \"m.onnx\"}", "\"tensors\": {\"format\": \"irpa\"}",
     "m.json: /records/5/tensors: only a weight blob has tensors"},
    {"\"format\": \"irpa\"", "\"format\": \"irpe\"",
     "m.json: /records/2/tensors/format: found \"irpe\"; did you mean \"irpa\"? allowed: \"irpa\", \"safetensors\", "
     "\"gguf\", "
     "\"onnx\", \"ranges\""},
    {"\"shapes_from\": \"m.onnx\"", "\"ranges\": []",
     "m.json: /records/2/tensors/ranges: only format \"ranges\" has this key"},
    {"\"format\": \"ranges\", ", "\"format\": \"ranges\", \"shapes_from\": \"m.onnx\", ",
     "m.json: /records/0/tensors/shapes_from: only format \"irpa\" has this key"},
    {"\"pages\"", "\"page\"",
     "m.json: /sharing: found \"page\"; did you mean \"pages\"? allowed: \"pages\", \"bytes\", \"off\""},
    {"\"max_pieces\": 100", "\"max_pieces\": 0",
     "m.json: /max_pieces: found 0; allowed: a whole number from 1 to 65536"},
    {"\"max_pieces\": 100", "\"max_pieces\": 65537", "m.json: /max_pieces: found 65537; allowed: a whole number"},
    {"\"granule\": 16", "\"granule\": 8", "m.json: /granule: found 8; allowed: 4, 16 or 64, in KiB"},
    {"\"int4\"", "\"int3\"", "m.json: /records/0/tensors/ranges/0/dtype: found \"int3\"; did you mean "},
    {"[3, 3]", "[3, -3]", "m.json: /records/0/tensors/ranges/0/shape/1: found -3; allowed: a whole number"},
    {"[3, 3]", "[4294967296, 4294967296]",
     "m.json: /records/0/tensors/ranges/0/shape: the size of this tensor does not fit 64 bits"},
    {"\"offset\": 64", "\"offest\": 64",
     "m.json: /records/0/tensors/ranges/0/offest: unknown key; did you mean \"offset\"?"},
    {"[-1, 3]", "[-2, 3]", "m.json: /records/1/graphs/0/inputs/0/shape/0: found -2; allowed: a whole number, or -1"},
    {"{\"from\": \"m.onnx\"}", "\"m.onnx\"",
     "m.json: /records/5/graphs: found \"m.onnx\"; allowed: an array of graphs"},
    {"\"format\": \"raw\",", "\"codec\": \"lz4\",",
     "m.json: /records/0/codec: found \"lz4\"; allowed for a weight_blob: \"none\""},
    {"\"format\": \"raw\",", "\"codec\": \"lz5\",",
     "m.json: /records/0/codec: found \"lz5\"; did you mean \"lz4\"? allowed: \"none\", \"lz4\""},
    {"[-1, 3]", "[9223372036854775808, 3]",
     "m.json: /records/1/graphs/0/inputs/0/shape/0: found 9223372036854775808; "},
    {"\"name\": \"p\"", "\"name\": \"w\"", "m.json: /records/2/name: found \"w\", the name of /records/0; "},
    {"\"size\": 8", "\"size\": 0", "m.json: /records/3/ranges/0/size: found 0; allowed: a whole number of bytes"},
    {"\"offset\": 3", "\"offest\": 3", "m.json: /records/3/ranges/0/offest: unknown key; did you mean \"offset\"?"},
    {"\"more.json\"", "[]", "m.json: /records/4/ranges: is empty; name at least one range"},
    {"\"more.json\"", "7", "m.json: /records/4/ranges: found 7; allowed: an array of ranges, or the name of a file"},
    {"\"format\": \"raw\",", "\"ranges\": \"r.json\",",
     "m.json: /records/0/ranges: tensors say where the parts of a record are; give one of both"},
    {"\"weight_type\"", "\"weigth_type\"",
     "m.json: /records/1/quant/weigth_type: unknown key; did you mean \"weight_type\"?"},
    {"\"v73\"", "\"73\"", "m.json: /quant/common_arch: found \"73\"; allowed: a Hexagon architecture"},
    {"\"value\": \"75\"", "\"value\": \"v75\"",
     "m.json: /records/1/options/1/value: found \"v75\"; allowed: \"0\", \"68\", "},
    {"\"key\": \"htp_arch\", \"value\": \"75\"", "\"key\": \"z\", \"value\": 75",
     "m.json: /records/1/options/1/key: found \"z\", which this owner has already in the list"},
    {"\"key\": \"z\", \"value\": 1", "\"key\": \"z\"", "m.json: /records/1/options/0: the key \"value\" is missing"},
    {"{\"value\": \"qnn\", \"owner\": \"onnxruntime\"}", "[]",
     "m.json: /options/ep: found an array; allowed: a string, a number, true or false"},
};

TEST(Manifest, EveryMistakeIsNamedWithItsPlaceAndWhatIsAllowed) {
  for (const Mistake& mistake : kMistakes) {
    const auto parsed = parse(with(mistake.from, mistake.to));

    ASSERT_TRUE(fails_with(parsed, ErrorCode::kInvalidArgument)) << mistake.to;
    EXPECT_EQ(parsed.error().message.rfind(mistake.message, 0), 0U)
        << "expected: " << mistake.message << "\nfound:    " << parsed.error().message;
  }
}

TEST(Manifest, NoRecordIsAMistakeToo) {
  const auto parsed = parse(R"({"schema": "fatctx.manifest/1", "name": "n", "records": []})");
  ASSERT_TRUE(fails_with(parsed, ErrorCode::kInvalidArgument));
  EXPECT_EQ(parsed.error().message, "m.json: /records: found no record; at least one is needed");
}

TEST(Manifest, WhatIsWrittenIsReadBack) {
  const auto parsed = parse_manifest(kWhole, "m.json", "");
  ASSERT_TRUE(is_ok(parsed));
  std::vector<PackRecord> records;
  std::vector<std::string> files;
  for (const ManifestRecord& record : parsed.value().records) {
    records.push_back(record.record);
    if (record.tensors) records.back().tensors = record.tensors->ranges;
    files.push_back(record.record.source.path);
  }

  const std::string text = manifest_text(parsed.value(), records, files);
  const auto again = parse_manifest(text, "m.json", "");

  ASSERT_TRUE(is_ok(again));
  ASSERT_EQ(again.value().records.size(), records.size());
  std::vector<PackRecord> read_back;
  for (const ManifestRecord& record : again.value().records) {
    read_back.push_back(record.record);
    if (record.tensors) read_back.back().tensors = record.tensors->ranges;
  }
  EXPECT_EQ(manifest_text(again.value(), read_back, files), text);
  EXPECT_EQ(again.value().options.size(), 4U);
  EXPECT_EQ(again.value().sharing.sharing, Sharing::kPages);
  EXPECT_EQ(again.value().sharing.max_pieces, 100U);
  EXPECT_EQ(again.value().sharing.granule_log2, 14);
  EXPECT_EQ(read_back[0].tensors.size(), 2U);
  EXPECT_EQ(read_back[3].ranges.size(), 2U);
  EXPECT_EQ(read_back[1].key.group, "chat");
  EXPECT_EQ(read_back[1].key.variant, "fp16");
  EXPECT_EQ(read_back[1].description.graphs.size(), 1U);
}

TEST(TargetText, IsTakenApart) {
  const auto key = parse_target("cpu:aarch64+dotprod+i8mm");
  ASSERT_TRUE(is_ok(key));
  EXPECT_EQ(key.value().backend, "cpu");
  EXPECT_EQ(key.value().arch, "aarch64");
  EXPECT_EQ(key.value().features, (std::vector<std::string>{"dotprod", "i8mm"}));
  EXPECT_FALSE(key.value().generic);

  const auto generic = parse_target("cpu:generic");
  ASSERT_TRUE(is_ok(generic));
  EXPECT_TRUE(generic.value().generic);
  EXPECT_EQ(generic.value().arch, "");

  for (const char* text : {"", "cpu", "cpu:", ":v75", "cpu:+amx", "cpu:aarch64+", "cpu:aarch64++i8mm"}) {
    const auto bad = parse_target(text);
    EXPECT_TRUE(fails_with(bad, ErrorCode::kInvalidArgument)) << text;
  }
}

TEST(BinaryFlag, NamesAndKeysFollowFromItsWords) {
  const auto plain = parse_binary_flag("out@home/m.vmfb@cpu:x86-64-v3+amx", "net", {});
  ASSERT_TRUE(is_ok(plain));
  EXPECT_EQ(plain.value().record.source.path, "out@home/m.vmfb");
  EXPECT_EQ(plain.value().record.name, "net.x86-64-v3+amx");
  EXPECT_EQ(plain.value().record.key.group, "net");

  const auto full = parse_binary_flag(
      "m.bin@htp:v75,unit=prefill,group=chat,variant=fp16,part=SM8650,soc=57,vtcm_mb=8,sdk=2.48", "net", {});
  ASSERT_TRUE(is_ok(full));
  const PackRecord& record = full.value().record;
  EXPECT_EQ(record.name, "net.prefill.v75.SM8650.soc57.vtcm8.sdk2.48.fp16");
  EXPECT_EQ(record.key.group, "chat");
  EXPECT_EQ(record.key.unit, "prefill");
  EXPECT_EQ(record.key.qnn_soc, 57U);
  EXPECT_EQ(record.key.vtcm_mb, 8U);
  EXPECT_EQ(to_text(record.key.sdk), "2.48");

  const auto named = parse_binary_flag("m.bin@cpu:generic,name=mine", "net", {});
  ASSERT_TRUE(is_ok(named));
  EXPECT_EQ(named.value().record.name, "mine");
}

TEST(BinaryFlag, ASocMayBeNamedAsADeviceIs) {
  for (const char* text : {"htp:SM8650", "SM8650", "htp:sm8650", "htp:kernel:557", "htp:Snapdragon 8 Gen 3"}) {
    const auto record = parse_binary_flag(std::string("m.bin@") + text, "net", {});
    ASSERT_TRUE(is_ok(record)) << text;
    const PackKey& key = record.value().record.key;
    EXPECT_EQ(key.backend + " " + key.part + " " + key.arch, "htp SM8650 v75") << text;
    EXPECT_EQ(key.qnn_soc, 57U) << text;
    EXPECT_EQ(key.vtcm_mb, 8U) << text;
    EXPECT_EQ(record.value().record.name, "net.sm8650") << text;
  }
  const auto plain = parse_binary_flag("m.bin@v75", "net", {});
  ASSERT_TRUE(is_ok(plain));
  EXPECT_EQ(plain.value().record.name, "net.v75");
  EXPECT_EQ(plain.value().record.key.vtcm_mb, 0U);
}

TEST(BinaryFlag, WhatDistinguishesTwoTargetsIsInTheirNames) {
  std::set<std::string> names;
  const std::vector<std::string> targets = {"htp:v73,soc=43",      "htp:v73,soc=60",     "htp:v73",
                                            "htp:v73,sdk=2.50",    "htp:v73,sdk=2.51",   "htp:v73,vtcm_mb=2",
                                            "htp:v73,vtcm_mb=8",   "htp:SM8550",         "htp:QCS8550",
                                            "htp:SM8550,sdk=2.50", "htp:v73,variant=big"};
  for (const std::string& target : targets) {
    const auto record = parse_binary_flag("m.bin@" + target, "net", {});
    ASSERT_TRUE(is_ok(record)) << target;
    names.insert(record.value().record.name);
  }
  EXPECT_EQ(names.size(), targets.size()) << testing::PrintToString(names);
}

TEST(BinaryFlag, WhatNoDeviceGetsIsRefusedUnlessItIsAllowed) {
  for (const char* target : {"htp:v99", "htp:9999", "htp:SM9999", "htp:v75,soc=99999", "htp:v75,part=SM9999"}) {
    const std::string text = std::string("m.bin@") + target;
    const auto record = parse_binary_flag(text, "net", {});
    ASSERT_TRUE(fails_with(record, ErrorCode::kInvalidArgument)) << target;
    EXPECT_NE(record.error().message.find("no device gets this record; --allow-unreachable packs it"),
              std::string::npos)
        << record.error().message;
    EXPECT_TRUE(is_ok(parse_binary_flag(text, "net", {.allow_unreachable = true}))) << target;
  }
}

TEST(BinaryFlag, FactsThatContradictTheTableAreRefusedUnlessItIsAllowed) {
  struct Row {
    const char* target;
    const char* kept;  // part, vendor number, arch and VTCM
    const char* warning;
  };
  const Row rows[] = {
      {"htp:v79,soc=57", " 57 v79 0", "SoC 57 has arch v75, and the target says v79"},
      {"htp:SM8650,soc=69", " 69 SM8650 0", "SM8650 has vendor number 57, and the target says 69"},
      {"htp:v75,part=SM8750", "SM8750 0 v75 0", "SM8750 has arch v79, and the target says v75"},
      {"htp:v75,soc=57,vtcm_mb=16", " 57 v75 16", "SoC 57 has VTCM in MB: 8, and the target says 16"},
      {"htp:v73,part=SM8650", "SM8650 0 v73 0", "SM8650 has arch v75, and the target says v73"},
  };
  for (const auto& [target, kept, warning] : rows) {
    const std::string text = std::string("m.bin@") + target;
    const auto refused = parse_binary_flag(text, "net", {});
    ASSERT_TRUE(fails_with(refused, ErrorCode::kInvalidArgument)) << target;
    EXPECT_NE(
        refused.error().message.find(std::string(warning) + "; correct one of the two; --allow-unreachable packs it"),
        std::string::npos)
        << refused.error().message;

    const auto record = parse_binary_flag(text, "net", {.allow_unreachable = true});

    ASSERT_TRUE(is_ok(record)) << target;
    const PackKey& key = record.value().record.key;
    EXPECT_EQ(key.part + " " + std::to_string(key.qnn_soc) + " " + key.arch + " " + std::to_string(key.vtcm_mb), kept);
    const std::vector<std::string>& warnings = record.value().record.warnings;
    ASSERT_FALSE(warnings.empty()) << target;
    EXPECT_EQ(warnings.front(), std::string(warning) + "; the target is kept as it is stated");
  }
}

TEST(BinaryFlag, WhatContradictsNothingHasNoWarning) {
  for (const char* target : {"htp:SM8650", "htp:v75,soc=57", "htp:SM8650,vtcm_mb=4", "htp:v99", "cpu:x86-64-v3"}) {
    const auto record = parse_binary_flag(std::string("m.bin@") + target, "net", {.allow_unreachable = true});
    ASSERT_TRUE(is_ok(record)) << target;
    EXPECT_TRUE(record.value().record.warnings.empty()) << target;
  }
}

TEST(BinaryFlag, MistakesAreNamed) {
  for (const char* text : {"m.bin", "@cpu:x86-64", "m.bin@cpu", "m.bin@cpu:a,unti=x", "m.bin@cpu:a,unit",
                           "m.bin@cpu:a,unit=", "m.bin@cpu:a,unit=a,unit=b", "m.bin@cpu:a,soc=x",
                           "m.bin@cpu:a,soc=4294967296", "m.bin@cpu:a,soc=-1", "m.bin@cpu:a,sdk=x"}) {
    const auto record = parse_binary_flag(text, "net", {});
    ASSERT_TRUE(fails_with(record, ErrorCode::kInvalidArgument)) << text;
    EXPECT_EQ(record.error().message.rfind(std::string("--binary ") + text, 0), 0U) << record.error().message;
  }
}

TEST(WeightsFlag, BlobsAreNamedAfterTheModel) {
  EXPECT_EQ(parse_weights_flag("w.irpa", "net", 0).value().record.name, "net.weights");
  EXPECT_EQ(parse_weights_flag("w.irpa", "net", 1).value().record.name, "net.weights2");
  const auto named = parse_weights_flag("w.irpa,name=shared,group=g", "net", 0);
  ASSERT_TRUE(is_ok(named));
  EXPECT_EQ(named.value().record.name, "shared");
  EXPECT_EQ(named.value().record.key.group, "g");
  EXPECT_EQ(named.value().record.source.path, "w.irpa");
  EXPECT_FALSE(parse_weights_flag(",name=x", "net", 0).ok());
  EXPECT_FALSE(parse_weights_flag("w.irpa,shared", "net", 0).ok());
}

}  // namespace manifest_test
}  // namespace fatctx::tools
