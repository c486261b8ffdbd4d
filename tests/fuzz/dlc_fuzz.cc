// Arbitrary bytes as a DLC: they are refused, or every entry is within the file and overlaps no other. A thin DLC of
// each of its context binaries is a DLC with the same payloads.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "container/dlc/contents.h"
#include "container/dlc/thin.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "mapping/buffer_file.h"

namespace fatctx::fuzz {
namespace {

namespace dlc = container::dlc;

constexpr std::size_t kMaxCuts = 4;  // of one input

void check_entries(const dlc::Contents& contents, std::size_t size) {
  std::set<std::string> names;
  std::uint64_t end = 0;
  for (const dlc::Entry& entry : contents.archive.entries) {
    require(names.insert(entry.name).second, "names are unique", entry.name);
    require(entry.header_offset >= end && entry.data.offset > entry.header_offset, "entries do not overlap",
            entry.name);
    require(within(entry.data, size), "an entry lies in the file", entry.name);
    end = entry.data.offset + entry.data.size;
  }
  for (const DlcSoc& soc : contents.info.socs) {
    require(soc.entry < contents.info.entries.size(), "a context binary is an entry");
    for (const std::size_t shared : soc.shared) require(shared < contents.info.entries.size(), "weights are an entry");
  }
}

std::vector<std::byte> joined(const ThinDlc& thin, ByteView original) {
  std::vector<std::byte> out;
  for (const DlcPiece& piece : thin.pieces) {
    require(!piece.bytes.empty() || within(piece.range, original.size()), "a piece lies in the file");
    const ByteView part = piece.bytes.empty() ? original.subspan(static_cast<std::size_t>(piece.range.offset),
                                                                 static_cast<std::size_t>(piece.range.size))
                                              : ByteView(piece.bytes);
    out.insert(out.end(), part.begin(), part.end());
  }
  require(out.size() == thin.size_bytes, "the pieces are as long as said");
  return out;
}

ByteView data_of(ByteView file, const dlc::Entry& entry) {
  return file.subspan(static_cast<std::size_t>(entry.data.offset), static_cast<std::size_t>(entry.data.size));
}

void check_thin(const mapping::BufferFile& file, ByteView bytes, const dlc::Contents& contents, std::size_t entry) {
  std::vector<bool> chosen(contents.info.entries.size(), false);
  chosen[entry] = true;
  const std::vector<bool> kept = dlc::entries_to_keep(contents, chosen);
  require(kept[entry], "what was chosen stays");
  dlc::Names dropped;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) dropped.insert(contents.info.entries[i].name);
  }
  std::optional<dlc::Replacement> replacement;
  if (contents.metadata_entry && !dropped.empty()) {
    auto text = dlc::cut_metadata(contents.metadata_text, 0, dropped);
    if (!text.ok()) return require_good(text.error());
    replacement = dlc::Replacement{*contents.metadata_entry, std::move(text).value()};
  }
  const auto thin = dlc::build_thin(file, contents.archive, kept, replacement);
  require(thin.ok(), "what was read can be cut");
  const std::vector<std::byte> cut = joined(thin.value(), bytes);
  const auto again = dlc::read_archive(mapping::BufferFile(cut, nullptr), cut.size());
  require(again.ok(), "a thin DLC is one", again.ok() ? std::string() : to_text(again.error()));
  std::size_t at = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    const dlc::Entry& was = contents.archive.entries[i];
    const dlc::Entry& is = again.value().entries.at(at++);
    require(is.name == was.name, "entries keep their order", is.name);
    if (replacement && replacement->entry == i) continue;
    const ByteView a = data_of(bytes, was);
    const ByteView b = data_of(cut, is);
    require(std::equal(a.begin(), a.end(), b.begin(), b.end()), "payloads stay as they are", is.name);
    require(is.data.offset % dlc::kPage == was.data.offset % dlc::kPage, "payloads keep their place in a page",
            is.name);
  }
  require(at == again.value().entries.size(), "nothing else is inside");
}

}  // namespace
}  // namespace fatctx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fatctx;
  fuzz::Input input(data, size);
  const ByteView bytes = input.rest();
  const mapping::BufferFile file(bytes, nullptr);

  const auto contents = container::dlc::read_contents(file, size);

  if (!contents.ok()) {
    fuzz::require_good(contents.error());
    return 0;
  }
  fuzz::check_entries(contents.value(), size);
  const auto& socs = contents.value().info.socs;
  for (std::size_t i = 0; i < std::min(socs.size(), fuzz::kMaxCuts); ++i) {
    fuzz::check_thin(file, bytes, contents.value(), socs[i].entry);
  }
  return 0;
}
