"""Stages the pages of the site: pages.py ROOT COMMANDS.json STUB.pyi OUT [versions]

ROOT is the checkout, COMMANDS.json the output of `fatctx describe-commands`, STUB.pyi the type stubs of the compiled Python module. OUT gets
mkdocs.yml and the folder pages, which has the layout of the checkout, so that links between documents are right as they are. A file of
another kind that a document links gets a page with its text, and generated pages are in pages/reference. With the word "versions" the pages
have a menu of versions, which only a web server can fill.
"""

from __future__ import annotations

import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

import commands
import python_reference
import reference
import schema_pages
from markdown_form import for_site
from prose import Symbols

SITE = pathlib.Path(__file__).resolve().parent
# Documents outside docs/ that are pages.
OUTSIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "python/README.md", "samples/README.md", "bench/README.md", "tests/golden/README.md")
NO_PAGE = ("docs/decisions/template.md",)  # of use in a checkout only; links show its text
PICTURES = (".svg", ".png")
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".c": "c", ".py": "python", ".sh": "bash", ".json": "json", ".cmake": "cmake", ".toml": "toml"}
FENCE = re.compile(r"^(\s*)(```+|~~~+)")
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
EXAMPLE = re.compile(r"^<!-- ([\w./-]+) -->\n```(\w*)\n", re.MULTILINE)


def documents(root: pathlib.Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "docs"], cwd=root, capture_output=True, text=True,
                            check=True).stdout.split()
    return [name for name in (*OUTSIDE, *sorted(listed)) if name.endswith(".md") and name not in NO_PAGE]


def outside_code(text: str, change) -> str:
    """Returns a document with `change` applied to each run of lines that is not in a block of code."""
    out, run, fence = [], [], ""
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence:
            out.append(line)
            if mark and mark.group(2) == fence and line.strip() == fence:
                fence = ""
        elif mark:
            out += change("\n".join(run)).split("\n") if run else []
            run, fence = [], mark.group(2)
            out.append(line)
        else:
            run.append(line)
    return "\n".join(out + (change("\n".join(run)).split("\n") if run else []))


def linked(text: str, name: str, root: pathlib.Path, pages: set[str], extra: set[str]) -> str:
    """Returns a document whose links to files that are no documents lead to their pages; these go to `extra`."""
    def changed(match: re.Match) -> str:
        opening, target, anchor, closing = match.group(1), match.group(2), match.group(3) or "", match.group(4)
        if re.match(r"\w+:", target):
            return match.group()
        file = os.path.normpath(os.path.join(os.path.dirname(name), target))
        if file in pages or file.endswith(PICTURES):
            return match.group()
        if (root / file).is_dir() and f"{file}/README.md" in pages:
            return f"{opening}{target.rstrip('/')}/README.md{anchor}{closing}"
        if not (root / file).is_file():
            raise SystemExit(f"site: {name}: the link {target} leads to no file that a page can show")
        extra.add(file)
        return f"{opening}{target}.md{anchor}{closing}"

    return re.sub(r"`[^`\n]*`|" + LINK.pattern, lambda match: match.group() if match.group().startswith("`") else changed(match), text)


def staged(name: str, root: pathlib.Path, pages: set[str], extra: set[str]) -> str:
    text = (root / name).read_text(encoding="utf-8")
    text = EXAMPLE.sub(lambda match: f'```{match.group(2)} title="{match.group(1)}"\n', text)
    return for_site(outside_code(text, lambda run: linked(run, name, root, pages, extra)))


def file_page(name: str, root: pathlib.Path) -> str:
    """Returns the page of a file that a document links."""
    text = (root / name).read_text(encoding="utf-8").rstrip("\n")
    if name.endswith(".json") and '"$schema"' in text:
        return schema_pages.page(os.path.basename(name), text)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    language = LANGUAGES.get(pathlib.Path(name).suffix, "text")
    return f"---\nsearch:\n  exclude: true\n---\n# {name}\n\n{fence}{language}\n{text}\n{fence}\n"


def navigation(wanted: list, pages: set[str], left: set[str]) -> list:
    out = []
    for entry in wanted:
        if isinstance(entry, dict):
            ((title, inner),) = entry.items()
            out.append({title: navigation(inner, pages, left)})
            continue
        matching = sorted(page for page in left if fnmatch.fnmatch(page, entry) and page.count("/") == entry.count("/"))
        if not matching:
            raise SystemExit(f"site: nav.yml: no page matches {entry}, or an earlier line names it")
        # A pattern names pages that the whole file does not name.
        named = set() if entry in pages else NAMED
        out += [page for page in matching if page not in named]
        left.difference_update(page for page in matching if page not in named)
    return out


def names_in(entries: list) -> set[str]:
    return {name for entry in entries for name in (names_in(next(iter(entry.values()))) if isinstance(entry, dict) else [entry])}


NAMED: set[str] = set()


def write(folder: pathlib.Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def stage(root: pathlib.Path, tree: dict, stub: str, out: pathlib.Path, menu: bool = False) -> None:
    """Writes all pages and the file that mkdocs reads."""
    shutil.rmtree(out, ignore_errors=True)
    folder = out / "pages"
    symbols, made = Symbols(), {}
    headers = reference.headers(root)
    reference.collect(headers, symbols)
    unknown = reference.unknown_functions(headers, symbols)
    if unknown:
        raise SystemExit(f"site: comments name functions that no header declares: {', '.join(unknown)}")
    modules = python_reference.modules(root, stub)
    python_reference.collect(modules, symbols)
    readme = (root / "docs/cli/README.md").read_text(encoding="utf-8")
    known = commands.guides(readme)
    for header in headers:
        made[reference.page_of(header.path)] = reference.page(header, symbols)
    for c in (True, False):
        made[f"reference/{'c' if c else 'cpp'}/index.md"] = reference.overview(headers, symbols, c)
    for module in modules:
        made[module.page] = python_reference.page(module, symbols)
    package = (root / "python/fatctx/__init__.py").read_text(encoding="utf-8")
    made["reference/python/index.md"] = python_reference.overview(modules, symbols, package.split('"""')[1])
    for command in tree["commands"]:
        made[commands.page_of(command["name"])] = commands.page(command, known.get(command["name"]), tree["version"])
    made["reference/commands/index.md"] = commands.overview(tree, readme)

    pages = set(documents(root))
    extra: set[str] = set()
    made |= {name: staged(name, root, pages, extra) for name in sorted(pages)}
    made |= {f"{name}.md": file_page(name, root) for name in sorted(extra)}
    for name, text in made.items():
        write(folder, name, text)
    for name in extra:
        if name.endswith(".json"):
            shutil.copyfile(root / name, folder / name)
    for path in (root / "docs").glob("*.svg"):
        shutil.copyfile(path, folder / "docs" / path.name)
    shutil.copytree(SITE / "assets", folder / "assets")
    (out / "symbols.json").write_text(json.dumps(symbols.places), encoding="utf-8")

    wanted = yaml.safe_load((SITE / "nav.yml").read_text(encoding="utf-8"))
    NAMED.update(names_in(wanted))
    left = set(made)
    nav = navigation(wanted, set(made), left)
    texts = {f"{name}.md" for name in extra}
    if left - texts:
        raise SystemExit(f"site: nav.yml: no line names {', '.join(sorted(left - texts))}")
    # The absolute path: mkdocs resolves what the inherited file names beside the file that it was given.
    config = {"INHERIT": str(SITE / "mkdocs.yml"), "docs_dir": str(folder), "nav": nav,
              "hooks": [str(SITE / "hooks.py")],
              "not_in_nav": "\n".join(f"/{name}" for name in sorted(left)),
              "extra": {"symbols": str(out / "symbols.json")}}
    if menu:
        config["extra"]["version"] = {"provider": "mike", "default": "latest"}
    (out / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    checkout, described, stubs, target = map(pathlib.Path, sys.argv[1:5])
    stage(checkout.resolve(), json.loads(described.read_text(encoding="utf-8")), stubs.read_text(encoding="utf-8"), target.resolve(),
          sys.argv[5:] == ["versions"])
