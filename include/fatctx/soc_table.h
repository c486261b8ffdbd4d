// The table of SoCs: which chips there are, the numbers that stand for each, and what is known of them, as data.
//
// A chip has names in three spaces that are never compared with each other: its part name ("SM8750", as in product
// pages and system properties), the vendor's QNN number (69), and the numbers that the kernel tells (618, 639). A QNN
// number may be shared by several parts, a part may have several kernel numbers.
//
// The library is built with a table; a file in the same form adds to it or replaces it without a rebuild
// (docs/selection.md, section 10, has the columns). What no source says is empty, which never means zero.
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

// One row. Of a row that is another spelling of a part, and of that part, each has what the other one knows.
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
  std::vector<std::string> sources;          // tags: where the facts of this row come from
  std::string notes;                         // doubts
};

// What a tag in `Soc::sources` stands for.
struct SocSource {
  std::string tag;
  std::string meaning;
};

// A pair of parts of which a source says that a binary built for the one does not work on the other, although nothing
// else keeps them apart.
struct SocQuirk {
  std::string record;  // normalised part that the binary was built for
  std::string device;  // normalised part that it was tried on
  std::string source;  // tag
  std::string reason;  // as a sentence goes on: "the context is created and every result is zero"
};

// How a part name was understood. In the order in which the rules are tried.
enum class PartRule : std::uint8_t {
  kExact,        // it is in the table
  kAlias,        // it is another name of a part
  kStripSuffix,  // without -AB, -AC or -1-AB it is one of the two
  kStripP,       // without one P at its end it is one of the two
  kUnknown,      // the table does not know it: the name is kept, and nothing else is known
};
[[nodiscard]] std::string_view part_rule_name(PartRule rule) noexcept;  // "exact", "alias", "strip_suffix", ...

struct NamedPart {
  std::string part;  // normalised
  PartRule rule = PartRule::kUnknown;
  const Soc* soc = nullptr;  // the part's own row, never that of another spelling; null: kUnknown
};

class SocTableBuilder;

// Ownership: copies share one table, which never changes.
// Threads:   any.
class SocTable {
 public:
  // The table that the library was built with. Cost: read once per process, some hundred microseconds.
  [[nodiscard]] static SocTable built_in();
  // A table in the form of docs/selection.md, section 10. With a line "#extends,built-in" its rows are added to those
  // of the built-in table, and take the place of rows of the same part; without it, it stands alone.
  // Errors: invalid_argument, with name, line and column, what was found and what is allowed.
  [[nodiscard]] static Result<SocTable> parse(std::string_view text, std::string_view name);
  // The same of a file. Errors: also not_found, io, not_regular_file, limit_exceeded.
  [[nodiscard]] static Result<SocTable> read(const std::string& path);

  // What the table calls itself: "2026.11"; "2026.11+lab.3" for one that was added to.
  [[nodiscard]] const std::string& version() const noexcept;
  // In the order of the file; rows that were added come last.
  [[nodiscard]] const std::vector<Soc>& socs() const noexcept;
  [[nodiscard]] const std::vector<SocSource>& sources() const noexcept;
  // Hexagon archs with which a generation begins: a binary for an arch below one of them does not run on an arch from
  // it on. Ascending.
  [[nodiscard]] const std::vector<std::uint32_t>& boundaries() const noexcept;
  [[nodiscard]] const std::vector<SocQuirk>& quirks() const noexcept;

  // Lifetime: rows that these give live as long as a copy of the table.
  [[nodiscard]] NamedPart name_part(std::string_view name) const;
  // Whether it takes the two names, normalised or not, for one part.
  [[nodiscard]] bool same_part(std::string_view a, std::string_view b) const;
  // The row that a kernel number leads to; null if the table does not know it.
  [[nodiscard]] const Soc* with_kernel_id(std::uint32_t kernel_id) const noexcept;
  // The parts that share a QNN number, without other spellings.
  [[nodiscard]] std::vector<const Soc*> with_qnn_soc(std::uint32_t qnn_soc) const;
  // Rows in which the text stands, whatever the case of its letters, in a name, an alias, the arch or the vendor; a
  // text of one to three digits is compared with whole numbers only, QNN and kernel. The empty text gives all rows.
  [[nodiscard]] std::vector<const Soc*> search(std::string_view text) const;

 private:
  friend class SocTableBuilder;
  struct State;
  explicit SocTable(std::shared_ptr<const State> state) noexcept;
  std::shared_ptr<const State> state_;
};

// The rows that `search` finds, with the version and the meaning of their tags: schema "fatctx.socs/1".
[[nodiscard]] std::string to_json(const SocTable& table, std::string_view search = {});

}  // namespace fatctx
