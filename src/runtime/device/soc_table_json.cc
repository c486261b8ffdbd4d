// The table of SoCs as JSON, schema "fatctx.socs/1".
#include <algorithm>
#include <set>
#include <utility>

#include "base/json.h"
#include "fatctx/soc_table.h"

namespace fatctx {
namespace {

Json variants_json(const std::vector<SocVariant>& variants) {
  Json list = Json::array();
  for (const SocVariant& variant : variants) {
    list.push_back({{"kernel_id", variant.kernel_id}, {"name", variant.name}});
  }
  return list;
}

Json soc_json(const Soc& soc) {
  Json row = {{"part", soc.part}, {"vendor", soc.vendor}};
  const auto add_text = [&row](const char* key, const std::string& text) {
    if (!text.empty()) row.add(key, text);
  };
  add_text("name", soc.name);
  add_text("alias_of", soc.alias_of);
  if (!soc.aliases.empty()) row.add("aliases", soc.aliases);
  if (soc.qnn_soc) row.add("qnn_soc", soc.qnn_soc);
  if (!soc.kernel_ids.empty()) row.add("kernel_ids", soc.kernel_ids);
  if (!soc.kernel_lookup.empty()) row.add("kernel_lookup", soc.kernel_lookup);
  if (!soc.kernel_variants.empty()) row.add("kernel_variants", variants_json(soc.kernel_variants));
  add_text("arch", soc.arch);
  if (soc.vtcm_mb) row.add("vtcm_mb", soc.vtcm_mb);
  add_text("runtime", soc.runtime);
  add_text("windows_gpu", soc.windows_gpu);
  row.add("sources", soc.sources);
  add_text("notes", soc.notes);
  return row;
}

}  // namespace

std::string to_json(const SocTable& table, std::string_view search) {
  Json socs = Json::array();
  std::set<std::string_view> tags;
  for (const Soc* const soc : table.search(search)) {
    socs.push_back(soc_json(*soc));
    tags.insert(soc->sources.begin(), soc->sources.end());
  }
  Json sources = Json::object();
  for (const SocSource& source : table.sources()) {
    if (tags.contains(source.tag)) sources.add(source.tag, source.meaning);
  }
  Json quirks = Json::array();
  for (const SocQuirk& quirk : table.quirks()) {
    quirks.push_back(
        {{"record", quirk.record}, {"device", quirk.device}, {"source", quirk.source}, {"reason", quirk.reason}});
    if (const auto source = std::ranges::find(table.sources(), quirk.source, &SocSource::tag);
        source != table.sources().end() && !tags.contains(source->tag)) {
      tags.insert(source->tag);
      sources.add(source->tag, source->meaning);
    }
  }
  return write_json({{"schema", "fatctx.socs/1"},
                     {"version", table.version()},
                     {"boundaries", table.boundaries()},
                     {"quirks", std::move(quirks)},
                     {"socs", std::move(socs)},
                     {"sources", std::move(sources)}});
}

}  // namespace fatctx
