"""No record owns the bytes that several share: the order of the inputs changes no byte, and each can go. Shows S4.6."""

import itertools
import os

import pytest

CHIPS = {"a": "v73", "b": "v75", "c": "v79"}


@pytest.fixture()
def binaries(tmp_path):
    """Three binaries with most bytes in common; the bytes of the last one are moved by less than a page."""
    common = os.urandom(4_000_000)
    held = {"a": os.urandom(4096) + common, "b": os.urandom(4096) + common, "c": os.urandom(300) + common}
    for name, content in held.items():
        (tmp_path / f"{name}.bin").write_bytes(content)
    return held


def pack(fatctx, tmp_path, names, sharing: str, out: str) -> bytes:
    flags = [f"--binary={name}.bin@htp:{CHIPS[name]},name={name}" for name in names]
    fatctx("pack", "-o", out, "--name", "m", "--sharing", sharing, *flags)
    return (tmp_path / out).read_bytes()


@pytest.mark.parametrize("sharing", ["pages", "bytes"])
def test_the_order_of_the_binaries_changes_no_byte(fatctx, binaries, tmp_path, sharing):
    first, *others = [pack(fatctx, tmp_path, names, sharing, "".join(names) + ".fatctx") for names in itertools.permutations("abc")]
    assert all(other == first for other in others)
    assert len(first) < sum(map(len, binaries.values())) * (0.75 if sharing == "pages" else 0.45), "they do share"


@pytest.mark.parametrize("gone", "abc")
@pytest.mark.parametrize("sharing", ["pages", "bytes"])
def test_whichever_binary_goes_the_others_are_whole(fatctx, binaries, tmp_path, sharing, gone):
    pack(fatctx, tmp_path, "abc", sharing, "m.fatctx")
    fatctx("remove", "m.fatctx", gone, "-o", "rest.fatctx")
    fatctx("verify", "rest.fatctx")
    for name in set("abc") - {gone}:
        fatctx("extract", "rest.fatctx", name, "-o", f"{name}.out")
        assert (tmp_path / f"{name}.out").read_bytes() == binaries[name]
