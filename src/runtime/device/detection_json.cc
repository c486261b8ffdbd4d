// Detections as JSON, schema "fatctx.detection/1".
#include <utility>

#include "base/json.h"
#include "fatctx/device.h"
#include "fatctx/file_mapping.h"
#include "runtime/device/device_json.h"
#include "runtime/device/soc_facts.h"
#include "runtime/device/soc_rules.h"

namespace fatctx {
namespace {

Json sources_json(const std::vector<DetectionSource>& sources) {
  Json list = Json::array();
  for (const DetectionSource& source : sources) {
    Json item = {{"id", source.id}, {"state", source.state}, {"raw", source.raw}};
    if (!source.note.empty()) item.add("note", source.note);
    list.push_back(std::move(item));
  }
  return list;
}

Json origins_json(const std::vector<FactOrigin>& origins) {
  Json list = Json::array();
  for (const FactOrigin& origin : origins) {
    list.push_back({{"fact", origin.fact}, {"source", origin.source}, {"from_table", origin.from_table}});
  }
  return list;
}

Json npu_devices_json(const std::vector<NpuDevice>& devices) {
  Json list = Json::array();
  for (const NpuDevice& device : devices) list.push_back({{"device_id", device.device_id}, {"node", device.node}});
  return list;
}

Json mapping_json(const MappingCapability& mapping) {
  return {{"available", mapping.available},         {"how", mapping.how},
          {"page_bytes", mapping.page_bytes},       {"provider", mapping.provider},
          {"granule_bytes", mapping.granule_bytes}, {"stitched", mapping.stitched},
          {"sealed_memory", mapping.sealed_memory}};
}

}  // namespace

std::string detection_to_json(const Detection& detection) {
  Json document = {{"schema", "fatctx.detection/1"}, {"device", runtime::device_document(detection.device)}};
  if (detection.npu) document.add("npu", runtime::device_document(*detection.npu));
  if (detection.onnxruntime) document.add("onnxruntime", runtime::device_document(*detection.onnxruntime));
  if (!detection.npu_devices.empty()) document.add("npu_devices", npu_devices_json(detection.npu_devices));
  document.add("decided_by", detection.decided_by);
  if (!detection.vendor.empty()) document.add("vendor", detection.vendor);
  if (!detection.variant.empty()) document.add("variant", detection.variant);
  if (detection.rule) document.add("rule", part_rule_name(*detection.rule));
  document.add("origins", origins_json(detection.origins));
  document.add("warnings", detection.warnings);
  document.add("soc_table", detection.soc_table_version);
  document.add("sources", sources_json(detection.sources));
  document.add("file_mapping", mapping_json(file_mapping_capability()));
  return write_json(document);
}

}  // namespace fatctx
