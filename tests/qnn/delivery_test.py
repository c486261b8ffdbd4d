"""A device fetches its part of a container of four chips: the bytes that it needs, the metadata, and at most 1 % more.

Sharing by pages scatters a chip's bytes. There a request costs more than the bytes between two pieces, up to 128 KiB, so
more bytes come, or more requests are made.
"""

from __future__ import annotations

import json

import pytest

from packing import fatctx
from vendor import FOUR

LIMITS = {"off": (1.01, 10), "bytes": (1.01, 10), "pages": (1.04, 30)}  # share of the needed bytes, requests
SOCS = {"v73": "SM8550", "v75": "SM8650", "v79": "SM8750"}


@pytest.mark.parametrize("name", ["transformer", "small_transformer"])
@pytest.mark.parametrize("sharing", LIMITS)
@pytest.mark.parametrize("soc", SOCS.values())
def test_a_device_fetches_what_it_needs(packer, name, sharing, soc, tmp_path):
    whole = packer.singles(name, FOUR, sharing)
    extents = json.loads(fatctx("info", whole, "--extents", "--json"))["extents"]["extents"]
    metadata = sum(one["size"] for one in extents if one["kind"] not in ("payload", "packed"))
    said = json.loads(fatctx("fetch", whole, "--device", soc, "-o", tmp_path / "part", "--json"))
    share, requests = LIMITS[sharing]
    assert said["fetched_bytes"] <= share * (said["needed_bytes"] + metadata)
    assert said["requests"] <= requests
    record = next(one for one in said["records"] if one != "description")
    for container, out in ((tmp_path / "part", "part.bin"), (whole, "whole.bin")):
        fatctx("extract", container, record, "-o", tmp_path / out)
    assert (tmp_path / "part.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()
    print(f"{name} {sharing} {soc}: {said['fetched_bytes']:,} bytes of {whole.stat().st_size:,}, {said['requests']} requests")
