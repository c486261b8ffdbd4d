#include "fatctx/fetch_plan.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "container/check/absent_leaves.h"
#include "container/edit/restore.h"
#include "container/fetch/partial_fetch.h"
#include "container/update/update_file.h"
#include "fatctx/base/nearest.h"
#include "fatctx/content_hash.h"
#include "fatctx/device.h"
#include "mapping/os_file.h"
#include "runtime/select/candidates.h"
#include "runtime/select/nothing_fits.h"

namespace fatctx {
namespace {

Result<std::uint32_t> record_named(const container::Toc& toc, const std::string& name) {
  std::vector<std::string> names;
  names.reserve(toc.records.size());
  for (const RecordInfo& record : toc.records) {
    if (record.name == name) return record.id;
    names.emplace_back(record.name);
  }
  const auto similar = nearest(name, names);
  return Error{ErrorCode::kNotFound,
               fmt::format("there is no record \"{}\"{}", name,
                           similar ? fmt::format("; did you mean \"{}\"?", *similar) : std::string())};
}

// Adds the ids of the tensor tables of a weight blob.
Status add_tensor_tables(const container::Toc& toc, const std::string& weights, std::vector<std::uint32_t>& ids) {
  FATCTX_ASSIGN(const std::uint32_t id, record_named(toc, weights));
  for (const container::Reference& reference : toc.references) {
    if (reference.kind == container::ReferenceKind::kTensorTable && reference.to_record == id) {
      ids.push_back(reference.from_record);
    }
  }
  return Done{};
}

// The state of a partial container that is to get more records.
struct Before {
  std::unique_ptr<mapping::OsFile> file;
  container::OpenedToc opened;
};

Result<Before> open_before(const std::string& path) {
  Before before;
  auto file = mapping::open_for_reading(path);
  if (!file.ok()) {
    Error error = std::move(file).error();
    if (error.code == ErrorCode::kNotFound) error.message += "; records are added to a file that is there";
    return in_context(std::move(error), path);
  }
  before.file = std::move(file).value();
  FATCTX_ASSIGN(mapping::FileIdentity identity, before.file->identity());
  auto opened = container::read_growing(*before.file, identity, 0);
  if (!opened.ok()) return in_context(std::move(opened).error(), path);
  before.opened = std::move(opened).value();
  return before;
}

// Returns the records that are all there. A copy of a partial file may have zeros where the file had holes, and not
// every system tells of holes.
Result<std::vector<std::uint32_t>> present_records(const Before& before) {
  FATCTX_ASSIGN(const container::AbsentLeaves absent,
                container::AbsentLeaves::find(*before.file, before.opened.toc, container::LookFor::kZeros,
                                              [](std::uint64_t) -> Status { return Done{}; }));
  std::vector<std::uint32_t> present;
  for (const RecordInfo& record : before.opened.toc.records) {
    if (absent.bytes_of(record) == 0) present.push_back(record.id);
  }
  return present;
}

// Gives the file both copies of everything, also if the source has lost one.
Status mend_copies(mapping::OsFile& file, const container::Header& header, std::uint32_t degraded) {
  FATCTX_ASSIGN(const std::vector<container::Restoration> restorations,
                container::restorations_of(file, header, degraded));
  return container::restore(file, header, restorations);
}

}  // namespace

struct FetchPlan::Impl {
  FetchOptions options;
  std::string path;
  std::optional<Before> before;  // with `more`
  std::optional<container::PartialFetch> fetch;
  std::uint64_t gap_bytes = 0;

  // The bytes that blocks and updates leave over are scattered, a block or two in one place. Takes the smallest gap
  // with which requests do not become too many, and none above the caller's.
  void narrow_gap() {
    constexpr std::uint64_t kLeastGap = std::uint64_t{8} << 10U;
    constexpr std::size_t kMostRanges = 4096;  // half a minute of requests of 30 ms, four at a time
    if (fetch->guessed_bytes() == 0) return;
    const std::vector<ByteRange> lacking = fetch->lacking().ranges();
    std::uint64_t gap = std::min(options.gap_bytes, kLeastGap);
    while (gap < options.gap_bytes && container::joined_over(lacking, gap).size() > kMostRanges) gap *= 2;
    gap_bytes = std::min(gap, options.gap_bytes);
  }

  Status in_payload(std::string_view what) const {
    if (fetch->stage() == FetchStage::kPayload) return Done{};
    return Error{ErrorCode::kOperationNotPermitted, fmt::format("{}: {} in the stage \"payload\"; this is \"{}\"", path,
                                                                what, fetch_stage_name(fetch->stage()))};
  }

  Result<std::vector<std::uint32_t>> choose(const container::OpenedToc& opened) const {
    const container::Toc& toc = opened.toc;
    std::vector<std::uint32_t> ids;
    if (before) {
      const container::Header& old = before->opened.header;
      if (old.uuid != opened.header.uuid || old.generation != opened.header.generation ||
          old.toc_hash != opened.header.toc_hash) {
        return Error{ErrorCode::kChanged,
                     fmt::format("{} is generation {}, and the source is {}; fetch the new one with the old one as a "
                                 "seed",
                                 path, old.generation,
                                 old.uuid == opened.header.uuid ? fmt::format("generation {}", opened.header.generation)
                                                                : "another container")};
      }
      FATCTX_ASSIGN(ids, present_records(*before));
    }
    if (options.metadata) {
      for (const std::string& name : options.records) FATCTX_TRY(add_tensor_tables(toc, name, ids));
      return ids;
    }
    if (options.all) {
      for (const RecordInfo& record : toc.records) ids.push_back(record.id);
      return ids;
    }
    for (const std::string& name : options.records) {
      FATCTX_ASSIGN(const std::uint32_t id, record_named(toc, name));
      ids.push_back(id);
    }
    const std::vector<Candidate> candidates = candidates_among(toc.records);
    std::vector<Device> devices = options.devices;
    if (options.machine) devices.push_back(device_for(*options.machine, candidates));
    for (const Device& device : devices) {
      FATCTX_ASSIGN(const Selection selection, select(candidates, device, options.policy));
      if (selection.chosen.empty())
        return nothing_fits(options.source_name, selection, candidates, device, options.policy);
      ids.insert(ids.end(), selection.chosen.begin(), selection.chosen.end());
    }
    return ids;
  }
};

FetchPlan::FetchPlan(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
FetchPlan::FetchPlan(FetchPlan&&) noexcept = default;
FetchPlan& FetchPlan::operator=(FetchPlan&&) noexcept = default;
FetchPlan::~FetchPlan() = default;

Result<FetchPlan> FetchPlan::begin(const std::string& path, std::uint64_t source_bytes, FetchOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->options = std::move(options);
  impl->gap_bytes = impl->options.gap_bytes;
  FetchOptions& given = impl->options;
  if (given.metadata && (given.all || given.more || !given.devices.empty() || given.machine)) {
    return Error{ErrorCode::kInvalidArgument, "metadata alone, and payload as well, cannot both be asked for"};
  }
  if (!given.toc_sha256.empty() && !is_sha256_text(given.toc_sha256)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("\"{}\" is not a SHA-256: 64 lower-case hexadecimal digits", given.toc_sha256)};
  }
  const bool asked =
      given.metadata || given.all || given.more || !given.records.empty() || !given.devices.empty() || given.machine;
  if (!asked) given.machine = detect_device();
  if (given.more) {
    FATCTX_ASSIGN(Before before, open_before(path));
    impl->before.emplace(std::move(before));
    given.seeds.insert(given.seeds.begin(), path);
  }
  FATCTX_ASSIGN(
      container::PartialFetch fetch,
      container::PartialFetch::begin(
          path, source_bytes,
          {.trusted_keys = given.trusted_keys,
           .minimum_generation = given.minimum_generation,
           .toc_sha256 = given.toc_sha256,
           .overwrite = given.overwrite || given.more,
           .metadata = given.metadata,
           .choose = [chosen = impl.get()](const container::OpenedToc& opened) { return chosen->choose(opened); },
           // A look at the metadata alone shows them as they are.
           .mend = given.metadata ? container::MendCopies() : mend_copies}));
  impl->fetch.emplace(std::move(fetch));
  for (const std::string& seed : given.seeds) {
    FATCTX_ASSIGN(std::unique_ptr<mapping::OsFile> file, mapping::open_for_reading(seed));
    auto added = impl->fetch->add_seed(std::move(file));
    if (!added.ok()) return in_context(std::move(added).error(), seed);
  }
  return FetchPlan(std::move(impl));
}

FetchStage FetchPlan::stage() const noexcept { return impl_->fetch->stage(); }

std::vector<ByteRange> FetchPlan::wanted() const {
  return container::joined_over(impl_->fetch->lacking().ranges(), impl_->gap_bytes);
}

std::uint64_t FetchPlan::missing_bytes() const noexcept { return impl_->fetch->lacking_bytes(); }
Status FetchPlan::take(std::uint64_t offset, ByteView bytes) { return impl_->fetch->take(offset, bytes); }

Status FetchPlan::use(const std::string& seed) {
  FATCTX_TRY(impl_->in_payload("leaves are taken from another file"));
  auto file = mapping::open_for_reading(seed);
  if (!file.ok()) return in_context(std::move(file).error(), seed);
  auto taken = impl_->fetch->take_leaves_of(std::move(file).value());
  return taken.ok() ? std::move(taken) : Status(in_context(std::move(taken).error(), seed));
}

Status FetchPlan::use_blocks(const std::string& index, const Progress& progress, const std::atomic<bool>* cancel) {
  FATCTX_TRY(impl_->in_payload("blocks are looked for"));
  FATCTX_ASSIGN(const container::BlockIndex opened, container::BlockIndex::open(index));
  auto taken = impl_->fetch->take_blocks_of(opened, progress, cancel);
  impl_->narrow_gap();  // after an error, too: found bytes are not fetched
  return taken.ok() ? std::move(taken) : Status(in_context(std::move(taken).error(), index));
}

Status FetchPlan::use_update(const std::string& update, const Progress& progress, const std::atomic<bool>* cancel) {
  FATCTX_TRY(impl_->in_payload("an update is followed"));
  FATCTX_ASSIGN(container::UpdateFile opened, container::UpdateFile::open(update));
  Status taken = impl_->fetch->take_update_of(opened, progress, cancel);
  impl_->narrow_gap();
  return taken;
}

const FetchReport& FetchPlan::report() const noexcept { return impl_->fetch->report(); }
Status FetchPlan::publish() { return impl_->fetch->publish(); }
void FetchPlan::discard() noexcept { impl_->fetch->discard(); }

}  // namespace fatctx
