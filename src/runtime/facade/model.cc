#include "fatctx/model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/named_values.h"
#include "fatctx/device.h"
#include "runtime/facade/compile_source.h"
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

constexpr NamedValue<OnDamage> kOnDamage[] = {{OnDamage::kFail, "fail"}, {OnDamage::kNext, "next"}};

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
  const VerifyPolicy policy = options_of(container).verify;
  if (policy != VerifyPolicy::kNone && policy != VerifyPolicy::kBesideLoad) return Done{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: on_damage is next and verify is {}, which finds no damage {}; let verify be {}",
                           container.path(), verify_policy_name(policy),
                           policy == VerifyPolicy::kNone ? "at all" : "before a target is chosen",
                           verify_policy_name(VerifyPolicy::kRecordOnAcquire))};
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
      FATCTX_ASSIGN(RecordView view, compile_source(container, source, impl.device, options.prepare));
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

}  // namespace fatctx
