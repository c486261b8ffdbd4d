// An append to arbitrary bytes, and the file that opens afterwards: it has the new record with its bytes, and
// everything that it had before.
//
// Input: 1 byte for the added record (below) and whether the rest is the file itself (128); 1 byte for the good file;
// then edits of it until the bytes are used up. After the edits every checksum is corrected. fuzz/edited_container.h
// defines the edits.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "container/edit/append.h"
#include "container/format/disk_format.h"
#include "container/read/open.h"
#include "fatctx/base/checked.h"
#include "fuzz/edited_container.h"
#include "fuzz/rehash_file.h"
#include "fuzz/whole_container.h"
#include "support/memory_file.h"
#include "support/opened.h"

namespace {

using namespace fatctx;
using fuzz::require;
using support::Bytes;

Bytes appended_to(Bytes bytes, const std::string& name) {
  auto file = std::make_unique<support::MemoryFile>(std::move(bytes));
  support::MemoryFile& kept = *file;
  Appender appender = appender_over(std::move(file), "good", {.threads = 1}).value();
  PackRecord record = support::binary_record(name, name, support::pattern(900, 31));
  record.weights = {"weights"};
  require(appender.add(std::move(record)).ok() && appender.commit().ok(), "a good file can be appended to");
  return std::move(kept.bytes());
}

// The third file has three generations, and slot A names the last one. The fourth has the small form.
const std::array<Bytes, 4>& good_files() {
  static const std::array<Bytes, 4> files = {fuzz::rich_file(), support::sealed_sample(),
                                             appended_to(appended_to(fuzz::rich_file(), "one"), "two"),
                                             fuzz::rich_file(container::kSmallExtentLog2)};
  return files;
}

PackRecord new_record(unsigned what) {
  if ((what & 1) != 0) return support::plain_record(RecordType::kOpaque, "new", support::pattern(40 + what, 77));
  // Some of these bytes are already in the good files, in full or in part.
  Bytes bytes = (what & 2) != 0 ? support::pattern(66'000, 11) : support::pattern(70'000, 78);
  PackRecord record = support::binary_record("new", (what & 4) != 0 ? "aarch64" : "v81", std::move(bytes));
  if ((what & 8) != 0) record.weights = {"weights"};
  return record;
}

// A record's answer from an open file: its bytes, or none if they cannot be read.
struct Kept {
  Hash128 hash;
  std::optional<Bytes> bytes;
};

std::map<std::string, Kept> records_of(ByteView file) {
  std::map<std::string, Kept> all;
  const auto opened = Container::open(Source::of_memory(file));
  if (!fuzz::answered(opened)) return all;
  for (const RecordInfo& record : support::records_in(opened.value())) {
    if (record.type == RecordType::kDescription) continue;  // each generation has its own
    Kept kept{record.hash, Bytes()};
    const auto streamed = stream_record(opened.value(), record.id, [&](ByteView more) -> Status {
      kept.bytes->insert(kept.bytes->end(), more.begin(), more.end());
      return Done{};
    });
    if (!fuzz::answered(streamed)) kept.bytes.reset();
    all.emplace(record.name, std::move(kept));
  }
  return all;
}

void require_kept(const std::map<std::string, Kept>& before, const std::map<std::string, Kept>& after,
                  const std::vector<std::string>& superseded) {
  for (const auto& [name, kept] : before) {
    if (std::find(superseded.begin(), superseded.end(), name) != superseded.end()) continue;
    const auto found = after.find(name);
    if (found == after.end() && name.ends_with(".tensors")) continue;  // the table disappears together with its blob
    require(found != after.end(), "a record is still there", name);
    require(found->second.hash == kept.hash && found->second.bytes == kept.bytes, "a record is as it was", name);
  }
}

// Returns the file with zeros where an append may overwrite existing bytes: the header, the copies of the table of
// contents (one may have been damaged), and the padding behind the committed end.
Bytes without_copies(const Bytes& file, const container::Header& header) {
  Bytes rest = file;
  const auto forget = [&](std::uint64_t from, std::uint64_t to) {
    const std::uint64_t size = rest.size();
    std::fill(rest.begin() + static_cast<std::ptrdiff_t>(std::min(from, size)),
              rest.begin() + static_cast<std::ptrdiff_t>(std::min(to, size)), std::byte{0});
  };
  forget(0, header.form().size);
  for (const std::uint64_t offset : header.toc_offset) forget(offset, offset + header.toc_size);
  forget(header.committed_end, *checked_align_up(header.committed_end, header.form().unit_log2));
  return rest;
}

void append(const Bytes& before, unsigned what) {
  const auto old_records = records_of(before);
  auto owned = std::make_unique<support::MemoryFile>(before);
  support::MemoryFile& file = *owned;
  auto appender = appender_over(std::move(owned), "file", {.replace = (what & 16) != 0, .threads = 1});
  if (!fuzz::answered(appender)) return;
  require(Container::open(Source::of_memory(before)).ok(), "what can be appended to can be opened");
  const container::Header header = container::read_header(support::MemoryFile(before), before.size()).value();
  PackRecord record = new_record(what);
  const Bytes wanted = record.source.bytes;
  const auto added = appender.value().add(std::move(record));
  if (!fuzz::answered(added)) {
    require(file.bytes() == before, "who only adds changes nothing");
    return;
  }
  const auto report = appender.value().commit();
  const Bytes& after = file.bytes();
  const Bytes kept = without_copies(before, header);
  const Bytes found = without_copies(after, header);
  require(found.size() >= kept.size() && std::equal(kept.begin(), kept.end(), found.begin()),
          "no byte behind the header changes but for copies and padding");
  const auto new_records = records_of(after);
  if (!fuzz::answered(report)) {
    require(!new_records.contains("new") || old_records.contains("new"), "an append that failed added nothing");
    require_kept(old_records, new_records, {});
    return;
  }
  const auto opened = Container::open(Source::of_memory(after));
  require(opened.ok(), "what was appended to opens", opened.ok() ? "" : to_text(opened.error()));
  require(support::report_of(opened.value()).generation == report.value().generation,
          "it opens with the new generation");
  require(new_records.contains("new") && new_records.at("new").bytes == wanted, "the new record has its bytes");
  require_kept(old_records, new_records, report.value().superseded);
  fuzz::use_container(after);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned what = input.byte();
  if ((what & 128) != 0) {
    const ByteView rest = input.rest();
    append(Bytes(rest.begin(), rest.end()), what);
    return 0;
  }
  const Bytes& good = good_files()[input.byte() % good_files().size()];
  Bytes file = good;
  fuzz::Edits edits(file, good);
  while (!input.empty()) edits.apply(input);
  fuzz::FileRehash(file, fuzz::form_of(good)).run();
  edits.apply_last();
  append(file, what);
  return 0;
}
