"""The samples of the quick start fail if their claims do not hold."""

import mmap
import pathlib
import subprocess
import sys
import weakref

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "samples" / "first_light"
np = pytest.importorskip("numpy")
sys.path.insert(0, str(FOLDER))

import inputs  # noqa: E402
import memory  # noqa: E402
import run_sessions  # noqa: E402
import tables  # noqa: E402


class Mapping:
    """A read-only mapping of a file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)


class Session:
    """A session that answers with the sentence's length, off by a chosen amount, and holds mappings during its
    lifetime."""

    def __init__(self, error, held):
        self._error, self._held = error, held

    def run(self, feeds):
        return np.full((1, 2), float(feeds["input_ids"].size)) + self._error


class Loader:
    """A stand-in for a container: its sessions share one mapping, which ends with the last of them."""

    def __init__(self, path=None, error=0.0):
        self._path, self._error, self._shared = path, error, None

    def open(self):
        held = self._shared() if self._shared else None
        if held is None and self._path:
            held = Mapping(self._path)
            self._shared = weakref.ref(held)
        return Session(self._error, held)


@pytest.fixture
def container(tmp_path):
    path = tmp_path / "some.fatctx"
    path.write_bytes(b"not a container, but mapped like one" * 300)
    return str(path)


def run(monkeypatch, container, loader, *more):
    monkeypatch.setattr(run_sessions.loaders, "OnnxRuntime", lambda path: Loader())
    monkeypatch.setattr(run_sessions.loaders, "FatctxIree", lambda path, verify: loader)
    monkeypatch.setattr(run_sessions.loaders, "chosen_record", lambda path: "some record")
    monkeypatch.setattr(sys, "argv", ["run_sessions.py", container, "--onnx", "unused", *more])
    return run_sessions.main()


def test_sessions_on_one_mapping_that_agree_pass(monkeypatch, container, capsys):
    assert run(monkeypatch, container, Loader(container)) == 0
    assert "48 interleaved runs" in capsys.readouterr().out  # 8 sessions, 3 sentences, 2 rounds


def test_a_difference_above_the_limit_fails(monkeypatch, container, capsys):
    assert run(monkeypatch, container, Loader(container, error=2e-4)) == 1
    assert "the outputs differ by 2.00e-04, more than 1e-04" in capsys.readouterr().err


def test_a_difference_below_the_limit_passes(monkeypatch, container):
    assert run(monkeypatch, container, Loader(container, error=5e-5)) == 0


def test_an_answer_that_is_no_number_fails(monkeypatch, container):
    assert run(monkeypatch, container, Loader(container, error=float("nan"))) == 1


def test_a_mapping_for_each_session_fails(monkeypatch, container, capsys):
    class Greedy(Loader):
        def open(self):
            self._shared = None
            return super().open()

    assert run(monkeypatch, container, Greedy(container)) == 1
    assert "8 sessions, but 8 mappings of" in capsys.readouterr().err


def test_no_mapping_at_all_fails(monkeypatch, container, capsys):
    assert run(monkeypatch, container, Loader()) == 1
    assert "0 mappings of" in capsys.readouterr().err


def test_a_mapping_that_stays_behind_fails(monkeypatch, container, capsys):
    class Leaking(Loader):
        def open(self):
            session = super().open()
            self.leaked = session._held
            return session

    assert run(monkeypatch, container, Leaking(container)) == 1
    assert "after the last session 1 mapping(s)" in capsys.readouterr().err


def test_sessions_that_disagree_fail(monkeypatch, container, capsys):
    class Drifting(Loader):
        def open(self):
            self._error += 1e-6
            return super().open()

    assert run(monkeypatch, container, Drifting(container)) == 1
    assert "do not agree" in capsys.readouterr().err


def test_a_mapping_is_seen_while_it_lives_and_not_afterwards(container):
    live = Mapping(container)
    seen = memory.mappings_of(container)
    del live

    assert len(seen) == 1 and seen[0][2].startswith("r--")
    assert memory.mappings_of(container) == []


def test_anonymous_memory_counts_what_was_written_and_not_what_is_mapped(container):
    before = memory.own_memory()
    # Not from the heap, which may have kept pages that an earlier test had written to.
    live, filled = Mapping(container), mmap.mmap(-1, 8 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for page in range(0, len(filled), mmap.PAGESIZE):  # page by page: a source buffer of 8 MiB would count as well
        filled[page] = 1
    grown = memory.own_memory() - before

    assert 8 << 20 <= grown.anonymous < 9 << 20
    assert live and filled[0] == 1


def test_every_sentence_starts_and_ends_as_the_model_expects():
    for _, ids in inputs.SENTENCES:
        assert (ids[0], ids[-1]) == (101, 102)


def test_a_table_in_a_pipe_is_aligned_text(capsys):
    tables.print_table("title", ["name", ">size"], [["a", "1.0"], ["long name", "22.5"]], notes=["note"])

    assert capsys.readouterr().out.splitlines() == [
        "title", "name       size", "---------  ----", "a           1.0", "long name  22.5", "note"]


def test_the_transformer_is_the_same_bytes_every_time(tmp_path):
    pytest.importorskip("onnx")
    made = []
    for name in ("one.onnx", "two.onnx"):
        path = tmp_path / name
        subprocess.run([sys.executable, str(FOLDER / "make_transformer.py"), "-o", str(path), "--layers", "1"], check=True,
                       capture_output=True)
        made.append(path.read_bytes())

    assert made[0] == made[1]
    assert 50_000_000 < len(made[0]) < 51_000_000
