"""A release archive depends on its sources alone: two builds in two folders, at two times, have the same bytes."""

import hashlib
import re
import tarfile

from places import ROOT, must, run


def members(archive) -> dict[str, tuple]:
    with tarfile.open(archive) as tar:
        return {member.name: (member.mode, member.mtime, member.size, member.linkname,
                              hashlib.sha256(tar.extractfile(member).read()).hexdigest() if member.isfile() else "") for member in tar}


def test_two_folders_give_the_same_bytes(release, release_of_another_folder):
    one, other = members(release), members(release_of_another_folder)
    assert {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)} == set()
    assert release.read_bytes() == release_of_another_folder.read_bytes()
    assert len(one) > 100 and {name.split("/", 1)[-1] for name in one} >= {"bin/fatctx", "share/fatctx/report.html"}


def test_the_checksum_beside_an_archive_is_its_own(release):
    beside = release.with_name(release.name + ".sha256")
    assert beside.read_text() == f"{hashlib.sha256(release.read_bytes()).hexdigest()}  {release.name}\n"
    assert must("sha256sum", "-c", beside.name, cwd=release.parent) == f"{release.name}: OK\n"


def test_nothing_in_an_archive_names_its_build_folder(release):
    with tarfile.open(release) as tar:
        named = [member.name for member in tar if member.isfile() and str(ROOT).encode() in tar.extractfile(member).read()]
    assert named == []


def test_the_time_in_an_archive_is_that_of_the_sources(release):
    seconds = must(ROOT / "scripts" / "source_time.sh").strip()
    assert {mtime for _, mtime, *_ in members(release).values()} == {int(seconds)}


def test_a_source_archive_is_made_in_a_checkout_only(release_of_another_folder):
    done = run("scripts/package", "--source", cwd=release_of_another_folder.parents[1])
    assert done.returncode == 5 and re.search(r"error: package: .* is no git checkout", done.stderr)
