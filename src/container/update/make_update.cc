#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "container/format/codec.h"
#include "container/format/copy_out.h"
#include "container/format/hash.h"
#include "container/sharing/parallel.h"
#include "container/update/checked_leaves.h"
#include "container/update/container_file.h"
#include "container/update/find_steps.h"
#include "container/update/part_encoder.h"
#include "container/update/part_groups.h"
#include "container/update/update_file.h"
#include "container/update/update_format.h"
#include "fatctx/update.h"
#include "mapping/publish.h"

namespace fatctx {

using namespace container;

namespace {

class UpdateMaker {
 public:
  UpdateMaker(const MakeUpdateOptions& options) : options_(options), progress_(options.progress, options.cancel) {}

  Status open(std::span<const std::string> old, const std::string& newer) {
    if (old.empty() || old.size() > kMaxOldFiles) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("an update is made from 1 to {} containers, not from {}", kMaxOldFiles, old.size())};
    }
    threads_ = sharing::thread_count(options_.threads);
    FATCTX_ASSIGN(made_, ContainerFile::open(newer));
    std::uint64_t given = 0;
    for (const std::string& path : old) {
      FATCTX_ASSIGN(ContainerFile input, ContainerFile::open(path));
      const ContainerName name = input.name();
      if (name == made_->name()) {
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("{} and {} are the same, {}", path, newer, text_of(name))};
      }
      for (const ContainerFile& other : olds_) {
        if (name == other.name()) {
          return Error{ErrorCode::kInvalidArgument,
                       fmt::format("{} and {} are the same, {}", other.path, path, text_of(name))};
        }
      }
      given += name.size;
      olds_.push_back(std::move(input));
    }
    const Header& header = made_->opened.header;
    if (header.tail_bytes != 0) {
      return Error{ErrorCode::kTrailingData,
                   fmt::format("{}: {} bytes follow the committed end; `fatctx compact` writes it without them", newer,
                               header.tail_bytes)};
    }
    if (header.committed_end > most_made(given)) {
      return Error{ErrorCode::kLimitExceeded,
                   fmt::format("{}: {} bytes are more than an update from {} bytes may make ({})", newer,
                               header.committed_end, given, most_made(given))};
    }
    return Done{};
  }

  Result<UpdateReport> make(const StreamSink& sink) {
    for (const ContainerFile& input : olds_) {
      FATCTX_TRY(check_payload(input, Absent::kAllowed, threads_, progress_));
    }
    FATCTX_TRY(check_payload(*made_, Absent::kRefused, threads_, progress_));
    FATCTX_TRY(begin(sink));
    FATCTX_ASSIGN(const std::vector<UpdateStep> steps, find());
    count(steps);
    FATCTX_TRY(encode(steps, sink));
    FATCTX_TRY(made_->check_unchanged("make the update"));
    for (const ContainerFile& old : olds_) FATCTX_TRY(old.check_unchanged("make the update"));
    return std::move(report_);
  }

 private:
  static UpdateContainer described(const ContainerFile& container) {
    UpdateContainer described = container_of(container.name());
    described.path = container.path;
    return described;
  }

  Status begin(const StreamSink& sink) {
    std::vector<std::byte> bytes;
    append_struct(bytes, UpdateHeader{.magic = kUpdateMagic,
                                      .version = kUpdateVersion,
                                      .old_count = static_cast<std::uint16_t>(olds_.size()),
                                      .flags = options_.for_partial ? kForPartial : 0,
                                      .made = made_->name()});
    for (const ContainerFile& input : olds_) {
      append_struct(bytes, input.name());
      report_.old.push_back(described(input));
    }
    hash_before_ = hash128(bytes).bytes;
    append_struct(bytes, hash_before_);
    report_.made = described(*made_);
    report_.for_partial = options_.for_partial;
    report_.update_bytes = bytes.size();
    return sink(bytes);
  }

  Result<std::vector<UpdateStep>> find() {
    std::vector<std::uint64_t> sizes;
    for (const ContainerFile& input : olds_) {
      old_bytes_.push_back(std::make_unique<UpdateBytes>(bytes_of_old(*input.file, input.opened, options_.cancel)));
      sources_.push_back(old_bytes_.back().get());
      sizes.push_back(old_bytes_.back()->size());
    }
    const ContainerFile& made = *made_;
    new_bytes_.emplace(bytes_of_new(made, options_.for_partial, options_.cancel));
    if (options_.for_partial) {
      FATCTX_ASSIGN(groups_, PartGroups::by_record(made, olds_));
    } else {
      groups_ = PartGroups::whole(new_bytes_->size(), sizes);
      for (const StoredLeafHashes& hashes : stored_leaf_hashes(made.opened.toc))
        report_.hash_bytes += hashes.in_file.size;
    }
    const FindSettings settings{.pieces = pieces_of(made.opened), .threads = threads_};
    return find_steps(sources_, *new_bytes_, *groups_, settings, progress_);
  }

  // Returns where the parts of a file begin that may repeat each other: header, copies of the table, segments.
  static std::vector<std::uint64_t> pieces_of(const OpenedToc& opened) {
    constexpr std::uint64_t kLeastPiece = 4096;
    std::vector<std::uint64_t> starts = {0, opened.header.form().size, opened.header.toc_offset[0],
                                         opened.header.toc_offset[1]};
    for (const Segment& segment : opened.toc.segments) starts.push_back(segment.offset);
    std::sort(starts.begin(), starts.end());
    std::vector<std::uint64_t> pieces = {0};
    for (const std::uint64_t start : starts) {
      if (start >= pieces.back() + kLeastPiece && start < opened.header.committed_end) pieces.push_back(start);
    }
    return pieces;
  }

  void count(std::span<const UpdateStep> steps) {
    for (const UpdateStep& step : steps) {
      switch (step.kind) {
        case UpdateStep::Kind::kCopy:
          ++report_.copies;
          report_.copied_bytes += step.size;
          break;
        case UpdateStep::Kind::kFill:
          report_.filled_bytes += step.size;
          break;
        case UpdateStep::Kind::kLiteral:
          report_.literal_bytes += step.size;
          break;
      }
    }
  }

  Status encode(std::span<const UpdateStep> steps, const StreamSink& sink) {
    std::vector<const sharing::RecordBytes*> sources = {&*new_bytes_};
    sources.insert(sources.end(), sources_.begin(), sources_.end());
    PartEncoder encoder(sources, *groups_);
    for (std::uint64_t at = 0; at < new_bytes_->size(); at += kPartSize) {
      const ByteRange part{at, std::min(kPartSize, new_bytes_->size() - at)};
      const auto end = std::find_if(steps.begin(), steps.end(),
                                    [&](const UpdateStep& step) { return step.target >= part.offset + part.size; });
      const auto here = static_cast<std::size_t>(end - steps.begin());
      FATCTX_ASSIGN(const EncodedPart encoded, encoder.encode(part, steps.first(here)));
      steps = steps.subspan(here);
      FATCTX_TRY(put(encoded, sink));
    }
    return Done{};
  }

  Status put(const EncodedPart& encoded, const StreamSink& sink) {
    UpdatePart part{.step_count = encoded.step_count,
                    .coded_size = static_cast<std::uint32_t>(encoded.coded.size()),
                    .raw_size = static_cast<std::uint32_t>(encoded.raw.size()),
                    .reserved = 0,
                    .made_hash = encoded.made_hash.bytes,
                    .stored_hash = {}};
    std::vector<std::byte> stored = encoded.coded;
    stored.insert(stored.end(), encoded.raw.begin(), encoded.raw.end());
    part.stored_hash = hash_of_part(hash_before_, part, stored).bytes;
    hash_before_ = part.stored_hash;
    report_.update_bytes += sizeof(part) + stored.size();
    FATCTX_TRY(sink(std::as_bytes(std::span(&part, 1))));
    return sink(stored);
  }

  const MakeUpdateOptions& options_;
  WorkProgress progress_;
  unsigned threads_ = 1;
  std::vector<ContainerFile> olds_;
  std::optional<ContainerFile> made_;
  std::vector<std::unique_ptr<UpdateBytes>> old_bytes_;
  std::vector<const sharing::RecordBytes*> sources_;
  std::optional<UpdateBytes> new_bytes_;
  std::optional<PartGroups> groups_;
  DiskHash hash_before_ = {};
  UpdateReport report_;
};

}  // namespace

Result<UpdateReport> make_update(std::span<const std::string> old, const std::string& newer, const std::string& target,
                                 const MakeUpdateOptions& options) {
  UpdateMaker maker(options);
  FATCTX_TRY(maker.open(old, newer));
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending,
                mapping::PendingFile::create(target, options.overwrite));
  std::uint64_t written = 0;
  FATCTX_ASSIGN(UpdateReport report, maker.make([&](ByteView bytes) -> Status {
    FATCTX_TRY(pending->file().write_at(written, bytes));
    written += bytes.size();
    return Done{};
  }));
  FATCTX_TRY(pending->publish(false));
  report.path = target;
  return report;
}

Result<UpdateReport> measure_update(std::span<const std::string> old, const std::string& newer,
                                    const MakeUpdateOptions& options) {
  UpdateMaker maker(options);
  FATCTX_TRY(maker.open(old, newer));
  return maker.make([](ByteView) -> Status { return Done{}; });
}

}  // namespace fatctx
