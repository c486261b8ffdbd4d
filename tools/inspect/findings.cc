#include "tools/inspect/findings.h"

#include <algorithm>

namespace fatctx::tools {

namespace {

Json finding_json(const Error& error) {
  Json json = {{"code", error_code_name(error.code)}, {"message", error.message}};
  if (!error.where.rule.empty()) json.add("rule", error.where.rule);
  if (error.where.record_id) json.add("record", *error.where.record_id);
  if (error.where.file_offset) json.add("file_offset", *error.where.file_offset);
  return json;
}

}  // namespace

Json findings_json(const std::vector<VerifyFinding>& findings) {
  Json list = Json::array();
  for (const VerifyFinding& finding : findings) list.push_back(finding_json(finding.error));
  return list;
}

bool only_absent(const std::vector<VerifyFinding>& findings) {
  return !findings.empty() && std::all_of(findings.begin(), findings.end(), [](const VerifyFinding& finding) {
    return finding.error.code == ErrorCode::kNotPresent;
  });
}

ExitCode exit_code_of(const std::vector<VerifyFinding>& findings) {
  if (findings.empty()) return ExitCode::kOk;
  return only_absent(findings) ? ExitCode::kNotPresent : ExitCode::kFile;
}

}  // namespace fatctx::tools
