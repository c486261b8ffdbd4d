"""Every declaration of a public C++ header has counterparts in C and in Python, or docs/c_api.md gives the reason."""

import ast
import re

import pytest

from c_header_test import FUNCTION, c_header_text
from checkout import cxx_files, matching, text_of
from counterparts import declarations

TITLE = "## From C++ to C and Python"
COLUMNS = ["header", "C++", "C", "Python"]
FEW_WORDS = 3  # a reason is longer
OPAQUE = {"impl", "state"}  # return a type that only the library completes


def rows_of(text: str) -> list[dict[str, str]]:
    """Returns the table of counterparts: one dictionary a row, with the titles of the columns as keys."""
    lines = [line for line in text.split(TITLE + "\n")[1].split("\n## ")[0].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    assert cells[0] == COLUMNS
    assert {len(row) for row in cells} == {len(COLUMNS)}, "a row has another number of columns"
    return [dict(zip(COLUMNS, [row[0].strip("`"), *row[1:]], strict=True)) for row in cells[2:]]


def spelled(name: str) -> list[str]:
    """Expands `a_{b,c}` to two names."""
    if "{" not in name:
        return [name]
    stem, choices = name.split("{", 1)
    return [stem + choice for choice in choices.rstrip("}").split(",")]


def marked(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def words(cell: str) -> set[str]:
    return {word for text in marked(cell) for word in re.findall(r"\w+", text)}


def c_functions(cell: str) -> set[str]:
    return {name for text in marked(cell) if text.startswith("fatctx_") for name in spelled(text)}


def python_names(cell: str) -> set[str]:
    """Returns names such as `Class.{a,b}`, `function`; other code in the cell (a call, a keyword) is an example."""
    return {name for text in marked(cell) if re.fullmatch(r"[\w.]+(\{[\w,]+\})?", text) for name in spelled(text)}


def without_reason(rows: list[dict[str, str]]) -> list[str]:
    """Returns cells with neither a counterpart nor a reason: empty ones, and dashes followed by nothing."""
    return [f"{row['header']}: {row['C++']}" for row in rows for column in ("C", "Python")
            if not row[column] or (row[column].startswith("—") and len(row[column].split()) <= FEW_WORDS)]


def missing_declarations(rows: list[dict[str, str]], headers: dict[str, str]) -> list[str]:
    found = [f"{name} has no row" for name in headers if name not in {row["header"] for row in rows}]
    for name, text in headers.items():
        said = set().union(*(words(row["C++"]) for row in rows if row["header"] == name))
        for owner, members in declarations(text).items():
            wanted = (members - OPAQUE) | ({owner} if owner else set())
            found += [f"{name}: {owner + '::' if owner else ''}{member}" for member in sorted(wanted - said)]
    return found


def public_headers() -> dict[str, str]:
    return {name.removeprefix("include/fatctx/").removesuffix(".in"): text_of(name)
            for name in cxx_files("include/") if not name.endswith(("/fatctx.h", "/loader.h")) and not name.startswith("include/fatctx/c/")}


def package() -> dict[str, set[str]]:
    """Returns the names of the Python package, and methods and properties of its classes."""
    tree = ast.parse(text_of("python/fatctx/__init__.py"))
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "_core"]
    names = {alias.name: set() for node in imported for alias in node.names}
    source = "\n".join(text_of(name) for name in matching(".cc", under=("python/src/",)))
    classes = re.split(r"nb::class_<[\w:]+>(?:\s+\w+)?\(\s*module,\s*\"(\w+)\"", source)
    for name, body in zip(classes[1::2], classes[2::2], strict=True):
        names[name] = set(re.findall(r'\.def\w*(?:<[^>]*>)?\(\s*"(\w+)"', body))
    return names


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    found = rows_of(text_of("docs/c_api.md"))
    assert len(found) >= 50
    return found


def test_every_declaration_of_a_public_header_is_in_the_table(rows):
    headers = public_headers()
    assert len(headers) >= 25
    assert missing_declarations(rows, headers) == []
    assert {row["header"] for row in rows} == set(headers), "a row names a header that is not there"


def test_every_function_of_c_is_in_the_table_and_is_one(rows):
    declared = set(FUNCTION.findall(c_header_text()))
    assert len(declared) >= 100
    assert set().union(*(c_functions(row["C"]) for row in rows)) == declared


def test_everything_of_the_python_package_is_in_the_table_and_is_there(rows):
    names = package()
    assert len(names) >= 50 and names["Container"] >= {"acquire", "records"} and names["Device"] >= {"from_text", "arch"}
    said = set().union(*(python_names(row["Python"]) for row in rows)) - {"struct", "None", "memoryview", "errors"}
    assert {name for name in said if "." not in name} == set(names)
    assert [name for name in said if "." in name and name.split(".")[1] not in names[name.split(".")[0]]] == []


def test_what_has_no_counterpart_has_a_reason(rows):
    assert without_reason(rows) == []


HEADER = """
#define X 1
namespace fatctx {
class Ahead;
enum class Word { kA, kB };
template <typename T>
struct Value { int f(int a) const { return a; } bool operator==(const Value&) const = default; int field = g(); };
class Box {
 public:
  explicit Box(int size);
  Box(const Box&) = delete;
  [[nodiscard]] Result<int> open(const char* path, const Options& options = {}) const&;
 private:
  void hidden();
};
using View = Span<int>;
[[nodiscard]] constexpr bool within(Range range) noexcept {
  if (range.size) return true;
  return false;
}
inline constexpr int kMost = most();
std::string to_text(int number);  // not_this()
}  // namespace fatctx
"""


def test_declarations_are_read_out_of_headers():
    assert declarations(HEADER) == {"": {"within", "to_text"}, "Word": set(), "Value": {"f"}, "Box": {"open"}}
    assert declarations("#define FATCTX_VERSION 1\n") == {}


def test_planted_gaps_are_found():
    table = f"{TITLE}\n| header | C++ | C | Python |\n|---|---|---|---|\n| `x.h` | `Box::open()`, `within()` | %s | `box` |\n"
    rows = rows_of(table % "`fatctx_box_{open,close}`")
    assert missing_declarations(rows, {"x.h": "namespace fatctx { bool within(int x); }"}) == []
    assert missing_declarations(rows, {"x.h": "namespace fatctx { bool beside(int x); }"}) == ["x.h: beside"]
    assert missing_declarations(rows, {"y.h": "namespace fatctx { bool within(int x); }"}) == ["y.h has no row", "y.h: within"]
    assert c_functions(rows[0]["C"]) == {"fatctx_box_open", "fatctx_box_close"}
    assert python_names("`Box.{open,name}`, `box(1)`, `a=b`, `box`") == {"Box.open", "Box.name", "box"}
    assert without_reason(rows) == []
    assert without_reason(rows_of(table % "—")) == without_reason(rows_of(table % "")) == ["x.h: `Box::open()`, `within()`"]
    assert without_reason(rows_of(table % "— a seam for native code")) == []
