"""Every error text of the ONNX Runtime adapter has been seen by a test: a test quotes it.

A text counts as quoted if four consecutive words of it appear in a test, or all words if it has fewer. A reader must
check that the quoting test provokes the error; this test finds the texts that no test mentions.
"""

import re

from checkout import cxx_files, matching, text_of, without_comments

SOURCES = ("src/runtime/ort/", "tools/ctx_gen/", "tools/wrap/cmd_wrap.cc", "tools/pack/ep_context",
           "tools/wrap/onnx_fit.cc", "tools/onnx/onnx_whole.cc", "tools/onnx/onnx_wrapper.cc")
QUOTED = 4
LEAST = 3  # shorter ones are names and parts of sentences
# The end of a text that no test can provoke, or need not, with the reason.
UNSEEN = {
    "create the session again when nobody replaces it":
        "somebody has to replace the file between two calls, three times in a row",
    "ends behind them": "ONNX Runtime fails itself when it cannot write all of the weights",
    "has no value": "ONNX Runtime gives a fused node every input of the nodes that it is made of",
    "the ONNX model cannot be encoded": "its size is looked at before, and protobuf fails for nothing else",
    "print(q.get_qnn_htp_path())": "a program for Python, which tests run",
    "import onnxruntime_ep_openvino as q; print(q.get_library_path())": "a program for Python, which tests run",
}

_LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
_BETWEEN = re.compile(r'"\s*\n\s*[rf]*"')
_BREAK = re.compile(r"""[\s"'\\()]+""")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|%[a-z]+|\\[ntx0-9]+")


def words_of(text: str) -> list[str]:
    """Returns the words without the characters around them, so that a test may end its quotation anywhere."""
    return [word for word in (part.strip(".,:;!?'`*{}[]|=<>+") for part in _BREAK.split(text)) if word]


def texts_of(source: str) -> list[str]:
    joined = _BETWEEN.sub("", re.sub(r"^\s*#.*$", "", without_comments(source), flags=re.MULTILINE))
    return [found.group(1) for found in _LITERAL.finditer(joined)]


def runs_of(text: str) -> list[list[str]]:
    """Returns the words between placeholders, if there are enough."""
    runs = [words_of(part) for part in _PLACEHOLDER.split(text)]
    return [run for run in runs if len(run) >= LEAST]


def is_quoted(text: str, quotations: str) -> bool:
    for run in runs_of(text):
        size = min(QUOTED, len(run))
        if any(f" {' '.join(run[i:i + size])} " in quotations for i in range(len(run) - size + 1)):
            return True
    return not runs_of(text)


def quotations_of(texts: list[str]) -> str:
    return " " + " ".join(word for text in texts for word in words_of(_BETWEEN.sub("", text))) + " "


def unquoted(source: str, quotations: str) -> list[str]:
    return [text for text in texts_of(source) if not is_quoted(text, quotations)
            and not any(text.endswith(end) for end in UNSEEN)]


def test_a_text_that_no_test_quotes_is_found():
    source = 'error("{}: the container \\"{}\\" was not "\n    "found at all"); note("m.fatctx"); // "never said to anybody"'
    assert texts_of(source) == ['{}: the container \\"{}\\" was not found at all', "m.fatctx"]
    assert unquoted(source, quotations_of(["some other words"])) == ['{}: the container \\"{}\\" was not found at all']
    assert unquoted(source, quotations_of(['assert "was not found at" in said'])) == []
    assert unquoted(source, quotations_of(['assert "was not "\n  "found at all" in said'])) == []
    assert unquoted(source, quotations_of(['assert "not found" in said'])) != []


def test_every_text_is_quoted_by_a_test():
    own = "tests/style/"
    tests = [text_of(name) for name in matching(".py", ".cc", ".h", under=("tests/",)) if not name.startswith(own)]
    tests += [text_of(name) for name in matching(".txt", under=("tests/cli/cases/",))]
    quotations = quotations_of(tests)
    assert [f"{name}: {text}" for name in cxx_files(*SOURCES) for text in unquoted(text_of(name), quotations)] == []


def test_what_cannot_be_seen_is_still_there():
    ends = [text for name in cxx_files(*SOURCES) for text in texts_of(text_of(name))]
    assert [end for end in UNSEEN if not any(text.endswith(end) for text in ends)] == []
