"""Views of records that share their bytes at any offset: the budget, and the properties of a view."""

import random

import pytest

import fatctx


@pytest.fixture()
def moved(tmp_path):
    """Packs two records with the same bytes, shifted by 8 bytes in one of them. Returns the path and the bytes of
    that one."""
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


@pytest.fixture()
def cache(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    return folder


def test_what_is_built_lies_in_a_cache_folder(moved, cache):
    path, name, body = moved
    for _ in range(2):
        container = fatctx.open(path, cache_folder=cache)
        view = container.acquire(name)
        assert bytes(view) == body
        assert view.access_path == "composed"
        assert view.copied_bytes == 0
        assert view.cached_bytes >= len(body)
        (record,) = (one for one in fatctx.container_metrics(container)["container"]["records"] if one["name"] == name)
        assert record["cached_bytes"] == view.cached_bytes
        assert record["cache_file"].startswith(str(cache))
        assert record["cache_rejected"] is None
        del view, container
    listed = fatctx.view_cache_files(cache)
    assert listed["schema"] == "fatctx.cache/1"
    assert [one["whole"] for one in listed["files"]] == [True]
    counts = fatctx.runtime_metrics()["runtime"]["view_cache"]
    assert counts["made"] >= 1
    assert counts["used"] >= 1
    assert fatctx.collect_view_cache(cache, 0)["removed_files"] == 1
    assert fatctx.view_cache_files(cache)["files"] == []


def test_a_bad_cache_folder_is_refused_with_the_remedy(moved, cache):
    path, name, _ = moved
    cache.chmod(0o755)
    with pytest.raises(fatctx.OperationNotPermitted, match="chmod 700"):
        fatctx.open(path, cache_folder=cache, max_copied_bytes=1 << 30).acquire(name)
    with pytest.raises(fatctx.OperationNotPermitted, match="chmod 700"):
        fatctx.view_cache_files(cache)
    with pytest.raises(fatctx.FileNotFound, match="mkdir -m 700"):
        fatctx.collect_view_cache(cache / "none", 0)
    with pytest.raises(TypeError):
        fatctx.open(path, cache_folder=3)
    with pytest.raises(TypeError, match="cache_limit_bytes"):
        fatctx.open(path, cache_limit_bytes=-1)


def test_a_limit_below_one_file_names_the_bytes(moved, cache):
    path, name, _ = moved
    with pytest.raises(fatctx.NoSpace, match="cache_limit_bytes is 1000"):
        fatctx.open(path, cache_folder=str(cache), cache_limit_bytes=1000).acquire(name)
