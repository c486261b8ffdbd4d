"""The image of packaging/docker: small, without a shell, not run as root, and its command works on mounted files."""

import json
import os
import shutil

import pytest

from places import PLACE, ROOT, VERSION, must, run

LARGEST_IMAGE = 100_000_000  # bytes


@pytest.fixture(scope="module")
def buildah():
    """Returns a function that calls buildah with a storage of its own, which is removed at the end."""
    if not shutil.which("buildah"):
        pytest.skip("buildah is missing; scripts/packages_setup.sh installs it")
    if not (PLACE / "debian.tar").exists():
        pytest.skip(f"{PLACE / 'debian.tar'} is not there, the base of the first stage; scripts/packages_setup.sh makes it")
    storage = PLACE / "storage"

    def call(*arguments, check=True):
        return (must if check else run)("buildah", "--root", storage / "root", "--runroot", storage / "run", "--storage-driver", "vfs",
                                        *arguments, env=dict(os.environ, BUILDAH_ISOLATION="chroot"))

    yield call
    call("rm", "--all", check=False)
    call("rmi", "--all", "--force", check=False)
    shutil.rmtree(storage, ignore_errors=True)


@pytest.fixture(scope="module")
def container(buildah, release, tmp_path_factory):
    """A container of the image, and the folder of the image's files. The base is the clean Debian of this lane: no network."""
    base = buildah("from", "scratch").strip()
    buildah("add", "--quiet", base, PLACE / "debian.tar", "/")
    buildah("commit", "--quiet", "--rm", base, "localhost/debian:12")
    context = tmp_path_factory.mktemp("context")
    shutil.copy(release, context)
    buildah("bud", "--pull-never", "--build-arg", "BASE=localhost/debian:12", "-f", ROOT / "packaging" / "docker" / "Dockerfile",
            "-t", "localhost/fatctx", context)
    buildah("rmi", "localhost/debian:12", check=False)
    return buildah("from", "--pull-never", "localhost/fatctx").strip()


def test_it_runs_as_nobody_in_particular_and_starts_the_command(buildah, container):
    config = json.loads(buildah("inspect", "--type", "image", "localhost/fatctx"))["OCIv1"]["config"]
    assert config["User"] == "65532:65532" and config["Entrypoint"] == ["/opt/fatctx/bin/fatctx"] and config["Cmd"] == ["--help"]


def test_it_is_small_and_has_no_shell(buildah, container):
    place = buildah("mount", container).strip()
    files = [os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names]
    size = sum(os.lstat(file).st_size for file in files)
    assert 5_000_000 < size < LARGEST_IMAGE, size
    assert not [file for file in files if os.path.basename(file) in ("sh", "bash", "apt", "dpkg", "ldd")]
    assert not [file for file in files if file.endswith((".a", ".h"))]


def test_every_library_in_it_has_its_licence(buildah, container):
    place = buildah("mount", container).strip()
    documents = {os.path.basename(os.path.dirname(os.path.join(folder, name))) for folder, _, names in os.walk(f"{place}/usr/share/doc")
                 for name in names if name == "copyright"}
    libraries = {name for folder, _, names in os.walk(place) for name in names
                 if ".so" in name and not folder.startswith(f"{place}/opt/fatctx")}
    assert libraries and "libc6" in documents
    for library, package in (("libstdc++.so", "libstdc++6"), ("libgcc_s.so", "libgcc-s1")):  # an archive of zig needs neither
        assert package in documents or not any(name.startswith(library) for name in libraries)
    assert os.path.isdir(f"{place}/opt/fatctx/licenses") and os.path.isfile(f"{place}/opt/fatctx/LICENSE")


def test_the_command_works_on_mounted_files(buildah, container, tmp_path):
    (tmp_path / "code.bin").write_text("a program for the processor")
    tmp_path.chmod(0o777)
    fatctx = ("run", "-v", f"{tmp_path}:/models", container, "--", "/opt/fatctx/bin/fatctx")

    assert VERSION in buildah(*fatctx, "version")
    buildah(*fatctx, "pack", "-o", "m.fatctx", "--name", "m", "--binary", "code.bin@cpu:x86-64-v3")
    assert "m.x86-64-v3" in buildah(*fatctx, "select", "m.fatctx", "--device", "x86-64-v4")
    assert (tmp_path / "m.fatctx").stat().st_uid == 65532
