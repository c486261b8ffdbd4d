// Sessions as JSON.
#include <utility>

#include "base/json.h"
#include "fatctx/model.h"
#include "runtime/facade/model_impl.h"
#include "runtime/facade/plain_model.h"
#include "runtime/select/explain.h"

namespace fatctx {
namespace {

// `graphs`: one list for each record; empty if the records have none.
Json records_json(const std::vector<SessionRecord>& records, const std::vector<std::vector<std::string>>& graphs) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const SessionRecord& record = records[i];
    rows.push_back({{"name", record.name},
                    {"record_id", record.view.record_id()},
                    {"type", record_type_name(record.type)},
                    {"unit", record.unit},
                    {"graphs", graphs.empty() ? Json::array() : Json(graphs[i])},
                    {"size_bytes", record.view.size_bytes()},
                    {"access_path", access_path_name(record.view.access_path())}});
  }
  return rows;
}

}  // namespace

Result<std::string> Session::report_json() const {
  const Model::Impl& model = impl_->model.impl();
  const std::string raw_format = model.plain ? model.plain->raw_format() : std::string();
  const bool selected = model.format != ModelFormat::kRawBinary;
  FATCTX_ASSIGN(const auto graphs, graphs_of_binaries(model));
  Json binaries = records_json(impl_->binaries, graphs);
  Json weights = records_json(impl_->weights, {});
  return write_json(
      {{"schema", "fatctx.session/1"},
       {"path", model.path},
       {"format", model_format_name(model.format)},
       {"raw_format", raw_format.empty() ? Json(nullptr) : Json(raw_format)},
       {"binaries", std::move(binaries)},
       {"weights", std::move(weights)},
       {"selection",
        selected ? explain_document(model.selection, model.candidates, model.device, model.policy) : Json(nullptr)}});
}

}  // namespace fatctx
