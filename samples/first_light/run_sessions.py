#!/usr/bin/env python3
"""Runs eight IREE contexts on one mapping: interleaved, compared with ONNX Runtime, destroyed in random order."""

import argparse
import random
import sys
import time

import numpy as np

import inputs
import loaders
from memory import mappings_of
from tables import progress, progress_done


class Failure(Exception):
    """An error: the demonstration did not show its claim."""


def require(condition, text):
    if not condition:
        raise Failure(text)


def reference_outputs(model_path):
    session = loaders.OnnxRuntime(model_path).open()
    return [session.run(inputs.minilm(number)) for number in range(len(inputs.SENTENCES))]


def show_mapping(container, sessions):
    ranges = mappings_of(container)
    for start, end, flags in ranges:
        print(f"  /proc/self/maps: {start:x}-{end:x} {flags} {container} ({(end - start) / 1e6:.1f} MB)")
    require(len(ranges) == 1, f"{sessions} sessions, but {len(ranges)} mappings of {container}")
    require(ranges[0][2].startswith("r--"), f"the mapping is {ranges[0][2]}, not read-only")


def run_interleaved(sessions, rounds, chance):
    """Runs every sentence `rounds` times in every session, in a shuffled order."""
    turns = [(s, n) for s in range(len(sessions)) for n in range(len(inputs.SENTENCES)) for _ in range(rounds)]
    chance.shuffle(turns)
    outputs = [[] for _ in inputs.SENTENCES]
    for done, (session, number) in enumerate(turns, start=1):
        outputs[number].append(sessions[session].run(inputs.minilm(number)))
        progress(f"run {done} of {len(turns)}: session {session}, sentence {number}", log=False)
    progress_done()
    return outputs, len(turns)


def destroy_in_random_order(sessions, expected, chance):
    order = list(range(len(sessions)))
    chance.shuffle(order)
    alive = dict(enumerate(sessions))
    sessions.clear()
    for victim in order:
        del alive[victim]
        if alive:
            # One of the remaining sessions runs, to detect a view that was destroyed with another session.
            survivor = chance.choice(sorted(alive))
            output = alive[survivor].run(inputs.minilm(0))
            require(np.array_equal(output, expected), f"session {survivor} changed its answer after {victim} had gone")
    return order


def demonstrate(arguments):
    chance = random.Random(arguments.seed)
    expected = reference_outputs(arguments.onnx)
    loader = loaders.FatctxIree(arguments.container, verify=True)
    chosen = loaders.chosen_record(arguments.container)
    started = time.perf_counter()
    sessions = [loader.open() for _ in range(arguments.sessions)]
    opened = time.perf_counter() - started
    print(f"{len(sessions)} sessions of {chosen} are open after {opened * 1e3:.1f} ms:"
          " each an IREE context of its own, all on one mapping")
    show_mapping(arguments.container, len(sessions))

    outputs, runs = run_interleaved(sessions, arguments.rounds, chance)
    worst = 0.0
    for number, (sentence, _) in enumerate(inputs.SENTENCES):
        first = outputs[number][0]
        same = all(np.array_equal(first, other) for other in outputs[number])
        difference = float(np.abs(first - expected[number]).max())
        worst = float(np.maximum(worst, difference))  # unlike max(), keeps a NaN difference
        print(f'  "{sentence}": largest difference from ONNX Runtime {difference:.2e}')
        require(same, f"the sessions do not agree with each other on sentence {number}")
    print(f"{runs} interleaved runs; all sessions gave bit-identical answers")

    order = destroy_in_random_order(sessions, outputs[0][0], chance)
    print(f"destroyed in the order {', '.join(map(str, order))} (seed {arguments.seed}); the others kept running")
    left = mappings_of(arguments.container)
    require(not left, f"after the last session {len(left)} mapping(s) of {arguments.container} are left")
    print("after the last session nothing of the file is mapped")
    print(f"largest difference from ONNX Runtime's CPU provider: {worst:.2e} (limit {arguments.limit:.0e})")
    require(worst <= arguments.limit, f"the outputs differ by {worst:.2e}, more than {arguments.limit:.0e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("container", help="the .fatctx file of MiniLM")
    parser.add_argument("--onnx", required=True, help="the ONNX model it was made from, as reference")
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2, help="runs of each sentence by each session; default 2")
    parser.add_argument("--seed", type=int, default=20, help="of the order of runs and of destruction")
    parser.add_argument("--limit", type=float, default=1e-4, help="largest difference allowed; default 1e-4")
    try:
        demonstrate(parser.parse_args())
    except Failure as failure:
        progress_done()
        print(f"run_sessions: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
