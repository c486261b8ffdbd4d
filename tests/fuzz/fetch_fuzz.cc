// A fetch whose source answers anything, in any order and any cut: a published file is a part of a container that
// opens, and no byte of it is wrong. Afterwards a good source brings the rest.
//
// Input: 1 byte for the container (below); 1 byte for the options, 64: with another container as a seed, 32: of which
// the largest segment is absent, 128: updates are for partial files, and are applied by themselves, too, 4: the SHA-256
// of the table is known, 8: a wrong one; then answers until the bytes are used up. An answer is 1 byte for its kind:
//   0 to 3  the first, second, ... range that is wanted, right bytes
//   4       such a range, cut: 2 bytes for the size
//   5       such a range with a changed byte: 2 bytes for the place, 1 byte for the value
//   6       such a range out of another container
//   7       any place: 3 bytes for the offset, 1 byte for the size, right bytes
//   8       any place: the same, with the next bytes of the input
//   9       publish(), which fails unless all is there
//   10      the plan ends, and another one goes on with its file
//   11      the block index of the container, with 1 byte for the number of changes: 2 bytes for the place, 1 for the
//           value; the hash is made right unless the number is odd
//   12      an update from the seed, changed in the same way
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "container/format/crypto.h"
#include "container/format/hash.h"
#include "container/read/open.h"
#include "container/update/container_file.h"
#include "fatctx/block_index.h"
#include "fatctx/device.h"
#include "fatctx/fetch_plan.h"
#include "fatctx/presence.h"
#include "fatctx/update.h"
#include "fatctx/verify.h"
#include "fuzz/edited_container.h"
#include "fuzz/whole_container.h"
#include "mapping/buffer_file.h"
#include "support/forged_update.h"
#include "support/temp_dir.h"

namespace {

using namespace fatctx;
using fuzz::require;
using support::Bytes;

constexpr std::size_t kSources = 4;

// Returns a file with the weights of the first one behind 100 other bytes: only blocks of them can be found there.
Bytes shifted_file() {
  Bytes bytes = support::pattern(100, 12);
  const Bytes weights = support::pattern(66'000, 11);
  bytes.insert(bytes.end(), weights.begin(), weights.end());
  return support::packed_bytes({support::plain_record(RecordType::kOpaque, "weights", std::move(bytes))});
}

const std::array<Bytes, kSources>& sources() {
  static const std::array<Bytes, kSources> files = {fuzz::rich_file(), support::sealed_sample(),
                                                    fuzz::rich_file(container::kSmallExtentLog2), shifted_file()};
  return files;
}

const Bytes& seed_of(std::size_t source) { return sources()[source == 3 ? 0 : (source + 2) % 3]; }

std::string toc_sha256_of(const Bytes& file) {
  const auto header = container::read_header(mapping::BufferFile(file, nullptr), file.size()).value();
  return to_hex(container::sha256(ByteView(file).subspan(static_cast<std::size_t>(header.toc_offset[0]),
                                                         static_cast<std::size_t>(header.toc_size))));
}

// The files that a publisher puts beside a source.
struct Beside {
  Bytes index;
  std::array<Bytes, 2> updates;  // from its seed: for whole files, and for partial ones
};

const std::array<Beside, kSources>& beside() {
  static const std::array<Beside, kSources> made = [] {
    const support::TempDir folder{support::parent_in_memory()};
    std::array<Beside, kSources> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string source = folder.file("source");
      support::write_file(source, sources()[i]);
      const auto report = make_block_index(source, folder.file("index"), {.overwrite = true});
      require(report.ok(), "a good container has an index", report.ok() ? "" : to_text(report.error()));
      all[i].index = support::read_file(folder.file("index"));
      const std::array<std::string, 1> seed = {folder.file("seed")};
      support::write_file(seed.front(), seed_of(i));
      for (const bool for_partial : {false, true}) {
        const auto update =
            make_update(seed, source, folder.file("update"), {.overwrite = true, .for_partial = for_partial});
        require(update.ok(), "there is an update between containers", update.ok() ? "" : to_text(update.error()));
        all[i].updates[for_partial ? 1 : 0] = support::read_file(folder.file("update"));
      }
    }
    return all;
  }();
  return made;
}

FetchOptions options_of(unsigned choice) {
  FetchOptions options;
  options.overwrite = true;
  options.gap_bytes = (choice & 16U) != 0 ? 0 : 100'000;
  switch (choice % 4) {
    case 0:
      options.all = true;
      break;
    case 1:
      options.metadata = true;
      break;
    case 2:
      options.devices = {device_from_text("x86-64-v3").value()};
      break;
    default:
      options.records = {"weights"};
      break;
  }
  return options;
}

bool is_right_or_absent(const Bytes& made, const Bytes& source) {
  return std::ranges::equal(made, source, [](std::byte a, std::byte b) { return a == b || a == std::byte{0}; });
}

// Checks a file that was published: its bytes are those of a container that the source has answered with, in both
// copies of the metadata. A fetch of the metadata alone leaves a damaged copy as it came, for those who look at it.
// `degraded`: how many copies the report says that the source has lost.
void require_right(const std::string& path, const std::vector<const Bytes*>& answered, unsigned options,
                   std::size_t degraded) {
  require(Container::open(path).ok(), "what was published opens");
  if (options_of(options).metadata) return;
  const Bytes made = support::read_file(path);
  require(std::ranges::any_of(answered, [&](const Bytes* source) { return is_right_or_absent(made, *source); }),
          "the bytes of a file are right or absent");
  const Container container = Container::open(path).value();
  for (const bool read_payload : {false, true}) {
    const auto absent = find_absent(container, {.read_payload = read_payload});
    if (!fuzz::answered(absent)) continue;
    for (const ByteRange& range : absent.value().absent) {
      const auto bytes =
          ByteView(made).subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
      require(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; }),
              "absent bytes are zeros");
    }
  }
  const auto report = verify_file(path);
  require(report.ok(), "what was published can be checked");
  for (const VerifyFinding& finding : report.value().findings) {
    if (finding.error.code == ErrorCode::kNotPresent) continue;
    require(degraded != 0, "what was published lacks bytes, and has no wrong ones", to_text(finding.error));
    --degraded;
  }
}

class Fetch {
 public:
  Fetch(std::size_t source, unsigned options)
      : number_(source),
        source_(sources()[source]),
        beside_(beside()[source]),
        options_(options),
        path_(folder_.file("made.fatctx")),
        seed_(folder_.file("seed.fatctx")) {
    if ((options & 64U) != 0) support::write_file(seed_, seed_of(source));
    if ((options & 96U) == 96U) make_partial();
    begin();
  }

  void answer(fuzz::Input& input) {
    if (!plan_) return;
    const unsigned kind = input.byte() % 13;
    if (kind == 9) {
      const auto published = plan_->publish();
      if (!fuzz::answered(published)) return;
      require(plan_->stage() == FetchStage::kDone, "only what is all there is published");
      require_right(path_, answered_, options_, plan_->report().degraded.size());
      plan_.reset();
      return;
    }
    if (kind == 10) return begin();
    if (kind == 11) return use_index(input);
    if (kind == 12) return use_update(input);
    if (kind == 7 || kind == 8) {
      const std::uint64_t offset = input.number(3);
      const std::uint64_t size = input.byte();
      const ByteView right =
          within({offset, size}, source_.size())
              ? ByteView(source_).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size))
              : ByteView();
      give(offset, kind == 7 ? right : input.take(size));
      return;
    }
    const std::vector<ByteRange> wanted = plan_->wanted();
    if (wanted.empty()) return;
    const ByteRange range = wanted[kind % wanted.size()];
    const Bytes& from = kind == 6 ? sources()[(options_ + 1) % sources().size()] : source_;
    if (!within(range, from.size())) return;
    if (kind == 6) answered_.push_back(&from);
    const auto begin_of = from.begin() + static_cast<std::ptrdiff_t>(range.offset);
    Bytes bytes(begin_of, begin_of + static_cast<std::ptrdiff_t>(range.size));
    if (kind == 4) bytes.resize(std::min<std::size_t>(bytes.size(), input.number(2)));
    if (kind == 5) bytes[input.number(2) % bytes.size()] = static_cast<std::byte>(input.byte());
    give(range.offset, bytes);
  }

  // Brings all that is missing from a good source, and publishes.
  void end_well() {
    if (!plan_) return;
    for (int rounds = 0; plan_->stage() != FetchStage::kDone; ++rounds) {
      require(rounds < 10, "a good source brings a fetch to its end");
      if (rounds == 5) begin();  // the header came from another container: the next plan asks for it again
      for (const ByteRange& range : plan_->wanted()) {
        if (!give(range.offset, ByteView(source_).subspan(static_cast<std::size_t>(range.offset),
                                                          static_cast<std::size_t>(range.size)))) {
          return;  // the choice fails: there is no such record or device
        }
      }
    }
    const auto published = plan_->publish();
    require(published.ok(), "what is all there can be published", published.ok() ? "" : to_text(published.error()));
    require_right(path_, answered_, options_, plan_->report().degraded.size());
  }

 private:
  void begin() {
    plan_.reset();
    FetchOptions options = options_of(options_);
    if ((options_ & 64U) != 0) options.seeds = {seed_};
    if ((options_ & 12U) != 0) options.toc_sha256 = toc_sha256_of((options_ & 8U) != 0 ? seed_of(number_) : source_);
    auto begun = FetchPlan::begin(path_, source_.size(), std::move(options));
    require(begun.ok(), "a fetch begins, and goes on with its file", begun.ok() ? "" : to_text(begun.error()));
    plan_.emplace(std::move(begun).value());
  }
  void make_partial() {
    const container::Toc toc = container::ContainerFile::open(seed_).value().opened.toc;
    const auto largest = std::max_element(toc.segments.begin(), toc.segments.end(),
                                          [](const container::Segment& a, const container::Segment& b) {
                                            return (a.holds_payload() ? a.size : 0) < (b.holds_payload() ? b.size : 0);
                                          });
    Bytes bytes = support::read_file(seed_);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(largest->offset), largest->size, std::byte{0});
    support::write_file(seed_, bytes);
  }
  // Changes bytes. Returns whether the hashes are to be made right.
  static bool change(Bytes& bytes, fuzz::Input& input) {
    const unsigned changes = input.byte();
    for (unsigned i = 0; i < changes && !input.empty(); ++i) {
      const std::size_t place = input.number(2) % bytes.size();
      bytes[place] = static_cast<std::byte>(input.byte());
    }
    return changes % 2 == 0;
  }
  void use_index(fuzz::Input& input) {
    Bytes index = beside_.index;
    if (change(index, input)) {
      constexpr std::size_t kHash = sizeof(container::DiskHash);
      const auto hash = container::hash128(ByteView(index).first(index.size() - kHash)).bytes;
      std::copy(hash.begin(), hash.end(), index.end() - kHash);
    }
    support::write_file(folder_.file("index"), index);
    (void)fuzz::answered(plan_->use_blocks(folder_.file("index")));
  }
  void use_update(fuzz::Input& input) {
    const bool for_partial = (options_ & 128U) != 0;
    Bytes update = beside_.updates[for_partial ? 1 : 0];
    if (change(update, input)) support::rehash_update(update);
    support::write_file(folder_.file("update"), update);
    (void)fuzz::answered(plan_->use_update(folder_.file("update")));
    if (!for_partial || (options_ & 64U) == 0) return;
    const std::string applied = folder_.file("applied.fatctx");
    const std::array<std::string, 1> old = {seed_};
    if (fuzz::answered(apply_update(folder_.file("update"), old, applied, {.overwrite = true}))) {
      require_right(applied, {&source_}, 0, 0);
    }
  }
  bool give(std::uint64_t offset, ByteView bytes) {
    const auto taken = plan_->take(offset, bytes);
    return fuzz::answered(taken) || taken.error().code == ErrorCode::kChecksumMismatch;
  }

  const support::TempDir folder_{support::parent_in_memory()};
  const std::size_t number_;
  const Bytes& source_;
  // Nobody has told the fetch which container it is: one that the source has the head of is as right, if a seed has the
  // rest.
  std::vector<const Bytes*> answered_ = {&source_};
  const Beside& beside_;
  const unsigned options_;
  const std::string path_;
  const std::string seed_;
  std::optional<FetchPlan> plan_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::size_t source = input.byte() % sources().size();
  Fetch fetch(source, input.byte());
  for (int answers = 0; answers < 64 && !input.empty(); ++answers) fetch.answer(input);
  fetch.end_well();
  return 0;
}
