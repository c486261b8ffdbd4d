// The operations that kill_test.cc kills: every operation that writes a container, in rounds that can be repeated. Each
// stores its intention and its result on the board.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "container/format/disk_format.h"
#include "crash/kill_board.h"
#include "fatctx/appender.h"
#include "fatctx/repair.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "support/opened.h"

namespace fatctx::crash::kills {

// A set of paths and keys that one test works with.
struct Place {
  std::string target;
  std::string source;  // for signing
  KeyFiles keys;
  Board& board;
};

struct Operation {
  const char* name;
  // Runs one round of the writer with this number. It waits while another writer holds the lock.
  Status (*round)(const Place&, int writer);
  std::vector<Watched> (*files)(const Place&);
  int writers = 1;
  std::uint8_t extent_log2 = container::kExtentLog2;  // the form of the first file
};

inline constexpr std::uint64_t kBatch = 3;
inline constexpr std::uint64_t kKept = 3;

[[nodiscard]] inline Status append_number(const std::string& path, int writer, Promise& promise) {
  const std::uint64_t number = promise.added + 1;
  promise.adding = number;
  for (;;) {
    const auto done = [&]() -> Result<AppendReport> {
      FATCTX_ASSIGN(Appender appender, Appender::open(path, {.threads = 1}));
      FATCTX_TRY(appender.add(numbered_record(writer, number)));
      return appender.commit();
    }();
    if (done.ok()) {
      promise.added = number;
      promise.generation = done.value().generation;
      return Done{};
    }
    if (done.error().code != ErrorCode::kLocked) return done.error();
    ::usleep(300);
  }
}

[[nodiscard]] inline Status append_round(const Place& place, int writer) {
  return append_number(place.target, writer, place.board.promises[writer]);
}

// Replaces the target by a file of another set of records.
[[nodiscard]] inline Status pack_round(const Place& place, int) {
  Promise& promise = place.board.promises[0];
  const std::uint64_t before = promise.added;
  promise.adding = before + kBatch;
  promise.removing = before;
  std::vector<PackRecord> records = {base_record()};
  for (std::uint64_t i = 1; i <= kBatch; ++i) records.push_back(numbered_record(0, before + i));
  PackOptions options;
  options.overwrite = true;
  options.threads = 1;
  FATCTX_TRY(support::pack(std::move(records), place.target, std::move(options)));
  promise.removed = before;
  promise.added = before + kBatch;
  return Done{};
}

// Writes the file anew in place, without the records up to `removing`.
[[nodiscard]] inline Status rewrite(const std::string& path, Promise& promise, RewriteOptions options) {
  options.threads = 1;
  FATCTX_ASSIGN(const RewriteReport report, rewrite_container(path, path, options));
  promise.removed = promise.removing.load();
  promise.generation = report.generation;
  return Done{};
}

[[nodiscard]] inline Status seal_round(const Place& place, int writer) {
  Promise& promise = place.board.promises[0];
  FATCTX_TRY(pack_round(place, writer));
  promise.sealing = promise.added.load();
  RewriteOptions options;
  options.seal = true;
  FATCTX_TRY(rewrite(place.target, promise, options));
  promise.sealed = promise.added.load();
  return Done{};
}

[[nodiscard]] inline Status compact_round(const Place& place, int writer) {
  FATCTX_TRY(append_round(place, writer));
  return rewrite(place.target, place.board.promises[0], {});
}

// Appends one record and removes all but the newest kKept, either by name or as the records that strip does not keep.
[[nodiscard]] inline Status shorten(const Place& place, bool by_name) {
  Promise& promise = place.board.promises[0];
  FATCTX_TRY(append_round(place, 0));
  const std::uint64_t last_gone = promise.added - std::min<std::uint64_t>(promise.added, kKept);
  RewriteOptions options;
  {
    FATCTX_ASSIGN(const Container container, Container::open(place.target));
    std::vector<std::uint32_t> gone;
    for (const std::uint64_t number : numbers_in(container, 0)) {
      if (number > last_gone) continue;
      FATCTX_ASSIGN(const RecordInfo record, container.find(name_of(0, number)));
      gone.push_back(record.id);
    }
    if (by_name) {
      FATCTX_ASSIGN(options.keep, records_without(support::records_in(container), gone));
    } else {
      options.keep = records_left(support::records_in(container),
                                  [&](const RecordInfo& record) { return std::ranges::count(gone, record.id) == 0; });
    }
  }
  promise.removing = last_gone;
  return rewrite(place.target, promise, options);
}
[[nodiscard]] inline Status remove_round(const Place& place, int) { return shorten(place, true); }
[[nodiscard]] inline Status strip_round(const Place& place, int) { return shorten(place, false); }

// Appends to the source (the first promise) and signs it into the target (the second promise).
[[nodiscard]] inline Status sign_round(const Place& place, int writer) {
  Promise& source = place.board.promises[0];
  Promise& target = place.board.promises[1];
  FATCTX_TRY(append_number(place.source, writer, source));
  target.adding = source.added.load();
  target.removing = source.removed.load();
  FATCTX_ASSIGN(const SignReport report,
                sign_container(place.source, place.keys.secret_path, place.target, {.overwrite = true}));
  target.removed = source.removed.load();
  target.added = source.added.load();
  target.generation = report.generation;
  return Done{};
}

// Changes one byte of a copy of the metadata. Returns false if the file cannot be written.
[[nodiscard]] inline bool damage(const std::string& path, std::uint64_t which) {
  // Both copies of the prologue, both mirrors of the slot, the first copy of the table of contents.
  constexpr std::size_t kCopies = 5;
  constexpr std::uint64_t kInCopy = 0x14;
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  std::byte byte = {};
  bool read = ::pread(file, &byte, 1, offsetof(container::Prologue, extent_log2)) == 1;
  const container::HeaderForm& form = container::header_form(static_cast<unsigned>(byte));
  const std::array<std::uint64_t, kCopies> copies = {form.prologues[0], form.slots[0], form.prologues[1], form.slots[2],
                                                     form.size};
  const auto place = static_cast<::off_t>(copies[which % kCopies] + kInCopy);
  read = read && ::pread(file, &byte, 1, place) == 1;
  byte ^= std::byte{0xFF};
  const bool written = read && ::pwrite(file, &byte, 1, place) == 1;
  ::close(file);
  return written;
}

[[nodiscard]] inline Status repair_round(const Place& place, int) {
  const std::uint64_t next = ++place.board.damaging;
  if (!damage(place.target, next)) return Error{ErrorCode::kInternal, "the test cannot damage its file"};
  FATCTX_ASSIGN(const RepairReport report, repair(place.target, {.threads = 1}));
  if (report.restored.empty() || !report.remaining.empty()) return Error{ErrorCode::kInternal, "it is not repaired"};
  place.board.repaired = next;
  return Done{};
}

[[nodiscard]] inline std::vector<Watched> one_file(const Place& place) {
  return {{.path = place.target, .rows = {{0, 0}}}};
}
[[nodiscard]] inline std::vector<Watched> file_of_two(const Place& place) {
  return {{.path = place.target, .rows = {{0, 0}, {1, 1}}}};
}
[[nodiscard]] inline std::vector<Watched> file_of_sets(const Place& place) {
  return {{.path = place.target, .rows = {{0, 0}}, .generations_grow = false, .batch = kBatch}};
}
[[nodiscard]] inline std::vector<Watched> repaired_file(const Place& place) {
  return {{.path = place.target, .rows = {{0, 0}}, .repaired = true}};
}
[[nodiscard]] inline std::vector<Watched> source_and_signed(const Place& place) {
  OpenOptions trusting;
  trusting.trusted_keys = {place.keys.public_key};
  return {{.path = place.source, .rows = {{0, 0}}},
          {.path = place.target, .rows = {{0, 1}}, .options = std::move(trusting)}};
}

inline const Operation kOperations[] = {
    {"append", append_round, one_file},
    {"two_appends", append_round, file_of_two, 2},
    {"compact", compact_round, one_file},
    {"seal", seal_round, file_of_sets},
    {"strip", strip_round, one_file},
    {"remove", remove_round, one_file},
    {"sign", sign_round, source_and_signed},
    {"repair", repair_round, repaired_file},
    {"pack", pack_round, file_of_sets},
    {"append_to_small_form", append_round, one_file, 1, container::kSmallExtentLog2},
    {"repair_of_small_form", repair_round, repaired_file, 1, container::kSmallExtentLog2},
};

}  // namespace fatctx::crash::kills
