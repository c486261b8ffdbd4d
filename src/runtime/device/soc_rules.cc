// The order of the sources and their rules are specified in docs/selection.md, section 9. A file may contain anything:
// a value that does not fit its rule is reported and skipped, and its meaning is never guessed.
#include "runtime/device/soc_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "runtime/device/arch.h"
#include "runtime/device/soc_rows.h"

namespace fatctx::runtime {
namespace {

constexpr std::string_view kQualcomm = "Qualcomm";

// The answer of one source.
struct Answer {
  std::string id;
  std::string raw;
  ReadState read = ReadState::kAbsent;
  std::optional<SocIdentity> soc;  // nothing: the value was not understood
  std::string note;
  bool only_family = false;            // identifies the family, not the part within it
  std::vector<std::string> also = {};  // other parts that it names
};

Answer answer_of(std::string_view id, const CapturedText& captured) {
  Answer answer{.id = std::string(id), .raw = printable(captured.text), .read = captured.state, .soc = {}, .note = {}};
  if (captured.state == ReadState::kRead && part_key(captured.text).empty()) answer.read = ReadState::kAbsent;
  if (answer.read == ReadState::kUnreadable) std::swap(answer.raw, answer.note);
  return answer;
}

bool same_text(std::string_view a, std::string_view b) { return part_key(a) == part_key(b); }

// Returns the vendor's name as used in the table; empty if the table does not know it. Qualcomm's properties may also
// say QTI.
std::string vendor_named(const SocTable& table, std::string_view manufacturer) {
  if (same_text(manufacturer, "QTI")) return std::string(kQualcomm);
  const auto& socs = table.socs();
  const auto found =
      std::find_if(socs.begin(), socs.end(), [&](const Soc& soc) { return same_text(soc.vendor, manufacturer); });
  return found == socs.end() ? std::string() : found->vendor;
}

// Returns the backend by the vendor: it is known even if the table does not know the part.
std::string runtime_of_vendor(const SocTable& table, std::string_view vendor) {
  if (vendor == kQualcomm) return "HTP";
  const auto& socs = table.socs();
  const auto found = std::find_if(socs.begin(), socs.end(), [&](const Soc& soc) { return soc.vendor == vendor; });
  return found == socs.end() ? std::string() : found->runtime;
}

SocIdentity part_of_vendor(const SocTable& table, std::string_view name, const std::string& vendor) {
  SocIdentity identity = identity_of_part(table, name);
  if (identity.rule == PartRule::kUnknown || identity.vendor != vendor) {
    identity = {};
    identity.part = part_key(name);
    identity.rule = PartRule::kUnknown;
    identity.vendor = vendor;
    identity.runtime = runtime_of_vendor(table, vendor);
  }
  return identity;
}

// Returns the machine's own name for the part if it is more specific: "SM8750P" for SM8750.
std::string variant_named(const SocIdentity& identity, std::string_view name) {
  return identity.rule == PartRule::kStripP ? part_key(name) : std::string();
}

Answer ask_backend(const std::optional<BackendPlatform>& backend, const SocTable& table) {
  Answer answer{.id = "backend", .raw = {}, .read = ReadState::kAbsent, .soc = {}, .note = {}};
  if (!backend) return answer;
  answer.read = ReadState::kRead;
  answer.raw = fmt::format("soc {}, arch {}, vtcm {}", backend->qnn_soc.value_or(0),
                           backend->arch.empty() ? "-" : printable(backend->arch), backend->vtcm_mb.value_or(0));
  SocIdentity identity = backend->qnn_soc ? identity_of_qnn_soc(table, *backend->qnn_soc) : SocIdentity{};
  identity.runtime = identity.runtime.empty() ? "HTP" : identity.runtime;
  if (!backend->arch.empty()) identity.arch = backend->arch;
  if (backend->vtcm_mb) identity.vtcm_mb = backend->vtcm_mb;
  if (identity.empty()) {
    answer.note = "it names neither a SoC nor an arch";
  } else {
    answer.soc = std::move(identity);
  }
  return answer;
}

Answer ask_android(const SocFacts& facts, const SocTable& table) {
  Answer answer = answer_of("ro.soc.model", facts.model);
  if (answer.read != ReadState::kRead) return answer;
  const std::string vendor = vendor_named(table, facts.manufacturer.text);
  if (vendor.empty()) {
    answer.note =
        fmt::format("ro.soc.manufacturer is \"{}\", which the table does not know", printable(facts.manufacturer.text));
    return answer;
  }
  SocIdentity identity = part_of_vendor(table, facts.model.text, vendor);
  identity.variant = variant_named(identity, facts.model.text);
  answer.soc = std::move(identity);
  return answer;
}

// Checks the family: drivers of several vendors provide soc0, and numbers of other vendors mean other chips.
std::string family_fault(const SocFacts& facts) {
  if (same_text(facts.family.text, "Snapdragon")) return {};
  return fmt::format("soc0/family is \"{}\", not Snapdragon", printable(facts.family.text));
}

void take_kernel_id(Answer& answer, const std::string& text, const SocTable& table) {
  const auto number = decimal_in(text);
  if (!number) {
    answer.note = "no decimal number";
    return;
  }
  answer.soc = identity_of_kernel_id(table, *number);
  if (!answer.soc) answer.note = fmt::format("no SoC of table {} has this kernel number", table.version());
}

Answer ask_soc_id(const SocFacts& facts, const SocTable& table) {
  Answer answer = answer_of("soc0.soc_id", facts.soc_id);
  if (answer.read != ReadState::kRead) return answer;
  answer.note = family_fault(facts);
  if (answer.note.empty()) take_kernel_id(answer, facts.soc_id.text, table);
  return answer;
}

Answer ask_legacy_id(const SocFacts& facts, const SocTable& table) {
  Answer answer = answer_of("legacy.soc_id", facts.legacy_id);
  if (answer.read == ReadState::kRead) take_kernel_id(answer, facts.legacy_id.text, table);
  return answer;
}

// Returns true for letters followed by digits: SM8750P, QCS8275. Code names such as "Kodiak" have no digits.
bool looks_like_a_part(const std::string& key) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view kDigits = "0123456789";
  const auto digits = std::min(key.find_first_not_of(kLetters), key.size());
  const auto end = std::min(key.find_first_not_of(kDigits, digits), key.size());
  return digits >= 2 && digits <= 4 && end - digits >= 3 &&
         key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", end) == std::string::npos;
}

Answer ask_machine(const SocFacts& facts, const SocTable& table) {
  Answer answer = answer_of("soc0.machine", facts.machine);
  if (answer.read != ReadState::kRead) return answer;
  answer.note = family_fault(facts);
  if (!answer.note.empty()) return answer;
  SocIdentity identity = part_of_vendor(table, facts.machine.text, std::string(kQualcomm));
  if (identity.rule == PartRule::kUnknown && !looks_like_a_part(identity.part)) {
    answer.note = "a code name, no part name";
    return answer;
  }
  identity.variant = variant_named(identity, facts.machine.text);
  answer.soc = std::move(identity);
  return answer;
}

std::vector<std::string_view> entries_of(std::string_view compatible) {
  std::vector<std::string_view> entries;
  while (!compatible.empty()) {
    const std::string_view entry = compatible.substr(0, std::min(compatible.find('\0'), compatible.size()));
    compatible.remove_prefix(std::min(entry.size() + 1, compatible.size()));
    entries.push_back(entry);
  }
  return entries;
}

// Compares whole entries only: a suffix behind a part name denotes a board, and a board is not its SoC.
Answer ask_device_tree(const SocFacts& facts, const SocTable& table) {
  constexpr std::string_view kPrefix = "qcom,";
  Answer answer = answer_of("device_tree", facts.compatible);
  if (answer.read != ReadState::kRead) return answer;
  std::size_t index = 0;
  for (const std::string_view entry : entries_of(facts.compatible.text)) {
    if (entry.starts_with(kPrefix)) {
      SocIdentity identity = identity_of_part(table, entry.substr(kPrefix.size()));
      const bool whole = identity.rule != PartRule::kUnknown && identity.rule != PartRule::kStripSuffix;
      if (whole && answer.soc) answer.also.push_back(identity.part);
      if (whole && !answer.soc) {
        identity.variant = variant_named(identity, entry.substr(kPrefix.size()));
        answer.note = fmt::format("entry {}", index);
        answer.soc = std::move(identity);
      }
    }
    ++index;
  }
  if (!answer.soc) answer.note = "no entry is qcom, and a part of the table";
  return answer;
}

Answer ask_windows_gpu(const SocFacts& facts, const SocTable& table) {
  Answer answer{.id = "windows.gpu", .raw = {}, .read = ReadState::kAbsent, .soc = {}, .note = {}, .only_family = true};
  // Finds the vendor's adapter, at any position of the list.
  const auto own = std::find_if(facts.displays.begin(), facts.displays.end(), [](const WindowsDisplay& display) {
    return part_key(display.device_id).find("VEN_QCOM") != std::string::npos;
  });
  if (own == facts.displays.end()) return answer;
  answer.read = ReadState::kRead;
  answer.raw = printable(own->description);
  const std::string generation = adreno_generation(own->description);
  const auto& socs = table.socs();
  const auto soc = std::find_if(socs.begin(), socs.end(), [&](const Soc& s) {
    return !generation.empty() && s.alias_of.empty() && s.windows_gpu == generation;
  });
  if (soc == socs.end()) {
    answer.note = generation.empty() ? "no Adreno generation in it"
                                     : fmt::format("no SoC of table {} has Adreno {}", table.version(), generation);
  } else {
    answer.soc = identity_of(*soc);
  }
  return answer;
}

Answer ask_windows_cpu(const SocFacts& facts, const SocTable& table) {
  Answer answer = answer_of("windows.cpu", facts.processor);
  if (answer.read != ReadState::kRead) return answer;
  const std::string name = snapdragon_x_part(facts.processor.text);
  if (name.empty()) {
    answer.note = "no Snapdragon X part in it";
  } else {
    answer.soc = part_of_vendor(table, name, std::string(kQualcomm));
  }
  return answer;
}

bool agree(const Answer& decision, const Answer& answer) {
  const SocIdentity& decided = *decision.soc;
  const SocIdentity& said = *answer.soc;
  const bool exact = !decision.only_family && !answer.only_family;
  if (exact && !decided.part.empty() && !said.part.empty()) {
    return decided.part == said.part ||
           std::find(answer.also.begin(), answer.also.end(), decided.part) != answer.also.end();
  }
  if (exact && decided.qnn_soc && said.qnn_soc) return decided.qnn_soc == said.qnn_soc;
  return decided.arch.empty() || said.arch.empty() || decided.arch == said.arch;
}

std::string said_in_short(const SocIdentity& soc) {
  if (!soc.part.empty()) return soc.part;
  return soc.qnn_soc ? fmt::format("QNN number {}", *soc.qnn_soc) : soc.arch;
}

std::string state_word(const Answer& answer) {
  if (answer.read == ReadState::kAbsent) return "absent";
  return answer.read == ReadState::kUnreadable ? "unreadable" : "unparsable";
}

// The facts that a source states itself; all other facts come from the table.
struct Stated {
  bool part = false;
  bool qnn_soc = false;
  bool arch = false;
  bool vtcm_mb = false;
};

void tell_origins(Detection& detection, const std::string& source, const SocIdentity& soc, const Stated& stated) {
  const auto add = [&](const char* fact, bool known, bool stated_itself) {
    if (known) detection.origins.push_back({fact, source, !stated_itself});
  };
  add("part", !soc.part.empty(), stated.part);
  add("variant", !soc.variant.empty(), stated.part);
  add("qnn_soc", soc.qnn_soc.has_value(), stated.qnn_soc);
  add("arch", !soc.arch.empty(), stated.arch);
  add("vtcm_mb", soc.vtcm_mb.has_value(), stated.vtcm_mb);
}

void replace_origin(Detection& detection, const std::string& fact, const std::string& source, bool from_table) {
  std::erase_if(detection.origins, [&](const FactOrigin& origin) { return origin.fact == fact; });
  detection.origins.push_back({fact, source, from_table});
}

void take(Detection& detection, const SocIdentity& soc) {
  detection.npu = device_of(soc);
  detection.vendor = soc.vendor;
  detection.variant = soc.variant;
  detection.rule = soc.rule;
}

void judge_option(const AskedSoc& asked, Detection& detection) {
  SocIdentity soc = *asked.instead;
  if (asked.vtcm_mb) soc.vtcm_mb = asked.vtcm_mb;
  detection.sources.push_back({.id = "option", .raw = printable(asked.raw), .state = "used", .note = asked.note});
  detection.decided_by = "option";
  take(detection, soc);
  detection.device = *detection.npu;
  tell_origins(detection, "option", soc,
               {.part = soc.rule.has_value(),
                .qnn_soc = decimal_in(asked.raw).has_value(),
                .arch = hexagon_number(asked.raw).has_value()});
  if (asked.vtcm_mb) replace_origin(detection, "vtcm_mb", "option", false);
  if (asked.disagree) detection.warnings.emplace_back("options_disagree");
}

// Completes the part: a backend reports a number that several parts share, and another source may name the part.
void complete_part(SocIdentity& soc, const std::vector<Answer>& answers, Detection& detection) {
  if (!soc.part.empty() || !soc.qnn_soc) return;
  for (const Answer& answer : answers) {
    if (!answer.soc || answer.soc->part.empty() || answer.soc->qnn_soc != soc.qnn_soc) continue;
    soc.part = answer.soc->part;
    soc.variant = answer.soc->variant;
    soc.rule = answer.soc->rule;
    detection.origins.push_back({"part", answer.id, false});
    if (!soc.variant.empty()) detection.origins.push_back({"variant", answer.id, false});
    if (!soc.vtcm_mb && answer.soc->vtcm_mb) {
      soc.vtcm_mb = answer.soc->vtcm_mb;
      detection.origins.push_back({"vtcm_mb", answer.id, true});
    }
    return;
  }
}

void judge_answers(const std::vector<Answer>& answers, const AskedSoc& asked,
                   const std::optional<BackendPlatform>& backend, Detection& detection) {
  const auto decided = std::find_if(answers.begin(), answers.end(), [](const Answer& a) { return a.soc.has_value(); });
  bool disagree = false;
  for (auto answer = answers.begin(); answer != answers.end(); ++answer) {
    DetectionSource source{.id = answer->id, .raw = answer->raw, .state = state_word(*answer), .note = answer->note};
    if (answer == decided) {
      source.state = "used";
    } else if (answer->soc) {
      const bool same = agree(*decided, *answer);
      source.state = same ? "agrees" : "disagrees";
      if (!same) source.note = fmt::format("says {}", said_in_short(*answer->soc));
      disagree = disagree || !same;
    }
    detection.sources.push_back(std::move(source));
  }
  if (disagree) detection.warnings.emplace_back("sources_disagree");
  if (decided == answers.end()) return;
  SocIdentity soc = *decided->soc;
  const bool by_backend = decided->id == "backend";
  tell_origins(detection, decided->id, soc,
               {.part = soc.rule.has_value(),
                .qnn_soc = by_backend && backend->qnn_soc,
                .arch = by_backend && !backend->arch.empty(),
                .vtcm_mb = by_backend && backend->vtcm_mb});
  complete_part(soc, answers, detection);
  if (asked.vtcm_mb) {
    soc.vtcm_mb = asked.vtcm_mb;
    replace_origin(detection, "vtcm_mb", "option", false);
  }
  detection.decided_by = decided->id;
  take(detection, soc);
}

}  // namespace

Detection judge_soc(const SocFacts& facts, const SocTable& table, const AskedSoc& asked,
                    const std::optional<BackendPlatform>& backend) {
  Detection detection{.device = {}, .sources = {}};
  detection.soc_table_version = table.version();
  if (asked.instead) {
    judge_option(asked, detection);
    return detection;
  }
  detection.npu_devices = facts.npu_devices;
  const bool only_vtcm = asked.vtcm_mb.has_value();
  detection.sources.push_back({.id = "option",
                               .raw = only_vtcm ? printable(asked.raw) : "",
                               .state = only_vtcm ? "used" : "absent",
                               .note = asked.note});
  const std::vector<Answer> answers = {
      ask_backend(backend, table),   ask_android(facts, table),     ask_soc_id(facts, table),
      ask_legacy_id(facts, table),   ask_machine(facts, table),     ask_device_tree(facts, table),
      ask_windows_gpu(facts, table), ask_windows_cpu(facts, table),
  };
  judge_answers(answers, asked, backend, detection);
  const bool generic = detection.decided_by == "none" && !facts.cpu_arch.empty();
  if (generic) detection.decided_by = "generic";
  detection.sources.push_back({.id = "generic",
                               .raw = facts.cpu_arch,
                               .state = generic ? "used" : (facts.cpu_arch.empty() ? "absent" : "agrees")});
  return detection;
}

std::string adreno_generation(std::string_view description) {
  constexpr std::string_view kAdreno = "Adreno";
  constexpr std::string_view kDigits = "0123456789";
  auto at = description.find(kAdreno);
  while (at != std::string_view::npos && (at = description.find(" X", at)) != std::string_view::npos) {
    const std::string_view rest = description.substr(at + 2);
    const auto digits = std::min(rest.find_first_not_of(kDigits), rest.size());
    const bool model =
        rest.size() > digits + 1 && rest[digits] == '-' && kDigits.find(rest[digits + 1]) != std::string_view::npos;
    if (digits > 0 && model) return fmt::format("X{}", rest.substr(0, digits));
    at += 2;
  }
  return {};
}

std::string snapdragon_x_part(std::string_view processor) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::size_t kFewestDigits = 3;
  for (std::size_t at = processor.find('X'); at != std::string_view::npos; at = processor.find('X', at + 1)) {
    const std::string_view rest = processor.substr(at);
    const bool begins = at == 0 || processor[at - 1] == ' ' || processor[at - 1] == '(';
    if (!begins || rest.size() < 3 || kDigits.find(rest[1]) == std::string_view::npos) continue;
    if (rest[2] != 'E' && rest[2] != 'P') continue;
    const std::string_view digits = rest.substr(3, rest.find_first_not_of(kDigits, 3) - 3);
    if (digits.size() >= kFewestDigits) return std::string(rest.substr(0, 3 + digits.size()));
  }
  return {};
}

std::string printable(std::string_view raw) {
  const auto last = raw.find_last_not_of(std::string_view("\r\n\0", 3));
  std::string text;
  for (const char sign : raw.substr(0, last == std::string_view::npos ? 0 : last + 1)) {
    const auto byte = static_cast<unsigned char>(sign);
    if (byte >= 0x20 && byte < 0x7F) {
      text += sign;
    } else {
      text += fmt::format("\\x{:02x}", byte);
    }
  }
  return text;
}

}  // namespace fatctx::runtime
