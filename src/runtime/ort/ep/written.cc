#include "runtime/ort/ep/written.h"

#include <utility>

#include "container/edit/append.h"
#include "fatctx/container.h"

namespace fatctx::ort {
namespace {

constexpr const char* kKept = "replaced.fatctx";
constexpr const char* kKeptModel = "replaced.onnx";

}  // namespace

std::optional<Replaced> Replaced::keep(const std::string& container, const std::string& model) {
  auto folder = mapping::WorkFolder::create_beside(container);
  if (!folder.ok() || !folder.value().keep(container, kKept).ok()) return std::nullopt;
  Replaced kept(std::move(folder).value());
  const auto before = mapping::stat_path(model);
  if (before.ok() && kept.folder_.copy(model, kKeptModel).ok()) kept.model_ = {.path = model, .before = before.value()};
  return kept;
}

Status Replaced::put_back(const std::string& container) const {
  FATCTX_TRY(folder_.put_back(kKept, container));
  if (!model_) return Done{};
  const auto now = mapping::stat_path(model_->path);
  if (now.ok() && now.value() == model_->before) return Done{};
  return folder_.put_back(kKeptModel, model_->path);
}

Error somebody_replaced(const std::string& container) {
  return {ErrorCode::kChanged, container + ": somebody has put another container there; compile the model again"};
}

Written Written::packed(const PackReport& report, std::optional<Replaced> replaced) {
  Written written;
  written.container_ = report.path;
  written.uuid_ = report.uuid;
  written.generation_ = 1;
  written.is_new_ = true;
  written.replaced_ = std::move(replaced);
  written.records_ = report.records;
  return written;
}

Written Written::appended(const AppendReport& report) {
  Written written;
  written.container_ = report.path;
  written.uuid_ = report.uuid;
  written.generation_ = report.generation;
  written.records_ = report.records;
  written.warnings_ = report.warnings;
  return written;
}

Status Written::leave_out(Appender appender, const Container& now) const {
  for (const PackedRecordReport& written : records_) {
    const auto record = now.record(written.id);
    // Only these are removed explicitly. Records that the packer adds itself are removed with them, or written anew.
    const bool added = record.ok() && (record.value().type == RecordType::kContextBinary ||
                                       record.value().type == RecordType::kWeightBlob);
    if (added) FATCTX_TRY(fatctx::leave_out(appender, written.id, written.name));
  }
  FATCTX_ASSIGN(const AppendReport report, appender.commit());
  return Done{};
}

Result<bool> Written::take_back() const {
  FATCTX_ASSIGN(Appender appender, Appender::open(container_));  // from here on no other process can append
  FATCTX_ASSIGN(const Container now, Container::open(container_));
  FATCTX_ASSIGN(const OpenReport report, now.report());
  if (report.uuid != uuid_) {
    return somebody_replaced(container_);
  }
  if (!is_new_ || report.generation != generation_) {
    FATCTX_TRY(leave_out(std::move(appender), now));
    return !is_new_;
  }
  FATCTX_TRY(replaced_ ? replaced_->put_back(container_) : mapping::remove_file(container_));
  return true;
}

}  // namespace fatctx::ort
