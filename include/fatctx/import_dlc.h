// Multi-SoC DLC archives of Snapdragon compilers, read without the vendor's library: what is inside, as records to
// pack, and cut to one SoC.
//
// The payloads are opaque: nothing here looks into a context binary. What is known about one comes from the archive's
// own metadata. CRC fields are not checked, because compilers leave them at 0: nothing in a DLC tells that its bytes
// are whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/packer.h"
#include "fatctx/record.h"

namespace fatctx {

enum class DlcEntryKind : std::uint8_t {
  kContextBinary,          // of one SoC
  kSharedWeights,          // that context binaries refer to
  kSharedWeightsMetadata,  // what the backend needs to find its way in them
  kSourceModel,            // what the converter wrote: topology and weights
  kMetadata,               // what is in the archive
  kOther,
};
[[nodiscard]] std::string_view dlc_entry_kind_name(
    DlcEntryKind kind) noexcept;  // "context_binary", ... Static storage.

struct DlcEntry {
  std::string name;
  DlcEntryKind kind = DlcEntryKind::kOther;
  ByteRange data;  // in the file, stored as it is
};

// A context binary and what the metadata says of it. Zero and empty mean "not stated".
struct DlcSoc {
  std::size_t entry = 0;  // index among the entries
  std::uint32_t qnn_soc = 0;
  std::string arch;           // "v75"
  std::uint32_t vtcm_mb = 0;  // the largest of its graphs
  std::string build_id;       // of the compiler
  Version sdk;
  Version api;
  Version blob;
  std::vector<std::string> graphs;
  std::vector<std::uint64_t> spill_fill_bytes;  // of each of `graphs`; 0: the metadata does not say
  std::vector<std::size_t> shared;              // indexes of shared weights and their metadata that it refers to
};

struct DlcInfo {
  std::uint64_t file_size = 0;
  std::vector<DlcEntry> entries;  // in the order of the file
  std::vector<DlcSoc> socs;       // likewise
  // What a compiler did without a word and what cannot be told: SoC 0, a SoC twice, weights that are not shared after
  // all, a context binary that the metadata does not list ...
  std::vector<std::string> findings;
};

// True if the file is an archive with the entries of a DLC. A damaged one may still be recognised; list_dlc tells what
// is wrong with it. Errors: not_found, io, not_regular_file.
[[nodiscard]] Result<bool> is_dlc(const std::string& path);

// Checks the structure of the whole archive and reads its metadata, never a payload.
// Errors: not_found, io, not_regular_file, bad_magic, truncated, malformed, unsupported, limit_exceeded; those about
// the
//         archive name the entry and the byte.
// Cost:   a few reads an entry; the directory (at most 4 MiB) and the metadata (at most 16 MiB) in memory.
[[nodiscard]] Result<DlcInfo> list_dlc(const std::string& path);

struct DlcImport {
  std::string group = {};   // of all records
  std::string unit = {};    // of the context binaries
  std::string prefix = {};  // in front of the names of all records, to tell several archives in one container apart
  // Adds a record "<prefix>dlc.layout" with what is between the entries, so that the container can give the archive
  // back byte for byte (fatctx/stored_dlc.h).
  bool keep_layout = true;
};

// One record for each entry, under its name, each with a range of the file as its source: context binaries with
// backend "htp" and the target that the metadata states, referring to their shared weights; shared weights as weight
// blobs; source models as such; everything else opaque. Of two context binaries with one target each gets its name as
// the variant. The file must not change until the records are packed.
// Errors: those of list_dlc; unsupported, if an entry has a name that a record cannot have; changed; limit_exceeded.
// Cost:   with the layout, reading the whole file once for its hashes; the layout in memory, some KiB an entry.
[[nodiscard]] Result<std::vector<PackRecord>> records_from_dlc(const std::string& path, const DlcImport& import);

// Which context binaries stay.
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

// The archive without the context binaries of other SoCs, as pieces of the original. Entries keep their place within a
// 4 KiB page. Where the original allows it (its entries begin on pages), every range of the file begins on a page of
// both files and has whole pages, so that the pieces can be mapped one behind the other.
struct ThinDlc {
  std::vector<DlcPiece> pieces;
  std::uint64_t size_bytes = 0;
  std::uint64_t new_bytes = 0;
  std::vector<std::string> entries;  // that stay
  bool mappable = false;             // every range of the file begins on a page and has whole pages
};

// Everything but context binaries that are not chosen, and shared weights that only those refer to.
// Errors: those of list_dlc; no_match, naming what is there; bad_reference, if the archive has no metadata to cut.
// Cost:   new bytes are in memory, a few pages an entry.
[[nodiscard]] Result<ThinDlc> thin_dlc(const std::string& path, const DlcChoice& choice);

// The same as a file that appears whole or not at all.
// Errors: those of thin_dlc; exists (without `overwrite`), no_space, changed, commit_unknown.
[[nodiscard]] Result<ThinDlc> extract_thin_dlc(const std::string& path, const DlcChoice& choice, const std::string& out,
                                               bool overwrite);

}  // namespace fatctx
