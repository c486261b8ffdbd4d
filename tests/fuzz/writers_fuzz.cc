// A program of calls that write: pack, append, note, rewrite, merge, sign, damage, repair. A file that was written
// without an error must be whole, and so must one that repair calls whole.
//
// Input: steps until the bytes are used up, 24 at most. A step is 1 byte what (modulo 10), and then
//   0 pack       1 byte which file, 3 bytes options, 1 byte how many records, the records (fuzz/writers_records.h)
//   1 append     1 byte which file, 1 byte options, 1 byte how many records, the records; their numbers are new
//   2 note       1 byte which file, 1 byte which record, 1 byte which text is wrong
//   3 rewrite    1 byte which files, 2 bytes options
//   4 merge      1 byte which files, 1 byte options
//   5 sign       1 byte which files, 1 byte options, 1 byte which key
//   6 damage     1 byte which file, 1 byte how many edits, the edits (fuzz/edited_container.h); with 128 added, all
//                hashes are corrected, as a hostile author does
//   7 repair     1 byte which file, 1 byte options (1: dry run, 2: from a file, 12: which one, 16: with a key,
//                32: from another file)
//   8 open       1 byte which file, 1 byte which keys, 1 byte the lowest generation, 1 byte how it is verified
//   9 key        1 byte mode and what else, 1 byte how long its text is, the text; the text is also read as weights
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "container/edit/append.h"
#include "fatctx/import_gguf.h"
#include "fatctx/import_safetensors.h"
#include "fatctx/keys.h"
#include "fatctx/repair.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "fuzz/edited_container.h"
#include "fuzz/rehash_file.h"
#include "fuzz/whole_container.h"
#include "fuzz/writers_records.h"
#include "support/opened.h"
#include "support/temp_dir.h"

namespace {

using namespace fatctx;
using fuzz::answered;
using fuzz::require;
using support::Bytes;

constexpr int kMostSteps = 24;
constexpr std::uint64_t kLargestFile = 4 << 20;

// The folder, the keys and a good file; made once, gone with the process.
struct Place {
  support::TempDir folder{support::parent_in_memory()};
  std::array<std::string, 2> keys = {folder.file("ours"), folder.file("theirs")};
  std::string other_key = folder.file("text.key");  // what a program wrote
  std::vector<PublicKey> trusted;
  Bytes good = fuzz::rich_file();

  Place() {
    for (const std::string& name : keys) trusted.push_back(make_keys(name).value().public_key);
  }
};

const Place& place() {
  static const Place made;
  return made;
}

class Program {
 public:
  Program(const std::uint8_t* data, std::size_t size) : input_(data, size) {
    for (const std::string& path : files_) support::write_file(path, place().good);
  }
  ~Program() {
    for (const std::string& path : files_) std::filesystem::remove(path);
    std::filesystem::remove(place().other_key);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void run() {
    for (int step = 0; step < kMostSteps && !input_.empty(); ++step) {
      switch (input_.byte() % 10) {
        case 0:
          pack();
          break;
        case 1:
          append();
          break;
        case 2:
          note();
          break;
        case 3:
          rewrite();
          break;
        case 4:
          merge();
          break;
        case 5:
          sign();
          break;
        case 6:
          damage();
          break;
        case 7:
          repair_one();
          break;
        case 8:
          open();
          break;
        default:
          write_key();
      }
    }
  }

 private:
  const std::string& file() { return files_[input_.byte() % files_.size()]; }
  std::string text_of_input() {
    const std::uint8_t size = input_.byte();
    return std::string(fuzz::text_of(input_.take(size)));
  }
  static bool affordable(const std::string& path) {
    std::error_code missing;
    return std::filesystem::file_size(path, missing) <= kLargestFile;
  }
  // The whole file, strictly: what the library wrote has no finding. `strict`: it has no dead bytes either.
  static void require_whole(const std::string& path, bool strict) {
    const auto report = verify_file(path, {.strict = strict, .threads = 1}, {});
    if (!fuzz::checked(report)) return;
    require(report.value().findings.empty(), "what was written is whole",
            report.value().findings.empty() ? "" : to_text(report.value().findings[0].error));
  }

  void pack() {
    const std::string& path = file();
    PackOptions options = fuzz::pack_options(input_);
    Packer packer(std::move(options));
    const unsigned count = input_.byte() % 8U;
    std::vector<PackRecord> records;
    for (unsigned i = 0; i < count; ++i) {
      PackRecord record = fuzz::record_of(input_, place().folder, i);
      if (!answered(packer.add(std::move(record)))) return;
    }
    const auto report = packer.publish(path);
    if (answered(report)) require_whole(path, true);
  }

  void append() {
    const std::string& path = file();
    const std::uint8_t how = input_.byte();
    const auto sharing = (how & 128) != 0 ? std::optional(Sharing::kBytes) : std::nullopt;
    auto appender = Appender::open(path, {.replace = (how & 1) != 0,
                                          .threads = 1,
                                          .one_per_soc = (how & 2) != 0,
                                          .strict_sharing = (how & 4) != 0,
                                          .sharing = sharing});
    if (!answered(appender) || !affordable(path)) return;
    const unsigned count = input_.byte() % 4U;
    if ((how & 8) == 0) appended_ += 4;  // else names and keys are those of the last append
    for (unsigned i = 0; i < count; ++i) {
      if (!answered(appender.value().add(fuzz::record_of(input_, place().folder, appended_ + i)))) return;
    }
    if ((how & 16) != 0) take_back(path, appender.value(), how >> 5U);
    if ((how & 32) != 0) add_loaded(path, appender.value(), (how & 64) != 0);
    (void)answered(appender.value().commit());
    (void)answered(appender.value().commit());  // it is spent
  }

  // Leaves a record of the file out of the next generation.
  static void take_back(const std::string& path, Appender& appender, std::uint32_t which) {
    const auto opened = Container::open(path);
    if (!answered(opened)) return;
    const auto record = opened.value().record(1 + which);
    (void)answered(leave_out(appender, 1 + which, record.ok() ? std::string(record.value().name) : "nobody"));
  }

  // Adds a record of the file once more; `copy` says that this is meant.
  void add_loaded(const std::string& path, Appender& appender, bool copy) const {
    const auto opened = Container::open(path);
    if (!answered(opened)) return;
    const auto view = opened.value().acquire(1);
    if (!answered(view)) return;
    PackRecord record =
        support::plain_record(RecordType::kOpaque, "loaded" + std::to_string(appended_), support::Bytes());
    record.source.loaded = view.value();
    record.copy = copy;
    (void)answered(appender.add(std::move(record)));
  }

  void note() {
    const std::string& path = file();
    static const std::array<const char*, 4> kRecords = {"weights", "bin-aarch64", "small", "nobody"};
    const std::string record = kRecords[input_.byte() % kRecords.size()];
    const std::uint8_t wrong = input_.byte();
    EvidenceNote note = {.device = "phone", .tool = "", .metric = "latency_ms", .value = "3.1", .date = "2026-11-22"};
    static const std::array<const char*, 6> kDates = {"2026-02-30", "2026-13-01", "22.11.2026",
                                                      "2024-02-29", "",           "2026-11-2x"};
    if (wrong % 8 == 1) note.device = text_of_input();
    if (wrong % 8 == 2) note.tool = text_of_input();
    if (wrong % 8 == 3) note.metric.clear();
    if (wrong % 8 == 4) note.value = std::string(300, 'v');
    if (wrong % 8 == 5) note.date = kDates[wrong / 8 % kDates.size()];
    if (wrong % 8 == 6) note.date = text_of_input();
    auto appender = Appender::open(path);
    if (!answered(appender) || !answered(appender.value().note(record, std::move(note)))) return;
    (void)answered(appender.value().commit());
  }

  void rewrite() {
    const std::string& source = file();
    const std::string& target = file();
    if (!affordable(source)) return;
    const std::uint8_t how = input_.byte();
    const std::uint8_t more = input_.byte();
    RewriteOptions options;
    if ((how & 1) != 0) options.seal = (how & 2) != 0;
    if ((how & 4) != 0) options.sharing = static_cast<Sharing>(how >> 3 & 1U ? 2 : more % 3);
    options.overwrite = (how & 16) == 0;
    options.threads = 1;
    if ((how & 32) != 0) options.keep = std::vector<std::uint32_t>{1, 2, 3U + more % 4U};
    if ((how & 64) != 0) options.generation = more;
    if ((how & 128) != 0) options.max_made_bytes = more * 1000U;
    if (answered(rewrite_container(source, target, options))) require_whole(target, true);
  }

  void merge() {
    const std::vector<std::string> sources = {file(), file()};
    if (!affordable(sources[0]) || !affordable(sources[1])) return;
    const std::uint8_t how = input_.byte();
    MergeOptions options;
    options.seal = (how & 1) != 0;
    options.overwrite = (how & 2) == 0;
    options.threads = 1;
    if ((how & 4) != 0) options.sharing = static_cast<Sharing>(how >> 3 & 1U);
    if ((how & 16) != 0) options.model_name = "merged";
    if (answered(merge_containers(sources, files_[2], options))) require_whole(files_[2], true);
  }

  void sign() {
    const std::string& source = file();
    const std::string& target = file();
    if (!affordable(source)) return;
    const std::uint8_t how = input_.byte();
    const std::string key = how % 3 == 2 ? place().other_key : place().keys[how % 3] + ".key";
    // A copy with a signature takes over what a hostile author has put into bytes with right checksums.
    const auto before = verify_file(source, {.strict = true, .threads = 1}, {});
    const bool whole = before.ok() && before.value().findings.empty();
    const auto report = sign_container(source, key, target, {.seal = (how & 4) != 0, .overwrite = (how & 8) == 0});
    if (!answered(report)) return;
    if (whole) require_whole(target, true);
    if (how % 3 == 2) return;
    OpenOptions trusting;
    trusting.trusted_keys = {place().trusted[how % 3]};
    trusting.minimum_generation = report.value().generation;
    require(Container::open(target, trusting).ok(), "who trusts the signer opens what was signed");
    trusting.trusted_keys = {place().trusted[1 - how % 3]};
    require(!Container::open(target, trusting).ok(), "who trusts somebody else does not");
  }

  void damage() {
    const std::string& path = file();
    Bytes bytes = support::read_file(path);
    const std::uint8_t how = input_.byte();
    if (bytes.size() > kLargestFile) return;
    // Places are those of the file as it is, if its slot can be believed, and else those of the good one.
    const Bytes present = Container::open(Source::of_memory(bytes)).ok() ? bytes : place().good;
    fuzz::Edits edits(bytes, present);
    for (unsigned i = 0; i < how % 16U; ++i) edits.apply(input_);
    if (how >= 128) fuzz::FileRehash(bytes, fuzz::form_of(present)).run();
    edits.apply_last();
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    std::filesystem::remove(path);
    support::write_file(path, bytes);
  }

  void repair_one() {
    const std::string& path = file();
    const std::uint8_t how = input_.byte();
    const bool dry_run = (how & 1) != 0;
    const Bytes before = support::read_file(path);
    RepairOptions options;
    options.dry_run = dry_run;
    options.threads = 1;
    for (const unsigned bit : {2U, 32U}) {
      if ((how & bit) != 0) options.from.push_back(files_[(how / 4U + bit / 32U) % files_.size()]);
    }
    if ((how & 16) != 0) options.trusted_keys = {place().trusted[0]};
    const auto report = repair(path, options);
    if (!answered(report)) {
      require(report.error().code == ErrorCode::kIo || support::read_file(path) == before,
              "who cannot repair changes nothing");
      return;
    }
    for (const VerifyFinding& finding : report.value().remaining) fuzz::require_good(finding.error);
    if (dry_run) require(support::read_file(path) == before, "a dry run changes nothing");
    if (!dry_run && report.value().remaining.empty()) require_whole(path, false);
  }

  void open() {
    const std::string& path = file();
    const std::uint8_t keys = input_.byte();
    OpenOptions options;
    if ((keys & 1) != 0) options.trusted_keys.push_back(place().trusted[0]);
    if ((keys & 2) != 0) options.trusted_keys.push_back(place().trusted[1]);
    options.minimum_generation = input_.byte();
    options.generation = keys >> 4;
    const std::uint8_t how = input_.byte();
    VerifyOptions verify{.strict = (how & 1) != 0, .threads = 1U + (how >> 1 & 1U)};
    std::uint64_t done = 0;
    if ((how & 8) != 0) {
      verify.progress = [&done](std::uint64_t now, std::uint64_t all) {
        require(now >= done && now <= all, "progress grows, and stays within the whole");
        done = now;
      };
    }
    if ((how & 4) != 0) verify.range = ByteRange{std::uint64_t{how} * 4000, 70'000};
    (void)answered(verify_file(path, verify, options));
    const auto opened = Container::open(path, options);
    if (!answered(opened)) return;
    for (const RecordInfo& record : support::records_in(opened.value())) {
      (void)answered(opened.value().acquire(record.id));
      done = 0;
      (void)answered(opened.value().verify_record(record.id, verify));
    }
  }

  void write_key() {
    const std::uint8_t which = input_.byte();
    const std::string text = text_of_input();
    const auto key = parse_public_key(text);
    if (answered(key)) require(parse_public_key(to_text(key.value())).ok(), "a public key is read as it was written");
    support::write_file(place().other_key,
                        Bytes(std::as_bytes(std::span(text)).begin(), std::as_bytes(std::span(text)).end()));
    std::filesystem::permissions(
        place().other_key, (which & 1) != 0 ? std::filesystem::perms::owner_all | std::filesystem::perms::others_read
                                            : std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    (void)answered(read_public_key(place().other_key));
    if ((which & 2) != 0) (void)answered(make_keys(place().keys[0]));  // exists
    if ((which & 4) != 0) (void)answered(make_keys(place().folder.path() + "/"));
    for (const auto& weights :
         {weights_from_safetensors(place().other_key, "imported"), weights_from_gguf(place().other_key, "imported")}) {
      if (!answered(weights)) continue;
      Packer packer({});
      if (answered(packer.add(weights.value())) && answered(packer.publish(files_[2]))) require_whole(files_[2], true);
    }
  }

  fuzz::Input input_;
  unsigned appended_ = 0;  // number of the first record of the last append; records of a pack begin at 0
  std::array<std::string, 3> files_ = {place().folder.file("a.fatctx"), place().folder.file("b.fatctx"),
                                       place().folder.file("c.fatctx")};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Program(data, size).run();
  return 0;
}
