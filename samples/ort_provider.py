"""Helpers of the Python samples for ONNX Runtime: the execution provider of this project, and sessions that use one."""

import sys
from pathlib import Path

import onnxruntime as ort

OURS = "FatctxExecutionProvider"
NAME = "fatctx_ort.dll" if sys.platform == "win32" else "libfatctx_ort.so"
LIBRARY = Path(__file__).resolve().parents[1] / "build" / "release" / "src" / NAME


def default_library() -> Path:
    """Returns the library of the build, or that of the Python package."""
    if LIBRARY.exists():
        return LIBRARY
    import fatctx.onnxruntime
    return Path(fatctx.onnxruntime.provider_library())


def add_arguments(parser) -> None:
    parser.add_argument("--library", type=Path, help=f"library of the execution provider (default: {NAME}, of the build "
                             "or of the package fatctx)")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE",
                        help="option of the execution provider, as often as needed")


def provider_options(arguments) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in arguments.option)


def devices(name: str = OURS, library: Path | None = None) -> list:
    """Returns the devices of an execution provider that ONNX Runtime already has, or that `library` provides."""
    def found():
        return [device for device in ort.get_ep_devices() if device.ep_name == name]

    if not found() and (library or name == OURS):
        ort.register_execution_provider_library(name, str((library or default_library()).resolve()))
    if not found():
        known = ", ".join(device.ep_name for device in ort.get_ep_devices())
        raise SystemExit(f"no execution provider is called {name}; there are: {known}. --library names its library")
    return found()


def session_options(name: str = OURS, options: dict | None = None, library: Path | None = None) -> ort.SessionOptions:
    made = ort.SessionOptions()
    made.log_severity_level = 3
    made.add_provider_for_devices(devices(name, library), options or {})
    return made
