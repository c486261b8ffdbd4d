// Combines the rows of a table of SoCs: aliases, numbers that lead to a row, and checks that no row contradicts
// another.
#include "fatctx/soc_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/immortal.h"
#include "fatctx/base/nearest.h"
#include "mapping/os_file.h"
#include "runtime/device/arch.h"
#include "runtime/device/probe.h"
#include "runtime/device/soc_rows.h"
#include "runtime/device/soc_table_data.h"

namespace fatctx {

using runtime::bad_soc_cell;
using runtime::part_key;
using runtime::SocQuirkRow;
using runtime::SocRow;
using runtime::SocRows;

struct SocTable::State {
  std::string version;
  std::vector<Soc> socs;
  std::vector<SocSource> sources;
  std::vector<std::uint32_t> boundaries;
  std::vector<SocQuirk> quirks;
  std::map<std::string, std::size_t> parts;         // by part_key(), for all rows
  std::map<std::string, std::size_t> aliases;       // by part_key(), for further names
  std::map<std::uint32_t, std::size_t> kernel_ids;  // only those that lead to a row
  // Maps each spelling of a part to the row of the part it denotes; selection looks it up for every record. Borrows
  // from `socs`.
  std::unordered_map<std::string_view, std::size_t> written;
};

namespace {

constexpr std::uint64_t kMaxTableBytes = 4 << 20;
constexpr std::size_t kDigitsOfNumber = 3;  // longer numbers are also searched in names: 8750
constexpr std::string_view kBuiltInName = "soc_table.csv";

struct Fact {
  const char* column;
  std::string (*text)(const Soc&);
  void (*copy)(const Soc& from, Soc& to);
};

std::string number_text(const std::optional<std::uint32_t>& number) {
  return number ? std::to_string(*number) : std::string();
}

// The facts that two spellings of one part share.
constexpr std::array kFacts = {
    Fact{"qnn_soc", [](const Soc& soc) { return number_text(soc.qnn_soc); },
         [](const Soc& from, Soc& to) { to.qnn_soc = from.qnn_soc; }},
    Fact{"arch", [](const Soc& soc) { return soc.arch; }, [](const Soc& from, Soc& to) { to.arch = from.arch; }},
    Fact{"vtcm_mb", [](const Soc& soc) { return number_text(soc.vtcm_mb); },
         [](const Soc& from, Soc& to) { to.vtcm_mb = from.vtcm_mb; }},
    Fact{"runtime", [](const Soc& soc) { return soc.runtime; },
         [](const Soc& from, Soc& to) { to.runtime = from.runtime; }},
    Fact{"windows_gpu", [](const Soc& soc) { return soc.windows_gpu; },
         [](const Soc& from, Soc& to) { to.windows_gpu = from.windows_gpu; }},
};

}  // namespace

// A builder that makes the state from rows and refuses rows that contradict each other.
class SocTableBuilder {
 public:
  using State = SocTable::State;

  explicit SocTableBuilder(SocRows rows) : rows_(std::move(rows)) {}

  Result<std::shared_ptr<const SocTable::State>> build() {
    FATCTX_TRY(index_parts());
    FATCTX_TRY(index_aliases());
    FATCTX_TRY(merge_spellings());
    FATCTX_TRY(index_kernel_ids());
    FATCTX_TRY(check_archs());
    FATCTX_TRY(check_sources());
    FATCTX_TRY(take_quirks());
    state_->boundaries = std::move(rows_.boundaries);
    state_->version = std::move(rows_.version);
    state_->sources = std::move(rows_.sources);
    for (SocRow& row : rows_.rows) state_->socs.push_back(std::move(row.soc));
    for (const Soc& soc : state_->socs) {
      state_->written.emplace(soc.part, state_->parts.at(part_key(soc.alias_of.empty() ? soc.part : soc.alias_of)));
    }
    return std::shared_ptr<const State>(std::move(state_));
  }

 private:
  Error fault(const SocRow& row, std::string_view column, std::string_view found, std::string_view remedy) const {
    return bad_soc_cell(row.place, column, found, remedy);
  }
  [[nodiscard]] std::string known_at(std::size_t at) const { return rows_.rows[at].place; }

  Status index_parts() {
    for (std::size_t at = 0; at < rows_.rows.size(); ++at) {
      const SocRow& row = rows_.rows[at];
      const auto [known, fresh] = state_->parts.emplace(part_key(row.soc.part), at);
      if (!fresh) {
        return fault(row, "part", fmt::format("{} a second time", row.soc.part),
                     fmt::format("{} has it; leave one of the two out", known_at(known->second)));
      }
    }
    return Done{};
  }

  Status index_aliases() {
    for (std::size_t at = 0; at < rows_.rows.size(); ++at) {
      const SocRow& row = rows_.rows[at];
      for (const std::string& alias : row.soc.aliases) {
        const auto part = state_->parts.find(part_key(alias));
        const auto [known, fresh] = state_->aliases.emplace(part_key(alias), at);
        if (part != state_->parts.end() || !fresh) {
          return fault(row, "aliases", fmt::format("{}, which is a name already", alias),
                       fmt::format("{} has it; a name stands for one part",
                                   known_at(part != state_->parts.end() ? part->second : known->second)));
        }
      }
    }
    return Done{};
  }

  Status merge_spellings() {
    for (const SocRow& row : rows_.rows) {
      if (!row.soc.alias_of.empty()) FATCTX_TRY(merge_into_part(row));
    }
    for (SocRow& row : rows_.rows) {  // now parts have the facts of all their spellings
      if (row.soc.alias_of.empty()) continue;
      const Soc& part = rows_.rows[state_->parts.at(part_key(row.soc.alias_of))].soc;
      for (const Fact& fact : kFacts) fact.copy(part, row.soc);
    }
    return Done{};
  }

  Status merge_into_part(const SocRow& row) {
    const auto found = state_->parts.find(part_key(row.soc.alias_of));
    if (found == state_->parts.end()) {
      std::vector<std::string> parts;
      for (const auto& [part, at] : state_->parts) parts.push_back(part);
      const auto near = nearest(part_key(row.soc.alias_of), parts);
      return fault(row, "alias_of", fmt::format("{}, which is not a part of the table", row.soc.alias_of),
                   near ? fmt::format("did you mean {}?", *near) : "give the part a row of its own");
    }
    SocRow& part = rows_.rows[found->second];
    if (!part.soc.alias_of.empty() || !row.soc.aliases.empty()) {
      return fault(row, "alias_of", fmt::format("{}, which is another spelling itself", part.soc.part),
                   "name the part that both stand for, and give aliases to that");
    }
    for (const Fact& fact : kFacts) {
      const std::string here = fact.text(row.soc);
      const std::string there = fact.text(part.soc);
      if (!here.empty() && !there.empty() && here != there) {
        return fault(row, fact.column, here,
                     fmt::format("{}, the part that it spells in another way, has {}", part.soc.part, there));
      }
      if (there.empty()) fact.copy(row.soc, part.soc);
    }
    return Done{};
  }

  Status index_kernel_ids() {
    for (std::size_t at = 0; at < rows_.rows.size(); ++at) {
      const SocRow& row = rows_.rows[at];
      const std::set<std::uint32_t> seen(row.soc.kernel_ids.begin(), row.soc.kernel_ids.end());
      for (const std::uint32_t id : row.soc.kernel_lookup) {
        if (!seen.contains(id)) {
          return fault(row, "kernel_lookup", std::to_string(id), "it leads here, so column kernel_ids has it too");
        }
        const auto [known, fresh] = state_->kernel_ids.emplace(id, at);
        if (!fresh) {
          return fault(row, "kernel_lookup", fmt::format("{} a second time", id),
                       fmt::format("{} has it; a number leads to one row, also if kernel_ids of several have it",
                                   known_at(known->second)));
        }
      }
      for (const SocVariant& variant : row.soc.kernel_variants) {
        if (!seen.contains(variant.kernel_id)) {
          return fault(row, "kernel_variants", std::to_string(variant.kernel_id),
                       "it stands for a variant of this part, so column kernel_ids has it too");
        }
      }
    }
    return Done{};
  }

  Status check_archs() {
    std::map<std::uint32_t, const SocRow*> first_of_number;
    for (const SocRow& row : rows_.rows) {
      const bool hexagon = row.soc.runtime == "HTP" || row.soc.runtime == "DSP";
      if (hexagon && !runtime::hexagon_number(row.soc.arch)) {
        return fault(row, "arch", row.soc.arch.empty() ? "nothing" : row.soc.arch,
                     fmt::format("with runtime {} allowed is a Hexagon arch such as v79", row.soc.runtime));
      }
      if (!row.soc.qnn_soc || row.soc.arch.empty()) continue;
      const auto [known, fresh] = first_of_number.emplace(*row.soc.qnn_soc, &row);
      if (!fresh && known->second->soc.arch != row.soc.arch) {
        return fault(row, "arch", row.soc.arch,
                     fmt::format("{} has QNN number {} too, with {}; parts that share a number have one arch",
                                 known->second->soc.part, *row.soc.qnn_soc, known->second->soc.arch));
      }
    }
    return Done{};
  }

  Status check_sources() {
    std::set<std::string_view> tags;
    for (const SocSource& source : rows_.sources) tags.insert(source.tag);
    for (const SocRow& row : rows_.rows) {
      for (const std::string& tag : row.soc.sources) {
        if (!tags.contains(tag)) {
          return fault(row, "sources", tag, fmt::format("say what it means, in a line #source,{},MEANING", tag));
        }
      }
    }
    return Done{};
  }

  // Stores each quirk under the canonical names of its parts.
  Status take_quirks() {
    for (SocQuirkRow& row : rows_.quirks) {
      const auto wrong = [&](std::string_view found, std::string_view remedy) {
        return bad_soc_cell(row.place, "#quirk", found, remedy);
      };
      for (std::string* const part : {&row.quirk.record, &row.quirk.device}) {
        auto found = state_->parts.find(part_key(*part));
        if (found == state_->parts.end()) {
          return wrong(fmt::format("{}, which is not a part of the table", *part), "give the part a row of its own");
        }
        const Soc& soc = rows_.rows[found->second].soc;
        *part = soc.alias_of.empty() ? soc.part : rows_.rows[state_->parts.at(part_key(soc.alias_of))].soc.part;
      }
      if (row.quirk.record == row.quirk.device) {
        return wrong(fmt::format("{} twice", row.quirk.record), "name two parts, that of the record and the device's");
      }
      if (std::none_of(rows_.sources.begin(), rows_.sources.end(),
                       [&](const SocSource& source) { return source.tag == row.quirk.source; })) {
        return wrong(row.quirk.source,
                     fmt::format("say what it means, in a line #source,{},MEANING", row.quirk.source));
      }
      state_->quirks.push_back(std::move(row.quirk));
    }
    return Done{};
  }

  SocRows rows_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

namespace {

// Combines the built-in rows with `added`: rows of the same part are replaced, all others are appended.
Result<SocRows> extended(SocRows added) {
  FATCTX_ASSIGN(SocRows all, runtime::read_soc_rows(runtime::soc_table_data(), kBuiltInName));
  std::set<std::string> replaced;
  for (const SocRow& row : added.rows) replaced.insert(part_key(row.soc.part));
  std::erase_if(all.rows, [&](const SocRow& row) { return replaced.contains(part_key(row.soc.part)); });
  std::set<std::string> tags;
  for (const SocSource& source : added.sources) tags.insert(source.tag);
  std::erase_if(all.sources, [&](const SocSource& source) { return tags.contains(source.tag); });
  std::move(added.rows.begin(), added.rows.end(), std::back_inserter(all.rows));
  std::move(added.sources.begin(), added.sources.end(), std::back_inserter(all.sources));
  std::move(added.quirks.begin(), added.quirks.end(), std::back_inserter(all.quirks));
  if (!added.boundaries.empty()) all.boundaries = std::move(added.boundaries);
  all.version = fmt::format("{}+{}", all.version, added.version);
  return all;
}

constinit Immortal<SocTable> the_built_in_table;

bool contains_key(std::string_view text, std::string_view key) { return part_key(text).find(key) != std::string::npos; }

bool names_contain(const Soc& soc, std::string_view key) {
  return contains_key(soc.part, key) || contains_key(soc.name, key) || contains_key(soc.alias_of, key) ||
         contains_key(soc.arch, key) || contains_key(soc.vendor, key) ||
         std::any_of(soc.aliases.begin(), soc.aliases.end(),
                     [&](const std::string& alias) { return contains_key(alias, key); }) ||
         std::any_of(soc.kernel_variants.begin(), soc.kernel_variants.end(),
                     [&](const SocVariant& variant) { return contains_key(variant.name, key); });
}

}  // namespace

std::string_view part_rule_name(PartRule rule) noexcept {
  switch (rule) {
    case PartRule::kExact:
      return "exact";
    case PartRule::kAlias:
      return "alias";
    case PartRule::kStripSuffix:
      return "strip_suffix";
    case PartRule::kStripP:
      return "strip_p";
    case PartRule::kUnknown:
      return "unknown";
  }
  return "unknown";
}

SocTable::SocTable(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

SocTable SocTable::built_in() {
  return the_built_in_table.get([] {
    // A test parses the built-in table, so an inconsistent table is never released.
    auto table = parse(runtime::soc_table_data(), kBuiltInName);
    auto state = table.ok() ? std::move(table).value().state_ : std::make_shared<const State>();
    return std::unique_ptr<SocTable>(new SocTable(std::move(state)));
  });
}

Result<SocTable> SocTable::parse(std::string_view text, std::string_view name) {
  FATCTX_ASSIGN(SocRows rows, runtime::read_soc_rows(text, name));
  if (rows.extends_built_in) {
    FATCTX_ASSIGN(rows, extended(std::move(rows)));
  }
  FATCTX_ASSIGN(auto state, SocTableBuilder(std::move(rows)).build());
  return SocTable(std::move(state));
}

Result<SocTable> SocTable::read(const std::string& path) {
  auto opened = mapping::open_for_reading(path);
  if (!opened.ok()) return in_context(std::move(opened).error(), path);
  const auto file = std::move(opened).value();
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file->identity());
  if (!identity.regular) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: the table of SoCs is not a regular file", path)};
  }
  if (identity.size > kMaxTableBytes) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("{}: {} bytes; a table of SoCs has at most {}", path, identity.size, kMaxTableBytes)};
  }
  std::string text(static_cast<std::size_t>(identity.size), '\0');
  FATCTX_TRY(file->read_at(0, std::as_writable_bytes(std::span(text))));
  return parse(text, path);
}

Result<SocTable> SocTable::from_environment() {
  constexpr const char* kVariable = "FATCTX_SOC_TABLE";
  const auto path = runtime::environment_variable(kVariable);
  if (!path) return built_in();
  auto table = read(*path);
  if (!table.ok()) return in_context(std::move(table).error(), kVariable);
  return table;
}

const std::string& SocTable::version() const noexcept { return state_->version; }
const std::vector<Soc>& SocTable::socs() const noexcept { return state_->socs; }
const std::vector<SocSource>& SocTable::sources() const noexcept { return state_->sources; }
const std::vector<std::uint32_t>& SocTable::boundaries() const noexcept { return state_->boundaries; }
const std::vector<SocQuirk>& SocTable::quirks() const noexcept { return state_->quirks; }

bool SocTable::same_part(std::string_view a, std::string_view b) const {
  if (a == b) return true;
  const auto written_a = state_->written.find(a);
  const auto written_b = state_->written.find(b);
  if (written_a != state_->written.end() && written_b != state_->written.end()) {
    return written_a->second == written_b->second;
  }
  return name_part(a).part == name_part(b).part;
}

NamedPart SocTable::name_part(std::string_view name) const {
  constexpr std::array<std::string_view, 3> kSuffixes = {"-1-AB", "-AB", "-AC"};
  std::string key = part_key(name);
  const auto known = [this](const std::string& text, std::optional<PartRule> rule) -> std::optional<NamedPart> {
    std::size_t at = 0;
    bool alias = false;
    if (const auto part = state_->parts.find(text); part != state_->parts.end()) {
      at = part->second;
      alias = !state_->socs[at].alias_of.empty();
      if (alias) at = state_->parts.at(part_key(state_->socs[at].alias_of));
    } else if (const auto other = state_->aliases.find(text); other != state_->aliases.end()) {
      at = other->second;
      alias = true;
    } else {
      return std::nullopt;
    }
    const Soc& soc = state_->socs[at];
    return NamedPart{soc.part, rule.value_or(alias ? PartRule::kAlias : PartRule::kExact), &soc};
  };

  if (auto found = known(key, std::nullopt)) return *std::move(found);
  std::string shorter = key;
  for (const std::string_view suffix : kSuffixes) {
    if (!shorter.ends_with(suffix)) continue;
    shorter.resize(shorter.size() - suffix.size());
    break;
  }
  if (shorter.size() < key.size()) {
    if (auto found = known(shorter, PartRule::kStripSuffix)) return *std::move(found);
  }
  if (shorter.ends_with('P')) {
    shorter.pop_back();
    if (auto found = known(shorter, PartRule::kStripP)) return *std::move(found);
  }
  return {std::move(key), PartRule::kUnknown, nullptr};
}

const Soc* SocTable::with_kernel_id(std::uint32_t kernel_id) const noexcept {
  const auto found = state_->kernel_ids.find(kernel_id);
  return found == state_->kernel_ids.end() ? nullptr : &state_->socs[found->second];
}

std::vector<const Soc*> SocTable::with_qnn_soc(std::uint32_t qnn_soc) const {
  std::vector<const Soc*> found;
  for (const Soc& soc : state_->socs) {
    if (soc.alias_of.empty() && soc.qnn_soc == qnn_soc) found.push_back(&soc);
  }
  return found;
}

std::vector<const Soc*> SocTable::search(std::string_view text) const {
  const std::string key = part_key(text);
  std::uint32_t number = 0;
  const auto [end, status] = std::from_chars(key.data(), key.data() + key.size(), number);
  const bool numeric = status == std::errc{} && end == key.data() + key.size();
  std::vector<const Soc*> found;
  for (const Soc& soc : state_->socs) {
    const bool by_number = numeric && (soc.qnn_soc == number || std::find(soc.kernel_ids.begin(), soc.kernel_ids.end(),
                                                                          number) != soc.kernel_ids.end());
    const bool by_name = (!numeric || key.size() > kDigitsOfNumber) && names_contain(soc, key);
    if (by_number || by_name) found.push_back(&soc);
  }
  return found;
}

}  // namespace fatctx
