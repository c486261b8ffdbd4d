"""Links the names in the code blocks of the reference pages to the places that explain them. mkdocs calls these functions."""

import json
import os
import pathlib
import re

_places: dict[str, str] = {}
_NAME = re.compile(r'<span class="(n|nc|nf|nb|no|kt|nn|ne)">(\w+)</span>')


def on_config(config):
    _places.update(json.loads(pathlib.Path(config.extra.pop("symbols")).read_text(encoding="utf-8")))
    return config


def _candidates(name: str, source: str) -> list[str]:
    if "/python/" in source:
        return [f"fatctx.{name}", f"fatctx.errors.{name}"]
    return [name]


def on_page_content(html, page, config, files):
    source = page.file.src_uri
    if not source.startswith("reference/"):
        return html
    here = os.path.dirname(page.file.dest_uri)

    def linked(match):
        name = match.group(2)
        # A name in lower case is also the name of parameters and fields; only those of C cannot be mistaken.
        if name.islower() and not name.startswith("fatctx_"):
            return match.group()
        for one in _candidates(name, source):
            if one in _places:
                target, anchor = _places[one].split("#")
                file = "" if target == source else os.path.relpath(target.removesuffix(".md") + ".html", here)
                return f'<a class="fatctx-name" href="{file}#{anchor}">{match.group()}</a>'
        return match.group()

    return re.sub(r"<code>.*?</code>", lambda block: _NAME.sub(linked, block.group()), html, flags=re.DOTALL)
