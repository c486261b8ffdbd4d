"""Measures sessions of a model, for the table of `fatctx bench load MODEL.onnx`. Each way has its own processes."""

import ctypes
import multiprocessing
import queue
import os
import statistics
import time

COLUMNS = ["way", "min", "median", "further, min", "further, median", "anonymous, 1", "all", "PSS, 1", "all", "peak RSS"]


def _memory() -> dict[str, int]:
    """Returns the bytes of this process; PSS divides a page by the number of processes that share it."""
    ctypes.CDLL(None).malloc_trim(0)  # otherwise freed memory would count
    with open("/proc/self/smaps_rollup") as file:
        found = dict(line.split(":", 1) for line in file if line.endswith("kB\n"))
    return {key: int(found[key].split()[0]) * 1024 for key in ("Anonymous", "Pss")}


def _peak_rss() -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))


def _child(make, feed_of, sessions: int, results) -> None:
    before = _memory()

    def since(name):
        return _memory()[name] - before[name]

    kept, found = [], {"seconds": []}
    for _ in range(sessions):
        start = time.perf_counter()
        session = make()
        found["seconds"].append(time.perf_counter() - start)
        session.run(None, feed_of(session))  # reads every weight once
        kept.append(session)
        found.setdefault("first", {name: since(name) for name in before})
    found["all"] = {name: since(name) for name in before}
    found["peak"] = _peak_rss()
    results.put(found)


def drop_from_cache(path) -> None:
    """Drops the file from the page cache, so that the next read goes to the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(way: str, make, feed_of, repeat: int, sessions: int, cold=None) -> list[str]:
    """Returns a row. `make` and `feed_of` go to fresh processes: functions of a module, or partials of them."""
    spawn = multiprocessing.get_context("spawn")
    first, further, found = [], [], {}
    for _ in range(repeat):
        if cold is not None:
            drop_from_cache(cold)
        results = spawn.Queue()
        child = spawn.Process(target=_child, args=(make, feed_of, sessions, results), daemon=True)
        child.start()
        while True:
            try:
                found = results.get(timeout=1)
                break
            except queue.Empty:
                if not child.is_alive() and child.exitcode != 0:
                    raise SystemExit(f"{way}: the process that measures it failed") from None
        child.join()
        first.append(found["seconds"][0])
        further += found["seconds"][1:]
    memory = [found[which][name] for name in ("Anonymous", "Pss") for which in ("first", "all")]
    return [way, *_times(first), *_times(further), *map(_bytes_text, memory), _bytes_text(found["peak"])]


def once(way: str, seconds: float) -> list[str]:
    """Returns a row for a step that is not a session."""
    return [way, *_times([seconds]), *[""] * 7]


def table(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in [COLUMNS, *rows]) for i in range(len(COLUMNS))]

    def line(row):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
        return "  ".join(cells).rstrip()
    return "\n".join(line(row) for row in [COLUMNS, *rows])


def _times(seconds: list[float]) -> list[str]:
    return [_time_text(min(seconds)), _time_text(statistics.median_high(seconds))] if seconds else ["", ""]


def _time_text(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _bytes_text(count: int) -> str:
    if count < 1024:
        return f"{max(count, 0)} bytes"
    value, units = count / 1024, ["KiB", "MiB", "GiB", "TiB"]
    while value >= 1023.95 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.1f} {units[0]}"
