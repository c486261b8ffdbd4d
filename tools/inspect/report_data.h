// Gathers the facts of the page that `fatctx report` writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "tools/device/asked_device.h"
#include "tools/device/coverage.h"

namespace fatctx::tools {

// Returns the devices that a report judges a container by: those of `fleet`, listed as `--require-coverage` does; if it
// is empty, those of the table. Errors: those of listed_devices() and known_devices().
[[nodiscard]] Result<std::vector<NamedDevice>> report_devices(const Container& container, const std::string& fleet,
                                                              const SocTable& table, const DeviceFlags& flags);

// Returns one document: what `info --json` says of the container with all parts, the tensors of its weight blobs, the
// devices of report_devices(), and the table by which parts are told apart. A damaged description or tensor table costs
// only itself, and the document says so. Errors: those of info_json() that do not concern these, and of
// report_devices().
[[nodiscard]] Result<Json> report_data(const Container& container, const std::string& fleet, const SocTable& table,
                                       const DeviceFlags& flags);

// Returns `page` with the document in the place that is made for it. No text of the document can end the element that
// holds it. Errors: malformed (the page has no such place).
[[nodiscard]] Result<std::string> filled_page(std::string_view page, const Json& data);

// Returns the path of the page, which is installed beside this program.
// Errors: not_found, with where the page comes from.
[[nodiscard]] Result<std::string> find_page();

}  // namespace fatctx::tools
