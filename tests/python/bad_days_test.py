"""Files that change while they are mapped: where the change is noticed, and which content stays right."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

import fatctx


@pytest.fixture()
def model(small):
    return fatctx.open_model(small, device="x86-64-v3")


def test_a_session_of_an_unchanged_file_ends_well(model):
    session = model.session()
    session.end()
    model.container.check()
    assert bytes(session.binary())  # objects that Python holds stay valid


def test_a_cut_file_is_changed_for_sessions_and_containers(model, small):
    session = model.session()
    os.truncate(small, 65536)
    with pytest.raises(fatctx.Changed, match="open it again"):
        session.end()
    with pytest.raises(fatctx.Changed):
        model.container.check()


def test_a_with_block_checks_at_its_end_unless_it_raised(model, small):
    with fatctx.open(small) as container, model.session() as session:
        assert bytes(container.acquire("net.weights")) and bytes(session.binary())
    opened = [fatctx.open(small), model.session()]
    os.truncate(small, 65536)
    for block in opened:
        with pytest.raises(fatctx.Changed):
            with block:
                pass
        with pytest.raises(ZeroDivisionError):
            with block:
                raise ZeroDivisionError


def test_private_copies_do_not_care_what_is_written_to_the_file(small):
    container = fatctx.open(small, verify="private_copy")
    assert container.report.verify == "private_copy" and not container.report.mapped
    view = container.acquire("net.weights")
    right = bytes(view)
    os.truncate(small, 65536)
    assert bytes(view) == right
    container.check()


def test_the_guard_puts_zeros_in_place_of_a_signal(small):
    # In a process of its own, because the handler is installed for good.
    program = textwrap.dedent("""
        import os, sys, fatctx
        assert not fatctx.mapping_guard_installed()
        fatctx.install_mapping_guard()
        assert fatctx.mapping_guard_installed() and fatctx.lost_mappings() == 0
        model = fatctx.open_model(sys.argv[1], device="x86-64-v3")
        session = model.session()
        view = memoryview(session.weights[0])
        os.truncate(sys.argv[1], 65536)
        assert view[-1] == 0 and fatctx.lost_mappings() == 1
        try:
            session.end()
        except fatctx.MappingLost as error:
            print("lost:", error)
    """)
    run = subprocess.run([sys.executable, "-c", program, str(small)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "lost: " in run.stdout and "read as zeros now" in run.stdout
