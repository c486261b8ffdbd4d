"""The bindings of other languages agree with the headers, and their pages with their examples."""

import re
import sys

import pytest

from checkout import ROOT, matching, text_of
from documents_test import EXAMPLE, differing_examples

sys.path.insert(0, str(ROOT / "scripts"))
import rust_declarations  # noqa: E402 the script is not a package

FUNCTION = re.compile(r"^FATCTX_API [\w* ]*?(fatctx_\w+)\(", re.MULTILINE)
CONSTANT = re.compile(r"\b(FATCTX_[A-Z0-9_]+) = \d+|^#define (FATCTX_[A-Z_]+) \w+$", re.MULTILINE)


def headers() -> str:
    return "".join(text_of(name) for name in matching(".h", under=("include/fatctx/c/",)))


def test_the_declarations_of_rust_are_those_of_the_headers():
    made = rust_declarations.outputs()
    assert set(made) == {rust_declarations.DECLARATIONS, rust_declarations.FIELDS}
    differing = [name for name, text in made.items() if text_of(name) != text]
    assert differing == [], "run scripts/rust_declarations.py"


def test_no_declaration_of_the_headers_is_left_out():
    rust, text = text_of(rust_declarations.DECLARATIONS), headers()
    functions = FUNCTION.findall(text)
    constants = {one or other for one, other in CONSTANT.findall(text)}
    structs = re.findall(r"^typedef struct (\w+) \{", text, re.MULTILINE)
    callbacks = re.findall(r"^typedef [\w* ]+\(\*(\w+)\)\(", text, re.MULTILINE)
    assert re.findall(r"pub fn (\w+)\(", rust) == functions and len(functions) > 150
    assert set(re.findall(r"pub const (\w+):", rust)) == constants and len(constants) > 100
    assert sorted(re.findall(r"^pub struct (\w+) ", rust, re.MULTILINE)) == sorted(structs)
    assert sorted(re.findall(r"^pub type (\w+) =", rust, re.MULTILINE)) == sorted(callbacks)


HEADER = """// About the file.
#pragma once

// Says what it is.
// Errors: io.
typedef struct fatctx_thing {
  uint32_t struct_size;
  uint32_t type;  // FATCTX_THING_...; *none*,
                  // on two lines
  // Called once.
  int32_t (*map)(void* user, const void** mapped,
                 fatctx_error* error);
  char name[20];
} fatctx_thing;
enum { FATCTX_THING_A = 1, FATCTX_ERROR_B = 2 };
// Makes one.
FATCTX_API int32_t fatctx_thing_make(const char* const* names, uint8_t key[32],
                                     fatctx_thing* thing);
FATCTX_API const char* fatctx_thing_name(void);  // static storage
"""


def test_a_header_becomes_rust():
    made = rust_declarations.declarations(rust_declarations.items_of(HEADER))
    for line in ["/// Says what it is.\n///\n/// Errors: io.\n#[repr(C)]", "    pub r#type: u32,", "    pub name: [c_char; 20],",
                 "    /// FATCTX_THING_...; \\*none\\*,\n    /// on two lines\n",
                 "    /// Called once.\n    pub map: Option<unsafe extern \"C\" fn(user: *mut c_void, mapped: *mut *const c_void, "
                 "error: *mut fatctx_error) -> i32>,",
                 "pub const FATCTX_THING_A: u32 = 1;", "pub const FATCTX_ERROR_B: i32 = 2;",
                 "    /// Makes one.\n    pub fn fatctx_thing_make(names: *const *const c_char, key: *mut u8, thing: *mut fatctx_thing) -> i32;",
                 "    /// static storage\n    pub fn fatctx_thing_name() -> *const c_char;"]:
        assert line in made, (line, made)
    assert "About the file" not in made


@pytest.mark.parametrize("line", [
    "typedef union fatctx_u { int a; } fatctx_u;", "FATCTX_API int32_t fatctx_f(int (*)(void));", "enum { FATCTX_A };",
    "typedef struct fatctx_s { int a; } fatctx_s;", "int32_t fatctx_f(void);",
])
def test_a_line_that_is_not_understood_is_an_error(line):
    with pytest.raises(rust_declarations.NotUnderstood):
        rust_declarations.items_of(HEADER + line + "\n")


@pytest.mark.parametrize("page, example", [
    ("bindings/rust/README.md", "bindings/rust/fatctx/examples/choose.rs"),
    ("bindings/go/README.md", "bindings/go/examples/choose/main.go"),
    ("docs/java.md", "bindings/java/examples/Choose.java"),
])
def test_the_pages_show_the_examples_that_are_run(page, example):
    text = text_of(page)
    assert [file for file, _ in EXAMPLE.findall(text)] == [example]
    assert differing_examples(text, text_of) == []


def test_versions_agree():
    version = re.search(r"project\(fatctx VERSION ([0-9.]+)", text_of("CMakeLists.txt")).group(1)
    for crate in ("fatctx", "fatctx-sys"):
        manifest = text_of(f"bindings/rust/{crate}/Cargo.toml")
        assert f'\nversion = "{version}"\n' in manifest and '\nrust-version = "1.63"\n' in manifest
    assert f'path = "../fatctx-sys", version = "{version}"' in text_of("bindings/rust/fatctx/Cargo.toml")
    assert f'"fatctx >= {version}"' in text_of("bindings/rust/fatctx-sys/build.rs")
    assert "lacks_toolchain Rust 1.63 " in text_of("scripts/lane.sh") and "lacks_toolchain Go 1.19 " in text_of("scripts/lane.sh")
    assert "\ngo 1.19\n" in text_of("bindings/go/go.mod")
    assert "lacks_toolchain Java 17 " in text_of("scripts/lane.sh")
    assert "bindings  openjdk-17-jdk-headless\n" in text_of("scripts/apt-packages.txt")


def test_nothing_is_downloaded():
    lock = text_of("bindings/rust/Cargo.lock")
    assert re.findall(r'^name = "(.*)"$', lock, re.MULTILINE) == ["fatctx", "fatctx-sys"] and "source =" not in lock
    assert "require" not in text_of("bindings/go/go.mod")


def test_go_names_every_code():
    codes = set(re.findall(r"\b(FATCTX_ERROR_\w+) = \d+", headers()))
    assert set(re.findall(r"= C\.(FATCTX_ERROR_\w+)$", text_of("bindings/go/error.go"), re.MULTILINE)) == codes and len(codes) >= 36


JAVA = "bindings/java/src/main/java/dev/fatctx/"


@pytest.mark.parametrize("file, prefix", [("ErrorCode", "FATCTX_ERROR_"), ("RecordType", "FATCTX_RECORD_"),
                                          ("DType", "FATCTX_DTYPE_"), ("Level", "FATCTX_LEVEL_")])
def test_java_has_the_numbers_of_the_headers(file, prefix):
    wanted = dict(re.findall(rf"\b{prefix}(\w+) = (\d+)", headers()))
    named = dict(re.findall(r"^    (\w+)\((\d+)(?:, \d+)?\)[,;]$", text_of(f"{JAVA}{file}.java"), re.MULTILINE))
    assert named == {**wanted, "UNKNOWN": "0"} and len(wanted) >= 4


def test_java_page_lists_the_exception_of_each_code():
    page = text_of("docs/java.md")
    listed = {code: name for name, codes in re.findall(r"^\| `(\w+Exception)`[^|]*\| (`.*`) \|$", page, re.MULTILINE)
              for code in re.findall(r"`(\w+)`", codes)}
    arms = re.findall(r"((?:            case \w+:\n)+) +return new (\w+)\(", text_of(JAVA + "FatctxException.java"))
    made = {code.lower(): name for cases, name in arms for code in re.findall(r"case (\w+):", cases)}
    assert listed == made and len(made) > 20
    assert {name for name in made.values()} == {name.rsplit("/", 1)[1].removesuffix(".java") for name in matching(
        "Exception.java", under=(JAVA,))} - {"FatctxException"}


def test_the_names_that_the_native_library_finds_are_kept():
    rules = text_of("bindings/java/consumer-rules.pro")
    found = re.findall(r'"(dev/fatctx/\w+)"', "".join(text_of(name) for name in matching(".cc", under=("bindings/java/jni/",))))
    assert sorted(found) == sorted(name.replace(".", "/") for name in re.findall(r"-keep class (\S+) ", rules))
