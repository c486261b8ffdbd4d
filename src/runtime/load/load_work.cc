#include "runtime/load/load_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "fatctx/device.h"
#include "runtime/load/loaded_context.h"
#include "runtime/open/step_watch.h"
#include "runtime/select/nothing_fits.h"
#include "runtime/view/plain_bytes.h"

namespace fatctx {
namespace {

namespace dlc = container::dlc;

using Impl = LoadedContext::Impl;

// What is read of a record: to check or to copy it, and to bring it into memory.
std::uint64_t bytes_to_read(std::uint64_t size_bytes, const LoadOptions& options) noexcept {
  return options.prefetch ? 2 * size_bytes : size_bytes;
}

// Containers.

Status prefetch_session(const Session& session) {
  std::uint64_t before = 0;
  PrefetchOptions how;
  how.cancel = StepWatch::stop();
  how.progress = [&](std::uint64_t done, std::uint64_t) {
    (void)StepWatch::step(done - before);  // a wish to stop is seen through `cancel`
    before = done;
  };
  FATCTX_ASSIGN(const PrefetchReport report, session.prefetch(how));
  if (report.cancelled) return Error{ErrorCode::kCancelled, "the load was stopped"};
  return Done{};
}

LoadedRecord loaded(const RecordInfo& record, const ContainerDescription& description, RecordView view) {
  LoadedRecord made{.name = std::string(record.name),
                    .type = record.type,
                    .unit = std::string(record.key.unit),
                    .graphs = {},
                    .view = std::move(view)};
  if (const RecordDescription* described = description.find(record.id)) {
    for (const DescribedGraph& graph : described->graphs) made.graphs.push_back(graph.name);
  }
  return made;
}

Result<LoadedContext> load_container(const Container& container, const LoadOptions& options,
                                     std::atomic<std::uint64_t>& total_bytes) {
  FATCTX_ASSIGN(Model model, Model::choose(container, options.model));
  const Container& chosen_from = model.container();
  std::uint64_t total = 0;
  std::vector<std::uint32_t> ids = model.selection().chosen;
  std::set<std::uint32_t> known(ids.begin(), ids.end());
  for (const std::uint32_t id : model.selection().chosen) {
    FATCTX_ASSIGN(const RecordInfo record, chosen_from.record(id));
    for (const std::uint32_t weights : record.weights) {
      if (known.insert(weights).second) ids.push_back(weights);
    }
  }
  for (const std::uint32_t id : ids) {
    FATCTX_ASSIGN(const RecordInfo record, chosen_from.record(id));
    total += bytes_to_read(record.size_bytes, options);
  }
  total_bytes.store(total, std::memory_order_relaxed);
  FATCTX_ASSIGN(const ContainerDescription description, chosen_from.describe());
  FATCTX_ASSIGN(const Session session, model.begin_session());
  if (options.prefetch) FATCTX_TRY(prefetch_session(session));
  auto impl = std::make_shared<Impl>();
  impl->format = LoadedFormat::kContainer;
  impl->path = chosen_from.report().path;
  for (const std::uint32_t id : model.selection().chosen) {
    FATCTX_ASSIGN(const RecordInfo record, chosen_from.record(id));
    FATCTX_ASSIGN(RecordView view, session.binary(record.key.unit));
    impl->binaries.push_back(loaded(record, description, std::move(view)));
  }
  for (const RecordView& view : session.weights()) {
    FATCTX_ASSIGN(const RecordInfo record, chosen_from.record(view.record_id()));
    impl->weights.push_back(loaded(record, description, view));
  }
  impl->model = std::move(model);
  return LoadedContext(std::move(impl));
}

// Other files.

constexpr std::string_view kIreeEntry = "module.fb";  // the first of a module that is an archive as well
constexpr std::string_view kIreeIdentifier = "IREE";  // at byte 4 of one that is not
constexpr std::string_view kIreeFormat = "iree-vmfb";

// Empty: it is none that can be told. Errors: io.
Result<std::string_view> known_raw_format(const PlainFile& plain) {
  FATCTX_ASSIGN(const std::string entry, dlc::first_entry_name(*plain.file, plain.identity.size));
  if (entry == kIreeEntry) return kIreeFormat;
  std::byte head[8] = {};
  if (plain.identity.size < sizeof head) return std::string_view();
  FATCTX_TRY(plain.file->read_at(0, head));
  return std::memcmp(head + 4, kIreeIdentifier.data(), kIreeIdentifier.size()) == 0 ? kIreeFormat : std::string_view();
}

// What only a container has.
Status check_asked_of(const PlainFile& plain, const OpenOptions& options, std::string_view what) {
  if (!options.trusted_keys.empty()) {
    return Error{ErrorCode::kSignatureMissing,
                 fmt::format("{}: {} has no signature, and trusted keys were given; pack it into a container and sign "
                             "that",
                             plain.name, what)};
  }
  if (options.generation != 0 || options.minimum_generation != 0) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: {} has no generations, and one was asked for", plain.name, what)};
  }
  return Done{};
}

MappingSupport support_of(const LoadOptions& options) {
  return options.model.consumer ? options.model.consumer() : MappingSupport{};
}

std::vector<std::string> variants_of(const DlcInfo& info) {
  using Target = std::tuple<std::uint32_t, std::string_view, std::uint32_t, Version>;
  std::map<Target, std::size_t> count;
  const auto target = [](const DlcSoc& soc) { return Target(soc.qnn_soc, soc.arch, soc.vtcm_mb, soc.sdk); };
  for (const DlcSoc& soc : info.socs) ++count[target(soc)];
  std::vector<std::string> variants;
  for (const DlcSoc& soc : info.socs) {
    variants.push_back(count[target(soc)] > 1 ? info.entries[soc.entry].name : std::string());
  }
  return variants;
}

// Keys as those of the records that records_from_dlc() makes.
std::vector<Candidate> candidates_of(const DlcSelection& dlc) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < dlc.info.socs.size(); ++i) {
    const DlcSoc& soc = dlc.info.socs[i];
    candidates.push_back({.record_id = static_cast<std::uint32_t>(soc.entry + 1),
                          .name = dlc.info.entries[soc.entry].name,
                          .key = {.type = RecordType::kContextBinary,
                                  .backend = "htp",
                                  .qnn_soc = soc.qnn_soc,
                                  .arch = soc.arch,
                                  .vtcm_mb = soc.vtcm_mb,
                                  .sdk = soc.sdk,
                                  .variant = dlc.variants[i],
                                  .api = soc.api,
                                  .blob = soc.blob}});
  }
  return candidates;
}

Result<LoadedContext> load_dlc(const PlainFile& plain, const LoadOptions& options,
                               std::atomic<std::uint64_t>& total_bytes) {
  FATCTX_TRY(check_asked_of(plain, options.model.open, "a DLC"));
  auto contents = dlc::read_contents(*plain.file, plain.identity.size);
  if (!contents.ok()) return in_context(std::move(contents).error(), plain.name);
  auto chosen = std::make_unique<DlcSelection>();
  chosen->info = std::move(contents.value().info);
  chosen->variants = variants_of(chosen->info);
  chosen->policy = options.model.policy;
  chosen->candidates = candidates_of(*chosen);
  chosen->device = options.model.device ? *options.model.device : device_for(detect_device(), chosen->candidates);
  auto selection = select(chosen->candidates, chosen->device, chosen->policy);
  if (!selection.ok()) return in_context(std::move(selection).error(), plain.name);
  chosen->selection = std::move(selection).value();
  if (chosen->selection.chosen.empty()) {
    return nothing_fits(plain.name, chosen->selection, chosen->candidates, chosen->device, chosen->policy);
  }
  auto impl = std::make_shared<Impl>();
  impl->format = LoadedFormat::kDlc;
  impl->path = plain.name;
  std::vector<bool> shared(chosen->info.entries.size(), false);
  std::vector<const DlcSoc*> socs;
  for (const std::uint32_t id : chosen->selection.chosen) {
    for (const DlcSoc& soc : chosen->info.socs) {
      if (soc.entry + 1 != id) continue;
      socs.push_back(&soc);
      for (const std::size_t entry : soc.shared) shared[entry] = true;
    }
  }
  std::uint64_t total = 0;
  for (const DlcSoc* soc : socs) total += bytes_to_read(chosen->info.entries[soc->entry].data.size, options);
  for (std::size_t i = 0; i < shared.size(); ++i) {
    if (shared[i]) total += bytes_to_read(chosen->info.entries[i].data.size, options);
  }
  total_bytes.store(total, std::memory_order_relaxed);
  FATCTX_ASSIGN(const auto bytes, PlainBytes::open(plain, options.model.open, support_of(options)));
  const auto add = [&](std::size_t entry, RecordType type, std::vector<std::string> graphs,
                       std::vector<LoadedRecord>& to) -> Status {
    const DlcEntry& from = chosen->info.entries[entry];
    FATCTX_ASSIGN(RecordView view, PlainBytes::view(bytes, static_cast<std::uint32_t>(entry + 1), from.data));
    if (options.prefetch) FATCTX_TRY(bytes->prefetch(from.data));
    to.push_back({.name = from.name, .type = type, .unit = {}, .graphs = std::move(graphs), .view = std::move(view)});
    return Done{};
  };
  for (const DlcSoc* soc : socs) {
    FATCTX_TRY(add(soc->entry, RecordType::kContextBinary, soc->graphs, impl->binaries));
  }
  for (std::size_t i = 0; i < shared.size(); ++i) {
    if (!shared[i]) continue;
    const bool blob = chosen->info.entries[i].kind == DlcEntryKind::kSharedWeights;
    FATCTX_TRY(add(i, blob ? RecordType::kWeightBlob : RecordType::kOpaque, {}, impl->weights));
  }
  FATCTX_TRY(plain.check_still());
  impl->dlc = std::move(chosen);
  return LoadedContext(std::move(impl));
}

Status check_policy_of_raw(const PlainFile& plain, const SelectPolicy& policy) {
  const std::string_view asked = !policy.group.empty()    ? "a group"
                                 : policy.record_override ? "a record"
                                 : policy.strict          ? "a strict match"
                                                          : "";
  if (asked.empty()) return Done{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: {} was asked for, and a raw binary is one context binary that says nothing of its "
                           "target; pack it into a container",
                           plain.name, asked)};
}

Result<LoadedContext> load_raw(const PlainFile& plain, std::string_view format, const LoadOptions& options,
                               std::atomic<std::uint64_t>& total_bytes) {
  FATCTX_TRY(check_asked_of(plain, options.model.open, "a raw binary"));
  FATCTX_TRY(check_policy_of_raw(plain, options.model.policy));
  const ByteRange whole{0, plain.identity.size};
  total_bytes.store(bytes_to_read(whole.size, options), std::memory_order_relaxed);
  FATCTX_ASSIGN(const auto bytes, PlainBytes::open(plain, options.model.open, support_of(options)));
  FATCTX_ASSIGN(RecordView view, PlainBytes::view(bytes, 0, whole));
  if (options.prefetch) FATCTX_TRY(bytes->prefetch(whole));
  FATCTX_TRY(plain.check_still());
  auto impl = std::make_shared<Impl>();
  impl->format = LoadedFormat::kRawBinary;
  impl->path = plain.name;
  impl->raw_format = format;
  impl->binaries.push_back(
      {.name = plain.name, .type = RecordType::kContextBinary, .unit = {}, .graphs = {}, .view = std::move(view)});
  return LoadedContext(std::move(impl));
}

Error not_known(const PlainFile& plain, std::string_view raw_format, const LoadOptions& options) {
  if (!raw_format.empty()) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{}: a raw binary ({}) for one target, which the caller refuses; pack it into a container, "
                    "or let raw_binaries be {}",
                    plain.name, raw_format, raw_binaries_name(RawBinaries::kKnown))};
  }
  return Error{
      ErrorCode::kBadMagic,
      fmt::format("{}: neither a container nor a DLC nor a context binary that can be told by its bytes ({}){}",
                  plain.name, kIreeFormat,
                  options.raw_binaries == RawBinaries::kRefuse
                      ? std::string()
                      : fmt::format("; pack it into a container with its target, or let raw_binaries be {} if "
                                    "it is a context binary for exactly this device",
                                    raw_binaries_name(RawBinaries::kAny)))};
}

Result<LoadedContext> load_plain(const PlainFile& plain, const LoadOptions& options,
                                 std::atomic<std::uint64_t>& total_bytes) {
  auto is_dlc = dlc::is_dlc(*plain.file, plain.identity.size);
  if (!is_dlc.ok()) return in_context(std::move(is_dlc).error(), plain.name);
  if (is_dlc.value()) return load_dlc(plain, options, total_bytes);
  auto format = known_raw_format(plain);
  if (!format.ok()) return in_context(std::move(format).error(), plain.name);
  const bool taken = options.raw_binaries == RawBinaries::kAny ||
                     (options.raw_binaries == RawBinaries::kKnown && !format.value().empty());
  if (!taken) return not_known(plain, format.value(), options);
  return load_raw(plain, format.value(), options, total_bytes);
}

}  // namespace

Result<LoadedContext> load_work(const LoadInput& input, const LoadOptions& options,
                                std::atomic<std::uint64_t>& total_bytes) {
  // A container first: a whole copy of its header tells it even where the first bytes are damaged, and another open of
  // it then reads nothing.
  auto container = input.open_container(options.model.open);
  if (container.ok()) return load_container(container.value(), options, total_bytes);
  if (container.error().code != ErrorCode::kBadMagic) return std::move(container).error();
  FATCTX_ASSIGN(const PlainFile plain, input.open_plain(options.model.open));
  return load_plain(plain, options, total_bytes);
}

}  // namespace fatctx
