#include "tools/inspect/findings.h"

#include <nlohmann/json.hpp>

namespace fatctx::tools {

namespace {

nlohmann::ordered_json finding_json(const Error& error) {
  nlohmann::ordered_json json = {{"code", error_code_name(error.code)}, {"message", error.message}};
  if (!error.where.rule.empty()) json["rule"] = error.where.rule;
  if (error.where.record_id) json["record"] = *error.where.record_id;
  if (error.where.file_offset) json["file_offset"] = *error.where.file_offset;
  return json;
}

}  // namespace

nlohmann::ordered_json findings_json(const std::vector<VerifyFinding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const VerifyFinding& finding : findings) list.push_back(finding_json(finding.error));
  return list;
}

}  // namespace fatctx::tools
