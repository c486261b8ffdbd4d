#include "tools/inspect/report_data.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fatctx/device.h"
#include "fatctx/info.h"
#include "fatctx/select.h"
#include "fatctx/soc_table.h"
#include "tools/cli/own_program.h"
#include "tools/cli/whole_container.h"
#include "tools/device/coverage.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

// A page with more rows than this is slow to search. `info --tensors` lists all of them.
constexpr std::size_t kMaxTensors = 5000;
// The page as it is built, with null where the data goes.
constexpr std::string_view kPlace = R"(<script type="application/json" id="fatctx-data">null</script>)";
constexpr std::string_view kPlaceBegin = R"(<script type="application/json" id="fatctx-data">)";
constexpr std::string_view kPlaceEnd = "</script>";

// Returns the first tensors of a weight blob, and how many there are; null if it has no table.
Result<Json> tensors_of(const Container& container, std::uint32_t blob) {
  const auto table = container.tensors(blob);
  if (!table.ok() && table.error().code == ErrorCode::kNotFound) return Json(nullptr);
  if (!table.ok()) return Json{{"record", blob}, {"error", to_text(table.error())}};
  FATCTX_ASSIGN(const std::string text, info_json(container, {}, {.tensors_of = blob}));
  FATCTX_ASSIGN(const Json info, parse_json(text, "info"));
  const Json* const of_blob = info.find("tensors");
  const Json* const rows = of_blob == nullptr ? nullptr : of_blob->find("tensors");
  Json first = Json::array();
  std::size_t count = 0;
  if (rows != nullptr && rows->items() != nullptr) {
    for (const Json& row : *rows->items()) {
      if (count++ < kMaxTensors) first.push_back(row);
    }
  }
  return Json{{"record", blob}, {"count", count}, {"tensors", std::move(first)}};
}

Result<Json> all_tensors(const Container& container, const Json& info) {
  Json tensors = Json::array();
  const Json* const records = info.find("records");
  if (records == nullptr || records->items() == nullptr) return tensors;
  for (const Json& record : *records->items()) {
    const Json* const type = record.find("type");
    const Json* const id = record.find("id");
    if (type == nullptr || type->text() == nullptr || *type->text() != "weight_blob" || id == nullptr) continue;
    FATCTX_ASSIGN(Json of_blob, tensors_of(container, static_cast<std::uint32_t>(*id->number())));
    if (!of_blob.is_null()) tensors.push_back(std::move(of_blob));
  }
  return tensors;
}

// Returns what the page needs to tell spellings of one part, generations, and pairs that do not work.
Json table_json(const SocTable& table) {
  Json socs = Json::array();
  for (const Soc& soc : table.socs()) {
    Json row = {{"part", soc.part}};
    if (!soc.name.empty()) row.add("name", soc.name);
    if (!soc.alias_of.empty()) row.add("alias_of", soc.alias_of);
    if (!soc.aliases.empty()) row.add("aliases", soc.aliases);
    if (soc.qnn_soc) row.add("qnn_soc", *soc.qnn_soc);
    socs.push_back(std::move(row));
  }
  Json quirks = Json::array();
  for (const SocQuirk& quirk : table.quirks()) {
    quirks.push_back(
        {{"record", quirk.record}, {"device", quirk.device}, {"source", quirk.source}, {"reason", quirk.reason}});
  }
  return {{"version", table.version()},
          {"boundaries", table.boundaries()},
          {"quirks", std::move(quirks)},
          {"socs", std::move(socs)}};
}

Result<Json> devices_json(const Container& container, const std::string& fleet, const SocTable& table,
                          const DeviceFlags& flags) {
  FATCTX_ASSIGN(const std::vector<NamedDevice> devices, report_devices(container, fleet, table, flags));
  Json rows = Json::array();
  for (const NamedDevice& device : devices) {
    FATCTX_ASSIGN(Json description, parse_json(device_to_json(device.device), "device"));
    rows.push_back({{"name", device.name}, {"device", std::move(description)}});
  }
  return rows;
}

}  // namespace

Result<std::vector<NamedDevice>> report_devices(const Container& container, const std::string& fleet,
                                                const SocTable& table, const DeviceFlags& flags) {
  if (fleet.empty()) return known_devices(all_candidates(container), flags, table);
  return listed_devices(fleet, flags, table);
}

Result<Json> report_data(const Container& container, const std::string& fleet, const SocTable& table,
                         const DeviceFlags& flags) {
  Json notes = Json::array();
  ContainerDescription description;
  if (auto described = container.describe(); described.ok()) {
    description = std::move(described).value();
  } else {
    notes.push_back(to_text(described.error()));
  }
  InfoParts parts{.graphs = true, .options = true, .sharing = true, .extents = true};
  auto text = info_json(container, description, parts);
  if (!text.ok()) {  // payload that cannot be read: the rest is worth a page
    notes.push_back(to_text(text.error()));
    parts.sharing = false;
    text = info_json(container, description, parts);
  }
  if (!text.ok()) return std::move(text).error();
  FATCTX_ASSIGN(Json info, parse_json(text.value(), "info"));
  FATCTX_ASSIGN(Json tensors, all_tensors(container, info));
  FATCTX_ASSIGN(Json devices, devices_json(container, fleet, table, flags));
  return Json{{"info", std::move(info)},
              {"tensors", std::move(tensors)},
              {"devices", std::move(devices)},
              {"socs", table_json(table)},
              {"problems", std::move(notes)}};
}

Result<std::string> filled_page(std::string_view page, const Json& data) {
  const auto place = page.find(kPlace);
  if (place == std::string_view::npos) {
    return Error{ErrorCode::kMalformed, "the page has no place for data; take the one that belongs to this fatctx"};
  }
  std::string text;
  for (const char c : write_json(data, {.indent = -1})) {
    // In JSON these are only inside texts. Without them no text can end the element or begin another one.
    if (c == '<' || c == '>' || c == '&') {
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      text += c;
    }
  }
  return fmt::format("{}{}{}{}{}", page.substr(0, place), kPlaceBegin, text, kPlaceEnd,
                     page.substr(place + kPlace.size()));
}

Result<std::string> find_page() {
  const fs::path folder = own_program_folder();
  // Where an installation, an archive, and a build in its source tree have the page.
  for (const char* const place : {"../share/fatctx/report.html", "../../../js/build/report.html"}) {
    std::error_code error;
    if (folder.empty()) break;
    const fs::path path = fs::canonical(folder / place, error);
    if (!error && fs::is_regular_file(path, error)) return path.string();
  }
  return Error{
      ErrorCode::kNotFound,
      "the page that report fills is not beside this program (share/fatctx/report.html); archives and packages "
      "of fatctx have it; in a checkout, with node: scripts/page_setup.sh; or give one with --page"};
}

}  // namespace fatctx::tools
