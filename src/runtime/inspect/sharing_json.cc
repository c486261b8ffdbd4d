#include "runtime/inspect/sharing_json.h"

#include <utility>

namespace fatctx {
namespace {

// Requires: `records` are the records of the report, in its order.
Json records_json(const SharingReport& report, std::span<const RecordInfo> records) {
  Json array = Json::array();
  for (std::size_t i = 0; i < report.records.size(); ++i) {
    const RecordSharing& record = report.records[i];
    Json with = Json::array();
    for (const SharedBytes& other : record.shared_with) {
      with.push_back({{"record", other.record_id}, {"bytes", other.bytes}});
    }
    array.push_back({{"record", record.record_id},
                     {"name", records[i].name},
                     {"size_bytes", record.size_bytes},
                     {"own_bytes", record.own_bytes},
                     {"shared_bytes", record.shared_bytes},
                     {"repeated_bytes", record.repeated_bytes},
                     {"pieces", record.pieces},
                     {"composed_bytes", record.composed_bytes},
                     {"layout_group", record.layout_group},
                     {"shared_with", std::move(with)},
                     {"sharer_count", record.sharer_count}});
  }
  return array;
}

Json totals_json(const SharingTotals& totals) {
  Json pages = Json::array();
  for (const PageTotal& total : totals.pages) {
    pages.push_back({{"page_bytes", total.page_bytes}, {"bytes", total.bytes}});
  }
  return {{"input_bytes", totals.input_bytes},
          {"off_bytes", totals.off_bytes},
          {"stored_bytes", totals.stored_bytes},
          {"pages", std::move(pages)},
          {"bytes_at_most", totals.bytes_at_most}};
}

}  // namespace

Json sharing_json(const SharingReport& report, std::span<const RecordInfo> records) {
  Json groups = Json::array();
  for (const SharingLayoutGroup& group : report.layout_groups) {
    groups.push_back({{"records", group.records},
                      {"size_bytes", group.size_bytes},
                      {"stored_bytes", group.stored_bytes},
                      {"distinct_bytes", group.distinct_bytes}});
  }
  Json targets = Json::array();
  for (const TargetSharing& target : report.targets) {
    targets.push_back({{"target", target.target}, {"records", target.records}, {"alone_bytes", target.alone_bytes}});
  }
  return {{"records", records_json(report, records)},
          {"layout_groups", std::move(groups)},
          {"totals", totals_json(report.totals)},
          {"targets", std::move(targets)}};
}

}  // namespace fatctx
