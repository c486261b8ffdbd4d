"""The Debian packages are about these sources: the same version, and the same functions of the C interface."""

import re

from checkout import matching, text_of

VERSION = re.search(r"project\(fatctx VERSION ([0-9.]+)", text_of("CMakeLists.txt")).group(1)


def test_the_newest_entry_of_the_changelog_has_the_version_of_the_sources():
    assert text_of("packaging/debian/changelog").startswith(f"fatctx ({VERSION}-")


def test_the_list_of_symbols_has_the_functions_of_the_headers():
    """A new function gets a line with the version that brings it, or the build of the packages stops."""
    listed = re.findall(r"^ (fatctx_\w+)@Base (\S+)$", text_of("packaging/debian/libfatctx1.symbols"), re.MULTILINE)
    declared = {name for header in matching(".h", under=("include/fatctx/c/",))
                for name in re.findall(r"^FATCTX_API\s[^;(]*?\b(fatctx_\w+)\(", text_of(header), re.MULTILINE)}
    assert len(declared) > 150
    assert {name for name, _ in listed} == declared
    assert [name for name, _ in listed] == sorted(declared)
    assert all([int(part) for part in since.split(".")] <= [int(part) for part in VERSION.split(".")] for _, since in listed)


def test_recipes_have_the_version_of_the_sources():
    assert f'"version": "{VERSION}"' in text_of("packaging/vcpkg/fatctx/vcpkg.json")
    assert f'version = "{VERSION}"' in text_of("packaging/conan/conanfile.py")
