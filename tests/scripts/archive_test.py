"""A release archive runs by itself, says what it needs, and carries the licences of its parts."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
VERSION = re.search(r"project\(fatctx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
EPOCH = 1795392000  # 23 November 2026


def run(*command, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def must(*command, **options) -> str:
    done = run(*command, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def package(out: pathlib.Path, *flags) -> pathlib.Path:
    environment = dict(os.environ, SOURCE_DATE_EPOCH=str(EPOCH))
    return pathlib.Path(must(ROOT / "scripts" / "package", "--build", BUILD, "-o", out, *flags, env=environment).strip())


@pytest.fixture(scope="module", autouse=True)
def build():
    missing = [name for name in ("tools/fatctx", "src/libfatctx.so", "src/libfatctx_runtime.a") if not (BUILD / name).exists()]
    if missing or not shutil.which("cmake"):
        pytest.skip(f"{BUILD} is no finished build (it lacks {', '.join(missing) or 'cmake'}); scripts/build.sh makes one")
    if not shutil.which("dpkg-query"):
        pytest.skip("no dpkg here, so no licence texts")


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> pathlib.Path:
    return package(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def there(archive, tmp_path_factory) -> pathlib.Path:
    """The unpacked archive, in a folder that no build knows."""
    folder = tmp_path_factory.mktemp("there")
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def container(there, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("container")
    (folder / "a.bin").write_text("program")
    must(there / "bin" / "fatctx", "pack", "-o", folder / "m.fatctx", "--name", "m", "--binary",
         f"{folder / 'a.bin'}@cpu:x86-64-v3", env=CLEAN)
    return folder / "m.fatctx"


SYSTEM = r"(linux-vdso|ld-linux[-\w]*|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s))\.so"


# Shows S3.7.
def test_an_archive_carries_its_version_and_all_shared_libraries(archive, there, container):
    assert re.fullmatch(rf"fatctx-{re.escape(VERSION)}-linux-\w+\.tar\.gz", archive.name)
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
    assert {member.name.split("/")[0] for member in members} == {there.name}
    assert {(member.uid, member.gid, member.mtime) for member in members} == {(0, 0, EPOCH)}
    assert must(there / "bin" / "fatctx", "info", container, env=CLEAN).startswith("file: ")
    for program in (there / "bin" / "fatctx", *there.glob("lib*/libfatctx*.so")):
        used = [line.split() for line in must("ldd", program, env=CLEAN).splitlines()]
        foreign = [row[0] for row in used if len(row) > 2 and row[1] == "=>" and str(there) not in str(pathlib.Path(row[2]).resolve())]
        assert foreign and all(re.match(SYSTEM, library) for library in foreign), (program, foreign)


def contents(archive: pathlib.Path) -> list[tuple]:
    """Members in their order, without the name of the archive; README.md and the list of parts state the version."""
    with tarfile.open(archive) as tar:
        return [(member.name.partition("/")[2], member.mode, member.mtime, member.size,
                 tar.extractfile(member).read() if member.isfile() else member.linkname)
                for member in tar if not member.name.endswith(("/README.md", ".spdx.json"))]


def test_an_archive_has_the_json_schemas(there):
    have = sorted(file.name for file in (there / "share" / "fatctx" / "schemas").iterdir())
    assert have == sorted(["manifest.json", *(file.name for file in (ROOT / "docs" / "schemas").glob("*.json"))])


def test_a_nightly_is_named_after_the_day_and_the_same_build_gives_the_same_files(archive, tmp_path):
    nightly = package(tmp_path, "--nightly")
    assert nightly.name.startswith(f"fatctx-{VERSION}-nightly.20261123-linux-")
    assert contents(nightly) == contents(archive)
    assert archive.read_bytes()[4:8] == b"\0\0\0\0", "gzip does not store the time"


def test_a_c_program_uses_the_unpacked_archive(there, container, tmp_path):
    source = ROOT / "tests" / "consumer" / "c_only" / "c_consumer.c"
    folder = next(there.glob("lib*/pkgconfig"))
    flags = must("pkg-config", "--cflags", "--libs", "fatctx", env=CLEAN | {"PKG_CONFIG_PATH": str(folder)}).split()
    must("cc", source, *flags, f"-Wl,-rpath,{folder.parent}", "-o", tmp_path / "program", env=CLEAN)
    assert must(tmp_path / "program", container, env=CLEAN) == f"fatctx {VERSION}, 2 records\n"


def newest_symbols(folder: pathlib.Path) -> dict[str, tuple[tuple[int, ...], str]]:
    newest = {}
    for file in sorted(folder.rglob("*")):
        if not file.is_file() or file.is_symlink() or file.read_bytes()[:4] != b"\x7fELF":
            continue
        for family, version in re.findall(r"Name: (GLIBC|GLIBCXX)_([0-9.]+)", must("readelf", "-VW", file)):
            found = (tuple(map(int, version.split("."))), str(file.relative_to(folder)))
            if family not in newest or found[0] > newest[family][0]:
                newest[family] = found
    return newest


def test_what_the_archive_needs_is_what_the_documents_say_and_has_not_risen(there):
    needs = newest_symbols(there)
    assert set(needs) == {"GLIBC", "GLIBCXX"}
    readme, page = (there / "README.md").read_text(), (ROOT / "docs" / "install.md").read_text()
    page = page[page.index("makes an archive of an ordinary build"):]
    for family, (version, file) in needs.items():
        text = ".".join(map(str, version))
        assert re.search(rf"(glibc |{family}_){re.escape(text)}\b", readme), (family, version, file)
    if "bookworm" not in pathlib.Path("/etc/os-release").read_text():
        pytest.skip("releases are made on Debian 12; other systems have other symbols")
    stated = {"GLIBC": r"glibc (\d[\d.]*\d)", "GLIBCXX": r"GLIBCXX_(\d[\d.]*\d)"}
    for family, pattern in stated.items():
        limit = tuple(map(int, re.search(pattern, page).group(1).split(".")))
        assert needs[family][0] <= limit, f"{needs[family]} needs more than docs/install.md says: {limit}"


def bundled(there: pathlib.Path) -> list[pathlib.Path]:
    return [file for file in there.glob("lib*/*.so*") if not file.is_symlink() and not file.name.startswith("libfatctx")]


def test_each_bundled_library_has_its_licence_text(there):
    readme = (there / "README.md").read_text()
    assert len(bundled(there)) >= 5
    for file in bundled(there):
        row = re.search(rf"\| `lib\w*/{re.escape(file.name)}` \| (\S+) \| \S+ \| \[text\]\((licenses/\S+)\) \|", readme)
        assert row, f"README.md has no row for {file.name}"
        text = (there / row.group(2)).read_text(errors="replace")
        assert text == pathlib.Path(f"/usr/share/doc/{row.group(1)}/copyright").read_text(errors="replace")
        for name in re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9])", text):
            assert (there / "licenses" / "common" / name).read_text(), f"{file.name}: its text refers to {name}"
    assert "libsodium" in readme and "ISC" in (there / "licenses" / "libsodium.txt").read_text()


def test_libraries_of_headers_have_their_notices_too(there):
    ours = {"fatctx", "tools", "google", "onnx", "sodium", "lz4frame", "xxhash", "xxh_x86dispatch", "onnxruntime_c_api"}
    included = set()
    for folder in ("src", "tools", "include"):
        for file in (ROOT / folder).rglob("*.[hc]*"):
            included |= {name for name in re.findall(r"#include <(\w+)/", file.read_text(errors="replace"))}
    foreign = included - ours - {"sys", "linux", "mach", "net", "sanitizer", "curl"}  # sanitizer: part of the compiler; curl: declarations only
    readme = (there / "README.md").read_text()
    for name in foreign:
        assert f"| {name}, compiled in |" in readme, f"{name} is compiled in, and scripts/notices.py does not know it"
    assert {"fmt", "CLI", "boost"} <= foreign


def test_the_list_of_parts_is_spdx_and_complete(there):
    document = json.loads((there / "fatctx.spdx.json").read_text())
    assert (document["spdxVersion"], document["dataLicense"], document["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
    assert document["documentNamespace"].startswith("https://") and "#" not in document["documentNamespace"]
    assert document["creationInfo"]["created"] == "2026-11-23T00:00:00Z" and document["creationInfo"]["creators"][0].startswith("Tool: ")
    identifiers = [part["SPDXID"] for part in [document, *document["packages"], *document["files"]]]
    assert len(identifiers) == len(set(identifiers)) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in identifiers)
    for link in document["relationships"]:
        assert {link["spdxElementId"], link["relatedSpdxElement"]} <= set(identifiers)
    licences = {info["licenseId"]: info["extractedText"] for info in document["hasExtractedLicensingInfos"]}
    for part in document["packages"]:
        assert part["name"] and part["versionInfo"] and part["downloadLocation"]
        assert part["licenseDeclared"] == "Apache-2.0" or licences[part["licenseDeclared"]].strip()
    files = {file["fileName"]: {one["algorithm"]: one["checksumValue"] for one in file["checksums"]} for file in document["files"]}
    present = [file for file in there.rglob("*") if file.is_file() and not file.is_symlink() and file.name != "fatctx.spdx.json"]
    assert set(files) == {f"./{file.relative_to(there)}" for file in present}
    for file in present:
        sums = files[f"./{file.relative_to(there)}"]
        assert sums["SHA256"] == hashlib.sha256(file.read_bytes()).hexdigest() and len(sums["SHA1"]) == 40
    held = {link["relatedSpdxElement"]: link["spdxElementId"] for link in document["relationships"] if link["relationshipType"] == "CONTAINS"}
    sha1 = {file["SPDXID"]: one["checksumValue"] for file in document["files"] for one in file["checksums"] if one["algorithm"] == "SHA1"}
    for part in document["packages"]:
        mine = sorted(sha1[file] for file, holder in held.items() if holder == part["SPDXID"])
        assert part["filesAnalyzed"] == bool(mine)
        code = hashlib.sha1("".join(mine).encode()).hexdigest()
        assert not mine or part["packageVerificationCode"]["packageVerificationCodeValue"] == code
    by_name = {file["fileName"]: file["SPDXID"] for file in document["files"]}
    for file in bundled(there):
        assert held[by_name[f"./{file.relative_to(there)}"]] != "SPDXRef-Package-fatctx", f"{file.name} is not ours"


def test_a_library_that_no_package_owns_is_not_shipped(tmp_path):
    name = f"fatctx-{VERSION}-linux-x86_64"
    (tmp_path / name / "lib").mkdir(parents=True)
    shutil.copy(BUILD / "src" / "libfatctx.so", tmp_path / name / "lib" / "libunheard-of.so.1")
    done = run("python3", ROOT / "scripts" / "notices.py", tmp_path / name, VERSION, EPOCH)
    assert done.returncode == 1 and "libunheard-of.so.1, so its licence is unknown" in done.stderr


@pytest.mark.parametrize("arguments", [["--nighty"], ["-o"]])
def test_mistakes_are_usage_errors(arguments):
    done = run(ROOT / "scripts" / "package", *arguments)
    assert done.returncode == 2 and "package: " in done.stderr
