"""Functions that bionic lacks at API level 28 (Android 9) are called in one guarded place each, so that everything
else compiles there. `./check --lane android` tries it with an NDK; this test needs none. Shows S3.2."""

import re

import pytest

from checkout import cxx_files, text_of

# The API level at which bionic introduced each.
NEWER = {"memfd_create": 30, "renameat2": 30, "statx": 30, "mlock2": 30, "pidfd_open": 31, "copy_file_range": 34,
         "close_range": 34, "posix_spawn_file_actions_addchdir_np": 34, "qsort_r": 36, "pthread_cancel": None,
         "backtrace": 33, "gai_strerror_r": None, "fexecve_np": None}
GUARD = re.compile(r"#if[^\n]*__ANDROID_API__ < (\d+)(.*?)#else(.*?)#endif", re.DOTALL)


def unguarded(text: str) -> list[str]:
    """Returns calls of such functions outside the branch that a guard reserves for newer systems."""
    rest = GUARD.sub(lambda guard: guard[2] if int(guard[1]) >= 30 else guard[0], text)
    rest = re.sub(r"//[^\n]*", "", rest)
    return [name for name in NEWER if re.search(rf"(?<![\w.>:])(::)?{name}\s*\(", rest)]


def test_functions_that_android_9_lacks_are_behind_a_guard():
    files = [name for name in cxx_files("src/") if not name.endswith(("_darwin.cc", "_win32.cc"))]
    assert len(files) > 150
    assert {name: unguarded(text_of(name)) for name in files if unguarded(text_of(name))} == {}


def test_the_guards_are_there():
    guarded = [name for name in cxx_files("src/mapping/") if GUARD.search(text_of(name))]
    assert len(guarded) >= 2


@pytest.mark.parametrize("line", ["int fd = ::memfd_create(\"x\", 0);", "return renameat2(a, b, c, d, 0);",
                                  "#if defined(__ANDROID__) && __ANDROID_API__ < 28\nf();\n#else\nmemfd_create(n, 0);\n#endif"])
def test_a_planted_call_is_found(line):
    assert unguarded(line) != []
