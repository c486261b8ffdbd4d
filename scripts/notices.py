"""Writes the papers of a release archive: the licence texts of the libraries in it, a list of its parts, what it needs.

    notices.py FOLDER VERSION EPOCH [PORTABLE]

FOLDER is the folder that becomes the archive. PORTABLE is the tree of scripts/portable_setup.sh, if the build is portable.
The folder gets
    licenses/SOURCE.txt      the copyright file of the Debian source package that each library comes from
    licenses/common/NAME     licences that these files only refer to
    fatctx.spdx.json         the list of parts (SBOM), SPDX 2.3
    README.md                what the archive holds and what it needs from the system
The texts are those of this machine's packages, or of the sources of a portable build. A library that no package owns is an
error: nobody may ship it.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import uuid
from collections.abc import Iterable
from urllib.parse import quote

DOC = pathlib.Path("/usr/share/doc")
COMMON = pathlib.Path("/usr/share/common-licenses")
# Libraries of headers: their code is inside our own programs. tests/scripts/archive_test.py compares this list with the
# sources.
COMPILED_IN = {"boost": "/usr/include/boost/version.hpp", "CLI": "/usr/include/CLI/CLI.hpp", "fmt": "/usr/include/fmt/core.h"}


class Refused(Exception):
    """The archive cannot be made; the text says why."""


def output_of(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise Refused(f"{command[0]} is missing: licence texts come from the packages of a Debian system") from None
    except subprocess.CalledProcessError as error:
        raise Refused(f"{' '.join(command)}: {error.stderr.strip()}") from None


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    version: str
    source: str
    source_version: str
    architecture: str
    homepage: str
    licence: pathlib.Path | None = None  # None: that of the installed package
    kind: str = "deb/debian"  # as package addresses (purl) begin

    @property
    def copyright(self) -> str:
        file = self.licence or DOC / self.name / "copyright"
        if not file.exists():
            raise Refused(f"{file} is missing, so the licence of {self.name} is unknown; install the package again")
        return file.read_text(encoding="utf-8", errors="replace")

    @property
    def address(self) -> str:
        end = f"?arch={self.architecture}" if self.kind == "deb/debian" else ""
        return f"pkg:{self.kind}/{quote(self.name)}@{quote(self.version)}{end}"

    @property
    def origin(self) -> str:
        if self.kind != "deb/debian":
            return f"Python package {self.name} {self.version}"
        return f"Debian source package {self.source} {self.source_version}"


def portable_parts(tree: pathlib.Path) -> list[Package]:
    """Returns what a portable build has compiled in: the sources of scripts/portable_setup.sh, and the compiler's own libraries."""
    parts = []
    for folder in sorted((tree.parent / "sources").iterdir()):
        if (folder / "debian" / "changelog").is_file() and not folder.name.startswith("curl-"):  # of curl, only declarations
            name, version = re.match(r"(\S+) \((\S+)\)", (folder / "debian" / "changelog").read_text(encoding="utf-8")).groups()
            homepage = re.search(r"(?m)^Homepage: *(\S+)", (folder / "debian" / "control").read_text(encoding="utf-8"))
            parts.append(Package(name, version, name, version, "source", homepage.group(1) if homepage else "",
                                 folder / "debian" / "copyright"))
        elif (folder / "PKG-INFO").is_file():
            name, version = folder.name.rsplit("-", 1)
            parts.append(Package(name, version, name, version, "", "https://onnx.ai", folder / "LICENSE", "pypi"))
    compiler = next((tree.parent / "venv" / "lib").glob("python*/site-packages"))
    version = re.search(r"ziglang-([0-9.]+)\.dist-info", " ".join(map(str, compiler.glob("ziglang-*")))).group(1)
    for name in ("libcxx", "libcxxabi", "libunwind"):
        parts.append(Package(f"ziglang-{name}", version, "ziglang", version, "", "https://libcxx.llvm.org",
                             compiler / "ziglang" / "lib" / name / "LICENSE.TXT", "pypi"))
    if len(parts) < 11:
        raise Refused(f"{tree.parent} lacks the sources of its libraries; run scripts/portable_setup.sh")
    return parts


def owner_of(file: pathlib.Path) -> Package:
    """Returns the package that a file came with. dpkg may know it by its name under / or under /usr."""
    real = file.resolve()
    names = [str(real), str(real).removeprefix("/usr") if str(real).startswith("/usr/lib") else "/usr" + str(real)]
    for name in names:
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            package = done.stdout.split(": ")[0].split(",")[0]
            fields = "\\t".join("${%s}" % field for field in
                               ("Package", "Version", "source:Package", "source:Version", "Architecture", "Homepage"))
            return Package(*output_of("dpkg-query", "-W", "-f", fields, package).split("\t"))
    raise Refused(f"no installed package owns {file}, so its licence is unknown")


def texts_of(packages: Iterable[Package]) -> dict[Package, str]:
    """Returns the name of each package's licence text. Packages of one source share it, if it is the same."""
    names, texts = {}, {}
    for package in sorted(packages, key=lambda package: package.name):
        text = package.copyright
        names[package] = package.source if texts.setdefault(package.source, text) == text else package.name
    return names


def write_licenses(folder: pathlib.Path, packages: Iterable[Package]) -> None:
    (folder / "common").mkdir(parents=True)
    for package, stem in texts_of(packages).items():
        text = package.copyright
        (folder / f"{stem}.txt").write_text(text, encoding="utf-8")
        for name in set(re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9])", text)):
            (folder / "common" / name).write_bytes((COMMON / name).read_bytes())


def is_elf(file: pathlib.Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4) == b"\x7fELF"


def needed_versions(files: list[pathlib.Path]) -> dict[str, str]:
    """Returns the newest version of each family of symbols that the files ask the system for: {"GLIBC": "2.34"}."""
    newest: dict[str, str] = {}
    for file in files:
        for family, version in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_(\d[\d.]*)", output_of("objdump", "-p", str(file))):
            if as_numbers(version) > as_numbers(newest.get(family, "0")):
                newest[family] = version
    return newest


def as_numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def digest(file: pathlib.Path, algorithm: str) -> str:
    return hashlib.new(algorithm, file.read_bytes()).hexdigest()


def spdx_id(kind: str, name: str) -> str:
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def verification(hashes: list[str], excluded: list[str] | None = None) -> dict:
    """Returns the fields that bind a package to its files, as section 7.9 of SPDX 2.3 computes them."""
    if not hashes:
        return {"filesAnalyzed": False}
    code = {"packageVerificationCodeValue": hashlib.sha1("".join(sorted(hashes)).encode()).hexdigest()}
    if excluded:
        code["packageVerificationCodeExcludedFiles"] = excluded
    return {"filesAnalyzed": True, "packageVerificationCode": code}


def sbom(folder: pathlib.Path, version: str, epoch: int, bundled: dict[str, Package], compiled_in: list[Package]) -> dict:
    """Returns the SPDX document of the folder. `bundled` is from file name to package."""
    ours = "SPDXRef-Package-fatctx"
    texts = texts_of([*bundled.values(), *compiled_in])
    packages = sorted({*bundled.values(), *compiled_in}, key=lambda package: package.name)
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    links = [("SPDXRef-DOCUMENT", "DESCRIBES", ours)]
    for package in packages:
        relation = "DYNAMIC_LINK" if package in bundled.values() else "STATIC_LINK"
        links.append((ours, relation, spdx_id("Package", package.name)))
    listed = []
    held: dict[str, list[str]] = {}  # SHA-1 of the files of each package
    for file in files:
        name = file.relative_to(folder).as_posix()
        holder = spdx_id("Package", bundled[file.name].name) if file.name in bundled else ours
        held.setdefault(holder, []).append(digest(file, "sha1"))
        listed.append({
            "SPDXID": spdx_id("File", name), "fileName": f"./{name}", "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
            "checksums": [{"algorithm": kind.upper(), "checksumValue": digest(file, kind)} for kind in ("sha1", "sha256")]})
        links.append((holder, "CONTAINS", spdx_id("File", name)))
    described = [{
        "SPDXID": ours, "name": "fatctx", "versionInfo": version, "downloadLocation": "NOASSERTION",
        **verification(held[ours], excluded=["./fatctx.spdx.json"]),
        "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION"}]
    for package in packages:
        described.append({
            "SPDXID": spdx_id("Package", package.name), "name": package.name, "versionInfo": package.version,
            "supplier": "Organization: Debian" if package.kind == "deb/debian" else "NOASSERTION", "downloadLocation": "NOASSERTION",
            **verification(held.get(spdx_id("Package", package.name), [])),
            **({"homepage": package.homepage} if package.homepage else {}),
            "sourceInfo": package.origin,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": f"LicenseRef-{texts[package]}", "copyrightText": "NOASSERTION",
            "primaryPackagePurpose": "LIBRARY",
            "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                "referenceLocator": package.address}]})
    content = hashlib.sha256(json.dumps([described, listed]).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": folder.name,
        # The same content has the same address.
        "documentNamespace": f"https://spdx.org/spdxdocs/{folder.name}-{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: fatctx-scripts-package"]},
        "packages": described, "files": listed,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in links],
        "hasExtractedLicensingInfos": [
            {"licenseId": f"LicenseRef-{stem}", "name": f"the licence text of {stem}",
             "extractedText": package.copyright} for stem, package in {stem: package for package, stem in texts.items()}.items()]}


README = """# fatctx {version}

`bin/fatctx --help` lists the commands. The folder may lie anywhere and be moved.

## Needs

- Linux on {machine} with glibc {GLIBC} or newer
{standard_library}- `fatctx ctx-gen` and `bin/fatctx_ort_bench`: `libonnxruntime.so.1`, for example in `lib`
- `fatctx fetch` over HTTP: `libcurl.so.4` of 7.85 or newer (Debian and Ubuntu: package `libcurl4`)
- to compile programs with the C interface: nothing else

## Other people's work in this archive

| file or part | package | version | licence |
|---|---|---|---|
{rows}

`fatctx.spdx.json` lists all parts with their hashes (SPDX 2.3).

## C++ interface

{cxx}
"""

STANDARD_LIBRARY = "- libstdc++ and libgcc_s of GCC 12 or newer (`GLIBCXX_{GLIBCXX}`; Debian and Ubuntu: package `libstdc++6`)\n"

CXX = """`lib/libfatctx_*.a` are static. A program that links them also links Boost.Filesystem, protobuf (lite), xxHash, lz4 and
libsodium, in the versions that fatctx was built with: packages {development} of Debian 12."""

NO_CXX = """This archive has none: its static libraries would fit the programs of one compiler only. The Debian package
`libfatctx-dev`, or a build of the sources, has it."""


def write_papers(folder: pathlib.Path, version: str, epoch: int, portable: pathlib.Path | None) -> None:
    libraries = sorted(file for file in folder.glob("lib*/*.so*")
                       if not file.is_symlink() and not file.name.startswith("libfatctx"))
    # The archive holds copies, so the place of the original says which package it is from.
    bundled = {file.name: owner_of(place_of(file.name)) for file in libraries}
    inside = {name: owner_of(pathlib.Path(header)) for name, header in COMPILED_IN.items()}
    if portable:
        inside = {package.name: package for package in portable_parts(portable)}
    packages = sorted({*bundled.values(), *inside.values()}, key=lambda package: package.name)
    write_licenses(folder / "licenses", packages)
    texts = texts_of(packages)
    programs = [file for file in sorted(folder.rglob("*")) if file.is_file() and is_elf(file)]
    needed = needed_versions(programs)
    rows = [(f"`{file.parent.name}/{file.name}`", bundled[file.name]) for file in libraries]
    rows += [(f"{name}, compiled in", package) for name, package in inside.items()]
    development = ", ".join(f"`{name}`" for name in ("libboost-filesystem-dev", "libprotobuf-dev", "libxxhash-dev", "liblz4-dev",
                                                     "libsodium-dev"))
    (folder / "README.md").write_text(README.format(
        version=version, machine=folder.name.rsplit("-", 1)[1], GLIBC=needed["GLIBC"],
        standard_library=STANDARD_LIBRARY.format(**needed) if "GLIBCXX" in needed else "",
        rows="\n".join(f"| {part} | {package.name} | {package.version} | [text](licenses/{texts[package]}.txt) |" for part, package in rows),
        cxx=NO_CXX if portable else CXX.format(development=development)), encoding="utf-8")
    document = sbom(folder, version, epoch, bundled, list(inside.values()))
    (folder / "fatctx.spdx.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def place_of(name: str) -> pathlib.Path:
    """Returns where the loader finds a library of the system, by the name that it looks for or the file's own name."""
    for line in output_of("/sbin/ldconfig", "-p").splitlines():
        if "=> " in line:
            place = pathlib.Path(line.split("=> ")[1])
            if name in (place.name, place.resolve().name):
                return place
    raise Refused(f"the loader of this system does not know {name}, so its licence is unknown")


if __name__ == "__main__":
    try:
        write_papers(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None)
    except Refused as refused:
        sys.exit(f"package: {refused}")
