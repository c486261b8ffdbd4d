// Fetches a part of a container from anywhere, without a network of its own. The plan names ranges of the source, the
// caller brings their bytes in any order, and the plan checks every one of them before it writes it.
//
// The file that comes out is a partial container (docs/delivery.md): the records of a device, their weights, and all of
// the metadata. It has the size and the places of the whole one, and holes for the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/device.h"
#include "fatctx/fetch_report.h"
#include "fatctx/keys.h"
#include "fatctx/progress.h"
#include "fatctx/select.h"

namespace fatctx {

struct FetchOptions {
  // The records that the file gets: the sum of these. With none of them, those for this machine.
  bool all = false;
  std::vector<std::string> records = {};  // names
  std::vector<Device> devices = {};       // the records that select() chooses for each
  std::optional<Detection> machine = {};  // those that device_for() and select() choose
  SelectPolicy policy = {};
  // Brings no payload: the header, the table of contents and the description alone, to look into a container elsewhere.
  // `records` then means weight blobs, whose tensor tables come too. The second copy of the table is not read as long
  // as the first one is whole; the file has the first one twice. Copies that came damaged stay as they came.
  bool metadata = false;
  // Takes a partial container that is at `path` already, of the same generation, and keeps its records.
  bool more = false;
  bool overwrite = false;  // `path` may be replaced

  std::string source_name = "the source";  // in messages

  // Containers that are here already. Equal leaves (64 KiB) are copied from them, wherever they stand.
  std::vector<std::string> seeds = {};

  // As in OpenOptions. With keys, every byte is also compared with the signed SHA-256.
  std::vector<PublicKey> trusted_keys = {};
  std::uint64_t minimum_generation = 0;
  // The SHA-256 that the table of contents must have, as 64 lower-case hexadecimal digits: from a manifest whose digest
  // the caller trusts, for example (docs/delivery.md). Empty: none.
  std::string toc_sha256 = {};

  // Ranges with at most so many bytes between them are fetched as one: a request costs about as much time as these
  // bytes. The default is right for 30 ms and 35 Mbit/s.
  std::uint64_t gap_bytes = std::uint64_t{128} << 10U;
};

// A fetch that goes on. Its file is `<path>.fetching` until publish(), and stays there if the plan is destroyed: the
// next plan for the same path takes it up, checks what it has, and asks for the rest.
//
// Threads: one at a time.
class FetchPlan {
 public:
  // `source_bytes`: the size of the whole container at its source.
  // Errors: invalid_argument (`toc_sha256` has another form; options that exclude each other),
  //         exists (`path` exists, and neither `overwrite` nor `more` is set), locked (another process works on it),
  //         operation_not_permitted (`<path>.fetching` is the file of somebody else), truncated (an empty source),
  //         not_found (a seed), those of opening a seed, io.
  [[nodiscard]] static Result<FetchPlan> begin(const std::string& path, std::uint64_t source_bytes,
                                               FetchOptions options = {});
  FetchPlan(FetchPlan&&) noexcept;
  FetchPlan& operator=(FetchPlan&&) noexcept;
  ~FetchPlan();

  [[nodiscard]] FetchStage stage() const noexcept;
  // Returns the ranges of the source that this stage lacks, ascending; empty when all is there. They may contain a few
  // bytes that are not needed (`gap_bytes`).
  [[nodiscard]] std::vector<ByteRange> wanted() const;
  // Returns the number of bytes that the present stage lacks.
  [[nodiscard]] std::uint64_t missing_bytes() const noexcept;
  // Takes bytes of the source: any part of the wanted ranges, in any order and any cut. Others are ignored.
  // Errors: checksum_mismatch (the bytes are not those of the container; they were not written, and are wanted again),
  //         bad_magic (not a container), malformed, unsupported and others of an open, signature_missing,
  //         signature_bad, rollback, not_found (a record), no_match (a device), changed (with `more`: the source has
  //         another generation; or it is not the one of `toc_sha256`), invalid_argument (bytes behind the end of the
  //         source), no_space, io.
  [[nodiscard]] Status take(std::uint64_t offset, ByteView bytes);
  // Copies equal leaves of a further container, as of FetchOptions::seeds. Errors: operation_not_permitted (the stage
  // is not payload), not_found, those of opening it, no_space, io.
  [[nodiscard]] Status use(const std::string& seed);
  // Looks in the seeds for blocks of the container, at any offset, by its block index (fatctx/block_index.h). If it
  // finds some, wanted() joins ranges with at most 8 KiB between them, more if there would be over 4,096 ranges, and
  // never more than `gap_bytes`. The index needs no trust: each leaf must match, or is wanted again. `progress` counts
  // bytes of the seeds. Set `cancel` to stop with `cancelled`. An error keeps the bytes that were found.
  //
  // Time: linear in the size of the seeds. Memory: 20 bytes for each block that is missing, 100 for each place in which
  // blocks were found, and 33 MiB.
  // Errors: operation_not_permitted (the stage is not payload), changed (it is the index of another container or
  // generation), bad_magic, unsupported, malformed, truncated, trailing_data, checksum_mismatch, limit_exceeded (of the
  // index), not_found, cancelled, no_space, io.
  [[nodiscard]] Status use_blocks(const std::string& index, const Progress& progress = {},
                                  const std::atomic<bool>* cancel = nullptr);
  // Makes the container by an update (fatctx/update.h), as far as the seeds have the bytes that it copies. The seeds
  // may be partial containers: bytes that come from what they lack stay wanted, and wanted() joins ranges as in
  // use_blocks(). The update needs no trust: each leaf must match, or is wanted again. `progress` counts bytes of the
  // whole container. Set `cancel` to stop with `cancelled`. An error keeps the bytes that were made.
  //
  // Time: linear in the sizes of the whole container and of the seeds. Memory: 20 MiB. Disk: the size of the whole
  // container beside `path`, until it returns.
  // Errors: operation_not_permitted (the stage is not payload), changed (it makes another container or generation; or
  // no seed is its old file), limit_exceeded (as apply_update(); or bytes are missing in more than 2^18 places),
  // bad_magic, unsupported, malformed, truncated, trailing_data, checksum_mismatch (of the update), not_found,
  // cancelled, no_space, io.
  [[nodiscard]] Status use_update(const std::string& update, const Progress& progress = {},
                                  const std::atomic<bool>* cancel = nullptr);
  [[nodiscard]] const FetchReport& report() const noexcept;

  // Writes the file to the disk and gives it its name. Processes that use an old file of this name keep it.
  // Errors: operation_not_permitted (bytes are missing), exists, locked, commit_unknown, no_space, io.
  [[nodiscard]] Status publish();
  // Removes the unfinished file.
  void discard() noexcept;

 private:
  struct Impl;
  explicit FetchPlan(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fatctx
