#include "fatctx/model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/named_values.h"
#include "fatctx/device.h"
#include "fatctx/extract.h"
#include "runtime/facade/model_impl.h"
#include "runtime/facade/plain_model.h"
#include "runtime/facade/select_from.h"
#include "runtime/facade/whole_target.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/file_mapping.h"
#include "runtime/select/nothing_fits.h"
#include "runtime/select/select_rules.h"

namespace fatctx {

namespace {

constexpr std::uint64_t kMostReserved = std::uint64_t{1} << 26;  // a size in a file is not trusted

constexpr NamedValue<OnDamage> kOnDamage[] = {{OnDamage::kFail, "fail"}, {OnDamage::kNext, "next"}};

Result<RecordView> compiled(const Container& container, const RecordInfo& source, const Device& device,
                            const PrepareHook& prepare) {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(std::min(source.size_bytes, kMostReserved)));
  FATCTX_TRY(stream_record(container, source.id, [&](ByteView piece) -> Status {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Done{};
  }));
  auto binary = prepare({.container = container, .record = source, .source = bytes, .device = device});
  const auto about = [&] { return fmt::format("{}: compiling source model \"{}\"", container.path(), source.name); };
  if (!binary.ok()) return in_context(std::move(binary).error(), about());
  if (binary.value().empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: the prepare hook gave no bytes", about())};
  }
  const auto held = std::make_shared<const std::vector<std::byte>>(std::move(binary).value());
  return RecordView(held, source.id, *held, AccessPath::kCopied, held->size());
}

Result<Container> settle_consumer(const Container& container, const MappingProbe& consumer) {
  if (!consumer || container.impl().copies()) return container;
  const MappingSupport support = consumer();
  if (support.takes_mapped_memory) return container;
  const std::string reason = consumer_reason(support);
  if (options_of(container).file_mapping == FileMapping::kRequire) {
    FATCTX_ASSIGN(const auto records, container.records());
    return copy_not_allowed(container.path(), reason, records);
  }
  count_file_mapping_fallback();
  Container::Impl copies = container.impl();
  copies.copy_reason = reason;
  return Container(std::make_shared<const Container::Impl>(std::move(copies)));
}

Status check_finds_damage(const Container& container) {
  if (options_of(container).verify != VerifyPolicy::kNone) return Done{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: on_damage is next and verify is none, which finds no damage; let verify be {}",
                           container.path(), verify_policy_name(VerifyPolicy::kRecordOnAcquire))};
}

ModelPart part_of(const RecordInfo& record) {
  return {.record_id = record.id,
          .name = record.name,
          .type = record.type,
          .unit = record.key.unit,
          .size_bytes = record.size_bytes};
}

// Adds the chosen binaries and the weights that they refer to.
Status add_parts(const Container& container, Model::Impl& model) {
  std::vector<std::uint32_t> weights;
  for (const std::uint32_t id : model.selection.chosen) {
    FATCTX_ASSIGN(const RecordInfo record, container.record(id));
    model.binaries.push_back(part_of(record));
    if (model.prepared.empty()) weights.insert(weights.end(), record.weights.begin(), record.weights.end());
  }
  std::sort(weights.begin(), weights.end());
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
  for (const std::uint32_t id : weights) {
    FATCTX_ASSIGN(const RecordInfo record, container.record(id));
    model.weights.push_back(part_of(record));
  }
  return Done{};
}

}  // namespace

std::string_view on_damage_name(OnDamage on_damage) noexcept { return name_in(kOnDamage, on_damage); }

std::optional<OnDamage> on_damage_from_name(std::string_view name) noexcept { return value_in(kOnDamage, name); }

std::vector<std::uint32_t> Model::Impl::record_ids() const {
  std::vector<std::uint32_t> ids;
  if (!prepared.empty()) return ids;
  for (const ModelPart& part : binaries) ids.push_back(part.record_id);
  for (const ModelPart& part : weights) ids.push_back(part.record_id);
  return ids;
}

Result<Model> Model::choose(const Container& given, const ModelOptions& options) {
  FATCTX_ASSIGN(const Container container, settle_consumer(given, options.consumer));
  Impl impl{.format = ModelFormat::kContainer, .path = container.path(), .policy = options.policy};
  impl.container = container;
  FATCTX_ASSIGN(impl.candidates, container.candidates());
  impl.device = options.device ? *options.device : device_for(detect_device(), impl.candidates);
  impl.policy.prepare_hook = impl.policy.prepare_hook || options.prepare;
  if (options.on_damage == OnDamage::kNext) {
    FATCTX_TRY(check_finds_damage(container));
    FATCTX_ASSIGN(WholeTarget whole, choose_whole_target(container, impl.candidates, impl.device, impl.policy));
    impl.selection = std::move(whole.selection);
    impl.acquired = std::make_shared<AcquiredViews>();
    impl.acquired->views = std::move(whole.views);
  } else {
    auto selection = select_from(container, impl.candidates, impl.device, impl.policy);
    if (!selection.ok()) return in_context(std::move(selection).error(), container.path());
    impl.selection = std::move(selection).value();
  }
  if (impl.selection.chosen.empty()) {
    return nothing_fits(container.path(), impl.selection, impl.candidates, impl.device, impl.policy);
  }
  if (impl.selection.tier == runtime::kSourceTier) {
    if (!options.prepare) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{}: only a source model is left for this device, and ModelOptions::prepare is not set",
                               container.path())};
    }
    for (const std::uint32_t id : impl.selection.chosen) {
      FATCTX_ASSIGN(const RecordInfo source, container.record(id));
      FATCTX_ASSIGN(RecordView view, compiled(container, source, impl.device, options.prepare));
      impl.prepared.push_back(std::move(view));
    }
  }
  FATCTX_TRY(add_parts(container, impl));
  return Model(std::make_shared<const Impl>(std::move(impl)));
}

ModelFormat Model::format() const noexcept { return impl_->format; }
const std::string& Model::path() const& noexcept { return impl_->path; }
const Container* Model::container() const& noexcept { return impl_->container ? &*impl_->container : nullptr; }
const Selection& Model::selection() const& noexcept { return impl_->selection; }
std::span<const Candidate> Model::candidates() const& noexcept { return impl_->candidates; }
const Device& Model::device() const& noexcept { return impl_->device; }

Result<std::vector<std::vector<std::string>>> graphs_of_binaries(const Model::Impl& model) {
  std::vector<std::vector<std::string>> graphs(model.binaries.size());
  ContainerDescription description;
  if (model.container) {
    FATCTX_ASSIGN(description, model.container->describe());
  }
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const std::uint32_t id = model.binaries[i].record_id;
    if (model.plain) {
      graphs[i] = model.plain->graphs(id);
    } else if (const RecordDescription* record = description.find(id)) {
      for (const DescribedGraph& graph : record->graphs) graphs[i].push_back(graph.name);
    }
  }
  return graphs;
}

Result<std::vector<std::string>> Model::graphs(std::uint32_t record_id) const {
  const auto chosen = std::find_if(impl_->binaries.begin(), impl_->binaries.end(),
                                   [&](const ModelPart& part) { return part.record_id == record_id; });
  if (chosen == impl_->binaries.end()) {
    return Error{ErrorCode::kNotFound, fmt::format("{}: record {} is not a chosen context binary; selection().chosen "
                                                   "lists their ids",
                                                   path(), record_id)};
  }
  FATCTX_ASSIGN(auto graphs, graphs_of_binaries(*impl_));
  return std::move(graphs[static_cast<std::size_t>(chosen - impl_->binaries.begin())]);
}

std::string Model::explain() const {
  const std::string format = impl_->plain ? fmt::format("format: {}\n", model_format_name(impl_->format)) : "";
  if (impl_->format == ModelFormat::kRawBinary) {
    const std::string& known = impl_->plain->raw_format();
    return format + fmt::format(
                        "a raw binary{}: one context binary for one target, {} bytes, handed out as they are; nothing "
                        "was selected and nothing checked\n",
                        known.empty() ? std::string() : fmt::format(" ({})", known),
                        impl_->binaries.front().size_bytes);
  }
  return format + explain_text(impl_->selection, impl_->candidates, impl_->device, impl_->policy);
}

std::string Model::explain_json() const {
  if (impl_->format == ModelFormat::kRawBinary) return "null\n";
  return fatctx::explain_json(impl_->selection, impl_->candidates, impl_->device, impl_->policy);
}

}  // namespace fatctx
