#include "runtime/load/loaded_context.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "base/named_values.h"

namespace fatctx {
namespace {

constexpr NamedValue<LoadedFormat> kFormats[] = {
    {LoadedFormat::kContainer, "container"},
    {LoadedFormat::kDlc, "dlc"},
    {LoadedFormat::kRawBinary, "raw_binary"},
};

constexpr NamedValue<RawBinaries> kRawBinaries[] = {
    {RawBinaries::kKnown, "known"},
    {RawBinaries::kAny, "any"},
    {RawBinaries::kRefuse, "refuse"},
};

constexpr std::size_t kMaxDepth = 16;  // of documents that this library writes

Json records_json(const std::vector<LoadedRecord>& records) {
  Json rows = Json::array();
  for (const LoadedRecord& record : records) {
    rows.push_back({{"name", record.name},
                    {"record_id", record.view.record_id()},
                    {"type", record_type_name(record.type)},
                    {"unit", record.unit},
                    {"graphs", record.graphs},
                    {"size_bytes", record.view.size_bytes()},
                    {"access_path", access_path_name(record.view.access_path())}});
  }
  return rows;
}

std::string raw_sentence(const LoadedContext::Impl& impl) {
  return fmt::format(
      "a raw binary{}: one context binary for one target, {} bytes, handed out as they are; nothing was "
      "selected and nothing checked\n",
      impl.raw_format.empty() ? std::string() : fmt::format(" ({})", impl.raw_format),
      impl.binaries.front().view.size_bytes());
}

}  // namespace

std::string_view loaded_format_name(LoadedFormat format) noexcept { return name_in(kFormats, format); }

std::string_view raw_binaries_name(RawBinaries raw_binaries) noexcept { return name_in(kRawBinaries, raw_binaries); }

std::optional<RawBinaries> raw_binaries_from_name(std::string_view name) noexcept {
  return value_in(kRawBinaries, name);
}

LoadedFormat LoadedContext::format() const noexcept { return impl_->format; }
const std::string& LoadedContext::path() const& noexcept { return impl_->path; }
const std::vector<LoadedRecord>& LoadedContext::binaries() const& noexcept { return impl_->binaries; }
const std::vector<LoadedRecord>& LoadedContext::weights() const& noexcept { return impl_->weights; }

Result<RecordView> LoadedContext::binary(std::string_view unit) const {
  const std::vector<LoadedRecord>& binaries = impl_->binaries;
  if (unit.empty() && binaries.size() == 1) return binaries.front().view;
  const auto found =
      std::find_if(binaries.begin(), binaries.end(), [&](const LoadedRecord& record) { return record.unit == unit; });
  if (found != binaries.end()) return found->view;
  if (impl_->format != LoadedFormat::kContainer) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{}: no unit is named \"{}\": a {} has none; pack its context binaries into a container",
                             impl_->path, unit, impl_->format == LoadedFormat::kDlc ? "DLC" : "raw binary")};
  }
  std::vector<std::string_view> units;
  units.reserve(binaries.size());
  for (const LoadedRecord& record : binaries) units.push_back(record.unit);
  return Error{ErrorCode::kNotFound,
               fmt::format("{}: no unit is named \"{}\"; there are: {}", impl_->path, unit, fmt::join(units, ", "))};
}

const Selection* LoadedContext::selection() const& noexcept {
  if (impl_->model) return &impl_->model->selection();
  return impl_->dlc ? &impl_->dlc->selection : nullptr;
}

const Model* LoadedContext::model() const& noexcept { return impl_->model ? &*impl_->model : nullptr; }

std::string LoadedContext::explain() const {
  std::string text = fmt::format("format: {}\n", loaded_format_name(impl_->format));
  if (impl_->model) return text + impl_->model->explain();
  if (!impl_->dlc) return text + raw_sentence(*impl_);
  const DlcSelection& dlc = *impl_->dlc;
  return text + explain_text(dlc.selection, dlc.candidates, dlc.device, dlc.policy);
}

std::string LoadedContext::explain_json() const {
  Json selection = nullptr;
  if (impl_->model || impl_->dlc) {
    const std::string text = impl_->model ? impl_->model->explain_json()
                                          : fatctx::explain_json(impl_->dlc->selection, impl_->dlc->candidates,
                                                                 impl_->dlc->device, impl_->dlc->policy);
    JsonFault fault;
    if (std::optional<Json> read = read_json(text, kMaxDepth, fault)) selection = *std::move(read);
  }
  const Json document = {{"schema", "fatctx.load/1"},
                         {"path", impl_->path},
                         {"format", loaded_format_name(impl_->format)},
                         {"raw_format", impl_->raw_format.empty() ? Json(nullptr) : Json(impl_->raw_format)},
                         {"binaries", records_json(impl_->binaries)},
                         {"weights", records_json(impl_->weights)},
                         {"selection", std::move(selection)}};
  return write_json(document);
}

}  // namespace fatctx
