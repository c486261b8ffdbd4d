"""The Debian packages: lintian finds nothing, they work in a clean Debian 12, and a purge leaves it as it was."""

import re
import shutil
from pathlib import Path

import pytest

from places import ROOT, VERSION, inside, must, run

NAMES = ["fatctx", "libfatctx-dev", "libfatctx1", "python3-fatctx"]
# Files that dpkg and the loader keep for themselves, in any installation.
OF_THE_SYSTEM = re.compile(r"/(var/lib/dpkg|var/log|var/cache/ldconfig|var/cache/man|var/cache/debconf|proc|sys|dev|tmp|root)(/|$)|"
                           r"/etc/ld\.so\.cache$")


def packages(folder: Path) -> dict[str, Path]:
    return {file.name.split("_")[0]: file for file in folder.glob("*.deb")}


def fields(deb: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w-]+): (.*)$", must("dpkg-deb", "--field", deb), re.MULTILINE))


def listed(deb: Path) -> list[str]:
    return [line.split()[5].removeprefix(".") for line in must("dpkg-deb", "--contents", deb).splitlines()]


def state_of(root: Path) -> dict[str, tuple]:
    """Returns the files of a root: kind, rights and size of each file, and where links lead."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = "/" + str(path.relative_to(root))
        if not OF_THE_SYSTEM.match(name):
            status = path.lstat()
            found[name] = (status.st_mode, None if path.is_dir() else status.st_size, str(path.readlink()) if path.is_symlink() else None)
    return found


@pytest.fixture(scope="module")
def installed(debs, debian):
    """A Debian with the four packages, for the tests of this file; at the end they are purged."""
    before = state_of(debian)
    (debian / "tmp" / "debs").mkdir()
    for file in packages(debs).values():
        shutil.copy(file, debian / "tmp" / "debs")
    done = inside(debian, "sh", "-c", "dpkg --install tmp/debs/*.deb")
    assert done.returncode == 0, done.stdout + done.stderr
    yield debian, before
    # The test of the purge has purged them; here only if it did not run.
    inside(debian, "dpkg", "--purge", *NAMES)


def test_there_are_four_packages_of_this_version(debs):
    assert sorted(packages(debs)) == NAMES
    for name, file in packages(debs).items():
        assert fields(file)["Version"] == f"{VERSION}-1" and fields(file)["Architecture"] == "amd64", name


def test_lintian_finds_nothing(debs):
    if not shutil.which("lintian"):
        pytest.skip("lintian is missing; scripts/packages_setup.sh installs it")
    changes, = debs.glob("*.changes")
    done = run("lintian", "--profile", "debian", "--fail-on", "error,warning", "--tag-display-limit", "0", "--allow-root", changes)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not re.search(r"^[EW]:", done.stdout, re.MULTILINE), done.stdout


def test_each_override_says_its_reason():
    for file in [*(ROOT / "packaging" / "debian").rglob("*lintian-overrides"), *(ROOT / "packaging" / "debian" / "source").glob("lintian-*")]:
        lines = file.read_text().splitlines()
        for number, line in enumerate(lines):
            assert line.startswith("#") or lines[number - 1].startswith("#"), f"{file}:{number + 1}: no reason above it"


def test_the_command_brings_pages_completions_guides_and_licences(debs):
    files = listed(packages(debs)["fatctx"])
    for name in ("/usr/bin/fatctx", "/usr/share/man/man1/fatctx-pack.1.gz", "/usr/share/bash-completion/completions/fatctx",
                 "/usr/share/zsh/site-functions/_fatctx", "/usr/share/fish/vendor_completions.d/fatctx.fish",
                 "/usr/share/fatctx/schemas/info.json", "/usr/share/doc/fatctx/docs/tutorial.md"):
        assert name in files
    for name, file in packages(debs).items():
        assert f"/usr/share/doc/{name}/copyright" in listed(file)


def test_libraries_know_their_versions(debs):
    """The shared library has the list of its functions; who links it gets the dependency."""
    library = packages(debs)["libfatctx1"]
    symbols = must("sh", "-c", f"dpkg-deb --ctrl-tarfile '{library}' | tar -xO ./symbols")
    stated = set(re.findall(r"^ (fatctx_\w+)@", symbols, re.MULTILINE))
    declared = set()
    for header in (ROOT / "include" / "fatctx" / "c").glob("*.h"):
        declared |= set(re.findall(r"^FATCTX_API [^;(]*?\b(fatctx_\w+)\(", header.read_text(), re.MULTILINE))
    assert len(declared) > 150 and stated == declared
    assert "libxxhash0" in fields(library)["Depends"] and "libfatctx1 (= " in fields(packages(debs)["libfatctx-dev"])["Depends"]
    python = fields(packages(debs)["python3-fatctx"])["Depends"]
    assert "python3 (<< 3.12)" in python and "python3 (>= 3.11~)" in python


@pytest.mark.parametrize("name", ["command", "build", "python"])
def test_the_packages_work_where_nothing_else_of_fatctx_is(installed, name):
    """Runs debian/tests/NAME, as a build server of Debian would."""
    debian, _ = installed
    work = debian / "srv" / "fatctx"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(ROOT / "tests" / "consumer", work / "tests" / "consumer")
    shutil.copytree(ROOT / "packaging" / "debian" / "tests", work / "debian" / "tests")

    done = inside(debian, f"debian/tests/{name}", folder="/srv/fatctx")

    assert done.returncode == 0, done.stdout + done.stderr
    if name != "build":
        assert VERSION in done.stdout
    shutil.rmtree(work)


def test_a_purge_leaves_nothing(installed):
    debian, before = installed
    assert state_of(debian) != before, "nothing was installed"

    done = inside(debian, "dpkg", "--purge", *NAMES)

    assert done.returncode == 0, done.stdout + done.stderr
    after = state_of(debian)
    assert {name: state for name, state in after.items() if before.get(name) != state} == {}
    assert set(before) - set(after) == set()
    assert not list((debian / "var" / "lib" / "dpkg" / "info").glob("*fatctx*"))
