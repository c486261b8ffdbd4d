// Writes containers anew: fewer records, no dead bytes, several containers as one.
//
// The records are read through their hashes and packed again (fatctx/packer.h). Bytes that are found equal among the
// kept records are stored once. The new file appears whole or not at all; a process that has the old one mapped keeps
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/packer.h"
#include "fatctx/record.h"

namespace fatctx {

struct RewriteOptions {
  // Ids of the records to keep; nothing: all of them. The description is always kept, and a table of tensors with its
  // weight blob.
  std::optional<std::vector<std::uint32_t>> keep = {};
  std::optional<bool> seal = {};        // nothing: sealed if the old file is
  bool overwrite = false;               // replace `target` if it is an existing, different file; otherwise `exists`
  std::optional<Sharing> sharing = {};  // nothing: as the records share bytes now, with off becoming pages
  std::uint32_t max_pieces = 4096;      // as PackOptions::max_pieces
  std::uint64_t generation = 0;         // the one to write; 0: the newest
  Progress progress = {};
  const std::atomic<bool>* cancel = nullptr;  // as PackOptions::cancel
  std::uint32_t threads = 0;                  // as PackOptions::threads
  // As OpenOptions::max_made_bytes: limits the logical bytes of all kept records.
  std::uint64_t max_made_bytes = 0;
};

// A source file, as it was read.
struct RewriteSource {
  std::string path;
  std::uint64_t generation = 0;
  std::uint64_t file_size = 0;
  std::uint64_t dead_bytes = 0;  // used by no record of any generation that opens by default
  std::uint32_t record_count = 0;
};

struct RewriteReport {
  std::vector<RewriteSource> sources;
  std::vector<std::string> removed;  // names of records that are not in the new file
  std::vector<std::string> unused;   // weight blobs that binaries referred to, and that no binary refers to now
  std::uint64_t generation = 0;      // of the new file
  PackReport pack;                   // the new file
};

// Writes the kept records to `target`, which may be `source`: that file is then locked against appends, and replaced.
// The new file keeps the uuid and has one generation, the one after the newest.
// Errors: not_found, exists, locked (another process is appending to `source`), changed (`source` was replaced
//         meanwhile), not_regular_file (`source` is a link and would be replaced), not_found (an id of `keep`, the
//         generation), invalid_argument (a kept binary refers to weights that are not kept), unsupported (a record that
//         this version only lists), checksum_mismatch and codec (a record is damaged: remove it, or restore the file),
//         not_present (the same of a record that a partial file does not have),
//         limit_exceeded (the records have more bytes than max_made_bytes allows), cancelled, those of opening `source`
//         and of Packer::publish. Except for commit_unknown, `target` is unchanged after an error.
[[nodiscard]] Result<RewriteReport> rewrite_container(const std::string& source, const std::string& target,
                                                      const RewriteOptions& options = {});

struct MergeOptions {
  std::string model_name = {};  // empty: that of the first container
  bool seal = false;
  bool overwrite = false;
  std::optional<Sharing> sharing = {};  // nothing: bytes if a container shares so, else pages
  std::uint32_t max_pieces = 4096;
  Progress progress = {};
  const std::atomic<bool>* cancel = nullptr;
  std::uint32_t threads = 0;
  std::uint64_t max_made_bytes = 0;  // as RewriteOptions::max_made_bytes, of each source by itself
  // Renames records: keys are old names, values new ones. Equal records that get the same name become one.
  std::map<std::string, std::string> new_names = {};
  std::string without_options_of = {};  // leaves out the container's options with this owner; empty: keeps all
};

// Writes the records of all containers to `target`. If several have equal records under one name, it writes one. The
// order of `sources` changes a byte only if they disagree on the name of the model or on options of the whole
// container: then the first one counts, with a warning. Extents and granules are the largest that a source has.
// `target` may be one of the sources: it is then locked from the first read on, so that no append to it is lost.
// Errors: exists (two records of one name, or of one key, that differ), invalid_argument (fewer than two sources),
//         those of rewrite_container.
[[nodiscard]] Result<RewriteReport> merge_containers(std::span<const std::string> sources, const std::string& target,
                                                     const MergeOptions& options = {});

// A target as a filter: an empty, zero or false field fits everything. A key fits only if it has all named features.
// Group and unit count as well; `api` and `blob` do not.
using TargetFilter = PackKey;
[[nodiscard]] bool fits_target(const TargetFilter& filter, const SelectionKey& key);

// Returns the ids to keep when a container is stripped to some targets: context binaries for which `stays` is true, the
// weights that they refer to, and other records with a backend in their key for which it is true. Also returns records
// that belong to no target, such as source models, and weights that no binary refers to.
[[nodiscard]] std::vector<std::uint32_t> records_left(std::span<const RecordInfo> records,
                                                      const std::function<bool(const RecordInfo&)>& stays);
// Returns the same for records that fit one of `filters`.
// Errors: invalid_argument (there are none), no_match (no context binary fits one of them).
[[nodiscard]] Result<std::vector<std::uint32_t>> records_left(std::span<const RecordInfo> records,
                                                              std::span<const TargetFilter> filters);

// Returns the ids of all records except `gone`.
// Errors: not_found, invalid_argument (a description or a table of tensors, which is kept or removed with the record it
//         describes).
[[nodiscard]] Result<std::vector<std::uint32_t>> records_without(std::span<const RecordInfo> records,
                                                                 std::span<const std::uint32_t> gone);

}  // namespace fatctx
