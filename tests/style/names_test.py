"""No name of this code is one that the C++ standard reserves: a leading underscore and a capital, or two underscores."""

import re

from checkout import code_only, cxx_files, line_of, text_of

RESERVED = re.compile(r"\b(?:_[A-Z]\w*|\w*__\w*)\b")
# Names of compilers, systems and libraries, which code must use.
OF_OTHERS = {
    "__cplusplus", "__APPLE__", "__ANDROID__", "__ANDROID_API__", "__aarch64__", "__x86_64__", "__linux__", "_WIN32", "__cpp_exceptions", "__GLIBC__", "__GNUC__",
    "__LINE__", "__has_include", "__attribute__", "__asm__", "__declspec", "_SC_PAGESIZE", "__system_property_get", "__get_cpuid_count",
    "__wrap_mbrtowc",  # the linker makes this name
}


def reserved_names(text: str) -> list[str]:
    code = code_only(text)
    return [f"line {line_of(code, match.start())}: {match[0]}" for match in RESERVED.finditer(code) if match[0] not in OF_OTHERS]


def test_no_name_is_reserved():
    names = cxx_files("include", "src", "tools", "python", "bench")
    assert len(names) > 300
    found = {name: reserved_names(text_of(name)) for name in names}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_reserved_names_are_seen():
    text = 'int _Size;\nint a__b;  // __comment\nconst char* text = "__text";\n#ifdef __linux__\n#endif\nint size_;\n'
    assert reserved_names(text) == ["line 1: _Size", "line 2: a__b"]
