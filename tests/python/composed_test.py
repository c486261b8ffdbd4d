"""Views of records that share their bytes at any offset: the budget, and what a view says of itself."""

import random

import pytest

import fatctx


@pytest.fixture()
def moved(tmp_path):
    """Two records with the same bytes, which lie 8 bytes further on in one of them; the path, and that one's bytes."""
    body = random.Random(1).randbytes(300_000)
    bodies = {"plain": body, "moved": b"in front" + body}
    path = tmp_path / "moved.fatctx"
    fatctx.pack(path, [fatctx.PackRecord("opaque", *one) for one in bodies.items()], sharing="bytes")
    container = fatctx.open(path)
    (name,) = (name for name in bodies if container.record(name).recipe)
    return path, name, bodies[name]


def test_a_view_is_composed_within_the_budget(moved):
    path, name, body = moved
    view = fatctx.open(path, max_copied_bytes=1 << 20).acquire(name)
    assert bytes(view) == body
    assert view.access_path == "composed"
    assert len(body) <= view.copied_bytes < len(body) + 4096
    assert view.copied_bytes % 4096 == 0


def test_without_a_budget_the_error_names_the_bytes(moved):
    path, name, body = moved
    needed = (len(body) + 4095) // 4096 * 4096
    with pytest.raises(fatctx.CopyNotAllowed, match=f"{needed} bytes of memory.*max_copied_bytes is 0"):
        fatctx.open(path).acquire(name)
    with pytest.raises(fatctx.CopyNotAllowed):
        fatctx.open(path, max_copied_bytes=needed - 1).acquire(name)
    assert bytes(fatctx.open(path, max_copied_bytes=needed).acquire(name)) == body


def test_a_mapped_view_has_no_copied_bytes(moved):
    path, name, _ = moved
    container = fatctx.open(path)
    (plain,) = (record for record in container.records if record.name in {"plain", "moved"} and record.name != name)
    assert container.acquire(plain.id).copied_bytes == 0


@pytest.mark.parametrize("budget", [-1, 1.5, "much", 1 << 64])
def test_a_budget_that_is_none_is_refused(moved, budget):
    with pytest.raises(TypeError, match="max_copied_bytes"):
        fatctx.open(moved[0], max_copied_bytes=budget)
