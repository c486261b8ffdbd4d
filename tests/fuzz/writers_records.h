// Records and options of a pack by the bytes of a fuzz input. Payloads are rows of blocks out of eight, so that equal
// parts, equal pages and equal bytes at other places are frequent. A block from 128 on is one byte again and again, and
// one from 192 on is a row of 32 bytes again and again, which no other block has and which compresses well.
//
// A record is 1 byte type, 1 byte name, 2 bytes what it has (below), 1 byte how many blocks, and for each 1 byte which
// and 1 byte how long. Facts and a flaw take 1 byte each behind them.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "fatctx/packer.h"
#include "fuzz/input.h"
#include "support/pattern.h"
#include "support/temp_dir.h"

namespace fatctx::fuzz {

inline constexpr std::array<std::uint64_t, 8> kBlockSizes = {64, 100, 256, 1000, 4096, 5000, 16384, 66'000};
inline constexpr std::uint64_t kLargestRecord = 300'000;

enum RecordHas : unsigned {
  kTensors = 1,  // each block is one
  kRanges = 2,   // the same, named by nobody
  kLz4 = 4,
  kOwnExtent = 8,
  kWeights = 16,      // it refers to the record "r0"
  kFacts = 32,        // of the compiler, which forbid or limit sharing
  kOddTensor = 64,    // the last tensor is wrong in one way
  kFile = 128,        // its bytes are in a file
  kPartOfFile = 256,  // in the middle of one
  kSource = 512,      // its owner is asked
  kKnownHash = 1024,  // and says their hash, which may be wrong
  kQnn = 2048,        // for a SoC
  kFlaw = 4096,       // one thing of it is odd or wrong
};

// Bytes that somebody else has.
class Lent final : public ByteSource {
 public:
  explicit Lent(support::Bytes bytes, bool says_hash) : bytes_(std::move(bytes)), says_hash_(says_hash) {}
  [[nodiscard]] std::string name() const override { return "lent"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return bytes_.size(); }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return Done{};
  }
  [[nodiscard]] std::optional<Hash128> hash() const override {
    return says_hash_ ? std::optional<Hash128>(Hash128{}) : std::nullopt;
  }

 private:
  support::Bytes bytes_;
  bool says_hash_;
};

[[nodiscard]] inline support::Bytes block_of(std::uint8_t which, std::uint64_t size) {
  if (which < 128) return support::pattern(size, 100U + which % 8U);
  if (which < 192) return support::Bytes(size, std::byte{which});
  const support::Bytes tile = support::pattern(32, which);
  support::Bytes bytes(size);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = tile[i % tile.size()];
  return bytes;
}

[[nodiscard]] inline PackOptions pack_options(Input& input) {
  static constexpr std::array<std::uint32_t, 8> kMostPieces = {4096, 1, 2, 3, 16, 65'536, 0, 65'537};
  static constexpr std::array<std::uint8_t, 4> kGranules = {12, 14, 16, 13};
  static constexpr std::array<std::uint8_t, 4> kExtents = {16, 16, 21, 17};
  PackOptions options;
  const std::uint8_t how = input.byte();
  const std::uint8_t sizes = input.byte();
  const std::uint8_t more = input.byte();
  options.sharing = static_cast<Sharing>(how % 3);
  options.seal = (how & 4) != 0;
  options.overwrite = (how & 8) == 0;
  options.explain_sharing = (how & 16) != 0;
  options.one_per_soc = (how & 32) != 0;
  options.strict_sharing = (how & 64) != 0;
  options.threads = (how & 128) != 0 ? 2 : 1;
  options.max_pieces = kMostPieces[sizes & 7U];
  options.granule_log2 = kGranules[sizes >> 3 & 3U];
  options.extent_log2 = kExtents[sizes >> 5 & 3U];
  if ((more & 1) != 0) options.model_name = "model";
  if ((more & 2) != 0)
    options.options = {{"threads", (more & 8) != 0 ? "8" : "4", "cpu"}, {"backend_path", "lib.so", "qnn"}};
  if ((more & 4) != 0) options.model_name = std::string(300, 'm');
  options.sha256 = (more & 16) != 0;
  return options;
}

inline void add_facts(PackRecord& record, std::uint8_t which) {
  static const std::array<std::pair<const char*, const char*>, 8> kFactsOfHtp = {
      {{"graphs.dlbc", "1"},
       {"context.lora_weight_sharing_enabled", "1"},
       {"context.reference_weight_sharing_enabled", "1"},
       {"context.extended_udma", "1"},
       {"graphs.num_cores", "2"},
       {"graphs.num_cores", "1"},
       {"context.extended_udma", "0"},
       {"graphs.dlbc", "perhaps"}}};
  for (std::size_t i = 0; i < kFactsOfHtp.size(); ++i) {
    if ((which >> i & 1U) != 0)
      record.description.options.push_back({kFactsOfHtp[i].first, kFactsOfHtp[i].second, "htp"});
  }
}

inline void make_odd(PackTensor& tensor, std::uint8_t how) {
  switch (how % 8) {
    case 0:
      tensor.offset_in_blob += 1;
      return;
    case 1:
      tensor.size_bytes += 1;
      return;
    case 2:
      tensor.name = "t0";
      return;
    case 3:
      tensor.alias = true;
      return;
    case 4:
      tensor.shape = {~std::uint64_t{0}, 3};
      return;
    case 5:
      tensor.dtype = DType::kF32;
      return;
    case 6:
      tensor.name.clear();
      return;
    default:
      tensor.offset_in_blob = 0;
      tensor.alias = (how & 8) != 0;
  }
}

inline void add_flaw(PackRecord& record, std::uint8_t which) {
  switch (which % 16) {
    case 0:
      return record.key.backend.clear();
    case 1:
      record.key.group = "a\x01";
      return;
    case 2:
      record.key.features = {"a b"};
      return;
    case 3:
      record.key.features = {"sve", "dotprod", "sve"};
      return;
    case 4:
      return std::reverse(record.ranges.begin(), record.ranges.end());
    case 5:
      if (!record.ranges.empty()) record.ranges.back().size_bytes = which < 128 ? 0 : ~std::uint64_t{0};
      return;
    case 6:
      if (!record.ranges.empty()) record.ranges.back().size_bytes += 1;
      return;
    case 7:
      record.description.options.push_back({"cache", "/var/cache", "tool"});
      return record.description.options.push_back({"folder", "C:\\cache", "tool"});
    case 8:
      record.weights = {"r0", "r0", "nobody"};
      return;
    case 9:
      record.key.part = "SM8650";
      return;
    case 10:
      record.description.producer = "\xff";
      return;
    case 11:
      record.description.graphs = {{"main", {{"in", "float32", {1, -1}}}, {}}, {"main", {}, {}}};
      return;
    case 12:
      record.type = RecordType::kDescription;
      return;
    case 13:
      record.source.path = "/nowhere/at/all";
      return;
    case 14:
      record.source.part = ByteRange{which, ~std::uint64_t{0}};
      return;
    default:
      record.codec = Codec::kLz4;
      record.source.bytes.assign(support::Bytes::size_type{5} << 20, std::byte{7});  // more than a block of lz4
  }
}

[[nodiscard]] inline PackRecord record_of(Input& input, const support::TempDir& folder, unsigned number) {
  static constexpr std::array<RecordType, 6> kTypes = {RecordType::kContextBinary, RecordType::kWeightBlob,
                                                       RecordType::kOpaque,        RecordType::kSourceModel,
                                                       RecordType::kWrapperModel,  RecordType::kTensorTable};
  static constexpr std::array<const char*, 8> kNames = {"r0", "r1", "r2", "r3", "weights", "", "a/b", "r0.tensors"};
  PackRecord record;
  record.type = kTypes[input.byte() % kTypes.size()];
  const std::uint8_t name = input.byte();
  record.name = name < 128 ? "r" + std::to_string(number) : kNames[name % kNames.size()];
  const auto has = static_cast<unsigned>(input.number(2));
  const unsigned blocks = input.byte() % 16U;
  support::Bytes bytes;
  for (unsigned i = 0; i < blocks; ++i) {
    const std::uint8_t which = input.byte();
    const std::uint64_t size = kBlockSizes[input.byte() % kBlockSizes.size()];
    if (bytes.size() + size > kLargestRecord) break;
    const support::Bytes block = block_of(which, size);
    const std::string part = "t" + std::to_string(i);
    if ((has & kTensors) != 0)
      record.tensors.push_back(
          {.name = part, .dtype = DType::kU8, .shape = {size}, .offset_in_blob = bytes.size(), .size_bytes = size});
    if ((has & kRanges) != 0) record.ranges.push_back({part, bytes.size(), size});
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  if ((has & kOddTensor) != 0 && !record.tensors.empty()) make_odd(record.tensors.back(), name);
  if (record.type == RecordType::kContextBinary || record.type == RecordType::kWeightBlob) record.key.group = "model";
  if (record.type == RecordType::kContextBinary) {
    record.key.unit = "main";
    record.key.backend = (has & kQnn) != 0 ? "htp" : "cpu";
    record.key.arch = (has & kQnn) != 0 ? "v" + std::to_string(73 + name % 4) : "x86-64-v" + std::to_string(2 + number);
    if ((has & kQnn) != 0) record.key.qnn_soc = 40U + name % 4U;
    if ((has & kQnn) != 0) record.key.variant = std::to_string(number);
  }
  if ((has & kLz4) != 0) record.codec = Codec::kLz4;
  record.own_extent = (has & kOwnExtent) != 0;
  if ((has & kWeights) != 0) record.weights = {"r0"};
  if ((has & kFacts) != 0) add_facts(record, input.byte());
  if ((has & kSource) != 0) {
    record.source.source = std::make_shared<Lent>(std::move(bytes), (has & kKnownHash) != 0);
  } else if ((has & kFile) != 0) {
    record.source.path = folder.file("input" + std::to_string(number));
    support::write_file(record.source.path, bytes);
    if ((has & kPartOfFile) != 0) record.source.part = ByteRange{name, bytes.size() / 2};
  } else {
    record.source.bytes = std::move(bytes);
  }
  if ((has & kFlaw) != 0) add_flaw(record, input.byte());
  return record;
}

}  // namespace fatctx::fuzz
