// Brings a part of a container into a file, from bytes that the caller fetches. It goes from stage to stage: each stage
// is checked by what the one before it says.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/fetch/seed_leaves.h"
#include "container/fetch/wanted_leaves.h"
#include "container/format/byte_set.h"
#include "container/read/open.h"
#include "container/read/trust.h"
#include "container/update/block_index.h"
#include "container/update/update_file.h"
#include "fatctx/fetch_report.h"
#include "fatctx/keys.h"
#include "fatctx/progress.h"
#include "mapping/publish.h"

namespace fatctx::container {

// Returns the ids of the records to fetch, once the table is there. Their weights, tensor tables and the description
// are added.
using ChooseRecords = std::function<Result<std::vector<std::uint32_t>>(const OpenedToc&)>;

// Restores copies of metadata that came damaged (bits of Degraded) from the good ones.
using MendCopies = std::function<Status(mapping::OsFile&, const Header&, std::uint32_t degraded)>;

struct PartialFetchOptions {
  std::vector<PublicKey> trusted_keys;
  std::uint64_t minimum_generation = 0;
  std::string toc_sha256 = {};  // that the table must have, in hexadecimal; empty: any
  bool overwrite = false;
  bool metadata = false;  // adds the description alone to the chosen records, and reads one copy of the table
  ChooseRecords choose;
  MendCopies mend = {};
};

// Ownership: holds the unfinished file `<target>.fetching`, which stays when this object goes. Threads: one at a time.
class PartialFetch {
 public:
  // Opens the unfinished file of an earlier fetch, or begins one. Errors: those of PendingFile::resume.
  [[nodiscard]] static Result<PartialFetch> begin(const std::string& target, std::uint64_t source_size,
                                                  PartialFetchOptions options);

  [[nodiscard]] FetchStage stage() const noexcept { return stage_; }
  // Returns the bytes that this stage lacks.
  [[nodiscard]] ByteSet lacking() const;
  [[nodiscard]] std::uint64_t lacking_bytes() const noexcept;
  [[nodiscard]] const FetchReport& report() const noexcept { return report_; }
  // Adds a container whose leaves may be copied. Errors: those of open_seed. Requires: the stage is kHeader.
  [[nodiscard]] Status add_seed(std::unique_ptr<mapping::OsFile> file);
  // Copies leaves of a further container now. Errors: those of open_seed; io, no_space. Requires: the stage is
  // kPayload.
  [[nodiscard]] Status take_leaves_of(std::unique_ptr<mapping::OsFile> file);
  // Looks in the seeds for the blocks of a block index that are missing. Errors: changed (it is the index of another
  // state of the container), cancelled, io, no_space. Requires: the stage is kPayload.
  [[nodiscard]] Status take_blocks_of(const BlockIndex& index, const Progress& progress,
                                      const std::atomic<bool>* cancel);
  // Makes the container by an update, as far as the seeds have the bytes, and takes its missing leaves. Needs room
  // for the whole container beside the target. Errors: changed (it makes another state of the container; or none of the
  // seeds is its old file), others of guess_by_update(). Requires: the stage is kPayload.
  [[nodiscard]] Status take_update_of(UpdateFile& update, const Progress& progress, const std::atomic<bool>* cancel);
  // Returns how many bytes of guesses it has, without those that turned out wrong.
  [[nodiscard]] std::uint64_t guessed_bytes() const noexcept { return wanted_ ? wanted_->guessed_bytes() : 0; }
  // Takes bytes of the source at `offset`. Goes on to the next stage when this one has all of its bytes.
  // Errors: checksum_mismatch (the bytes are not the container's, or not there at the source), those of parse_header,
  // parse_toc, check_trust and of `choose`; io, no_space.
  [[nodiscard]] Status take(std::uint64_t offset, ByteView bytes);
  // Syncs the file and gives it the name of the target. Requires: the stage is kDone.
  // Errors: those of PendingFile::publish.
  [[nodiscard]] Status publish();
  // Removes the unfinished file.
  void discard() noexcept;

 private:
  PartialFetch(std::string target, std::uint64_t source_size, PartialFetchOptions options);

  // Returns what the stage waits for: of the payload, whole leaves.
  [[nodiscard]] const ByteSet& missing() const noexcept { return wanted_ ? wanted_->missing() : raw_; }
  [[nodiscard]] mapping::OsFile& file() noexcept { return pending_->file(); }
  [[nodiscard]] Trust trust() const noexcept { return {options_.trusted_keys, options_.minimum_generation}; }
  [[nodiscard]] Status check_is_of(const ContainerName& file, std::string_view what) const;
  [[nodiscard]] Status advance();
  [[nodiscard]] Status wanted_again_unless(Status passed, std::initializer_list<ByteRange> ranges);
  [[nodiscard]] Status end_header();
  [[nodiscard]] Status check_is_nobodys();
  [[nodiscard]] Status begin_anew();
  void read_on_behind_table();
  [[nodiscard]] Result<OpenedToc> first_copy_of_table();
  [[nodiscard]] Status end_table();
  [[nodiscard]] Status check_sha256_of_table(std::uint32_t degraded);
  [[nodiscard]] Status clear_what_is_wrong();
  [[nodiscard]] Result<ByteSet> hashes_to_fetch(bool after_fetch);
  [[nodiscard]] Status begin_payload();
  [[nodiscard]] Status give_first_bytes();

  std::string target_;
  std::uint64_t source_size_;
  PartialFetchOptions options_;
  std::unique_ptr<mapping::PendingFile> pending_;
  bool resumed_ = false;
  FetchStage stage_ = FetchStage::kHeader;
  FetchReport report_;
  std::uint64_t whole_leaves_reused_ = 0;  // bytes of leaves of seeds, without those of blocks
  ByteSet raw_;                            // missing bytes of the stages before the payload
  std::vector<std::byte> first_;           // the first bytes of the source
  bool second_copy_asked_ = false;         // the second copy of the table is wanted, with `metadata`
  std::optional<Header> header_;
  std::unique_ptr<OpenedToc> opened_;
  std::vector<SegmentLeaves> leaves_;  // the leaves that the chosen records need
  std::optional<WantedLeaves> wanted_;
  std::vector<Seed> seeds_;
};

}  // namespace fatctx::container
