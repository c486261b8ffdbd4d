// Writing containers anew: fewer records, no dead bytes, several containers as one.
//
// The records are read through their hashes and packed again (fatctx/packer.h), so that what is found equal among them
// is stored once, whichever of them are left. The new file appears whole or not at all; who has the old one mapped
// keeps it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/packer.h"
#include "fatctx/record.h"

namespace fatctx {

struct RewriteOptions {
  // Ids of the records that stay; nothing: all of them. The description stays always, a table of tensors with its
  // weight blob.
  std::optional<std::vector<std::uint32_t>> keep = {};
  std::optional<bool> seal = {};        // nothing: sealed if the old file is
  bool overwrite = false;               // replace `target` if it is there and another file; otherwise `exists`
  std::optional<Sharing> sharing = {};  // nothing: as the records share bytes now, off becoming pages
  std::uint32_t max_pieces = 4096;      // as PackOptions::max_pieces
  std::uint64_t generation = 0;         // which is written; 0: the newest
  Progress progress = {};
  const std::atomic<bool>* cancel = nullptr;  // as PackOptions::cancel
  std::uint32_t threads = 0;                  // as PackOptions::threads
  // As OpenOptions::max_made_bytes: the logical bytes of all records that stay are at most that many.
  std::uint64_t max_made_bytes = 0;
};

// Of a file that was read.
struct RewriteSource {
  std::string path;
  std::uint64_t generation = 0;
  std::uint64_t file_size = 0;
  std::uint64_t dead_bytes = 0;  // that no record of any generation that opens by default uses
  std::uint32_t record_count = 0;
};

struct RewriteReport {
  std::vector<RewriteSource> sources;
  std::vector<std::string> removed;  // names of records that are not in the new file
  std::vector<std::string> unused;   // weight blobs that binaries referred to and no binary does any more
  std::uint64_t generation = 0;      // of the new file
  PackReport pack;                   // the new file
};

// Writes the records that stay to `target`, which may be `source`: that one is locked against appends then, and
// replaced. The new file keeps the uuid and has one generation, the one behind the newest.
// Errors: not_found, exists, locked (somebody is appending to `source`), changed (`source` was replaced meanwhile),
//         not_regular_file (`source` is a link and to be replaced), not_found (an id of `keep`, the generation),
//         invalid_argument (a binary that stays refers to weights that do not), unsupported (a record that this version
//         only lists), checksum_mismatch and codec (a record is damaged: remove it, or restore the file),
//         limit_exceeded (the records have more bytes than max_made_bytes allows), cancelled, those of opening `source`
//         and of Packer::publish. But for commit_unknown, `target` is as it was.
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
};

// Writes the records of all containers to `target`. What several have under one name is taken once if it is the same;
// the order of `sources` changes no byte but where they disagree on the name of the model or on options of the whole
// container: then the first one counts, with a warning. Extents and granules are the largest that a source has.
// Errors: exists (two records of one name, or of one key, that differ), invalid_argument (fewer than two sources),
// those of rewrite_container.
[[nodiscard]] Result<RewriteReport> merge_containers(std::span<const std::string> sources, const std::string& target,
                                                     const MergeOptions& options = {});

// A target as a filter: what is empty, zero or false in it fits everything. Of features, those named must be there.
// Group and unit count as well; `api` and `blob` do not.
using TargetFilter = PackKey;
[[nodiscard]] bool fits_target(const TargetFilter& filter, const SelectionKey& key);

// Ids of what is left when a container is stripped to some targets: context binaries of which `stays` is true, the
// weights that they refer to, other records with a backend in their key of which it is true, and what belongs to no
// target, such as source models, and weights that no binary refers to.
[[nodiscard]] std::vector<std::uint32_t> records_left(std::span<const RecordInfo> records,
                                                      const std::function<bool(const RecordInfo&)>& stays);
// The same, with those that stay that fit one of `filters`.
// Errors: invalid_argument (there are none), no_match (no context binary fits one of them).
[[nodiscard]] Result<std::vector<std::uint32_t>> records_left(std::span<const RecordInfo> records,
                                                              std::span<const TargetFilter> filters);

// Ids of all records but `gone`.
// Errors: not_found, invalid_argument (a description or a table of tensors, which goes with what it describes).
[[nodiscard]] Result<std::vector<std::uint32_t>> records_without(std::span<const RecordInfo> records,
                                                                 std::span<const std::uint32_t> gone);

}  // namespace fatctx
