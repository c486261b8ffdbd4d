#include "fatctx/model.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/named_values.h"
#include "fatctx/device.h"
#include "fatctx/extract.h"
#include "runtime/facade/observed_calls.h"
#include "runtime/facade/whole_target.h"
#include "runtime/open/attachments.h"
#include "runtime/open/file_mapping.h"
#include "runtime/open/mapped_container.h"
#include "runtime/open/record_reader.h"
#include "runtime/select/nothing_fits.h"
#include "runtime/select/select_rules.h"

namespace fatctx {

namespace {

constexpr std::uint64_t kMostReserved = std::uint64_t{1} << 26;  // a size in a file is a claim

constexpr NamedValue<OnDamage> kOnDamage[] = {{OnDamage::kFail, "fail"}, {OnDamage::kNext, "next"}};

// What choosing has acquired, until the first session has it.
struct Acquired {
  std::mutex mutex;
  std::vector<RecordView> views;

  [[nodiscard]] std::vector<RecordView> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(views, {});
  }
};

Result<RecordView> compiled(const Container& container, const RecordInfo& source, const Device& device,
                            const PrepareHook& prepare) {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(std::min(source.size_bytes, kMostReserved)));
  FATCTX_TRY(stream_record(container, source.id, [&](ByteView piece) -> Status {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Done{};
  }));
  auto binary = prepare({.container = container, .record = source, .source = bytes, .device = device});
  const auto about = [&] {
    return fmt::format("{}: compiling source model \"{}\"", container.report().path, source.name);
  };
  if (!binary.ok()) return in_context(std::move(binary).error(), about());
  if (binary.value().empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: the prepare hook gave no bytes", about())};
  }
  const auto held = std::make_shared<const std::vector<std::byte>>(std::move(binary).value());
  return RecordView(held, source.id, *held, AccessPath::kCopied, held->size());
}

}  // namespace

std::string_view on_damage_name(OnDamage on_damage) noexcept { return name_in(kOnDamage, on_damage); }

std::optional<OnDamage> on_damage_from_name(std::string_view name) noexcept { return value_in(kOnDamage, name); }

struct Model::Impl {
  Container container;
  Device device;
  SelectPolicy policy;
  std::vector<Candidate> candidates;
  Selection selection;
  std::shared_ptr<Acquired> acquired;  // null if choosing acquires nothing
  std::vector<RecordView> prepared;    // of source models, in the order of selection.chosen
};

Result<Container> Model::settle_consumer(const Container& container, const MappingProbe& consumer) {
  if (!consumer || !container.report().mapped) return container;
  const MappingSupport support = consumer();
  if (support.takes_mapped_memory) return container;
  const std::string reason = fmt::format("the consumer cannot take mapped memory: {}",
                                         support.reason.empty() ? "it gave no reason" : support.reason);
  if (container.origin_.options.file_mapping == FileMapping::kRequire) {
    return copy_not_allowed(container.report().path, reason, container.records());
  }
  count_file_mapping_fallback();
  return container.with_copies(reason);
}

Status Model::check_finds_damage(const Container& container) {
  if (container.origin_.options.verify != VerifyPolicy::kNone) return Done{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: on_damage is next and verify is none, which finds no damage; let verify be {}",
                           container.report().path, verify_policy_name(VerifyPolicy::kRecordOnAcquire))};
}

Result<Model> Model::open(const std::string& path, const ModelOptions& options) {
  FATCTX_ASSIGN(const Container container, Container::open(path, options.open));
  return choose(container, options);
}

Result<Model> Model::choose(const Container& given, const ModelOptions& options) {
  FATCTX_ASSIGN(const Container container, settle_consumer(given, options.consumer));
  std::vector<Candidate> candidates = container.candidates();
  Impl impl{.container = container,
            .device = options.device ? *options.device : device_for(detect_device(), candidates),
            .policy = options.policy,
            .candidates = std::move(candidates),
            .selection = {},
            .acquired = nullptr,
            .prepared = {}};
  impl.policy.prepare_hook = impl.policy.prepare_hook || options.prepare;
  if (options.on_damage == OnDamage::kNext) {
    FATCTX_TRY(check_finds_damage(container));
    FATCTX_ASSIGN(WholeTarget whole, choose_whole_target(container, impl.candidates, impl.device, impl.policy));
    impl.selection = std::move(whole.selection);
    impl.acquired = std::make_shared<Acquired>();
    impl.acquired->views = std::move(whole.views);
  } else {
    auto selection = observed_select(container, impl.candidates, impl.device, impl.policy);
    if (!selection.ok()) return in_context(std::move(selection).error(), container.report().path);
    impl.selection = std::move(selection).value();
  }
  if (impl.selection.chosen.empty()) {
    return nothing_fits(container.report().path, impl.selection, impl.candidates, impl.device, impl.policy);
  }
  if (impl.selection.tier == runtime::kSourceTier) {
    if (!options.prepare) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{}: only a source model is left for this device, and ModelOptions::prepare is not set",
                               container.report().path)};
    }
    for (const std::uint32_t id : impl.selection.chosen) {
      FATCTX_ASSIGN(const RecordInfo source, container.record(id));
      FATCTX_ASSIGN(RecordView view, compiled(container, source, impl.device, options.prepare));
      impl.prepared.push_back(std::move(view));
    }
  }
  return Model(std::make_shared<const Impl>(std::move(impl)));
}

const Container& Model::container() const& noexcept { return impl_->container; }
const Selection& Model::selection() const& noexcept { return impl_->selection; }
const Device& Model::device() const& noexcept { return impl_->device; }

std::string Model::explain() const {
  return explain_text(impl_->selection, impl_->candidates, impl_->device, impl_->policy);
}

std::string Model::explain_json() const {
  return fatctx::explain_json(impl_->selection, impl_->candidates, impl_->device, impl_->policy);
}

struct Session::Tables {
  std::mutex mutex;
  std::vector<std::optional<TensorTable>> tables;  // one for each blob, in their order; empty: not asked for yet
};

Status Model::check_bytes(const Container& container, const std::vector<std::uint32_t>& record_ids,
                          std::uint64_t file_look) {
  FATCTX_TRY(container.check());
  if (RecordReader::copies(container) || RecordReader::of(container)->look() == file_look) return Done{};
  // Somebody touched the file, appended to it, or wrote where payload lies: only the payload tells.
  for (const std::uint32_t id : record_ids) FATCTX_TRY(container.acquire_unobserved(id));
  return Done{};
}

Result<Session> Model::begin_session() const {
  // Until the session has views of its own, what was made for these is not made again.
  const std::vector<RecordView> made = impl_->acquired ? impl_->acquired->take() : std::vector<RecordView>();
  Session session(impl_->container);
  session.file_look_ = RecordReader::of(impl_->container)->look();
  session.tables_ = std::make_shared<Session::Tables>();
  if (!impl_->prepared.empty()) {  // holds nothing of the file
    for (const RecordView& view : impl_->prepared) {
      FATCTX_ASSIGN(const RecordInfo source, impl_->container.record(view.record_id()));
      session.binaries_.push_back(view);
      session.units_.push_back(source.key.unit);
    }
    session.attached_ = attach_session(RecordReader::of(impl_->container), {});
    return session;
  }
  std::vector<std::uint32_t> weights;
  for (const std::uint32_t id : impl_->selection.chosen) {
    FATCTX_ASSIGN(const RecordInfo record, impl_->container.record(id));
    FATCTX_ASSIGN(RecordView view, impl_->container.acquire(id));
    session.binaries_.push_back(std::move(view));
    session.units_.push_back(record.key.unit);
    weights.insert(weights.end(), record.weights.begin(), record.weights.end());
  }
  std::sort(weights.begin(), weights.end());
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
  for (const std::uint32_t id : weights) {
    FATCTX_ASSIGN(RecordView view, impl_->container.acquire(id));
    session.weights_.push_back(std::move(view));
  }
  session.tables_->tables.resize(session.weights_.size());
  session.record_ids_ = impl_->selection.chosen;
  session.record_ids_.insert(session.record_ids_.end(), weights.begin(), weights.end());
  session.attached_ = attach_session(RecordReader::of(impl_->container), session.record_ids_);
  return session;
}

Status Session::end() {
  Status ended = Model::check_bytes(container_, record_ids_, file_look_);
  binaries_.clear();
  units_.clear();
  weights_.clear();
  tables_.reset();
  record_ids_.clear();
  attached_.reset();
  return ended;
}

Result<RecordView> Session::binary(std::string_view unit) const {
  if (unit.empty() && binaries_.size() == 1) return binaries_.front();
  const auto found = std::find(units_.begin(), units_.end(), unit);
  if (found != units_.end()) return binaries_[static_cast<std::size_t>(found - units_.begin())];
  const bool compiled_here = record_ids_.empty();
  const auto of_group = std::find(units_.begin(), units_.end(), std::string_view());
  if (compiled_here && of_group != units_.end()) return binaries_[static_cast<std::size_t>(of_group - units_.begin())];
  return Error{ErrorCode::kNotFound,
               fmt::format("no unit is named \"{}\"; there are: {}", unit, fmt::join(units_, ", "))};
}

Result<WeightView> Session::weight(std::string_view name) const {
  Error last{ErrorCode::kNotFound,
             fmt::format("no tensor is named \"{}\": the chosen binaries refer to no weights", name)};
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    std::optional<TensorTable> table;
    {
      const std::lock_guard lock(tables_->mutex);
      table = tables_->tables[i];
    }
    if (!table) {
      FATCTX_ASSIGN(table, container_.tensors(weights_[i].record_id()));
      const std::lock_guard lock(tables_->mutex);
      tables_->tables[i] = table;
    }
    auto view = table->view(name);
    if (view.ok()) return view;
    last = std::move(view).error();
  }
  return last;
}

}  // namespace fatctx
