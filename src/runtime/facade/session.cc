// Sessions: the views of the records that a model has chosen.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/model.h"
#include "runtime/facade/model_impl.h"
#include "runtime/facade/plain_model.h"
#include "runtime/open/attachments.h"
#include "runtime/open/container_impl.h"
#include "runtime/view/view_of.h"

namespace fatctx {
namespace {

SessionRecord record_of(const ModelPart& part, RecordView view) {
  return {.name = part.name, .type = part.type, .unit = part.unit, .view = std::move(view)};
}

Status add_plain_views(const Model::Impl& model, Session::Impl& session) {
  FATCTX_ASSIGN(const std::vector<RecordView> views, model.plain->views(model));
  std::size_t at = 0;
  for (const ModelPart& part : model.binaries) session.binaries.push_back(record_of(part, views[at++]));
  for (const ModelPart& part : model.weights) session.weights.push_back(record_of(part, views[at++]));
  return Done{};
}

Status acquire_parts(const Model::Impl& model, Session::Impl& session) {
  const Container& container = *model.container;
  const std::shared_ptr<const MappedContainer>& mapped = mapped_of(container);
  session.file_look = mapped->look();
  session.record_ids = model.record_ids();
  for (std::size_t i = 0; i < model.prepared.size(); ++i) {  // compiled models hold nothing of the file
    session.binaries.push_back(record_of(model.binaries[i], model.prepared[i]));
  }
  if (model.prepared.empty()) {
    for (const ModelPart& part : model.binaries) {
      FATCTX_ASSIGN(RecordView view, container.acquire(part.record_id));
      session.binaries.push_back(record_of(part, std::move(view)));
    }
    for (const ModelPart& part : model.weights) {
      FATCTX_ASSIGN(RecordView view, container.acquire(part.record_id));
      session.weights.push_back(record_of(part, std::move(view)));
    }
  }
  session.attached = attach_session(mapped, session.record_ids);
  return Done{};
}

// A session of compiled source models has no records, and must not wait for those of others.
Status await_records(const Session::Impl& session) {
  if (session.record_ids.empty()) return Done{};
  return session.model.container()->await_checks(session.record_ids);
}

// Checks that results computed from the session's views can be trusted.
Status check_views(const Session::Impl& session) {
  const Model::Impl& model = session.model.impl();
  if (model.plain) return model.plain->check_still();
  const Container& container = *model.container;
  FATCTX_TRY(container.check());
  if (!container.impl().copies() && mapped_of(container)->look() != session.file_look) {
    // The file was touched, appended to, or its payload was written to. Only a check of the payload can tell which.
    for (const std::uint32_t id : session.record_ids) FATCTX_TRY(view_of(container, id));
  }
  return await_records(session);
}

// A session has at least one binary until it ends.
Error ended_error(const Model& model) {
  return Error{ErrorCode::kNotFound,
               fmt::format("{}: the session has ended and has no views; begin another session", model.path())};
}

}  // namespace

Result<Session> Model::begin_session() const {
  // Keeps the views that the choice has acquired alive, so that the session shares them instead of making them again.
  const std::vector<RecordView> made = impl_->acquired ? impl_->acquired->take() : std::vector<RecordView>();
  Session::Impl session{.model = *this};
  FATCTX_TRY(impl_->plain ? add_plain_views(*impl_, session) : acquire_parts(*impl_, session));
  session.tables = std::make_shared<Session::Impl::Tables>();
  session.tables->tables.resize(session.weights.size());
  return Session(std::make_shared<const Session::Impl>(std::move(session)));
}

const Model& Session::model() const& noexcept { return impl_->model; }
const std::vector<SessionRecord>& Session::binaries() const& noexcept { return impl_->binaries; }
const std::vector<SessionRecord>& Session::weights() const& noexcept { return impl_->weights; }

Status Session::end() {
  Status ended = check_views(*impl_);
  Impl empty{.model = impl_->model};
  empty.file_look = impl_->file_look;
  impl_ = std::make_shared<const Impl>(std::move(empty));
  return ended;
}

Status Session::await_checks() const { return await_records(*impl_); }

Result<RecordView> Session::binary(std::string_view unit) const {
  const std::vector<SessionRecord>& binaries = impl_->binaries;
  if (binaries.empty()) return ended_error(impl_->model);
  if (unit.empty() && binaries.size() == 1) return binaries.front().view;
  const auto of_unit = [&](std::string_view wanted) {
    return std::find_if(binaries.begin(), binaries.end(),
                        [&](const SessionRecord& record) { return record.unit == wanted; });
  };
  const Model::Impl& model = impl_->model.impl();
  auto found = of_unit(unit);
  if (found == binaries.end() && !model.prepared.empty()) found = of_unit({});  // a source model of the whole group
  if (found != binaries.end()) return found->view;
  if (model.plain) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{}: no unit is named \"{}\": a {} has none; pack its context binaries into a container",
                             model.path, unit, model.format == ModelFormat::kDlc ? "DLC" : "raw binary")};
  }
  std::vector<std::string_view> units;
  units.reserve(binaries.size());
  for (const SessionRecord& record : binaries) units.push_back(record.unit);
  return Error{ErrorCode::kNotFound,
               fmt::format("{}: no unit is named \"{}\"; there are: {}", model.path, unit, fmt::join(units, ", "))};
}

Result<WeightView> Session::weight(std::string_view name) const {
  const Model::Impl& model = impl_->model.impl();
  if (impl_->binaries.empty()) return ended_error(impl_->model);
  if (model.plain) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{}: no tensor is named \"{}\": a {} has no tables of tensors; pack it into a container",
                             model.path, name, model.format == ModelFormat::kDlc ? "DLC" : "raw binary")};
  }
  Error last{ErrorCode::kNotFound,
             fmt::format("no tensor is named \"{}\": the chosen binaries refer to no weights", name)};
  Impl::Tables& tables = *impl_->tables;
  for (std::size_t i = 0; i < impl_->weights.size(); ++i) {
    std::optional<TensorTable> table;
    {
      const std::lock_guard lock(tables.mutex);
      table = tables.tables[i];
    }
    if (!table) {
      FATCTX_ASSIGN(table, model.container->tensors(impl_->weights[i].view.record_id()));
      const std::lock_guard lock(tables.mutex);
      tables.tables[i] = table;
    }
    auto view = table->view(name);
    if (view.ok()) return view;
    last = std::move(view).error();
  }
  return last;
}

}  // namespace fatctx
