"""Metrics, profile, trace and replay."""

from __future__ import annotations

import json
import threading

import pytest

import fatctx


@pytest.fixture(autouse=True)
def nothing_stays_on():
    yield
    fatctx.set_trace(None)
    fatctx.stop_profile()


def test_metrics_are_dictionaries_of_the_moment(small):
    container = fatctx.open(small)
    sessions = [fatctx.open_model(small, "aarch64").session() for _ in range(3)]
    metrics = fatctx.container_metrics(container)

    assert metrics["schema"] == "fatctx.metrics/1"
    inner = metrics["container"]
    assert inner["sessions"] == 3 and inner["mapped_bytes"] >= small.stat().st_size
    assert inner["saved_bytes"] == 2 * (sessions[0].binary().nbytes + sessions[0].weights[0].nbytes)
    by_name = {record["name"]: record for record in inner["records"]}
    assert by_name["net.aarch64"]["sessions"] == 3 and by_name["net.x86-64-v2"]["sessions"] == 0
    everything = fatctx.runtime_metrics()["runtime"]
    assert any(one["path"] == str(small) for one in everything["containers"])


def test_a_basic_profile_has_totals_and_a_detailed_one_events(small):
    fatctx.start_profile()
    fatctx.open(small).acquire("net.aarch64")
    basic = fatctx.stop_profile()
    assert basic.level == "basic" and basic.events == []
    assert {total.kind: total.count for total in basic.totals}["acquire"] == 1

    fatctx.start_profile("detailed")
    container = fatctx.open(small)
    view = container.acquire("net.aarch64")
    with pytest.raises(fatctx.NotFound):
        fatctx.open(str(small) + ".nothing")
    seen = fatctx.current_profile()
    assert fatctx.stop_profile().level == "detailed"
    acquired = next(event for event in seen.events if event.kind == "acquire")
    assert (acquired.record, acquired.bytes, acquired.ok) == ("net.aarch64", view.nbytes, True)
    assert acquired.path == str(small) and acquired.start_ns > 0 and acquired.thread >= 1
    assert [event.ok for event in seen.events if event.kind == "open"] == [True, False]
    title, *lines = seen.csv().splitlines()
    assert title.startswith("start_ns,event,") and len(lines) == len(seen.events)
    fatctx.open(small)  # not recorded any more
    assert len(fatctx.current_profile().events) == len(seen.events)


def test_a_limit_drops_events_and_not_totals(small):
    fatctx.start_profile("detailed", max_events=1)
    container = fatctx.open(small)
    for _ in range(5):
        container.acquire("net.aarch64")
    profile = fatctx.stop_profile()
    assert len(profile.events) == 1 and profile.dropped_events >= 5
    assert {total.kind: total.count for total in profile.totals}["acquire"] == 5


def test_a_hook_gets_events_from_every_thread_and_may_call_the_library(small):
    events, lock = [], threading.Lock()

    def hook(event):
        fatctx.open(small).acquire(1)  # not recorded
        with lock:
            events.append((event.kind, event.record))

    fatctx.start_profile(hook=hook)
    container = fatctx.open(small)
    threads = [threading.Thread(target=container.acquire, args=("net.aarch64",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fatctx.stop_profile()

    assert events.count(("acquire", "net.aarch64")) == 4


def test_what_a_hook_or_sink_raises_goes_to_the_unraisable_hook(small, monkeypatch):
    raised = []
    monkeypatch.setattr("sys.unraisablehook", lambda what: raised.append(what.exc_value.args[0]))

    def fail(_):
        raise RuntimeError("of the caller")

    fatctx.start_profile(hook=fail)
    fatctx.open(small)
    fatctx.stop_profile()
    fatctx.set_trace(fail)
    fatctx.open(small)
    fatctx.set_trace(None)
    assert set(raised) == {"of the caller"} and len(raised) >= 3


def test_an_unknown_level_is_refused():
    with pytest.raises(fatctx.InvalidArgument, match="off.*basic.*detailed"):
        fatctx.start_profile("loud")


def test_a_trace_replays_and_tells_what_has_changed(small):
    lines = []
    fatctx.set_trace(lines.append)
    model = fatctx.open_model(small, "aarch64")
    model.session()
    with pytest.raises(fatctx.NotFound):
        fatctx.open(str(small) + ".nothing")
    fatctx.set_trace(None)
    fatctx.open(small)  # not recorded

    assert all(json.loads(line) for line in lines) and "fatctx.trace/1" in lines[0]
    same = fatctx.replay_trace("\n".join(lines))
    assert same and same.calls == len(lines) - 1 and same.skipped == 0 and same.differences == []
    del model
    fatctx.pack(small, [fatctx.PackRecord("opaque", "other", b"bytes")], overwrite=True)
    changed = fatctx.replay_trace("\n".join(lines))
    assert not changed and changed.differences
    first = changed.differences[0]
    assert first.line == 2 and str(small) in first.call and first.gave != first.gives


def test_a_line_that_cannot_be_read_is_named():
    with pytest.raises(fatctx.InvalidArgument, match="line 1"):
        fatctx.replay_trace("nonsense")


def test_a_prefetch_that_is_forgotten_under_a_hook_does_not_wait_for_itself(run_python, small):
    program = """
import faulthandler, sys, fatctx
faulthandler.dump_traceback_later(60, exit=True)
fatctx.start_profile(hook=lambda event: None)
container = fatctx.open(sys.argv[1])
for _ in range(50):
    container.prefetch_in_background("net.weights")
print(fatctx.stop_profile().totals[-1].kind)
"""
    assert run_python(program, small).strip() == "prefetch"


def test_functions_held_at_exit_do_no_harm(run_python, small):
    program = """
import sys, fatctx
fatctx.start_profile("detailed", hook=lambda event: None)
fatctx.set_trace(lambda line: None)
held = fatctx.open(sys.argv[1]).acquire(1)
print("end")
"""
    assert run_python(program, small) == "end\n"
