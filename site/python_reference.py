"""Makes the reference pages of Python from the type stubs of the compiled module and from the Python files of the package."""

from __future__ import annotations

import ast
import dataclasses
import pathlib
import re

from prose import Symbols, escaped, markdown

# The subjects of the compiled module are its files: python/src/NAME.cc binds the names of a page. These titles are for the reader.
TITLES = {
    "append": "Append", "container": "Containers", "detect": "This machine and its SoC", "diff": "Compare", "dlc": "DLC archives",
    "errors": "Error codes", "fetch": "Fetch a part", "facts": "Hashes, sizes and abilities", "import_tensors": "Import weights", "load": "Load any file",
    "load_list": "Load a list of files", "memory": "Pages of a record", "model": "Models and sessions", "observe": "Metrics, profile and trace",
    "pack": "Pack", "records": "Records and descriptions", "repair": "Repair", "rewrite": "Rewrite", "select": "Selection",
    "sharing": "Shared bytes", "signature": "Keys and signatures", "update": "Updates", "views": "Views", "module": "The package",
}


@dataclasses.dataclass
class Entry:
    """A class, function or value with its signatures and docstring."""

    name: str
    signatures: list[str]
    text: str
    members: list[Entry] = dataclasses.field(default_factory=list)
    kind: str = "function"


def _signature(node: ast.FunctionDef, owner: str = "") -> str:
    arguments = ast.unparse(node.args)
    arguments = re.sub(r"^self(, )?(/(, )?)?", "", arguments)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    line = f"{node.name}({arguments}){returns}"
    if len(line) <= 100:
        return line
    parts = [ast.unparse(part) for part in [node.args]]
    depth, pieces, start = 0, [], 0
    text = parts[0] if not re.match(r"self\b", parts[0]) else arguments
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            pieces.append(text[start:at].strip())
            start = at + 1
    pieces.append(text[start:].strip())
    return f"{node.name}(\n" + "".join(f"    {piece},\n" for piece in pieces) + f"){returns}"


def _entries(body: list[ast.stmt]) -> list[Entry]:
    found: dict[str, Entry] = {}
    nodes = list(body)
    for at, node in enumerate(nodes):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name.startswith("_"):
            if not (isinstance(node, ast.FunctionDef) and node.name in ("__init__", "__enter__", "__getitem__", "__len__")):
                continue
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            found[node.name] = Entry(node.name, [f"class {node.name}" + (f"({bases})" if bases else "")], ast.get_docstring(node) or "",
                                     _entries(node.body), "class")
        elif isinstance(node, ast.FunctionDef):
            marks = {ast.unparse(mark) for mark in node.decorator_list}
            if any(mark.endswith(".setter") for mark in marks):
                found[node.name].text = found[node.name].text or ast.get_docstring(node) or ""
                continue
            if "property" in marks:
                returns = f": {ast.unparse(node.returns)}" if node.returns is not None else ""
                found[node.name] = Entry(node.name, [node.name + returns], ast.get_docstring(node) or "", kind="value")
                continue
            one = Entry(node.name, [_signature(node)], ast.get_docstring(node) or "")
            if node.name in found and found[node.name].kind == "function":  # an overload
                found[node.name].signatures += one.signatures
                found[node.name].text = "\n\n".join(dict.fromkeys(text for text in (found[node.name].text, one.text) if text))
            else:
                found[node.name] = one
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if not isinstance(target, ast.Name) or target.id.startswith("_"):
                continue
            after = nodes[at + 1] if at + 1 < len(nodes) else None
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str) else ""
            shown = f"{target.id}: {ast.unparse(node.annotation)}" if isinstance(node, ast.AnnAssign) else f"{target.id} = {ast.unparse(node.value)}"
            found[target.id] = Entry(target.id, [shown if len(shown) < 120 else target.id], ast.unparse(ast.Constant(text)) and text, kind="value")
    return list(found.values())


def _exported(text: str) -> tuple[list[str], bool]:
    """Returns the names that __all__ spells out, and whether these are all."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = [one.value for one in node.value.elts if isinstance(one, ast.Constant)]
            return names, len(names) == len(node.value.elts)
    return [], False


def _subjects(root: pathlib.Path, names: set[str]) -> dict[str, str]:
    """Returns the file of python/src that binds each name of the compiled module."""
    found = {}
    for path in sorted((root / "python/src").glob("*.cc")):
        for name in re.findall(r'module(?:, |\.def\(\s*)"(\w+)"', path.read_text(encoding="utf-8")):
            if name in names:
                found.setdefault(name, path.stem)
    return found


@dataclasses.dataclass
class Module:
    """A page: names of one subject, or a module of the package."""

    page: str
    title: str
    text: str
    entries: list[Entry]
    prefix: str  # before the names, as a user writes them


def modules(root: pathlib.Path, stub: str) -> list[Module]:
    """Reads the package below `root` and the stubs of its compiled module."""
    package = root / "python/fatctx"
    exported, _ = _exported((package / "__init__.py").read_text(encoding="utf-8"))
    entries = {entry.name: entry for entry in _entries(ast.parse(stub).body) if entry.name in exported or entry.name == "ErrorCode"}
    subjects = _subjects(root, set(entries))
    lost = sorted(set(entries) - set(subjects) - {"__version__", "__format_version__"})
    if lost:
        raise ValueError(f"python/src binds no {', '.join(lost)}: the stubs are of another version; build the package")
    pages = []
    for subject in sorted(set(subjects.values()), key=lambda one: TITLES[one]):
        own = [entry for name, entry in entries.items() if subjects.get(name) == subject]
        own.sort(key=lambda entry: (entry.kind == "class", ))
        pages.append(Module(f"reference/python/{subject}.md", TITLES[subject], "", own, "fatctx."))
    for path in sorted(package.glob("[a-z]*.py")):
        text = path.read_text(encoding="utf-8")
        tree, (shown, whole) = ast.parse(text), _exported(text)
        own = [entry for entry in _entries(tree.body) if not whole or entry.name in shown]
        title = f"fatctx.{path.stem}"
        pages.append(Module(f"reference/python/{path.stem}_module.md", title, ast.get_docstring(tree) or "", own, f"{title}."))
    return pages


def collect(all_modules: list[Module], symbols: Symbols) -> None:
    for module in all_modules:
        for entry in module.entries:
            symbols.add(f"{module.prefix}{entry.name}", module.page)
            for member in entry.members:
                symbols.add(f"{module.prefix}{entry.name}.{member.name}", module.page)


def _part(entry: Entry, rank: str, prefix: str, page: str, symbols: Symbols, within: str) -> list[str]:
    full = f"{prefix}{entry.name}"
    plain = [member for member in entry.members if member.kind == "value"]
    out = [f"{rank} {escaped(entry.name)} {{ #{full} }}", "```python\n" + "\n".join(entry.signatures) + "\n```"]
    own = f"{within}.{entry.name}".lstrip(".") if entry.kind == "class" else within
    scope = f"{prefix}{own}" if prefix and own and entry.kind == "class" else within
    if entry.text:
        out.append(markdown(entry.text, symbols, page, scope, "python"))
    if plain:
        rows = []
        for member in plain:
            kind = member.signatures[0].removeprefix(member.name).removeprefix(": ").lstrip("= ")
            text = " ".join(markdown(member.text, symbols, page, scope, "python").split("\n"))
            rows.append(f"| <a id=\"{full}.{member.name}\"></a>`{member.name}` | `{kind.replace('|', chr(92) + '|')}` | {text} |" if kind else
                        f"| <a id=\"{full}.{member.name}\"></a>`{member.name}` | | {text} |")
        out.append("| attribute | type | meaning |\n|---|---|---|\n" + "\n".join(rows))
    for member in entry.members:
        if member.kind != "value":
            out += _part(member, rank + "#", f"{full}.", page, symbols, scope)
    return out


def page(module: Module, symbols: Symbols) -> str:
    out = [f"# {escaped(module.title)}"]
    if module.text:
        out.append(markdown(module.text, symbols, module.page, "", "python"))
    for entry in module.entries:
        out += _part(entry, "##", module.prefix, module.page, symbols, "")
    return "\n\n".join(out) + "\n"


def overview(all_modules: list[Module], symbols: Symbols, package_text: str) -> str:
    """Returns the page of the package with all names."""
    where = "reference/python/index.md"
    out = ["# Python reference", markdown(package_text, symbols, where, "", "python"),
           "[fatctx for Python](../../python/README.md) is the guide. The signatures and texts here are those of `help(fatctx)`.",
           "| page | names |\n|---|---|"]
    for module in all_modules:
        links = ", ".join(f"[`{entry.name}`]({symbols.link(module.prefix + entry.name, where)})" for entry in module.entries)
        out.append(f"| [{escaped(module.title)}]({module.page.removeprefix('reference/python/')}) | {links} |")
    return "\n\n".join(out[:3]) + "\n\n" + "\n".join(out[3:]) + "\n"
