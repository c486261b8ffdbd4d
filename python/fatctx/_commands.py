"""Commands of fatctx that the library has no calls for, as functions.

Each function runs the command, and returns the document that its `--json` prints. Keywords are the options of the command,
with underscores: `htp_socs="SM8650"` is `--htp-socs SM8650`. True gives an option without a value; None and False leave it out.
A list gives an option several times. Paths may be any `os.PathLike`.

Lines that the command prints on its way go to the logger "fatctx" (level INFO). A failure raises the exception of its error code.
Threads: any number of calls at a time.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import signal
import subprocess
import threading
from typing import Any

from . import errors
from ._core import ErrorCode

__all__ = ["compile", "export", "verify_onnx", "wrap"]

_LOG = logging.getLogger("fatctx")
_CODE = re.compile(r"\((\w+)(?:, [^()]*)?\)$")


def compile(model: str | os.PathLike, output: str | os.PathLike, **options: Any) -> dict[str, Any]:
    """Compiles an ONNX model for several targets and packs the results: `fatctx compile`.

        fatctx.compile("model.onnx", "model.fatctx", target=["x86-64-v3", "aarch64"], shape="x=1,3,320,320")

    Args:
        model: the ONNX model.
        output: OUT.fatctx, OUT.dlc, or a folder with / at the end for the parts.
        options: `target`, `targets`, `htp_socs`, `config_file`, `command`, `shape`, `sharing`, `jobs`, `cache`, `keep_source`,
            `seal`, `force`, ...: docs/cli/compile.md.

    Returns:
        The document fatctx.compile/1 (docs/schemas/compile.json).

    Raises:
        If the compiler refuses the model, the call raises an `Error` with its words. `KeyboardInterrupt` ends the compilers.
    """
    return _json("compile", [model, "-o", output], options)


def wrap(file: str | os.PathLike, output: str | os.PathLike, record: str | None = None, **options: Any) -> dict[str, Any]:
    """Writes an ONNX model with EPContext nodes around a record, for sessions of any execution provider: `fatctx wrap`.

    Args:
        file: the container.
        output: the model to write; its binary goes beside it, or into it with `embed=True`.
        record: a context binary by name; else the one for `device`, else the one for this machine.
        options: `device`, `graph`, `graph_input`, `graph_output`, `qnn_json`, `embed`, `force`, ...: docs/cli/wrap.md.

    Returns:
        The document fatctx.wrap/1 (docs/schemas/wrap.json).
    """
    return _json("wrap", [file, *([] if record is None else [record]), "-o", output], options)


def export(file: str | os.PathLike, output: str | os.PathLike, *, onnx: str | os.PathLike, **options: Any) -> None:
    """Writes an ONNX model whose external data is in a container: `fatctx export --onnx`. `export_dlc()` is for DLCs.

    Args:
        file: the container, which holds the weights of the model. It must be in the folder of `output` or below, but with
            `attached=True`.
        output: the model to write.
        onnx: the model that was packed.
        options: `weights` (records), `attached`, `force`: docs/cli/wrap.md.
    """
    _run("export", [file, "--onnx", onnx, "-o", output], options)


def verify_onnx(file: str | os.PathLike, onnx: str | os.PathLike) -> dict[str, Any]:
    """Checks that a model with EPContext nodes fits a container: `fatctx verify --onnx`. `verify_file()` checks a container.

    Returns:
        The document fatctx.verify_onnx/1 (docs/schemas/verify_onnx.json). `fits` is false if there are `findings`.
    """
    return _json("verify", [file, "--onnx", onnx], {}, check=True)


def _words(options: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words.append(f"{option}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return words


def _json(command: str, arguments: list[Any], options: dict[str, Any], *, check: bool = False) -> dict[str, Any]:
    return json.loads(_run(command, arguments, {**options, "json": True}, check=check))


def _run(command: str, arguments: list[Any], options: dict[str, Any], *, check: bool = False) -> str:
    """Runs the command and returns what it prints. With `check`, findings that it prints are a result, whatever its exit code."""
    from . import _program  # it imports shutil, which takes libraries that `import fatctx` does not need

    found = _program.program()
    if found is None:
        raise errors.Unsupported(_program.MISSING)
    # A path that begins with a hyphen must not look like an option.
    paths = [os.fsdecode(os.fspath(one)) for one in arguments]
    paths = [f"./{path}" if path.startswith("-") and path not in ("-o", "--onnx") else path for path in paths]
    running = subprocess.Popen([found, command, *paths, *_words(options)], env=_program.environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
                               start_new_session=True)  # so that its compilers can be ended with it
    said: list[str] = []
    reader = threading.Thread(target=_log_lines, args=(running.stderr, said), daemon=True)
    reader.start()
    try:
        printed = running.stdout.read()
        code = running.wait()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGTERM)
        running.wait()
        raise
    finally:
        reader.join()
        running.stdout.close()
        running.stderr.close()
    if code != 0 and not (check and printed):
        raise _error(command, code, said)
    return printed


def _log_lines(stream: Any, said: list[str]) -> None:
    for line in stream:
        said.append(line.rstrip("\n"))
        _LOG.info("%s", said[-1])


def _error(command: str, exit_code: int, said: list[str]) -> errors.Error:
    """Returns the exception for the last line that begins an error: "fatctx: MESSAGE (code, rule)"."""
    first = next((i for i in range(len(said) - 1, -1, -1) if said[i].startswith("fatctx: ")), None)
    if first is None:
        text = "\n".join(said) or f"it ended with exit code {exit_code}"
        return errors.Error(f"fatctx {command}: {text}", text=f"fatctx {command}: {text}")
    text = "\n".join(said[first:]).removeprefix("fatctx: ")
    named = _CODE.search(said[first])
    message = text if named is None else text.replace(f" {named.group(0)}", "", 1)
    code = ErrorCode.__members__.get(named.group(1).upper()) if named else None
    if code is None:
        return errors.InvalidArgument(message, text=text) if exit_code == 2 else errors.Error(message, text=text)
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Error)]
    kind = next((one for one in kinds if one.__dict__.get("code") == code), errors.Error)
    return kind(message, text=text)
