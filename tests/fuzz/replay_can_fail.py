"""Shows that the replay of fuzz inputs fails when it must: on a broken promise, and on a missing corpus."""

import pathlib
import subprocess
import sys
import tempfile


def main() -> int:
    program = sys.argv[1]
    failures = []

    def expect(name: str, inputs: list[str], arguments: list[str], good: bool, words: str = "") -> None:
        with tempfile.TemporaryDirectory() as folder:
            corpus = pathlib.Path(folder, "corpus")
            corpus.mkdir()
            for number, text in enumerate(inputs):
                (corpus / f"{number}-input").write_bytes(text.encode())
            run = subprocess.run([program, *(word.replace("CORPUS", str(corpus)) for word in arguments)],
                                 capture_output=True, text=True, timeout=30, check=False)
        said = run.stdout + run.stderr
        if (run.returncode == 0) != good or words not in said:
            failures.append(f"{name}: exit {run.returncode}, said:\n{said}")

    expect("good inputs pass", ["a", "", "b"], ["CORPUS"], True, "3 inputs")
    expect("a broken promise fails", ["a", "break it"], ["CORPUS"], False, "no input starts with that word: break it")
    expect("the input is named before it runs", ["a", "break", "z"], ["CORPUS"], False, "1-input\n")
    expect("an error without a message fails", ["error"], ["CORPUS"], False, "an error has a message")
    expect("a good error passes", ["errorone line"], ["CORPUS"], True)
    expect("a view that leaves its parent fails", ["outside"], ["CORPUS"], False, "a part lies in the whole")
    if "--sanitized" not in sys.argv:
        expect("too much memory fails", ["memory"], ["CORPUS"], False, "an input costs memory by its size")
        expect("little time passes", ["a"], ["--seconds", "0.01", "CORPUS"], True)
        expect("too much time fails", ["time"], ["--seconds", "0.01", "CORPUS"], False, "an input costs time by its size")
    expect("an empty corpus fails", [], ["CORPUS"], False, "0 inputs in")
    expect("too small a corpus fails", ["a"], ["--at-least", "2", "CORPUS"], False, "at least 2")
    expect("a missing folder fails", ["a"], ["CORPUS/none"], False, "there is no folder")
    expect("a folder that need not be there may be missing", ["a"], ["CORPUS", "--if-there", "CORPUS/none"], True)
    expect("an old crash that comes back fails", ["break"], ["--if-there", "CORPUS"], False, "broken promise")
    expect("no argument fails", ["a"], [], False, "no inputs")
    print("\n".join(failures) or "the replay can fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
