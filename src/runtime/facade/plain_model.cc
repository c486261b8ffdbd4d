#include "runtime/facade/plain_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "container/dlc/contents.h"
#include "fatctx/device.h"
#include "runtime/select/nothing_fits.h"

namespace fatctx {
namespace {

namespace dlc = container::dlc;

constexpr std::string_view kIreeEntry = "module.fb";  // the first entry of a module that is also an archive
constexpr std::string_view kIreeIdentifier = "IREE";  // at byte 4 of any other module
constexpr std::string_view kIreeFormat = "iree-vmfb";

// Returns the format of a raw binary; empty if its bytes do not identify it. Errors: io.
Result<std::string_view> known_raw_format(const PlainFile& plain) {
  FATCTX_ASSIGN(const std::string entry, dlc::first_entry_name(*plain.file, plain.identity.size));
  if (entry == kIreeEntry) return kIreeFormat;
  std::byte head[8] = {};
  if (plain.identity.size < sizeof head) return std::string_view();
  FATCTX_TRY(plain.file->read_at(0, head));
  return std::memcmp(head + 4, kIreeIdentifier.data(), kIreeIdentifier.size()) == 0 ? kIreeFormat : std::string_view();
}

// Refuses options that only a container supports.
Status check_asked_of(const PlainFile& plain, const OpenOptions& options, std::string_view what) {
  if (!options.trusted_keys.empty()) {
    return Error{ErrorCode::kSignatureMissing,
                 fmt::format("{}: {} has no signature, and trusted keys were given; pack it into a container and sign "
                             "that",
                             plain.name, what)};
  }
  if (options.generation != 0 || options.minimum_generation != 0) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: {} has no generations, and one was requested", plain.name, what)};
  }
  return Done{};
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

// Makes keys like those of the records that records_from_dlc() makes. Lifetime: they borrow from both arguments.
std::vector<Candidate> candidates_of(const DlcInfo& info, const std::vector<std::string>& variants) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < info.socs.size(); ++i) {
    const DlcSoc& soc = info.socs[i];
    candidates.push_back({.record_id = static_cast<std::uint32_t>(soc.entry + 1),
                          .name = info.entries[soc.entry].name,
                          .key = {.type = RecordType::kContextBinary,
                                  .backend = "htp",
                                  .qnn_soc = soc.qnn_soc,
                                  .arch = soc.arch,
                                  .vtcm_mb = soc.vtcm_mb,
                                  .sdk = soc.sdk,
                                  .variant = variants[i],
                                  .api = soc.api,
                                  .blob = soc.blob}});
  }
  return candidates;
}

Status check_policy_of_raw(const PlainFile& plain, const SelectPolicy& policy) {
  const std::string_view asked = !policy.group.empty()    ? "a group"
                                 : policy.record_override ? "a record"
                                 : policy.strict          ? "a strict match"
                                                          : "";
  if (asked.empty()) return Done{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: {} was requested, and a raw binary is one context binary that says nothing of its "
                           "target; pack it into a container",
                           plain.name, asked)};
}

Error not_known(const PlainFile& plain, std::string_view raw_format, RawBinaries raw_binaries) {
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
                  raw_binaries == RawBinaries::kRefuse
                      ? std::string()
                      : fmt::format("; pack it into a container with its target, or let raw_binaries be {} if "
                                    "it is a context binary for exactly this device",
                                    raw_binaries_name(RawBinaries::kAny)))};
}

}  // namespace

Result<Model> PlainModel::open(PlainFile file, const ModelOptions& options) {
  auto is_dlc = dlc::is_dlc(*file.file, file.identity.size);
  if (!is_dlc.ok()) return in_context(std::move(is_dlc).error(), file.name);
  if (is_dlc.value()) return open_dlc(std::move(file), options);
  auto format = known_raw_format(file);
  if (!format.ok()) return in_context(std::move(format).error(), file.name);
  const bool taken = options.raw_binaries == RawBinaries::kAny ||
                     (options.raw_binaries == RawBinaries::kKnown && !format.value().empty());
  if (!taken) return not_known(file, format.value(), options.raw_binaries);
  return open_raw(std::move(file), format.value(), options);
}

Status PlainModel::map(const ModelOptions& options) {
  const MappingSupport support = options.consumer ? options.consumer() : MappingSupport{};
  FATCTX_ASSIGN(bytes_, PlainBytes::open(file_, options.open, support));
  return Done{};
}

Result<Model> PlainModel::open_dlc(PlainFile file, const ModelOptions& options) {
  FATCTX_TRY(check_asked_of(file, options.open, "a DLC"));
  auto contents = dlc::read_contents(*file.file, file.identity.size);
  if (!contents.ok()) return in_context(std::move(contents).error(), file.name);
  const auto plain = std::make_shared<PlainModel>(std::move(file));
  plain->info_ = std::move(contents.value().info);
  plain->variants_ = variants_of(plain->info_);
  const std::string& name = plain->file_.name;
  Model::Impl model{.format = ModelFormat::kDlc, .path = name, .policy = options.policy};
  model.candidates = candidates_of(plain->info_, plain->variants_);
  model.device = options.device ? *options.device : device_for(detect_device(), model.candidates);
  auto selection = select(model.candidates, model.device, model.policy);
  if (!selection.ok()) return in_context(std::move(selection).error(), name);
  model.selection = std::move(selection).value();
  if (model.selection.chosen.empty()) {
    return nothing_fits(name, model.selection, model.candidates, model.device, model.policy);
  }
  FATCTX_TRY(plain->map(options));
  plain->add_chosen(model);
  model.plain = plain;
  return Model(std::make_shared<const Model::Impl>(std::move(model)));
}

// Adds the chosen context binaries and the parts they share: each once, in the order of the archive.
void PlainModel::add_chosen(Model::Impl& model) {
  std::vector<bool> shared(info_.entries.size(), false);
  for (const std::uint32_t id : model.selection.chosen) {
    for (const DlcSoc& soc : info_.socs) {
      if (soc.entry + 1 != id) continue;
      model.binaries.push_back(part_of(soc.entry, RecordType::kContextBinary));
      for (const std::size_t entry : soc.shared) shared[entry] = true;
    }
  }
  for (std::size_t entry = 0; entry < shared.size(); ++entry) {
    if (!shared[entry]) continue;
    const bool blob = info_.entries[entry].kind == DlcEntryKind::kSharedWeights;
    model.weights.push_back(part_of(entry, blob ? RecordType::kWeightBlob : RecordType::kOpaque));
  }
}

ModelPart PlainModel::part_of(std::size_t entry, RecordType type) {
  const DlcEntry& from = info_.entries[entry];
  ranges_.push_back(from.data);
  return {.record_id = static_cast<std::uint32_t>(entry + 1),
          .name = from.name,
          .type = type,
          .unit = {},
          .size_bytes = from.data.size};
}

Result<Model> PlainModel::open_raw(PlainFile file, std::string_view format, const ModelOptions& options) {
  FATCTX_TRY(check_asked_of(file, options.open, "a raw binary"));
  FATCTX_TRY(check_policy_of_raw(file, options.policy));
  const auto plain = std::make_shared<PlainModel>(std::move(file));
  plain->raw_format_ = format;
  FATCTX_TRY(plain->map(options));
  const std::uint64_t size = plain->file_.identity.size;
  plain->ranges_.push_back({0, size});
  Model::Impl model{.format = ModelFormat::kRawBinary, .path = plain->file_.name, .policy = options.policy};
  if (options.device) model.device = *options.device;
  model.binaries.push_back(
      {.record_id = 0, .name = plain->file_.name, .type = RecordType::kContextBinary, .unit = {}, .size_bytes = size});
  model.plain = plain;
  return Model(std::make_shared<const Model::Impl>(std::move(model)));
}

Result<std::vector<RecordView>> PlainModel::views(const Model::Impl& model) const {
  const std::lock_guard lock(mutex_);
  if (views_.empty()) {
    std::vector<RecordView> made;
    for (const std::vector<ModelPart>* parts : {&model.binaries, &model.weights}) {
      for (const ModelPart& part : *parts) {
        FATCTX_ASSIGN(RecordView view, PlainBytes::view(bytes_, part.record_id, ranges_[made.size()]));
        made.push_back(std::move(view));
      }
    }
    views_ = std::move(made);
  }
  FATCTX_TRY(file_.check_still());
  return views_;
}

Status PlainModel::check_still() const { return file_.check_still(); }

std::vector<std::string> PlainModel::graphs(std::uint32_t record_id) const {
  for (const DlcSoc& soc : info_.socs) {
    if (soc.entry + 1 != record_id) continue;
    std::vector<std::string> names;
    for (const DescribedGraph& graph : soc.graphs) names.push_back(graph.name);
    return names;
  }
  return {};
}

}  // namespace fatctx
