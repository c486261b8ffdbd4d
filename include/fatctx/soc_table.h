// The table of SoCs as data: the existing chips, the numbers of each, and the known facts about them.
//
// A chip has names in three spaces that are never compared with each other: its part name ("SM8750", as in product
// pages and system properties), the vendor's QNN number (69), and the numbers that the kernel reports (618, 639).
// Several parts may share a QNN number, and a part may have several kernel numbers.
//
// The library is built with a table; a file in the same form adds to it or replaces it without a rebuild
// (docs/selection.md, section 10, has the columns). A fact that no source states is empty, which never means zero.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx {

// A kernel number that stands for a variant of the part: 639 is SM8750P.
struct SocVariant {
  std::uint32_t kernel_id = 0;
  std::string name;
};

// A row of the table. A row for another spelling of a part, and the row of that part, share their facts.
struct Soc {
  std::string vendor;                        // "Qualcomm"
  std::string name;                          // as sold: "Snapdragon 8 Elite"
  std::string part;                          // unique, whatever the case of its letters
  std::string alias_of;                      // the part that this row is another spelling of
  std::vector<std::string> aliases;          // further names of the part
  std::optional<std::uint32_t> qnn_soc;      // the vendor's number
  std::vector<std::uint32_t> kernel_ids;     // every number that was seen with it
  std::vector<std::uint32_t> kernel_lookup;  // those of them that lead to this row
  std::vector<SocVariant> kernel_variants;   // those that stand for a variant
  std::string arch;                          // Hexagon: "v79"; others as their runtime says it
  std::optional<std::uint32_t> vtcm_mb;      // MB
  std::string runtime;                       // "HTP", "DSP", "NeuroPilot", ...
  std::string windows_gpu;                   // generation of the graphics unit, as its driver says it: "X1"
  std::vector<std::string> sources;          // tags: the sources of the facts of this row
  std::string notes;                         // doubts
};

// The meaning of a tag in `Soc::sources`.
struct SocSource {
  std::string tag;
  std::string meaning;
};

// A pair of parts for which a source says that a binary built for the one does not work on the other, although nothing
// else keeps them apart.
struct SocQuirk {
  std::string record;  // normalised part that the binary was built for
  std::string device;  // normalised part that it was tried on
  std::string source;  // tag
  std::string reason;  // as a sentence goes on: "the context is created and every result is zero"
};

// The rule by which a part name was understood. In the order in which the rules are tried.
enum class PartRule : std::uint8_t {
  kExact,        // it is in the table
  kAlias,        // it is another name of a part
  kStripSuffix,  // one of the two becomes a known name when -AB, -AC or -1-AB is removed
  kStripP,       // one of the two becomes a known name when one P at its end is removed
  kUnknown,      // the table does not know it: the name is kept, and nothing else is known
};
[[nodiscard]] std::string_view part_rule_name(PartRule rule) noexcept;  // "exact", "alias", "strip_suffix", ...

struct NamedPart {
  std::string part;  // normalised
  PartRule rule = PartRule::kUnknown;
  const Soc* soc = nullptr;  // the part's own row, never that of another spelling; null: kUnknown
};

// Ownership: copies share one table, which never changes.
// Threads:   any.
class SocTable {
 public:
  // Returns the table that the library was built with. Cost: read once per process, some hundred microseconds.
  [[nodiscard]] static SocTable built_in();
  // Reads a table in the form of docs/selection.md, section 10. With a line "#extends,built-in" its rows are added to
  // those of the built-in table and replace rows of the same part. Otherwise it is used alone.
  // Errors: invalid_argument, with name, line and column, the text found and the values allowed.
  [[nodiscard]] static Result<SocTable> parse(std::string_view text, std::string_view name);
  // Reads it from a file. Errors: also not_found, io, not_regular_file, limit_exceeded.
  [[nodiscard]] static Result<SocTable> read(const std::string& path);

  // Returns the table in the file that FATCTX_SOC_TABLE names, or the built-in one. Errors: those of read(), naming the
  // variable.
  [[nodiscard]] static Result<SocTable> from_environment();

  // Returns the version in the table's own words: "2026.11"; "2026.11+lab.3" for one that was added to.
  [[nodiscard]] const std::string& version() const noexcept;
  // Returns the rows in the order of the file; added rows come last.
  [[nodiscard]] const std::vector<Soc>& socs() const noexcept;
  [[nodiscard]] const std::vector<SocSource>& sources() const noexcept;
  // Returns the Hexagon archs that begin a generation: a binary for an arch below one of them does not run on that arch
  // or a later one. Ascending.
  [[nodiscard]] const std::vector<std::uint32_t>& boundaries() const noexcept;
  [[nodiscard]] const std::vector<SocQuirk>& quirks() const noexcept;

  // Looks a part up by name. Lifetime: the returned rows live as long as a copy of the table.
  [[nodiscard]] NamedPart name_part(std::string_view name) const;
  // Returns true if the table takes the two names, normalised or not, for one part.
  [[nodiscard]] bool same_part(std::string_view a, std::string_view b) const;
  // Returns the row that a kernel number leads to; null if the table does not know it.
  [[nodiscard]] const Soc* with_kernel_id(std::uint32_t kernel_id) const noexcept;
  // Returns the parts that share a QNN number, without other spellings.
  [[nodiscard]] std::vector<const Soc*> with_qnn_soc(std::uint32_t qnn_soc) const;
  // Returns rows that contain the text, in any case of its letters, in a name, an alias, the arch or the vendor. A text
  // of one to three digits is compared with whole numbers only, QNN and kernel. The empty text gives all rows.
  [[nodiscard]] std::vector<const Soc*> search(std::string_view text) const;

  // The state behind the handle. Only the library's own files complete this type.
  struct State;
  explicit SocTable(std::shared_ptr<const State> state) noexcept;

 private:
  std::shared_ptr<const State> state_;
};

// Returns the rows that `search` finds, with the version and the meaning of their tags: schema "fatctx.socs/1".
[[nodiscard]] std::string to_json(const SocTable& table, std::string_view search = {});

}  // namespace fatctx
