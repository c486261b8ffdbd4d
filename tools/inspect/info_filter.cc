#include "tools/inspect/info_filter.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "fatctx/select.h"
#include "tools/cli/whole_container.h"

namespace fatctx::tools {

namespace {

std::uint64_t member_number(const Json& row, std::string_view key) {
  const Json* const value = row.find(key);
  return value == nullptr || value->number() == nullptr ? 0 : *value->number();
}

std::string member_text(const Json& row, std::string_view key) {
  const Json* const value = row.find(key);
  return value == nullptr || value->text() == nullptr ? std::string() : *value->text();
}

// Returns the rows whose member `key` is the number of a chosen record.
Json rows_named(const Json& rows, std::string_view key, const std::set<std::uint64_t>& ids) {
  Json kept = Json::array();
  if (rows.items() == nullptr) return rows;
  for (const Json& row : *rows.items()) {
    if (ids.contains(member_number(row, key))) kept.push_back(row);
  }
  return kept;
}

Json sorted_by_size(const Json& rows) {
  std::vector<Json> order(rows.items()->begin(), rows.items()->end());
  std::stable_sort(order.begin(), order.end(), [](const Json& a, const Json& b) {
    return member_number(a, "size_bytes") > member_number(b, "size_bytes");
  });
  return Json(order);
}

Json fitting_graphs(const Json& graphs, const ViewFilter& filter) {
  Json kept = Json::array();
  for (const Json& graph : *graphs.items()) {
    if (fits_pattern(filter.graph, member_text(graph, "name"))) kept.push_back(graph);
  }
  return kept;
}

}  // namespace

bool target_fits(std::string_view pattern, std::string_view target) {
  if (fits_pattern(pattern, target)) return true;
  for (std::size_t begin = 0; begin < target.size();) {
    const std::size_t end = std::min(target.find(' ', begin), target.size());
    if (fits_pattern(pattern, target.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

bool is_chosen(const RecordInfo& record, const ViewFilter& filter) {
  return fits_pattern(filter.record, record.name) && fits_pattern(filter.type, record_type_name(record.type)) &&
         (filter.target.empty() || target_fits(filter.target, target_text(record.key)));
}

std::vector<RecordInfo> chosen_records(const Container& container, const ViewFilter& filter) {
  std::vector<RecordInfo> chosen;
  for (const RecordInfo& record : all_records(container)) {
    if (is_chosen(record, filter)) chosen.push_back(record);
  }
  if (filter.by_size) {
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const RecordInfo& a, const RecordInfo& b) { return a.size_bytes > b.size_bytes; });
  }
  return chosen;
}

std::vector<std::size_t> chosen_tensors(const TensorTable& tensors, const ViewFilter& filter) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (fits_pattern(filter.type, dtype_name(tensors.at(i).dtype))) order.push_back(i);
  }
  if (filter.by_size) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return tensors.at(a).size_bytes > tensors.at(b).size_bytes; });
  }
  return order;
}

Json filtered_info(const Json& document, const Container& container, const ViewFilter& filter) {
  std::set<std::uint64_t> ids;
  for (const RecordInfo& record : chosen_records(container, filter)) ids.insert(record.id);
  Json result = Json::object();
  for (const auto& [key, value] : *document.members()) {
    if (key == "records") {
      const Json rows = rows_named(value, "id", ids);
      result.add(key, filter.by_size ? sorted_by_size(rows) : rows);
    } else if (key == "graphs") {
      result.add(key, fitting_graphs(rows_named(value, "record", ids), filter));
    } else {
      result.add(key, value);
    }
  }
  return result;
}

}  // namespace fatctx::tools
