// Reads the metadata entry of a DLC: which entries are context binaries, for which target, and which entries refer to
// each other.
//
// Two forms are known. The newer one is JSON: a row per context binary in "cacheList", and "relations" between entries.
// Field names differ between writers ("socModel", "soc_model"), and facts appear at different depths. So facts are
// looked up by name anywhere in a row. The older form is lines of key=value and does not mention targets.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/record.h"

namespace fatctx::container::dlc {

// Bounds for an untrusted text, checked before it becomes values in memory.
inline constexpr std::uint64_t kMaxMetadataBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kMaxMetadataValues = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxMetadataDepth = 64;
inline constexpr std::uint64_t kMaxMetadataKeys = 1024;                // of one object: keys are searched linearly
inline constexpr std::uint64_t kMaxMentions = std::uint64_t{1} << 16;  // of entries in relations: followed for each SoC
// About what the inputs, outputs and facts of all graphs take in a description, which has 1 MiB for a whole container.
inline constexpr std::uint64_t kMaxDescribedBytes = std::uint64_t{512} << 10;

struct CacheFacts {
  std::string entry;  // name of an entry of the archive
  std::uint32_t qnn_soc = 0;
  std::uint32_t arch = 0;     // 75 for v75
  std::uint32_t vtcm_mb = 0;  // the largest of its graphs
  std::string build_id;
  Version sdk;  // the version at the start of the build id
  Version api;  // core API
  Version blob;
  std::vector<DescribedGraph> graphs;
  std::vector<DescribedOption> facts;  // further ones of the row, under the compiler's own names
};

using Names = std::set<std::string, std::less<>>;

struct Metadata {
  bool json = false;
  std::vector<CacheFacts> caches;                   // in the order of the rows; each names an entry
  std::vector<std::string> missing;                 // names of context binaries without an entry
  std::vector<std::vector<std::string>> relations;  // each: entries that are mentioned together
  std::string written_at;                           // when the text was written, in its own words
  std::vector<DescribedOption> facts;               // further ones of the whole text, under its own keys
  std::uint64_t left_out_facts = 0;                 // that are too large, too many or not UTF-8
  std::uint64_t undescribed_graphs = 0;             // whose inputs, outputs and facts are not taken over
  std::string first_undescribed;                    // which graph, of which binary, and why
};

// Parses the metadata. `offset` is that of the text in the file, for errors. `entries` are the names of the archive.
// Errors: malformed, limit_exceeded.
[[nodiscard]] Result<Metadata> parse_metadata(std::string_view text, std::uint64_t offset, const Names& entries);

// Returns the text without the rows, relations and lines that name one of `dropped`. Everything else keeps its order.
// Errors: those of parse_metadata.
[[nodiscard]] Result<std::string> cut_metadata(std::string_view text, std::uint64_t offset, const Names& dropped);

}  // namespace fatctx::container::dlc
