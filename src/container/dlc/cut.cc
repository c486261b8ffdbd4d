#include "container/dlc/cut.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "container/dlc/thin.h"

namespace fatctx::container::dlc {
namespace {

constexpr std::size_t kCopyUnit = std::size_t{1} << 20;

std::string target_words(const DlcSoc& soc, const DlcInfo& info) {
  return fmt::format("{} ({})", soc.qnn_soc, info.entries[soc.entry].name);
}

Result<std::vector<bool>> choose(const DlcInfo& info, const DlcChoice& choice) {
  std::vector<bool> chosen(info.entries.size(), false);
  const auto refuse = [&](const std::string& what) {
    std::vector<std::string> there;
    for (const DlcSoc& soc : info.socs) there.push_back(target_words(soc, info));
    return Error{ErrorCode::kNoMatch, fmt::format("no context binary {} in it; there are: {}", what,
                                                  there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", ")))};
  };
  if (choice.qnn_socs.empty() && choice.entries.empty()) return refuse("was chosen");
  for (const std::uint32_t number : choice.qnn_socs) {
    bool found = false;
    for (const DlcSoc& soc : info.socs) {
      if (soc.qnn_soc != number) continue;
      chosen[soc.entry] = true;
      found = true;
    }
    if (!found) return refuse(fmt::format("for SoC {} is", number));
  }
  for (const std::string& name : choice.entries) {
    const auto found = std::find_if(info.socs.begin(), info.socs.end(),
                                    [&](const DlcSoc& soc) { return info.entries[soc.entry].name == name; });
    if (found == info.socs.end()) return refuse(fmt::format("named \"{}\" is", name));
    chosen[found->entry] = true;
  }
  return chosen;
}

}  // namespace

Result<ThinDlc> cut(const mapping::OsFile& archive, std::uint64_t size, const DlcChoice& choice) {
  FATCTX_ASSIGN(const Contents contents, read_contents(archive, size));
  FATCTX_ASSIGN(const std::vector<bool> chosen, choose(contents.info, choice));
  const std::vector<bool> kept = entries_to_keep(contents, chosen);
  Names dropped;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) dropped.insert(contents.info.entries[i].name);
  }
  std::optional<Replacement> replacement;
  if (!dropped.empty()) {
    if (!contents.metadata_entry) {
      return Error{ErrorCode::kBadReference,
                   "there is no entry \"dlc.metadata\" to list the remaining entries; compile the DLC again"};
    }
    const std::size_t entry = *contents.metadata_entry;
    FATCTX_ASSIGN(std::string text,
                  cut_metadata(contents.metadata_text, contents.info.entries[entry].data.offset, dropped));
    replacement = Replacement{entry, std::move(text)};
  }
  return build_thin(archive, contents.archive, kept, replacement);
}

Status write_pieces(const mapping::OsFile& archive, const ThinDlc& thin, mapping::OsFile& to) {
  FATCTX_TRY(to.allocate(thin.size_bytes));
  std::vector<std::byte> buffer;
  std::uint64_t at = 0;
  for (const DlcPiece& piece : thin.pieces) {
    if (!piece.bytes.empty()) {
      FATCTX_TRY(to.write_at(at, piece.bytes));
      at += piece.bytes.size();
      continue;
    }
    for (std::uint64_t done = 0; done < piece.range.size; done += buffer.size()) {
      buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyUnit, piece.range.size - done)));
      FATCTX_TRY(archive.read_at(piece.range.offset + done, buffer));
      FATCTX_TRY(to.write_at(at + done, buffer));
    }
    at += piece.range.size;
  }
  return Done{};
}

}  // namespace fatctx::container::dlc
