// Reads multi-SoC DLC archives of Snapdragon compilers without the vendor's library: lists the contents, turns them
// into records to pack, and cuts an archive to one SoC.
//
// The payloads are opaque: nothing here looks into a context binary. All facts about one come from the archive's own
// metadata. CRC fields are not checked, because compilers leave them at 0: nothing in a DLC proves that its bytes are
// whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "fatctx/record.h"

namespace fatctx {

enum class DlcEntryKind : std::uint8_t {
  kContextBinary,          // of one SoC
  kSharedWeights,          // that context binaries refer to
  kSharedWeightsMetadata,  // the index that the backend needs to find its way in them
  kSourceModel,            // the output of the converter: topology and weights
  kMetadata,               // the list of contents of the archive
  kOther,
};
[[nodiscard]] std::string_view dlc_entry_kind_name(
    DlcEntryKind kind) noexcept;  // "context_binary", ... Static storage.

struct DlcEntry {
  std::string name;
  DlcEntryKind kind = DlcEntryKind::kOther;
  ByteRange data;  // in the file, stored as it is
};

// A context binary with its metadata. Zero and empty mean "not stated".
struct DlcSoc {
  std::size_t entry = 0;  // index among the entries
  std::uint32_t qnn_soc = 0;
  std::string arch;           // "v75"
  std::uint32_t vtcm_mb = 0;  // the largest of its graphs
  std::string build_id;       // of the compiler
  Version sdk;
  Version api;
  Version blob;
  std::vector<DescribedGraph> graphs;  // with inputs, outputs and facts, as far as the metadata states them
  std::vector<DescribedOption> facts;  // further ones of the binary, under the compiler's names: "backendApiVersion"
  std::vector<std::size_t> shared;     // indexes of the shared weights and their metadata that it uses
};

struct DlcInfo {
  std::uint64_t file_size = 0;
  std::vector<DlcEntry> entries;  // in the order of the file
  std::vector<DlcSoc> socs;       // likewise
  std::string written_at;         // when the metadata was written, in its own words; empty: not stated
  // Facts of the whole archive from its metadata, under the keys there: "converter-command", "header.version", ...
  std::vector<DescribedOption> facts;
  // Silent choices of a compiler and facts that cannot be determined: SoC 0, a SoC twice, weights that are not shared
  // after all, a context binary that the metadata does not list ...
  std::vector<std::string> findings;
};

// Returns true if the file is an archive with the entries of a DLC. A damaged one may still be recognised; list_dlc
// names the damage. Errors: not_found, io, not_regular_file.
[[nodiscard]] Result<bool> is_dlc(const std::string& path);

// Checks the structure of the whole archive and reads its metadata, never a payload.
// Errors: not_found, io, not_regular_file, bad_magic, truncated, malformed, unsupported, limit_exceeded; those about
//         the archive name the entry and the byte.
// Cost:   a few reads per entry; the directory (at most 4 MiB) and the metadata (at most 16 MiB) in memory.
[[nodiscard]] Result<DlcInfo> list_dlc(const std::string& path);

// Returns JSON of schema "fatctx.dlc/1". `file` names the archive, or the container that has it.
[[nodiscard]] std::string to_json(const std::string& file, const DlcInfo& info);

struct DlcImport {
  std::string group = {};   // goes into all records
  std::string unit = {};    // goes into the context binaries
  std::string prefix = {};  // in front of the names of all records, to tell several archives in one container apart
  // Adds a record "<prefix>dlc.layout" with the bytes between the entries, so that the container can give the archive
  // back byte for byte (fatctx/stored_dlc.h).
  bool keep_layout = true;
};

// Returns one record for each entry, under its name, each with a range of the file as its source. Context binaries get
// backend "htp" and the target that the metadata states, and refer to their shared weights. Shared weights become
// weight blobs, source models stay source models, everything else is opaque. If two context binaries have one target,
// each gets its name as the variant. The file must not change until the records are packed.
// Errors: those of list_dlc; unsupported, if an entry has a name that a record cannot have; changed; limit_exceeded.
// Cost:   with the layout, reading the whole file once for its hashes; the layout in memory, some KiB per entry.
[[nodiscard]] Result<std::vector<PackRecord>> records_from_dlc(const std::string& path, const DlcImport& import);

// A choice of the context binaries to keep.
struct DlcChoice {
  std::vector<std::uint32_t> qnn_socs;  // all of these SoCs
  std::vector<std::string> entries;     // and these, by name
};

// A part of a thin DLC: a range of the file it was cut from, or new bytes.
struct DlcPiece {
  ByteRange range;               // of the original, if `bytes` is empty
  std::vector<std::byte> bytes;  // else these

  [[nodiscard]] std::uint64_t size() const noexcept { return bytes.empty() ? range.size : bytes.size(); }
};

// The archive without the context binaries of other SoCs, as pieces of the original. Entries keep their offset within a
// 4 KiB page. If the original allows it (its entries begin on pages), every range of the file begins on a page of both
// files and has whole pages. The pieces can then be mapped one behind the other.
struct ThinDlc {
  std::vector<DlcPiece> pieces;
  std::uint64_t size_bytes = 0;
  std::uint64_t new_bytes = 0;
  std::vector<std::string> entries;  // the ones that are kept
  bool mappable = false;             // every range of the file begins on a page and has whole pages
};

// Returns everything except context binaries that are not chosen, and shared weights that only those refer to.
// Errors: those of list_dlc; no_match, naming the existing ones; bad_reference, if the archive has no metadata to cut.
// Cost:   new bytes are in memory, a few pages per entry.
[[nodiscard]] Result<ThinDlc> thin_dlc(const std::string& path, const DlcChoice& choice);

// Writes the same bytes as a file that appears whole or not at all.
// Errors: those of thin_dlc; exists (without `overwrite`), no_space, changed, commit_unknown.
[[nodiscard]] Result<ThinDlc> extract_thin_dlc(const std::string& path, const DlcChoice& choice, const std::string& out,
                                               bool overwrite);

}  // namespace fatctx
