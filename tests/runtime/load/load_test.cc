// Loads of each kind of file. load_threads_test.cc shows how they are stopped, and lists.
#include "fatctx/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mapping/unique_fd.h"
#include "runtime/dlc_model.h"
#include "runtime/small_model.h"
#include "support/descriptors.h"

namespace fatctx {
namespace load_test {

using ::testing::HasSubstr;
using testing::pattern;

Device cpu(const char* arch) {
  Device device;
  device.arch = arch;
  return device;
}

Device npu(std::uint32_t qnn_soc, const char* arch, std::uint32_t vtcm_mb) {
  Device device;
  device.backend = "htp";
  device.qnn_soc = qnn_soc;
  device.arch = arch;
  device.vtcm_mb = vtcm_mb;
  return device;
}

LoadOptions for_device(Device device) {
  LoadOptions options;
  options.model.device = std::move(device);
  return options;
}

bool equal(ByteView a, ByteView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

class LoadContext : public ::testing::Test {
 protected:
  void SetUp() override { testing::pack_small_model(path_); }
  std::string put(const std::string& name, ByteView bytes) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
  }

  const testing::Folder folder_;
  const std::string path_ = folder_ / "m.fatctx";
};

// Shows S4.4 and S4.54.
TEST_F(LoadContext, OfAContainerGivesTheRecordForTheDeviceInTheMappingOfTheFile) {
  const auto loaded = load(path_, for_device(cpu("x86-64-v3")));

  ASSERT_TRUE(support::is_ok(loaded));
  EXPECT_EQ(loaded.value().model().format(), ModelFormat::kContainer);
  ASSERT_EQ(loaded.value().binaries().size(), 1U);
  const SessionRecord& binary = loaded.value().binaries().front();
  EXPECT_EQ(binary.name, "small.x86-64-v3");
  EXPECT_TRUE(equal(binary.view.bytes(), pattern(testing::kBinarySize, 12)));
  ASSERT_EQ(loaded.value().weights().size(), 1U);
  const SessionRecord& weights = loaded.value().weights().front();
  EXPECT_EQ(weights.name, "weights");
  EXPECT_TRUE(equal(weights.view.bytes(), pattern(testing::kWeightsSize, 1)));
  const Container container = Container::open(path_).value();
  const RecordView same = container.acquire("small.x86-64-v3").value();
  EXPECT_EQ(same.data(), binary.view.data()) << "no copy on the way";
  EXPECT_EQ(testing::mappings_of(path_), 1);
  EXPECT_EQ(loaded.value().model().selection().chosen, std::vector{binary.view.record_id()});
  EXPECT_THAT(loaded.value().model().explain(), HasSubstr("small.x86-64-v4: needs x86-64-v4, device has x86-64-v3"));
  EXPECT_THAT(loaded.value().report_json().value(), HasSubstr("\"schema\": \"fatctx.selection/1\""));
}

TEST_F(LoadContext, OutlivesTheFileAndEverythingElse) {
  std::optional<RecordView> view;
  {
    const auto loaded = load(path_, for_device(cpu("aarch64")));
    ASSERT_TRUE(support::is_ok(loaded));
    std::filesystem::remove(path_);
    view = loaded.value().binary().value();
  }

  EXPECT_TRUE(equal(view->bytes(), pattern(testing::kBinarySize, 14)));
}

TEST_F(LoadContext, ComesByEveryWayThatAContainerHas) {
  const std::vector<std::byte> expected = pattern(testing::kBinarySize, 11);
  const LoadOptions options = for_device(cpu("x86-64-v2"));
  const support::Bytes file = support::read_file(path_);
  support::Bytes package(8192, std::byte{7});
  package.insert(package.end(), file.begin(), file.end());
  const std::string package_path = put("package", package);
  auto owned = std::make_shared<const support::Bytes>(file);
  const std::weak_ptr<const support::Bytes> owner = owned;
  const ByteView bytes = *owned;

  mapping::UniqueFd whole = support::open_descriptor(path_);
  mapping::UniqueFd part = support::open_descriptor(package_path);
  const std::string fd_name = "fd " + std::to_string(whole.get());
  auto by_descriptor = load(Source::of_descriptor(whole.get()), options);
  auto by_part = load(Source::of_descriptor(part.get(), {.offset = 8192, .size = file.size()}), options);
  auto borrowed = load(Source::of_memory(file), options);
  std::optional<Result<Session>> shared = load(Source::of_memory(bytes, std::move(owned)), options);
  whole = {};
  part = {};

  for (const auto* loaded : {&by_descriptor, &by_part, &borrowed, &*shared}) {
    ASSERT_TRUE(support::is_ok(*loaded));
    const RecordView view = loaded->value().binary().value();
    EXPECT_TRUE(equal(view.bytes(), expected));
  }
  EXPECT_EQ(by_descriptor.value().model().path(), fd_name) << "and not that of the copy";
  EXPECT_FALSE(owner.expired());
  shared.reset();
  EXPECT_TRUE(owner.expired());
}

TEST_F(LoadContext, SaysWhyNothingFits) {
  EXPECT_TRUE(support::fails_with(load(path_, for_device(npu(57, "v75", 8))), ErrorCode::kNoMatch));
  EXPECT_TRUE(support::fails_with(load(folder_ / "none"), ErrorCode::kNotFound));
}

// Shows S4.8.
TEST_F(LoadContext, OfARawBinaryHandsTheBytesOutAsTheyAreAndSaysThatNothingWasSelected) {
  std::vector<std::byte> module = pattern(70'000, 5);
  std::memcpy(module.data() + 4, "IREE", 4);
  const std::string path = put("module.vmfb", module);

  const auto loaded = load(path);

  ASSERT_TRUE(support::is_ok(loaded));
  EXPECT_EQ(loaded.value().model().format(), ModelFormat::kRawBinary);
  const RecordView view = loaded.value().binary().value();
  EXPECT_TRUE(equal(view.bytes(), module));
  EXPECT_EQ(view.access_path(), AccessPath::kDirect);
  EXPECT_EQ(testing::mappings_of(path), 1);
  EXPECT_TRUE(loaded.value().model().selection().verdicts.empty());
  EXPECT_EQ(loaded.value().model().container(), nullptr);
  EXPECT_EQ(loaded.value().model().explain_json(), "null\n");
  EXPECT_THAT(loaded.value().model().explain(),
              HasSubstr("format: raw_binary\na raw binary (iree-vmfb): one context binary for "
                        "one target, 70000 bytes, handed out as they are; nothing was "
                        "selected"));
  EXPECT_THAT(loaded.value().report_json().value(), HasSubstr("\"selection\": null"));
  LoadOptions strict;
  strict.model.policy.strict = true;
  const auto refused = load(path, strict);
  ASSERT_TRUE(support::fails_with(refused, ErrorCode::kInvalidArgument));
  EXPECT_THAT(refused.error().message, HasSubstr("says nothing of its target; pack it into a container"));
  EXPECT_THAT(loaded.value().binary("decode").error().message, HasSubstr("a raw binary has none"));
}

TEST_F(LoadContext, OfARawBinaryInsideALargerFileHandsOutThatPart) {
  constexpr std::uint64_t kOffset = 8192;
  std::vector<std::byte> module = pattern(20'000, 5);
  std::memcpy(module.data() + 4, "IREE", 4);
  std::vector<std::byte> bytes = pattern(kOffset, 6);
  bytes.insert(bytes.end(), module.begin(), module.end());
  bytes.resize(bytes.size() + 100);
  const mapping::UniqueFd package = support::open_descriptor(put("package", bytes));

  const auto loaded = load(Source::of_descriptor(package.get(), {.offset = kOffset, .size = module.size()}));

  ASSERT_TRUE(support::is_ok(loaded));
  const RecordView view = loaded.value().binary().value();
  EXPECT_TRUE(equal(view.bytes(), module));
}

TEST_F(LoadContext, OfUnknownBytesIsAnErrorUnlessTheCallerVouchesForThem) {
  const std::vector<std::byte> opaque = pattern(5000, 9);
  const std::string path = put("context.bin", opaque);
  LoadOptions any;
  any.model.raw_binaries = RawBinaries::kAny;
  LoadOptions none;
  none.model.raw_binaries = RawBinaries::kRefuse;

  const auto unknown = load(path);
  const auto vouched = load(path, any);

  ASSERT_TRUE(support::fails_with(unknown, ErrorCode::kBadMagic));
  EXPECT_THAT(unknown.error().message, HasSubstr("let raw_binaries be any"));
  ASSERT_TRUE(support::is_ok(vouched));
  const RecordView view = vouched.value().binary().value();
  EXPECT_TRUE(equal(view.bytes(), opaque));
  EXPECT_TRUE(support::fails_with(load(path, none), ErrorCode::kBadMagic));
  EXPECT_TRUE(support::fails_with(load(put("empty", {}), any), ErrorCode::kTruncated, "F1"));
  std::vector<std::byte> module = pattern(5000, 5);
  std::memcpy(module.data() + 4, "IREE", 4);
  EXPECT_TRUE(support::fails_with(load(put("module", module), none), ErrorCode::kUnsupported));
}

TEST_F(LoadContext, OfADamagedContainerIsNeverTakenForARawBinary) {
  const std::uint64_t at = Container::open(path_).value().find("small.x86-64-v3").value().file_offset;
  testing::flip_byte(path_, 0);  // of the first of two prologues
  testing::flip_byte(path_, at + 17);
  LoadOptions options = for_device(cpu("x86-64-v3"));
  options.model.raw_binaries = RawBinaries::kAny;

  EXPECT_TRUE(support::fails_with(load(path_, options), ErrorCode::kChecksumMismatch, "F26"));
  options.model.on_damage = OnDamage::kNext;
  const auto next = load(path_, options);
  ASSERT_TRUE(support::is_ok(next));
  EXPECT_EQ(next.value().binaries().front().name, "small.x86-64-v2");
}

TEST_F(LoadContext, OfWhatIsNoFileNeverBlocks) {
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);

  EXPECT_TRUE(support::fails_with(load(fifo), ErrorCode::kNotRegularFile));
  EXPECT_TRUE(support::fails_with(load(folder_ / "."), ErrorCode::kNotRegularFile));
}

TEST_F(LoadContext, TellsOfEachGraphAndThenOfTheContext) {
  Packer packer{PackOptions{}};
  for (const char* unit : {"decode", "prefill"}) {
    PackRecord binary;
    binary.type = RecordType::kContextBinary;
    binary.name = std::string("net.") + unit;
    binary.key.backend = "cpu";
    binary.key.arch = "aarch64";
    binary.key.unit = unit;
    binary.source.bytes = pattern(300, unit[0] == 'd' ? 1 : 2);
    for (const char* graph : {"one", "two"}) {
      binary.description.graphs.push_back({.name = std::string(unit) + "." + graph, .inputs = {}, .outputs = {}});
    }
    ASSERT_TRUE(support::is_ok(packer.add(std::move(binary))));
  }
  const std::string path = folder_ / "graphs.fatctx";
  ASSERT_TRUE(support::is_ok(packer.publish(path)));
  std::vector<std::string> told;
  LoadOptions options = for_device(cpu("aarch64"));
  options.notify = [&](const LoadEvent& event) {
    told.push_back(event.error ? std::string(error_code_name(event.error->code))
                               : event.record + "/" + event.unit + "/" + event.graph);
  };

  const auto loaded = load(path, options);

  ASSERT_TRUE(support::is_ok(loaded));
  EXPECT_EQ(told, (std::vector<std::string>{"net.decode/decode/decode.one", "net.decode/decode/decode.two",
                                            "net.decode/decode/", "net.prefill/prefill/prefill.one",
                                            "net.prefill/prefill/prefill.two", "net.prefill/prefill/"}));
  told.clear();
  EXPECT_FALSE(load(folder_ / "none", options).ok());
  EXPECT_EQ(told, std::vector<std::string>{"not_found"});
}

TEST_F(LoadContext, ProgressEndsAtTheBytesOfWhatWasChosen) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  LoadOptions options = for_device(cpu("aarch64"));
  options.prefetch = true;
  options.progress = [&](std::uint64_t done, std::uint64_t total) { told.emplace_back(done, total); };

  ASSERT_TRUE(support::is_ok(load(path_, options)));

  const std::uint64_t all = 2 * (testing::kBinarySize + testing::kWeightsSize);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), std::pair(all, all));
}

// DLCs.

class LoadDlc : public testing::StoredDlcs {
 protected:
  static ByteView part(const support::Bytes& file, const support::DlcWriter& writer, std::size_t entry,
                       std::size_t size) {
    return ByteView(file).subspan(writer.data_at(entry), size);
  }
};

TEST_F(LoadDlc, GivesTheContextBinaryOfTheSocAndItsSharedWeightsInOneMapping) {
  for (const bool aligned : {true, false}) {
    const support::DlcWriter writer = support::two_socs(aligned);
    const std::string path = put(writer, aligned ? "aligned.dlc" : "not.dlc");

    const auto loaded = load(path, for_device(npu(69, "v79", 8)));

    ASSERT_TRUE(support::is_ok(loaded));
    EXPECT_EQ(loaded.value().model().format(), ModelFormat::kDlc);
    ASSERT_EQ(loaded.value().binaries().size(), 1U);
    const SessionRecord& binary = loaded.value().binaries().front();
    EXPECT_EQ(binary.name, "htp.cache.69.0");
    EXPECT_EQ(loaded.value().model().graphs(4).value(), (std::vector<std::string>{"prefill", "decode"}));
    EXPECT_EQ(binary.view.record_id(), 4U);
    EXPECT_TRUE(equal(binary.view.bytes(), part(original_, writer, 3, 4 * 4096)));
    ASSERT_EQ(loaded.value().weights().size(), 2U);
    EXPECT_EQ(loaded.value().weights()[0].type, RecordType::kWeightBlob);
    EXPECT_TRUE(equal(loaded.value().weights()[0].view.bytes(), part(original_, writer, 0, 3 * 4096)));
    EXPECT_EQ(loaded.value().weights()[1].type, RecordType::kOpaque);
    EXPECT_TRUE(equal(loaded.value().weights()[1].view.bytes(), part(original_, writer, 1, 5000)));
    EXPECT_EQ(binary.view.access_path(), AccessPath::kDirect);
    EXPECT_EQ(testing::mappings_of(path), 1);
    EXPECT_THAT(loaded.value().model().explain(), HasSubstr("htp.cache.57.0: "));
  }
}

TEST_F(LoadDlc, IsJudgedAsTheContainerThatImportsItIs) {
  const std::string path = put(support::two_socs());
  const std::string packed = pack(records_from_dlc(path, {}).value());
  for (const Device& device : {npu(57, "v75", 8), npu(69, "v79", 8), npu(57, "v75", 4), npu(99, "v79", 8),
                               npu(99, "v75", 2), npu(43, "v73", 8), cpu("aarch64")}) {
    const auto of_dlc = load(path, for_device(device));
    const auto of_container = load(packed, for_device(device));

    ASSERT_EQ(of_dlc.ok(), of_container.ok()) << device_to_json(device);
    if (!of_dlc.ok()) {
      EXPECT_EQ(of_dlc.error().code, ErrorCode::kNoMatch);
      EXPECT_EQ(of_dlc.error().message.substr(path.size()), of_container.error().message.substr(packed.size()));
      continue;
    }
    EXPECT_EQ(of_dlc.value().binaries().front().name, of_container.value().binaries().front().name);
    EXPECT_EQ(of_dlc.value().model().selection().level, of_container.value().model().selection().level);
    EXPECT_EQ(of_dlc.value().model().selection().tier, of_container.value().model().selection().tier);
    EXPECT_EQ(of_dlc.value().weights().front().name, of_container.value().weights().front().name);
  }
}

TEST_F(LoadDlc, WithACompressedEntryOrWhatOnlyContainersHaveIsAnError) {
  support::DlcWriter writer = support::two_socs();
  support::Bytes bytes = writer.write();
  LoadOptions options = for_device(npu(69, "v79", 8));
  EXPECT_TRUE(support::is_ok(load(Source::of_memory(bytes), options)));
  support::set_le<std::uint16_t>(bytes, writer.row_at(3) + 10, 8);  // deflated
  EXPECT_TRUE(support::fails_with(load(Source::of_memory(bytes), options), ErrorCode::kUnsupported));

  const std::string path = put(support::two_socs());
  options.model.open.trusted_keys.emplace_back();
  EXPECT_TRUE(support::fails_with(load(path, options), ErrorCode::kSignatureMissing));
  options.model.open.trusted_keys.clear();
  options.model.open.minimum_generation = 2;
  EXPECT_TRUE(support::fails_with(load(path, options), ErrorCode::kUnsupported));
  LoadOptions group = for_device(npu(69, "v79", 8));
  group.model.policy.group = "chat";
  EXPECT_TRUE(support::fails_with(load(path, group), ErrorCode::kInvalidArgument));
}

TEST_F(LoadDlc, IsCopiedWhereMappedMemoryIsNotWanted) {
  const support::DlcWriter writer = support::two_socs();
  const std::string path = put(writer);
  LoadOptions disabled = for_device(npu(57, "v75", 8));
  disabled.model.open.file_mapping = FileMapping::kDisabled;
  LoadOptions refused = for_device(npu(57, "v75", 8));
  refused.model.consumer = [] { return MappingSupport{.takes_mapped_memory = false, .reason = "no rpcmem"}; };
  LoadOptions sealed = for_device(npu(57, "v75", 8));
  sealed.model.open.verify = VerifyPolicy::kPrivateCopy;

  for (const LoadOptions* options : {&disabled, &refused, &sealed}) {
    const auto loaded = load(path, *options);
    ASSERT_TRUE(support::is_ok(loaded));
    const RecordView view = loaded.value().binary().value();
    EXPECT_EQ(view.access_path(), AccessPath::kCopied);
    EXPECT_EQ(view.copied_bytes(), 2U * 4096);
    EXPECT_TRUE(equal(view.bytes(), part(original_, writer, 2, 2 * 4096)));
    EXPECT_EQ(testing::mappings_of(path), 0);
  }
  refused.model.open.file_mapping = FileMapping::kRequire;
  const auto error = load(path, refused);
  ASSERT_TRUE(support::fails_with(error, ErrorCode::kCopyNotAllowed));
  EXPECT_THAT(error.error().message, HasSubstr("no rpcmem"));
}

TEST_F(LoadDlc, SessionsOfOneModelShareItsMappingAndItsCopies) {
  const support::DlcWriter writer = support::two_socs();
  const std::string path = put(writer);
  ModelOptions copied;
  copied.device = npu(57, "v75", 8);
  copied.open.file_mapping = FileMapping::kDisabled;
  ModelOptions mapped;
  mapped.device = npu(57, "v75", 8);
  for (const ModelOptions* options : {&copied, &mapped}) {
    const auto model = Model::open(path, *options);
    ASSERT_TRUE(support::is_ok(model));
    Session first = model.value().begin_session().value();
    const Session second = model.value().begin_session().value();

    EXPECT_EQ(first.binaries().front().view.data(), second.binaries().front().view.data());
    EXPECT_TRUE(support::fails_with(first.weight("w"), ErrorCode::kNotFound));
    EXPECT_TRUE(support::is_ok(first.end()));
    EXPECT_TRUE(first.binaries().empty());
    EXPECT_TRUE(equal(second.binaries().front().view.bytes(), part(original_, writer, 2, 2 * 4096)));
  }
}

TEST_F(LoadDlc, IsBroughtIntoMemoryAndGivenBackByItsSessions) {
  const std::string path = put(support::two_socs());
  const auto session = load(path, for_device(npu(57, "v75", 8)));
  ASSERT_TRUE(support::is_ok(session));
  const std::uint64_t all = 2 * 4096 + 3 * 4096 + 5000;

  const auto within_budget = session.value().prefetch({.max_bytes = 4096});
  auto aside = session.value().prefetch_in_background();
  const auto released = session.value().release();

  ASSERT_TRUE(support::is_ok(within_budget));
  EXPECT_EQ(within_budget.value().asked_bytes, all);
  EXPECT_EQ(within_budget.value().done_bytes, 4096U);
  ASSERT_TRUE(support::is_ok(aside));
  EXPECT_EQ(aside.value().wait().value().done_bytes, all);
  ASSERT_TRUE(support::is_ok(released));
  EXPECT_EQ(released.value().asked_bytes, all);
}

TEST_F(LoadDlc, ThatWasWrittenToFailsTheEndOfItsSession) {
  const std::string path = put(support::two_socs());
  auto session = load(path, for_device(npu(57, "v75", 8)));
  ASSERT_TRUE(support::is_ok(session));

  testing::flip_byte(path, 70);

  EXPECT_TRUE(support::fails_with(session.value().end(), ErrorCode::kChanged));
}

}  // namespace load_test
}  // namespace fatctx
