"""Checks a built site: check_site.py ROOT SITE

Every link inside the site leads to a file and an anchor that exist, nothing is loaded from another host, and a document shows the headings,
list items, cells and blocks of code that it has for a reader of CommonMark, which is what a forge shows. Prints the findings; ends with 1 if
there is one.
"""

from __future__ import annotations

import html.parser
import pathlib
import re
import sys
import urllib.parse

from markdown_it import MarkdownIt

import pages

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
BLOCKS = ("h1", "h2", "h3", "h4", "li", "td", "th", "pre")
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
# Elements of the theme inside of an article that are not the document's.
NOT_DOCUMENT = {"headerlink", "filename", "md-source-file", "md-feedback", "md-tags", "md-clipboard", "md-content__button"}


class Page(html.parser.HTMLParser):
    """Collects ids, links, loaded files, and the blocks of the article."""

    def __init__(self, text: str, whole: bool = False):
        super().__init__(convert_charrefs=True)
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.blocks: list[tuple[str, str]] = []
        self._open: list[tuple[str, list[str]]] = []
        self._stack: list[tuple[str, bool, bool]] = [("", whole, False)]  # tag, in the article, hidden
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids |= {values[key] for key in ("id", "name") if values.get(key) and (key == "id" or tag == "a")}
        if tag == "a" and values.get("href") is not None:
            self.links.append(values["href"])
        if tag in LOADED and values.get(LOADED[tag]) and values.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(values[LOADED[tag]])
        _, article, hidden = self._stack[-1]
        article = article or tag == "article"
        hidden = hidden or bool(NOT_DOCUMENT & set((values.get("class") or "").split()))
        if tag not in VOID:
            self._stack.append((tag, article, hidden))
            if tag in BLOCKS and article and not hidden:
                self._open.append((tag, []))

    def handle_endtag(self, tag):
        if tag in VOID:  # also called for <br/>
            return
        while len(self._stack) > 1:
            popped, article, hidden = self._stack.pop()
            if popped in BLOCKS and article and not hidden:
                name, text = self._open.pop()
                self.blocks.append((name, "".join("".join(text).split())))
            if popped == tag:
                break

    def handle_data(self, data):
        if not self._stack[-1][2]:
            for _, text in self._open:
                text.append(data)


def link_findings(name: str, page: Page, known: dict[str, Page], site: pathlib.Path) -> list[str]:
    """Returns the links of a page that lead nowhere, and what it loads from elsewhere."""
    found = [f"{name}: loads {one} from another host" for one in page.loaded if re.match(r"(?:\w+:)?//", one)]
    for link in [*page.links, *page.loaded]:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme in ("http", "https", "mailto", "data") or link.startswith("//"):
            continue
        if parts.scheme or parts.path.startswith("/"):
            found.append(f"{name}: the link {link} depends on where the site is")
            continue
        target = site.joinpath(name).parent.joinpath(urllib.parse.unquote(parts.path)).resolve() if parts.path else site / name
        if not target.is_relative_to(site) or not target.is_file():
            # The theme's logo leads to the folder of the start page.
            if not (target.is_dir() and (target / "index.html").is_file()):
                found.append(f"{name}: the link {link} leads to no file")
            continue
        inside = target.relative_to(site).as_posix()
        anchor = urllib.parse.unquote(parts.fragment)
        if anchor and inside in known and anchor not in known[inside].ids and not anchor.startswith("__"):
            found.append(f"{name}: the link {link} leads to no such place of {inside}")
    return found


def shown_findings(name: str, text: str, page: Page) -> list[str]:
    """Returns where a page shows other blocks than its document has."""
    expected = Page(MarkdownIt("commonmark").enable("table").render(text), whole=True).blocks
    for wanted, got in zip(expected + [("end", "")], page.blocks + [("end", "")]):
        if wanted != got:
            return [f"{name}: the site shows <{got[0]}> {got[1][:90]!r} where the document has <{wanted[0]}> {wanted[1][:90]!r}"]
    return []


def outgoing_styles(site: pathlib.Path) -> list[str]:
    """Returns style sheets that load from another host."""
    return [f"{path.relative_to(site)}: loads {url}" for path in sorted(site.glob("**/*.css"))
            for url in re.findall(r"url\(['\"]?((?:https?:)?//[^)'\"]+)", path.read_text(encoding="utf-8"))]


def findings(root: pathlib.Path, site: pathlib.Path) -> tuple[list[str], int, int]:
    site = site.resolve()
    known = {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.glob("**/*.html"))}
    found = outgoing_styles(site)
    for name, page in known.items():
        # The server shows 404.html in any folder, so its links begin at the root.
        if name != "404.html":
            found += link_findings(name, page, known, site)
    for name in pages.documents(root):
        shown = re.sub(r"README\.html$", "index.html", re.sub(r"\.md$", ".html", name))
        if shown not in known:
            found.append(f"{name}: has no page")
        else:
            found += shown_findings(name, (root / name).read_text(encoding="utf-8"), known[shown])
    return found, len(known), sum(len(page.links) for page in known.values())


if __name__ == "__main__":
    bad, page_count, link_count = findings(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    print("\n".join(bad) + ("\n" if bad else "") + f"{page_count} pages, {link_count} links, {len(bad)} findings")
    sys.exit(1 if bad else 0)
