// Sweeps over the metadata of whole files: every length they may be cut to, and every bit and every value of every byte
// of header, table of contents, leaf hashes, descriptions and tensor tables.
//
//   metadata_sweep [--stride N [--first K]] [--every-value] [--as OTHER] FILE...
//
// Each variant is refused with a typed error, or has exactly the content of the file, and the open report names the
// lost redundancy. Damage that an open does not read (copy 1 of the table of contents, padding behind extents) must be
// found by verify.
//
// Bits go through Container::open_memory. The 255 other values of a byte go only through the check that alone decides
// the result of open_memory: the header's parser, the hash of the table of contents, or the leaves of a record. Nothing
// behind that check can distinguish two damaged bytes. --every-value does not rely on this: it passes every value of
// every byte through a whole open, which takes hours. --stride takes every Nth place only (for slow builds), starting
// at the Kth: N processes, each with its own K from 0, cover all places.
// --as expects the content of another file: every variant must then be found to differ, and the exit is not 0.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "container/check/verify.h"
#include "container/read/open.h"
#include "container/read/recipe_record.h"
#include "container/read/record_stream.h"
#include "mapping/buffer_file.h"
#include "support/opened.h"
#include "support/rehash.h"
#include "sweep/facts.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FATCTX_POISON 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define FATCTX_POISON 1
#endif
#ifdef FATCTX_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace {

using namespace fatctx;
using namespace fatctx::container;
using namespace fatctx::sweep;
using support::Bytes;

// The metadata of one good file, and its content as text.
struct Original {
  Bytes bytes;
  OpenedToc opened;
  std::string facts;
  std::string description;
  std::vector<std::pair<std::uint32_t, std::string>> tensors;  // by id of the blob

  static Original of(const std::string& path) {
    Original file;
    file.bytes = support::read_file(path);
    const auto opened = Container::open(Source::of_memory(file.bytes));
    if (!opened.ok()) throw std::runtime_error(to_text(opened.error()));
    const auto whole = opened.value().verify();
    if (!whole.ok() || !whole.value().findings.empty()) throw std::runtime_error(path + " is not whole");
    file.opened = read_toc(mapping::BufferFile(file.bytes, nullptr), file.bytes.size()).value();
    file.facts = facts_of(opened.value());
    file.description = description_of(opened.value()).value();
    for (const RecordInfo& record : support::records_in(opened.value())) {
      if (record.type != RecordType::kWeightBlob) continue;
      const auto tensors = tensors_of(opened.value(), record.id);
      if (tensors.ok()) file.tensors.emplace_back(record.id, tensors.value());
    }
    return file;
  }
};

struct Places {
  std::uint64_t stride = 1;
  std::uint64_t first = 0;
  bool every_value = false;
};

class Sweep {
 public:
  Sweep(std::string name, Original file, const Original& expected, const Places& places)
      : name_(std::move(name)),
        file_(std::move(file)),
        expected_(expected),
        stride_(places.stride),
        first_(places.first),
        every_value_(places.every_value) {}

  void run() {
    prefixes();
    header();
    toc_copy_0();
    toc_copy_1();
    leaves();
    metadata_records();
    programs();
    fmt::print("{}: {} bytes, {} variants: {} refused, {} opened with a loss, {} the same; {} wrong\n", name_,
               file_.bytes.size(), refused_ + degraded_ + same_, refused_, degraded_, same_, wrong_);
  }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }
  // A sweep that refuses everything, or nothing, has not tested its subject.
  [[nodiscard]] bool telling() const { return refused_ > 1000 && degraded_ > 1000 && same_ > 100 / stride_; }

 private:
  static constexpr std::uint64_t kMostComplaints = 10;

  void complain(const std::string& what) {
    if (++wrong_ <= kMostComplaints) fmt::print("{}: {}\n", name_, what);
  }
  void check(bool kept, const std::string& place, std::string_view promise) {
    if (!kept) complain(fmt::format("{}: {}", place, promise));
  }
  void refused(const Error& error, const std::string& place) {
    ++refused_;
    if (!typed(error)) complain(fmt::format("{}: untyped error: {}", place, to_text(error)));
  }
  // Checks a part of the content that may be refused, but must never differ.
  void part(const Result<std::string>& found, const std::string& expected, const std::string& place) {
    if (!found.ok()) return refused(found.error(), place);
    check(found.value() == expected, place, "says something else");
    ++same_;
  }
  template <typename Act>
  void with(std::uint64_t offset, unsigned change, const Act& act) {
    std::byte& byte = file_.bytes[static_cast<std::size_t>(offset)];
    byte ^= static_cast<std::byte>(change);
    act(change == 0 ? std::string("whole") : fmt::format("byte {:#x} changed by {:#04x}", offset, change));
    byte ^= static_cast<std::byte>(change);
  }
  template <typename Act>
  void each_bit(ByteRange range, const Act& act) {
    for (std::uint64_t at = range.offset + first_; at < range.offset + range.size; at += stride_) {
      for (unsigned bit = 0; bit < 8; ++bit) with(at, 1U << bit, act);
    }
  }
  template <typename Act>
  void each_value(ByteRange range, const Act& act) {
    for (std::uint64_t at = range.offset + first_; at < range.offset + range.size; at += stride_) {
      for (unsigned change = 1; change < 256; ++change) with(at, change, act);
    }
  }
  // Passes bits through a whole open, and values through the one check that decides.
  template <typename Whole, typename Check>
  void each_bit_and_value(ByteRange range, const Whole& whole, const Check& check_alone) {
    if (every_value_) return each_value(range, whole);
    each_bit(range, whole);
    each_value(range, check_alone);
  }
  [[nodiscard]] ByteView view(ByteRange range) const { return slice(file_.bytes, range).value(); }

  // Opens the file in its present state. The content must be unchanged, and the report must name `loss`.
  void opens_with(std::string_view loss, const std::string& place) {
    const auto opened = Container::open(Source::of_memory(file_.bytes));
    if (!opened.ok()) return complain(fmt::format("{}: does not open: {}", place, to_text(opened.error())));
    const std::vector<std::string> degraded = support::report_of(opened.value()).degraded;
    check(facts_of(opened.value()) == expected_.facts, place, "opens as something else");
    check(loss.empty() ? degraded.empty() : degraded == std::vector<std::string>{std::string(loss)}, place,
          "does not report what is lost");
    ++(loss.empty() ? same_ : degraded_);
  }

  void opens_with_both_tables_damaged(const std::string& place) {
    const auto opened = Container::open(Source::of_memory(file_.bytes));
    if (!opened.ok()) return complain(fmt::format("{}: does not open: {}", place, to_text(opened.error())));
    check(facts_of(opened.value()) == expected_.facts, place, "opens as something else");
    check(support::report_of(opened.value()).degraded == std::vector<std::string>{"toc copy 0", "toc copy 1"}, place,
          "does not report what is lost");
    ++degraded_;
  }

  void prefixes() {
    std::vector<ByteRange> lengths = {{0, form().size + 2}};
    for (const std::uint64_t offset : file_.opened.header.toc_offset) {
      lengths.push_back({offset - 2, file_.opened.header.toc_size + 4});
    }
    for (const Segment& segment : file_.opened.toc.segments) {
      const bool metadata = segment.kind == SegmentKind::kLeaves || segment.kind == SegmentKind::kPacked;
      if (metadata) lengths.push_back({segment.offset - 2, segment.size + 4});
      lengths.push_back({segment.offset - 2, 4});
      lengths.push_back({segment.offset + segment.size - 2, 4});
    }
    for (const ByteRange range : lengths) {
      for (std::uint64_t size = range.offset + first_; size < range.offset + range.size; size += stride_) {
        if (size < file_.bytes.size()) prefix(size);
      }
    }
    prefix(file_.bytes.size() - 1);
  }
  void prefix(std::uint64_t size) {
    const ByteView bytes(file_.bytes);
#ifdef FATCTX_POISON
    const ByteView hidden = bytes.subspan(static_cast<std::size_t>(size));
    __asan_poison_memory_region(hidden.data(), hidden.size());
#endif
    const auto opened = Container::open(Source::of_memory(bytes.first(static_cast<std::size_t>(size))));
#ifdef FATCTX_POISON
    __asan_unpoison_memory_region(hidden.data(), hidden.size());
#endif
    const std::string place = fmt::format("cut to {} bytes", size);
    if (opened.ok()) return complain(place + ": opens");
    refused(opened.error(), place);
  }

  // A sector of the header: the loss that the open report names if it is damaged, and the number of its used bytes. An
  // open does not look at padding, so there is no loss.
  struct Sector {
    const char* loss = "";
    std::uint64_t used = 0;
  };
  [[nodiscard]] const HeaderForm& form() const { return file_.opened.header.form(); }
  [[nodiscard]] Sector sector_at(std::uint64_t offset) const {
    static constexpr const char* kPrologues[] = {"prologue copy 0", "prologue copy 1"};
    static constexpr const char* kSlots[] = {"slot A0", "slot B0", "slot A1", "slot B1"};
    for (std::size_t i = 0; i < form().prologues.size(); ++i) {
      if (offset == form().prologues[i]) return {kPrologues[i], offsetof(Prologue, reserved1)};
    }
    for (std::size_t i = 0; i < form().slots.size(); ++i) {
      if (offset == form().slots[i]) return {kSlots[i], offsetof(Slot, reserved1)};
    }
    return {};
  }
  // Damage of the padding is found by verify.
  void padding(std::uint64_t sector) {
    for (std::uint64_t at = sector + first_; at < sector + kSectorSize; at += 16 * stride_) {
      with(at, 1U << (at / 16 % 8), [&](const std::string& place) {
        opens_with("", place);
        const auto report = verify_container(mapping::BufferFile(file_.bytes, nullptr), {});
        check(report.ok() && report.value().findings.size() == 1, place, "verify does not find it");
      });
    }
  }
  void header() {
    for (std::uint64_t page = 0; page < form().size; page += kSectorSize) {
      const Sector what = sector_at(page);
      if (what.used == 0) {
        padding(page);
        continue;
      }
      const auto opens = [&](const std::string& place) { opens_with(what.loss, place); };
      if (every_value_) {
        each_value({page, kSectorSize}, opens);
        continue;
      }
      const ByteRange used = {page, what.used};
      const ByteRange hash = {page + kSectorSize - sizeof(DiskHash), sizeof(DiskHash)};
      for (const ByteRange range : {used, hash}) {
        each_bit_and_value(range, opens, [&](const std::string& place) { parses_with_loss(place); });
      }
      // Zeros up to the end of the sector: one bit of every byte.
      for (std::uint64_t at = page + what.used + first_; at < page + kSectorSize - hash.size; at += stride_) {
        with(at, 1U << (at % 8), [&](const std::string& place) {
          if (at % 64 < stride_) return opens(place);
          parses_with_loss(place);
        });
      }
    }
  }
  // Parses the header alone: equal facts lead to the same table of contents, and so to the same content.
  void parses_with_loss(const std::string& place) {
    const auto header = parse_header(view({0, form().size}), file_.bytes.size());
    if (!header.ok()) return complain(fmt::format("{}: does not open: {}", place, to_text(header.error())));
    const Header& good = file_.opened.header;
    const Header& now = header.value();
    check(now.uuid == good.uuid && now.extent_log2 == good.extent_log2 && now.granule_log2 == good.granule_log2 &&
              now.generation == good.generation && now.committed_end == good.committed_end &&
              now.toc_offset == good.toc_offset && now.toc_size == good.toc_size && now.toc_hash == good.toc_hash &&
              now.sealed == good.sealed && now.pair == good.pair && now.tail_bytes == good.tail_bytes,
          place, "the header says something else");
    check(now.degraded != 0, place, "does not report what is lost");
    ++degraded_;
  }

  [[nodiscard]] ByteRange toc(std::size_t copy) const {
    return {file_.opened.header.toc_offset[copy], file_.opened.header.toc_size};
  }
  void toc_copy_0() {
    each_bit_and_value(
        toc(0), [&](const std::string& place) { opens_with("toc copy 0", place); },
        [&](const std::string& place) { has_another_hash(0, place); });
  }
  void has_another_hash(std::size_t copy, const std::string& place) {
    check(!toc_matches(view(toc(copy)), file_.opened.header), place, "the hash does not notice");
    ++(copy == 0 ? degraded_ : refused_);
  }
  // Returns the piece of a table that has a hash of its own: 0 the head, then the pages of the body.
  [[nodiscard]] std::uint64_t piece_of(std::uint64_t in_table) const {
    const std::uint64_t head = file_.opened.header.toc_head_size;
    return in_table < head ? 0 : 1 + (in_table - head) / kTocPageSize;
  }
  // An open that finds copy 0 whole does not read copy 1. If a piece of copy 0 is damaged, the same piece of copy 1
  // must be right; then the loss of any other piece of copy 1 is reported too.
  void toc_copy_1() {
    for (std::uint64_t at = toc(1).offset + 16 * first_; at < toc(1).offset + toc(1).size; at += 16 * stride_) {
      with(at, 1U << (at / 16 % 8), [&](const std::string& place) {
        opens_with("", place);
        const auto report = verify_container(mapping::BufferFile(file_.bytes, nullptr), {});
        check(report.ok() && report.value().findings.size() == 1, place, "verify does not find it");
      });
    }
    const std::uint64_t lost = toc(0).size / 2;
    with(toc(0).offset + lost, 0x10, [&](const std::string&) {
      const auto is_refused = [&](const std::string& place) {
        const auto opened = Container::open(Source::of_memory(file_.bytes));
        if (opened.ok()) return complain(place + " of copy 1, with copy 0 damaged: opens");
        refused(opened.error(), place);
      };
      const auto opens = [&](const std::string& place) { opens_with_both_tables_damaged(place); };
      const auto has_another = [&](const std::string& place) { has_another_hash(1, place); };
      std::uint64_t first = 0;
      const std::uint64_t head = file_.opened.header.toc_head_size;
      for (std::uint64_t end = head; first < toc(1).size; end = std::min(end + kTocPageSize, toc(1).size)) {
        const ByteRange piece = {toc(1).offset + first, end - first};
        if (piece_of(first) == piece_of(lost)) {
          each_bit_and_value(piece, is_refused, has_another);
        } else {
          each_bit(piece, opens);
        }
        first = end;
      }
    });
  }

  // Damaged leaves are not trusted: the bytes under them are refused, everything else is unchanged. Leaves of SHA-256
  // are read only with a key, and by verify.
  void leaves() {
    for (const Segment& segment : file_.opened.toc.segments) {
      if (segment.kind != SegmentKind::kLeaves) continue;
      if (segment.hash_algorithm == kHashSha256) {
        each_bit({segment.offset, segment.size}, [&](const std::string& place) {
          const auto report = verify_container(mapping::BufferFile(file_.bytes, nullptr), {});
          check(report.ok() && !report.value().findings.empty(), place, "verify does not find it");
        });
        continue;
      }
      const std::uint64_t before = refused_;
      each_value({segment.offset, segment.size}, [&](const std::string& place) {
        const auto opened = Container::open(Source::of_memory(file_.bytes));
        if (!opened.ok()) return complain(place + ": does not open, though an open reads no leaves");
        use_everything(opened.value(), place);
      });
      check(refused_ > before, "the leaf hashes", "damage refuses nothing");
    }
  }
  void use_everything(const Container& container, const std::string& place) {
    check(facts_of(container) == expected_.facts, place, "opens as something else");
    part(description_of(container), expected_.description, place);
    for (const auto& [id, tensors] : expected_.tensors) part(tensors_of(container, id), tensors, place);
    for (const RecordInfo& record : file_.opened.toc.records) {
      if (record.codec != Codec::kNone) continue;
      if (record.recipe) {
        const auto made = make(record);
        made.ok() ? static_cast<void>(++same_) : refused(made.error(), place);
        continue;
      }
      const auto view = container.acquire(record.id);
      if (!view.ok()) {
        refused(view.error(), place);
        continue;
      }
      ++same_;
      check(view.value().size_bytes() == record.size_bytes, place, "a view of another size");
    }
  }

  [[nodiscard]] Status make(const RecordInfo& record) const {
    return stream_logical(mapping::BufferFile(file_.bytes, nullptr), file_.opened.toc, record,
                          WorkBudget(file_.opened.toc), [](ByteView) -> Status { return Done{}; });
  }

  // Programs are stored in payload, in a leaf that is compared before any byte of it is trusted.
  void programs() {
    for (const RecordInfo& record : file_.opened.toc.records) {
      if (!record.recipe) continue;
      const auto use = [&](const std::string& place) {
        const auto made = make(record);
        if (made.ok()) return complain(place + ": nobody notices");
        refused(made.error(), place);
      };
      each_bit(program_of(file_.opened.toc, record), use);
      each_value(program_of(file_.opened.toc, record), use);
    }
  }

  // Descriptions and tensor tables are stored in payload. An open does not read them; a reader of them finds every
  // change.
  void metadata_records() {
    std::uint64_t found = 0;
    for (const RecordInfo& record : file_.opened.toc.records) {
      if (record.type != RecordType::kDescription && record.type != RecordType::kTensorTable) continue;
      ++found;
      const ByteRange range = {record.file_offset, record.stored_bytes};
      const auto opens_without_it = [&](const std::string& place) {
        const auto opened = Container::open(Source::of_memory(file_.bytes));
        if (!opened.ok()) return complain(place + ": does not open, though an open reads no payload");
        check(facts_of(opened.value()) == expected_.facts, place, "opens as something else");
        part(description_of(opened.value()), expected_.description, place);
        for (const auto& [id, tensors] : expected_.tensors) part(tensors_of(opened.value(), id), tensors, place);
      };
      each_bit_and_value(range, opens_without_it, [&](const std::string& place) {
        const auto bytes = read_metadata_record(mapping::BufferFile(file_.bytes, nullptr), file_.opened.toc, record,
                                                WorkBudget(file_.opened.toc));
        if (bytes.ok()) return complain(place + ": nobody notices");
        refused(bytes.error(), place);
      });
    }
    check(found > 0, "the file", "has no description to sweep over");
  }

  std::string name_;
  Original file_;
  const Original& expected_;
  std::uint64_t stride_;
  std::uint64_t first_;
  bool every_value_;
  std::uint64_t refused_ = 0;
  std::uint64_t degraded_ = 0;
  std::uint64_t same_ = 0;
  std::uint64_t wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Places places;
  std::string as;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--stride" && i + 1 < argc) {
      places.stride = std::stoull(argv[++i]);
    } else if (word == "--first" && i + 1 < argc) {
      places.first = std::stoull(argv[++i]);
    } else if (word == "--every-value") {
      places.every_value = true;
    } else if (word == "--as" && i + 1 < argc) {
      as = argv[++i];
    } else {
      files.push_back(word);
    }
  }
  if (files.empty() || places.first >= places.stride) {
    fmt::print(stderr,
               "usage: metadata_sweep [--stride N [--first K, below N]] [--every-value] [--as OTHER] FILE...\n");
    return 2;
  }
  try {
    std::uint64_t wrong = 0;
    for (const std::string& path : files) {
      const auto start = std::chrono::steady_clock::now();
      const Original expected = Original::of(as.empty() ? path : as);
      Sweep sweep(path, Original::of(path), expected, places);
      sweep.run();
      wrong += sweep.wrong() + (sweep.telling() ? 0 : 1);
      if (!sweep.telling()) fmt::print("{}: too few variants of a kind to mean anything\n", path);
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      fmt::print("  {:.1f} s\n", spent.count());
      std::fflush(stdout);
    }
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "metadata_sweep: {}\n", error.what());
    return 2;
  }
}
