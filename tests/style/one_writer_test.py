"""Only the appender, and the code that restores damaged copies from good ones, change a published container in
place. Crash states and mutants of the commit protocol do not cover any other code."""

import re

import pytest

from checkout import code_only, cxx_files, line_of, text_of

# Calls that only the named files may contain, and the file that declares the function.
ONLY = {
    "makes sectors of the header": (re.compile(r"(?<![\w:])(slot_sector|mirrored_slot|void_slot_sector|prologue_sector)\s*\("),
                                  {"src/container/write/header_build.h", "src/container/write/header_build.cc",
                                   "src/container/edit/appender.cc", "src/container/edit/restore.cc"}),
    "makes a header": (re.compile(r"(?<![\w:])first_header\s*\("),
                       {"src/container/write/header_build.h", "src/container/write/header_build.cc",
                        "src/container/write/publish_records.cc", "src/container/edit/sign.cc"}),
    "opens a published file for writing": (re.compile(r"\bopen_for_appending\s*\("),
                                           {"src/mapping/append_file.h", "src/mapping/append_file.cc",
                                            "src/mapping/append_file_posix.cc",
                                            "src/mapping/append_file_win32.cc", "src/container/edit/appender.cc",
                                            "src/container/edit/repair.cc"}),
    "writes to what is open as a file": (re.compile(r"(?:\.|->)write_at\s*\("),
                                         {"src/container/edit/appender.cc", "src/container/edit/restore.cc",
                                          "src/container/write/publish_records.cc",
                                          "src/container/write/copy_payload.cc", "src/container/write/digests.cc",
                                          # Gives a file that was cut its length back, and writes leaves over bytes
                                          # that no reader takes for good:
                                          "src/container/edit/repair.cc", "src/container/edit/synced_file.cc",
                                          # The unfinished file of a fetch, which nobody opens; a repair's leaves:
                                          "src/container/fetch/partial_fetch.cc",
                                          "src/container/fetch/wanted_leaves.cc", "src/mapping/write_zeros.h",
                                          # Files that are new and have no name yet:
                                          "src/container/update/make_update.cc", "src/container/update/made_file.cc",
                                          "src/container/update/make_block_index.cc",
                                          "src/container/edit/sign.cc", "src/container/edit/key_files.cc",
                                          "src/container/dlc/cut.cc", "src/runtime/inspect/extract.cc",
                                          "src/runtime/inspect/stored_dlc.cc", "src/runtime/view/view_cache.cc"}),
    "cuts a file": (re.compile(r"\b(ftruncate|truncate|resize_file|SetEndOfFile)\s*\("),
                    {"src/mapping/sealed_memory_darwin.cc"}),  # memory that has no name
}


def violations(name: str, text: str) -> list[str]:
    code = code_only(text)
    return [f"{name}:{line_of(code, found.start())}: {what}" for what, (pattern, allowed) in ONLY.items()
            if name not in allowed for found in pattern.finditer(code)]


def test_only_the_appender_writes_into_a_published_file():
    names = cxx_files("include/", "src/", "tools/", "python/src/")
    assert len(names) >= 20, "the search found too few files to mean anything"
    assert [bad for name in names for bad in violations(name, text_of(name))] == []


def test_the_named_files_are_there_and_do_it():
    for what, (pattern, allowed) in ONLY.items():
        missing = [name for name in allowed if name in cxx_files("src/") and not pattern.search(code_only(text_of(name)))]
        assert missing == [], f"nothing there {what} any more"


@pytest.mark.parametrize("line", [
    "FATCTX_TRY(file->write_at(kSlotOffsets[0], page));", "const auto page = slot_sector(1, uuid, facts);",
    "auto header = first_header(uuid, 16, 12, facts);", "auto file = mapping::open_for_appending(path);",
    "if (::ftruncate(fd, 0) != 0) return;", "std::filesystem::resize_file(path, 3);",
    "const auto page = mirrored_slot(good, 2, uuid);",
])
def test_a_planted_second_writer_is_found(line):
    assert violations("src/container/second.cc", f"{line}\n")


def test_words_about_it_are_none():
    assert violations("src/container/x.cc", '// write_at(0) is for others\nconst char* t = "slot_page(";\n') == []
