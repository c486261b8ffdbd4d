#!/usr/bin/env python3
"""Writes the Rust declarations of the C interface from its headers: bindings/rust/fatctx-sys.

    scripts/rust_declarations.py          writes the files
    scripts/rust_declarations.py --check  compares them, and exits with 1 if one differs

The headers have one style, so a small reader suffices, and a build of the crate needs no generator. It refuses every line
that it does not understand. The tests of the crate compare its result with a C compiler's view of the headers.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
HEADERS = "include/fatctx/c"
DECLARATIONS = "bindings/rust/fatctx-sys/src/declarations.rs"
FIELDS = "bindings/rust/fatctx-sys/tests/layout/fields.rs"

BASIC = {
    "void": "c_void", "char": "c_char", "int": "c_int", "size_t": "usize",
    "int32_t": "i32", "int64_t": "i64",
    "uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64",
}
# Parameter and field names that are words of Rust.
KEYWORDS = {"type", "ref", "move", "match", "in", "use", "self", "box", "fn", "mod"}
KEYS = re.compile(r"(Errors|Ownership|Threads|Lifetime|Requires|Cost|Alignment)\b[^:]{0,24}:")


class Field(NamedTuple):
    name: str
    type: str
    doc: list[str]


class Item(NamedTuple):
    kind: str  # struct, constant, callback, function
    name: str
    doc: list[str]
    type: str = ""  # of a constant, or the result of a function
    value: str = ""
    fields: tuple[Field, ...] = ()  # or parameters


class NotUnderstood(ValueError):
    """A line of a header that is not in the style of the headers."""


def rust_type(c: str) -> str:
    """Returns the Rust type of a C type without a declarator: "const char* const*"."""
    words = re.findall(r"const|\*|\w+", c)
    base, constant, pointers = None, False, []
    for word in words:
        if word == "*":
            pointers.append(constant)
            constant = False
        elif word == "const":
            constant = True
        elif base is None:
            base = word
        else:
            raise NotUnderstood(c)
    if base is None:
        raise NotUnderstood(c)
    rust = BASIC.get(base, base)
    if not pointers and base == "void":
        return "()"
    for constant in pointers:
        rust = f"*{'const' if constant else 'mut'} {rust}"
    return rust


def rust_name(name: str) -> str:
    return f"r#{name}" if name in KEYWORDS else name


def split_parameters(text: str) -> list[str]:
    """Splits at commas that are not inside parentheses."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return parts + [last] if last and last != "void" else parts


def declared(text: str, is_parameter: bool) -> Field:
    """Reads "const uint64_t* shape", "char rule[20]", "int32_t (*map)(void* user)"."""
    function = re.fullmatch(r"([\w* ]+?)\s*\(\*(\w+)\)\((.*)\)", text)
    if function:
        result, name, parameters = function.groups()
        return Field(name, function_pointer(result, parameters), [])
    match = re.fullmatch(r"([\w* ]+?[* ])(\w+)(?:\[(\d+)\])?", text)
    if not match:
        raise NotUnderstood(text)
    kind, name, count = match.groups()
    if not count:
        return Field(name, rust_type(kind), [])
    if is_parameter:  # an array parameter is a pointer
        return Field(name, rust_type(kind + "*"), [])
    return Field(name, f"[{rust_type(kind)}; {count}]", [])


def function_pointer(result: str, parameters: str) -> str:
    listed = ", ".join(f"{rust_name(field.name)}: {field.type}"
                       for field in (declared(part, True) for part in split_parameters(parameters)))
    arrow = "" if rust_type(result) == "()" else f" -> {rust_type(result)}"
    return f"Option<unsafe extern \"C\" fn({listed}){arrow}>"


def fields_of(body: list[str]) -> list[Field]:
    """Reads the lines of a struct. A comment behind a field belongs to it, with the lines below in the same column."""
    found: list[Field] = []
    above: list[str] = []
    pending = ""
    column = -1
    for line in body:
        alone = re.fullmatch(r"(\s*)//\s?(.*)", line)
        if alone:
            if column == len(alone[1]):
                found[-1].doc.append(alone[2])
            else:
                above.append(alone[2])
                column = -1
            continue
        code, _, comment = line.partition("//")
        pending += " " + code.strip()
        column = -1
        if not pending.rstrip().endswith(";"):
            if comment:
                raise NotUnderstood(line)
            continue
        field = declared(pending.strip().rstrip(";").strip(), False)
        found.append(Field(field.name, field.type, above + ([comment.strip()] if comment else [])))
        column = line.find("//")
        above, pending = [], ""
    if pending or above:
        raise NotUnderstood(pending or above[0])
    return found


def items_of(header: str) -> list[Item]:
    """Reads the declarations of a header, in their order."""
    found: list[Item] = []
    doc: list[str] = []
    used = False  # a declaration has followed the comment; neighbours without a blank line between them share it
    for line in (lines := iter(re.sub(r"\\\n", " ", header).split("\n"))):
        if line.startswith("//"):
            doc = [] if used else doc
            used = False
            doc = doc + [line[2:].removeprefix(" ")]
            continue
        if not line.strip():
            doc = []
            continue
        if line.startswith(("#if", "#endif", "#include", "#pragma", "#else", "extern \"C\"", "}  // extern", "#define FATCTX_API")):
            continue
        define = re.fullmatch(r"#define (FATCTX_\w+) (\w+)", line)
        if define:
            found.append(Item("constant", define[1], doc, "u32", define[2].rstrip("uU")))
            used = True
            continue
        if line.startswith("typedef struct"):
            opened = re.fullmatch(r"typedef struct (\w+) \{(?:\s*// (.*))?", line)
            if not opened:
                raise NotUnderstood(line)
            body = []
            for line in lines:
                if line.startswith("}"):
                    break
                body.append(line)
            if line != f"}} {opened[1]};":
                raise NotUnderstood(line)
            found.append(Item("struct", opened[1], doc + ([opened[2]] if opened[2] else []), fields=tuple(fields_of(body))))
            used = True
            continue
        statement, comments = "", []
        while True:
            code, _, comment = line.partition("//")
            statement += " " + code.strip()
            if comment:
                comments.append(comment.strip())
            if statement.rstrip().endswith(";"):
                break
            line = next(lines, None)
            if line is None:
                raise NotUnderstood(statement)
        statement = statement.strip().rstrip(";").strip()
        enum = re.fullmatch(r"enum \{(.*)\}", statement)
        callback = re.fullmatch(r"typedef ([\w* ]+?)\s*\(\*(\w+)\)\((.*)\)", statement)
        function = re.fullmatch(r"FATCTX_API ([\w* ]+?[* ])(\w+)\((.*)\)", statement)
        if enum:
            for part in split_parameters(enum[1]):
                constant = re.fullmatch(r"(FATCTX_\w+) = (\d+)", part)
                if not constant:
                    raise NotUnderstood(part)
                signed = constant[1] == "FATCTX_OK" or constant[1].startswith("FATCTX_ERROR_")
                found.append(Item("constant", constant[1], doc, "i32" if signed else "u32", constant[2]))
        elif callback:
            found.append(Item("callback", callback[2], doc, function_pointer(callback[1], callback[3])))
        elif function:
            parameters = tuple(declared(part, True) for part in split_parameters(function[3]))
            found.append(Item("function", function[2], comments if used and comments else doc + comments, rust_type(function[1]), fields=parameters))
        else:
            raise NotUnderstood(statement)
        used = True
    return found


def rustdoc(lines: list[str], indent: str) -> str:
    """Returns the comment as rustdoc: a key such as "Errors:" begins a paragraph, and signs of Markdown are escaped."""
    shown = ""
    for at, line in enumerate(lines):
        parts = line.strip().split("`")
        if len(parts) % 2:  # every second part is code
            parts[::2] = [re.sub(r"([\[\]<>*])", r"\\\1", part) for part in parts[::2]]
        text = "`".join(parts) if len(parts) % 2 else re.sub(r"([\[\]<>*`])", r"\\\1", line.strip())
        if at and KEYS.match(text):
            shown += f"{indent}///\n"
        shown += f"{indent}/// {text}".rstrip() + "\n"
    return shown


HEAD = """// Made by scripts/rust_declarations.py from the headers in include/fatctx/c. Change those, and run it again.

use std::os::raw::{c_char, c_int, c_void};

"""


def struct_text(item: Item) -> str:
    is_handle = [field.name for field in item.fields] == ["id"]
    derived = "Clone, Copy, Debug, Default, PartialEq, Eq, Hash" if is_handle else "Clone, Copy, Debug"
    shown = rustdoc(item.doc, "") + f"#[repr(C)]\n#[derive({derived})]\npub struct {item.name} {{\n"
    for field in item.fields:
        shown += rustdoc(field.doc, "    ") + f"    pub {rust_name(field.name)}: {field.type},\n"
    shown += "}\n\n"
    if is_handle:
        return shown
    if item.fields[0].name == "struct_size":
        shown += "/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.\n"
        body = "        let mut made: Self = unsafe { std::mem::zeroed() };\n" \
               "        made.struct_size = std::mem::size_of::<Self>() as u32;\n        made\n"
    else:
        body = "        unsafe { std::mem::zeroed() }\n"
    return shown + f"impl Default for {item.name} {{\n    fn default() -> Self {{\n{body}    }}\n}}\n\n"


def declarations(items: list[Item]) -> str:
    shown = HEAD
    for item in items:
        if item.kind == "constant":
            shown += rustdoc(item.doc, "") + f"pub const {item.name}: {item.type} = {item.value};\n"
        elif item.kind == "callback":
            shown += "\n" + rustdoc(item.doc, "") + f"pub type {item.name} = {item.type};\n\n"
        elif item.kind == "struct":
            shown += "\n" + struct_text(item)
    shown += "\nextern \"C\" {\n"
    for item in items:
        if item.kind == "function":
            listed = ", ".join(f"{rust_name(field.name)}: {field.type}" for field in item.fields)
            arrow = "" if item.type == "()" else f" -> {item.type}"
            shown += rustdoc(item.doc, "    ") + f"    pub fn {item.name}({listed}){arrow};\n"
    return re.sub(r"\n{3,}", "\n\n", shown) + "}\n"


def field_list(items: list[Item]) -> str:
    shown = "// Made by scripts/rust_declarations.py: every struct with its fields, and every constant.\n\nlayout! {\n"
    for item in items:
        if item.kind == "struct":
            shown += f"    {item.name} {{ {', '.join(rust_name(field.name) for field in item.fields)} }}\n"
    shown += "}\n\nconstants! {\n"
    shown += "".join(f"    {item.name},\n" for item in items if item.kind == "constant")
    return shown + "}\n"


def all_items(root: Path = ROOT) -> list[Item]:
    headers = sorted((root / HEADERS).glob("*.h"))
    if not headers:
        raise NotUnderstood(f"{root / HEADERS} has no headers")
    return [item for header in headers for item in items_of(header.read_text(encoding="utf-8"))]


def outputs() -> dict[str, str]:
    items = all_items()
    return {DECLARATIONS: declarations(items), FIELDS: field_list(items)}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    differing = []
    for name, text in outputs().items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        differing.append(name)
        if not arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in differing:
        print(f"{name}: differs from the headers; run scripts/rust_declarations.py" if arguments else f"{name}: written")
    return 1 if arguments and differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
