#include "tools/wrap/thin_payload.h"
#include "tools/cli/whole_container.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fatctx::tools {

namespace {

constexpr std::string_view kLayoutName = "dlc.layout";
constexpr std::size_t kPiece = std::size_t{1} << 20;

std::vector<std::string> weight_names(const Container& container, const RecordInfo& record) {
  std::vector<std::string> names;
  for (const RecordInfo& one : all_records(container)) {
    const bool used = std::find(record.weights.begin(), record.weights.end(), one.id) != record.weights.end();
    if (used) names.emplace_back(one.name);
  }
  return names;
}

}  // namespace

Result<ThinDlcView> thin_payload(const Container& container, const RecordInfo& record) {
  FATCTX_ASSIGN(const auto dlcs, stored_dlcs(container));
  for (const StoredDlc& dlc : dlcs) {
    if (std::find(dlc.records.begin(), dlc.records.end(), record.name) == dlc.records.end()) continue;
    const std::size_t prefix = dlc.layout.size() - std::min(kLayoutName.size(), dlc.layout.size());
    if (record.name.size() < prefix) continue;
    const DlcChoice choice{.qnn_socs = {}, .entries = {std::string(record.name.substr(prefix))}};
    return thin_dlc_view(container, choice, dlc.layout);
  }
  return Error{ErrorCode::kUnsupported,
               fmt::format("record \"{}\" does not run without the shared weights \"{}\" that it refers to, and a "
                           "provider finds both only in a DLC, of which the container has none; pack the DLC itself "
                           "(fatctx pack --dlc FILE), or compile for this SoC alone, which makes a whole binary",
                           record.name, fmt::join(weight_names(container, record), "\", \""))};
}

Result<std::optional<std::uint64_t>> first_difference(ByteView bytes, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{ErrorCode::kNotFound, fmt::format("{}: cannot be read", path)};
  std::vector<char> piece(kPiece);
  std::uint64_t at = 0;
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const ByteView read = std::as_bytes(std::span(piece)).first(static_cast<std::size_t>(in.gcount()));
    const ByteView wanted = bytes.subspan(at, std::min<std::uint64_t>(read.size(), bytes.size() - at));
    const auto [mine, theirs] = std::mismatch(wanted.begin(), wanted.end(), read.begin(), read.end());
    at += static_cast<std::uint64_t>(mine - wanted.begin());
    if (mine != wanted.end() || theirs != read.end()) return std::optional(at);
  }
  if (!in.eof()) return Error{ErrorCode::kIo, fmt::format("{}: cannot be read", path)};
  return at == bytes.size() ? std::optional<std::uint64_t>() : std::optional(at);
}

}  // namespace fatctx::tools
