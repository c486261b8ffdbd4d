// JSON in the loader: refused where a caller can ask for it.
#include "capi/objects.h"
#include "fatctx/select.h"
#include "loader/refused_options.h"

namespace fatctx {

Result<Device> device_from_json(std::string_view) { return not_in_loader("devices as JSON: name it as text"); }

// Nothing calls the next two, because wants_json() refuses.
std::string explain_json(const Selection&, std::span<const Candidate>, const Device&, const SelectPolicy&) {
  return {};
}

std::string Model::explain_json() const { return {}; }

namespace capi {

Result<bool> wants_json(std::uint32_t format) {
  if (format == FATCTX_FORMAT_TEXT) return false;
  return not_in_loader("JSON: ask for FATCTX_FORMAT_TEXT");
}

}  // namespace capi
}  // namespace fatctx
