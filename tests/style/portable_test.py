"""Portable sources use standard C++ only: extensions of some compilers appear only in code for one system."""

from __future__ import annotations

import re

import pytest

from checkout import cxx_files, text_of

# MSVC knows none of these.
ONLY_SOME_KNOW = re.compile(r"__attribute__|__builtin_\w+|__int128|\b(?:__)?typeof\b|__restrict__|__PRETTY_FUNCTION__|"
                            r"\b(?:__)?asm(?:__)?\s*(?:volatile\s*)?\(|#\s*pragma\s+(?:GCC|clang)|#\s*include_next")
GUARD = re.compile(r"__GNUC__|__clang__|_WIN32|__linux__|__APPLE__|__unix__|__x86_64__|__aarch64__|_MSC_VER|__SANITIZE|__has_feature")
OF_ONE_SYSTEM = re.compile(r"_(posix|linux|darwin|win32)(_\w+)?\.(cc|h)$")


def findings(text: str) -> list[str]:
    """Returns the lines with such a word outside any #if about compiler or system."""
    found, guards = [], []
    for number, line in enumerate(text.splitlines(), 1):
        directive = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)", line)
        if directive and directive[1].startswith("if"):
            guards.append(bool(GUARD.search(directive[2])))
        elif directive and directive[1] == "endif" and guards:
            guards.pop()
        elif not any(guards) and ONLY_SOME_KNOW.search(re.sub(r"//.*|\"(?:[^\"\\]|\\.)*\"", "", line)):
            found.append(f"{number}: {line.strip()}")
    return found


def test_sources_keep_to_the_standard():
    names = [name for name in cxx_files("include/", "src/", "tools/", "samples/") if not OF_ONE_SYSTEM.search(name)]
    assert len(names) > 300
    assert {name: found for name in names if (found := findings(text_of(name)))} == {}


@pytest.mark.parametrize("line", ["int f() __attribute__((pure));", "if (__builtin_expect(x, 0)) {", "__int128 n;", "typeof(x) y;",
                                  "#pragma GCC diagnostic push",
                                  "asm volatile(\"\");"])
def test_what_only_some_compilers_know_is_found(line):
    assert findings(f"int a;\n{line}\n") == [f"2: {line}"]
    assert findings(f"#if defined(__GNUC__)\n{line}\n#endif\n") == []
    assert findings(f"#if defined(SOMETHING)\n{line}\n#endif\n") == [f"2: {line}"]
