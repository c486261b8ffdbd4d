"""The parts of the documentation site that need none of its tools: reading headers, stubs and the command, the form of documents, the
checks of a built site, versions, and the set-up. ./check --lane site builds the site itself."""

import json
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "site"), str(ROOT / "tests/style")]

import check_site  # noqa: E402
import commands  # noqa: E402
import example_report  # noqa: E402
import counterparts  # noqa: E402
import headers  # noqa: E402
import markdown_form  # noqa: E402
import pages  # noqa: E402
import prose  # noqa: E402
import python_reference  # noqa: E402
import reference  # noqa: E402
import schema_pages  # noqa: E402
import versions  # noqa: E402


@pytest.fixture(scope="module")
def public():
    """Returns the headers and the names with their places."""
    all_headers, symbols = reference.headers(ROOT), prose.Symbols()
    reference.collect(all_headers, symbols)
    return all_headers, symbols


def test_every_function_of_c_has_its_place_on_the_page_of_its_header(public):
    for path in sorted((ROOT / "include/fatctx/c").glob("*.h")):
        declared = re.findall(r"FATCTX_API [\w* ]+?\b(fatctx_\w+)\(", path.read_text(encoding="utf-8"))
        for name in declared:
            assert public[1].places[name] == f"reference/c/{path.stem}.md#{name}"
    assert len([name for name in public[1].places if name.startswith("fatctx_")]) > 150


# counterparts.py reads the headers in another way, for the table of counterparts.
def test_every_type_and_function_of_cxx_has_its_place(public):
    shown = 0
    for header in public[0]:
        if reference.is_c(header.path):
            continue
        text = reference.page(header, public[1])
        for owner, names in counterparts.declarations((ROOT / "include" / header.path).read_text(encoding="utf-8")).items():
            assert not owner or owner in public[1].places, owner
            for name in names - {"impl"}:  # the library's own files alone use it
                assert re.search(rf"\b{name}\(", text), f"{header.path}: {owner}::{name}"
                shown += 1
    assert shown > 200


def test_a_page_has_each_anchor_once_and_every_line_of_code_of_its_header(public):
    for header in public[0]:
        text = reference.page(header, public[1])
        anchors = re.findall(r'\{ #(\S+) \}|<a id="([^"]+)">', text)
        names = [one or other for one, other in anchors]
        assert len(names) == len(set(names)), header.path


def test_comments_become_prose_with_links_and_bold_keys():
    symbols = prose.Symbols({"Container.acquire": "reference/cpp/container.md#Container.acquire", "RecordView": "reference/cpp/view.md#RecordView"})
    text = prose.markdown("Makes a RecordView of <one> record; see docs/errors.md.\n\nErrors: those of Container::acquire; not_found.\n"
                          "        A second line.\n- first\n- second", symbols, "reference/cpp/model.md")
    assert text == ("Makes a [`RecordView`](view.md#RecordView) of \\<one\\> record; see [docs/errors.md](../../docs/errors.md).\n\n"
                    "**Errors:** those of [`Container::acquire`](container.md#Container.acquire); `not_found`. A second line.\n\n- first\n- second")


def test_one_comment_covers_the_declarations_up_to_the_next_empty_line():
    header = headers.read("x.h", "// About x.\n#pragma once\n\n#include <a>\n\nnamespace fatctx {\n\n// Open and close.\nint open_it(int a,\n            int b);\n"
                                 "void close_it() noexcept;  // always\n\nclass Thing {\n public:\n  // Says how many.\n  int count() const { return 1; }\n\n private:\n"
                                 "  int hidden_ = 0;\n};\n\n}  // namespace fatctx\n")
    opened, thing = header.items
    assert (opened.names, opened.comment) == (["open_it", "close_it"], "Open and close.")
    assert opened.code == "int open_it(int a,\n            int b);\nvoid close_it() noexcept;  // always"
    assert [(one.names, one.code, one.comment) for one in thing.members] == [(["count"], "int count() const;", "Says how many.")]


def test_a_header_that_the_site_does_not_understand_ends_the_build():
    with pytest.raises(headers.NotUnderstood, match="x.h"):
        headers.read("x.h", "// About.\n#pragma once\nnamespace fatctx {\nint f(int a\n}  // namespace fatctx\n")


def test_a_comment_that_names_a_function_nobody_declares_is_found(public):
    planted = headers.read("fatctx/c/x.h", "// Closes; see fatctx_no_such_call() and fatctx_view_close().\n#pragma once\n")
    assert reference.unknown_functions(public[0], public[1]) == []
    assert reference.unknown_functions([planted], public[1]) == ["fatctx/c/x.h: fatctx_no_such_call()"]


STUB = '''class Model:
    """A file with the target chosen.

    Threads: every method from any number of threads.
    """
    @property
    def path(self) -> str:
        """Its path."""
    def session(self) -> Session:
        """Begins a session. Raises NotFound."""
    def _hidden(self) -> None: ...
class Session: ...
'''


def test_python_pages_come_from_stubs_and_docstrings():
    modules = python_reference.modules(ROOT, STUB)
    symbols = prose.Symbols()
    python_reference.collect(modules, symbols)
    page = next(module for module in modules if module.title == "Models and sessions")
    text = python_reference.page(page, symbols)
    assert "## Model { #fatctx.Model }" in text and "### session { #fatctx.Model.session }" in text and "_hidden" not in text
    assert "```python\nsession() -> Session\n```" in text and "| `str` | Its path. |" in text
    assert "[`NotFound`](errors_module.md#fatctx.errors.NotFound)" in text
    errors = next(module for module in modules if module.title == "fatctx.errors")
    assert "ChecksumMismatch" in python_reference.page(errors, symbols)


def test_a_stub_of_another_version_ends_the_build(tmp_path):
    (tmp_path / "python/src").mkdir(parents=True)
    (tmp_path / "python/fatctx").mkdir()
    (tmp_path / "python/fatctx/__init__.py").write_text('"""x"""\n__all__ = ["Model"]\n')
    with pytest.raises(ValueError, match="python/src binds no Model"):
        python_reference.modules(tmp_path, STUB)


COMMAND = {"name": "pack", "purpose": "Put binaries into one container", "synopsis": "fatctx pack MANIFEST -o OUT", "examples": ["fatctx pack m.json -o m.fatctx"],
           "more": "", "positionals": [{"names": ["MANIFEST"], "text": "Records", "type": "MANIFEST", "values": [], "required": False, "repeats": False}],
           "options": [{"names": ["-o", "--output"], "text": "The container | file", "type": "OUT", "values": [], "required": True, "repeats": False},
                       {"names": ["--sharing"], "text": "How", "type": "HOW", "values": ["pages", "off"], "required": False, "repeats": True}]}


def test_command_pages_have_what_the_command_says_of_itself():
    known = commands.guides((ROOT / "docs/cli/README.md").read_text(encoding="utf-8"))
    text = commands.page(COMMAND, known["pack"], "0.1.0")
    assert "| `-o`, `--output` `OUT` | The container \\| file (required) |" in text
    assert "| `--sharing` `HOW` | How (repeatable). One of: `pages`, `off` |" in text
    assert "](../../docs/cli/pack.md#fatctx-pack)" in text and "$ fatctx pack m.json -o m.fatctx" in text


def test_schema_pages_list_members_of_members():
    text = schema_pages.page("ls.json", (ROOT / "docs/schemas/ls.json").read_text(encoding="utf-8"))
    assert text.startswith("# `fatctx.ls/1`: Records of a container\n")
    assert "| `records[].id` | integer | Number of the record. |" in text and '"$id": "urn:fatctx:ls:1"' in text


@pytest.mark.parametrize("given, wanted", [
    ("text:\n- a\n  more\n- b", "text:\n\n- a\n    more\n- b"),
    ("1. one\n   - in\n     it\n2. two", "1. one\n    - in\n        it\n2. two"),
    ("- a\n\n  ```\n  code\n    deep\n  ```\n", "- a\n\n    ```\n    code\n      deep\n    ```\n"),
    ("with code\n5. If", "with code\n5. If"),
    ("text\n| a |\n|---|\n| `x\\|y` |", "text\n\n| a |\n|---|\n| <code>x&#124;y</code> |"),
    ("```\n- not a list\n| nor a table\n```", "```\n- not a list\n| nor a table\n```"),
])
def test_documents_are_brought_into_the_form_of_the_site(given, wanted):
    assert markdown_form.for_site(given) == wanted


def site_of(folder: pathlib.Path, **texts: str) -> pathlib.Path:
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


def findings_of(folder: pathlib.Path, name: str) -> list[str]:
    known = {path.name: check_site.Page(path.read_text(encoding="utf-8")) for path in folder.glob("*.html")}
    return check_site.link_findings(name, known[name], known, folder.resolve())


def test_links_of_a_built_site_are_checked(tmp_path):
    site_of(tmp_path, a='<a href="b.html#there">x</a><a href="#own"></a><p id="own"></p><a href="https://example.org/">y</a>', b='<p id="there"></p>',
            c='<a href="gone.html"></a><a href="b.html#gone"></a><a href="/b.html"></a><a href="../b.html"></a>'
              '<script src="https://example.org/x.js"></script><link rel="stylesheet" href="//example.org/y.css">')
    assert findings_of(tmp_path, "a.html") == []
    found = "\n".join(findings_of(tmp_path, "c.html"))
    for part in ("gone.html leads to no file", "b.html#gone leads to no such place", "/b.html depends on where", "../b.html leads to no file",
                 "loads https://example.org/x.js", "loads //example.org/y.css"):
        assert part in found
    assert len(found.splitlines()) == 6


def test_a_page_that_shows_other_blocks_than_its_document_is_found():
    document = "# T\n\ntext\n\n- a\n- b\n\n| x |\n|---|\n| `y` |\n"
    shown = "<article><h1>T<a class='headerlink'>#</a></h1><p>text</p><ul><li>a</li><li>b</li></ul><table><tr><th>x</th></tr><tr><td><code>y</code></td></tr>" \
            "</table></article>"
    assert check_site.shown_findings("t.md", document, check_site.Page(shown)) == []
    assert check_site.shown_findings("t.md", document, check_site.Page(shown.replace("<li>b</li>", "")))
    assert check_site.shown_findings("t.md", document, check_site.Page(shown.replace("<code>y</code>", "y z")))


def test_every_document_is_staged_with_links_to_pages():
    documents, extra = set(pages.documents(ROOT)), set()
    for name in sorted(documents):
        pages.staged(name, ROOT, documents, extra)
    assert {"docs/errata.md", "docs/determinism.md", "README.md"} <= documents and "docs/decisions/template.md" not in documents
    assert "docs/schemas/info.json" in extra and "LICENSE" in extra
    assert all(pages.file_page(name, ROOT).count("\n# ") + pages.file_page(name, ROOT).startswith("# ") >= 1 for name in extra)


def test_the_navigation_names_every_page_once():
    wanted = [{"A": ["docs/a.md", "docs/*.md"]}, "b.md"]
    pages.NAMED.clear()
    pages.NAMED.update(pages.names_in(wanted))
    known = {"docs/a.md", "docs/b.md", "b.md", "c.md"}
    left = set(known)
    assert pages.navigation(wanted, known, left) == [{"A": ["docs/a.md", "docs/b.md"]}, "b.md"]
    assert left == {"c.md"}
    with pytest.raises(SystemExit, match="no page matches gone.md"):
        pages.navigation(["gone.md"], known, set(known))


def test_versions_stand_side_by_side_and_the_newest_is_latest(tmp_path):
    for version in ("0.9.1", "0.10.0", "0.9.2"):
        (tmp_path / "site").mkdir(exist_ok=True)
        (tmp_path / "site/index.html").write_text(version, encoding="utf-8")
        versions.place(tmp_path / "site", version, tmp_path / "all")
    listed = json.loads((tmp_path / "all/versions.json").read_text(encoding="utf-8"))
    assert [(one["version"], one["title"], one["aliases"]) for one in listed] == [("0.10", "0.10.0", ["latest"]), ("0.9", "0.9.2", [])]
    assert [(tmp_path / "all" / name / "index.html").read_text() for name in ("0.9", "0.10", "latest")] == ["0.9.2", "0.10.0", "0.10.0"]
    assert "latest/index.html" in (tmp_path / "all/index.html").read_text(encoding="utf-8")


def test_without_tools_the_setup_says_what_is_missing(machine):
    (machine.checkout / "site").mkdir()
    (machine.checkout / "site/requirements.txt").write_text("mkdocs==1\n")

    done = machine.run("scripts/site_setup.sh", "--no-install")

    assert done.returncode == 5
    assert done.stdout.strip() == "skipped: site: build/site-tools does not hold what site/requirements.txt asks for, and --no-install forbids it"


def test_the_page_about_reports_gets_a_link_to_one_before_its_first_table():
    text = (ROOT / "docs/report.md").read_text(encoding="utf-8")
    linked = example_report.with_link(text)
    assert linked.replace(example_report.LINK, "") == text and linked.index(example_report.LINK) < linked.index("| part |")
    with pytest.raises(SystemExit, match="is not there once"):
        example_report.with_link("another page")


def test_a_site_without_compilers_or_without_the_page_says_what_is_missing(tmp_path):
    python = tmp_path / "bin/python"
    python.parent.mkdir()
    assert "iree-compile" in example_report.missing(tmp_path, python)
    for name in ("iree-compile", "iree-import-onnx"):
        (python.parent / name).touch()
    assert "scripts/page_setup.sh" in example_report.missing(tmp_path, python)
    (tmp_path / "js/build").mkdir(parents=True)
    (tmp_path / "js/build/report.html").touch()
    assert example_report.missing(tmp_path, python) == ""
