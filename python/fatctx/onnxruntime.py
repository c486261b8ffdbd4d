"""ONNX Runtime on containers: the execution provider, and weights for sessions of any other one, without copying them.

    options = onnxruntime.SessionOptions()
    fatctx.onnxruntime.add_provider(options, {"memory": "least"})
    session = onnxruntime.InferenceSession("model_ctx.onnx", options)

runs an EPContext model straight from the mapped container that it names (docs/onnxruntime.md).

    options = onnxruntime.SessionOptions()
    fatctx.onnxruntime.attach_weights(options, "model.fatctx", model="model.onnx")
    session = onnxruntime.InferenceSession("model.onnx", options)

gives an ordinary model its weights. It is one whose external data was packed as a weight blob (`fatctx pack --weights model.onnx`); its
data file needs not be there. All sessions of the process use the pages of one mapping. docs/onnxruntime_weights.md
compares the routes and says what they cost.

The module can be imported without ONNX Runtime; using it then raises ImportError with the line that installs it.
"""

from __future__ import annotations

import os
import posixpath
import re
import weakref
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence, Union

from . import _core
from ._onnx_data import ExternalTensor, external_tensors
from .errors import CopyNotAllowed, InvalidArgument, NotFound, Unsupported

__all__ = ["LOCATION_OPTION", "PROVIDER", "AttachedBlob", "AttachedWeights", "add_provider", "attach_weights",
           "provider_library"]

LOCATION_OPTION = "onnx.location"
"""Key of the description option of a weight blob that says which external data file of a model it is."""

PROVIDER = "FatctxExecutionProvider"
"""Name of the execution provider that runs EPContext models out of a container (docs/onnxruntime.md)."""

_OWNER = "onnx"
_BORROW = "session.use_external_initializer_file_buffers_directly"
_DISABLE_PREPACKING = "session.disable_prepacking"
_ROUTES = ("auto", "file_buffers", "initializers")
_FIRST_THAT_BORROWS = (1, 31)
_OLDEST = (1, 23)

# Element types of tensor tables: their number in ONNX, their bytes (0: less than one), and for those without a letter
# in Python's buffer protocol the type of NumPy that has as many bytes.
_TYPES: dict[str, tuple[int, int, Optional[str]]] = {
    "float32": (1, 4, None), "uint8": (2, 1, None), "int8": (3, 1, None), "uint16": (4, 2, None),
    "int16": (5, 2, None), "int32": (6, 4, None), "int64": (7, 8, None), "bool": (9, 1, None),
    "float16": (10, 2, None), "float64": (11, 8, None), "uint32": (12, 4, None), "uint64": (13, 8, None),
    "bfloat16": (16, 2, "uint16"), "uint4": (21, 0, None), "int4": (22, 0, None),
}
_NAMES = {number: name for name, (number, _, _) in _TYPES.items()}


@dataclass(frozen=True)
class AttachedBlob:
    """One weight blob that sessions use."""

    record_id: int
    record: str
    """Name of the record."""
    location: str
    """The external data file that it replaces; empty if no name is known (route initializers)."""
    access_path: str
    """RecordView.access_path of the whole blob; "direct" also without such a view, if the file has its tensors."""
    size_bytes: int
    tensor_count: int
    """Tensors in its table."""
    copied_tensors: int = 0
    """Tensors that every session copies, because their offset is not a multiple of the size of their elements."""
    copied_bytes: int = 0
    process_bytes: int = 0
    """Memory of this process instead of pages of the file, once for all sessions."""


@dataclass(frozen=True, eq=False)
class AttachedWeights:
    """The attached weights and the owners that keep them mapped.

    Ownership: sessions borrow the bytes. The session options hold this object, and an InferenceSession holds the
    options it was made with, so that the caller need not keep anything; keep this object only if sessions are made
    from a copy of the options, or by other means than Python.
    """

    route: str
    """"file_buffers" or "initializers"."""
    runtime_version: str
    model_compared: bool
    """False also for a model without external data, whose weights the route "initializers" replaces unseen."""
    blobs: tuple[AttachedBlob, ...]
    _keep: Any = field(repr=False, default=None)
    _container: Any = field(repr=False, default=None)

    def await_checks(self) -> None:
        """Waits for the checks that verify="beside_load" of the container has begun.

        Call it when the session exists and before its first run: ONNX Runtime does not call fatctx at a run, so
        nothing else tells that the weights are damaged. Returns at once with other policies.

        Raises:
            FatctxError: as Container.await_checks().
        """
        if self._container is not None:
            self._container.await_checks()

    @property
    def size_bytes(self) -> int:
        """Bytes of all blobs."""
        return sum(blob.size_bytes for blob in self.blobs)

    @property
    def tensor_count(self) -> int:
        """Tensors of all blobs."""
        return sum(blob.tensor_count for blob in self.blobs)


@dataclass
class _Blob:
    record: Any
    location: str
    table: Optional[Any]
    untyped: list[str]


def _runtime() -> tuple[Any, tuple[int, int]]:
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError("fatctx.onnxruntime needs ONNX Runtime: pip install \"onnxruntime>=1.31\"; "
                          f"importing it said: {error}") from error
    found = re.match(r"(\d+)\.(\d+)", onnxruntime.__version__)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if version < _OLDEST:
        raise Unsupported(f"ONNX Runtime {onnxruntime.__version__} is too old to attach weights: "
                          f"{_OLDEST[0]}.{_OLDEST[1]} or newer is needed")
    return onnxruntime, version


def provider_library() -> str:
    """Returns the path of the execution provider's library, for onnxruntime.register_execution_provider_library().

    Errors: NotFound if this package was built without it.
    """
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libfatctx_ort.so")
    if os.path.exists(path):
        return path
    raise NotFound(f"{path} does not exist: this package was built without the headers of ONNX Runtime; "
                   "scripts/ort_setup.sh fetches them, then build the package again")


def add_provider(session_options: Any, provider_options: Optional[Mapping[str, str]] = None) -> None:
    """Adds the execution provider to session options, after registering its library if nobody has.

    `provider_options`: docs/onnxruntime.md, "Provider options". The session reports mistakes in them.
    Threads: from any thread, but not two at once before the library is registered.
    Errors: ImportError without ONNX Runtime; NotFound, Unsupported (ONNX Runtime is too old).
    """
    ort, _ = _runtime()
    devices = [device for device in ort.get_ep_devices() if device.ep_name == PROVIDER]
    if not devices:
        ort.register_execution_provider_library(PROVIDER, provider_library())
        devices = [device for device in ort.get_ep_devices() if device.ep_name == PROVIDER]
    session_options.add_provider_for_devices(devices, dict(provider_options or {}))


def _route(asked: str, ort: Any, version: tuple[int, int]) -> str:
    if asked not in _ROUTES:
        raise InvalidArgument(f"route '{asked}'; allowed: {', '.join(_ROUTES)}")
    borrows = version >= _FIRST_THAT_BORROWS
    if asked == "auto":
        return "file_buffers" if borrows else "initializers"
    if asked == "file_buffers" and not borrows:
        raise Unsupported(f"ONNX Runtime {ort.__version__} copies external data from memory for every session; the "
                          "route file_buffers needs 1.31 or newer, the route initializers does not")
    return asked


def _container(source: Any) -> _core.Container:
    if isinstance(source, _core.Container):
        return source
    if isinstance(source, _core.Model):
        return source.container
    return _core.open(source)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


def _choose(container: _core.Container, files: Optional[Mapping[str, Optional[str]]], route: str) -> list[_Blob]:
    path = container.report.path
    description = container.describe()
    blobs, without = [], []
    for record in container.records if files is None else [container.record(name) for name in files]:
        if record.type != "weight_blob":
            if files is not None:
                raise InvalidArgument(f"{path}: record '{record.name}' is a {record.type}, not a weight_blob")
            continue
        described = description.find(record.id)
        options = [option for option in described.options if option.owner == _OWNER] if described else []
        location = (files or {}).get(record.name) or next((o.value for o in options if o.key == LOCATION_OPTION), "")
        untyped = [o.key[len("tensor."):-len(".type")] for o in options
                   if o.key.startswith("tensor.") and o.key.endswith(".type")]
        if location or (files is not None and route == "initializers"):
            blobs.append(_Blob(record, location, None, untyped))
        elif files is not None:
            raise InvalidArgument(f"{path}: record '{record.name}' has no option '{LOCATION_OPTION}'; say in `files` "
                                  "which external data file of the model it stands for")
        else:
            without.append(record.name)
    if not blobs:
        raise NotFound(f"{path}: no weight blob has the option '{LOCATION_OPTION}', which says what a model calls it; "
                       "pack with --weights MODEL.onnx, or name record and location in `files`; weight blobs there "
                       f"are: {_quoted(without)}")
    taken: dict[str, str] = {}
    for blob in blobs:
        if blob.location:
            first = taken.setdefault(posixpath.normpath(blob.location), blob.record.name)
            if first != blob.record.name:
                raise InvalidArgument(f"{path}: records '{first}' and '{blob.record.name}' both stand for the file "
                                      f"'{blob.location}'; name the one that is meant in `files`")
        try:
            blob.table = container.tensors(blob.record.id)
        except NotFound:
            blob.table = None
    return blobs


def _place(kind: str, shape: Sequence[int], offset: int) -> str:
    return f"{kind} {list(shape)} at byte {offset}"


def _compare_tensor(path: str, tensor: ExternalTensor, blob: _Blob) -> None:
    size = blob.record.size_bytes
    if tensor.offset + (tensor.size_bytes or 0) > size:
        raise InvalidArgument(f"{path}: the model has tensor '{tensor.name}', {tensor.size_bytes or 0} bytes, at byte "
                              f"{tensor.offset} of '{tensor.location}', but record '{blob.record.name}' has {size} "
                              "bytes; it must be packed from the external data of this model")
    if blob.table is None:
        return
    view = blob.table.get(tensor.name)
    kind = _NAMES.get(tensor.type)
    if view is not None and view.offset_in_blob == tensor.offset and tensor.size_bytes in (None, view.nbytes) and (
            kind is None or (view.dtype == kind and tuple(view.shape) == tensor.shape)):
        return
    found = _place(view.dtype, view.shape, view.offset_in_blob) if view is not None else "no such tensor"
    # Names are unique only within a graph. A body may use one that means another tensor elsewhere.
    remedy = ("; if two bodies use one name, `fatctx export --attached` writes a model with names of their own"
              if tensor.inner else "")
    raise InvalidArgument(f"{path}: the model has tensor '{tensor.name}' as "
                          f"{_place(kind or 'a tensor', tensor.shape, tensor.offset)} of '{tensor.location}', but "
                          f"record '{blob.record.name}' has {found}; it must be packed from the external data of this "
                          f"model{remedy}")


def _compare(path: str, blobs: Sequence[_Blob], model: Any, route: str) -> bool:
    """Compares the model with the blobs; returns false if there was nothing to compare."""
    if isinstance(model, (str, os.PathLike)):
        with open(model, "rb") as file:
            model = file.read()
    by_location = {posixpath.normpath(blob.location): blob for blob in blobs if blob.location}
    tensors = external_tensors(model)
    if not tensors and route == "file_buffers":
        raise InvalidArgument(f"{path}: the model has no external data, so sessions would take nothing from the "
                              "container; `fatctx export --attached` writes a model whose weights are there")
    for tensor in tensors:
        blob = by_location.get(posixpath.normpath(tensor.location))
        if blob is None:
            raise NotFound(f"{path}: the model has tensor '{tensor.name}' in '{tensor.location}', and no weight blob "
                           f"stands for that file; files there are: {_quoted([b.location for b in blobs])}")
        if tensor.inner if route == "file_buffers" else not tensor.by_name:
            raise Unsupported(f"{path}: tensor '{tensor.name}' is in the body of a node, in a function or in an "
                              f"attribute, and ONNX Runtime reads it from the file '{tensor.location}' whatever is "
                              "attached; `fatctx export --attached` writes a model whose weights are initializers "
                              "of its main graph")
        _compare_tensor(path, tensor, blob)
    return bool(tensors)


def _aligned(view: Any) -> bool:
    return view.nbytes == 0 or view.address % max(_TYPES[view.dtype][1], 1) == 0


def _copied(path: str, blob: _Blob, view: Any, remedy: str) -> CopyNotAllowed:
    return CopyNotAllowed(f"{path}: record '{blob.record.name}': tensor '{view.name}', {view.nbytes} bytes of "
                          f"{view.dtype}, starts at byte {view.offset_in_blob}, not a multiple of {_TYPES[view.dtype][1]}; "
                          f"{remedy}")


def _attach_files(options: Any, container: _core.Container, blobs: Sequence[_Blob],
                  allow_copies: bool) -> tuple[list[AttachedBlob], Any]:
    path = container.report.path
    views, reports = [], []
    for blob in blobs:
        view = container.acquire(blob.record.id)
        odd = [tensor for tensor in blob.table.values() if not _aligned(tensor)] if blob.table is not None else []
        if odd and not allow_copies:
            raise _copied(path, blob, odd[0], "every session would copy it; pack the model with its weights inside, "
                                              "or allow copies")
        views.append(view)
        reports.append(AttachedBlob(blob.record.id, blob.record.name, blob.location, view.access_path, view.size_bytes,
                                    len(blob.table) if blob.table is not None else 0, len(odd),
                                    sum(tensor.nbytes for tensor in odd), view.copied_bytes))
    options.add_session_config_entry(_BORROW, "1")
    # The binding takes address and size and holds no buffer, so `views` is what keeps the bytes.
    buffers = [view if view.size_bytes else bytes(1) for view in views]
    options.add_external_initializers_from_files_in_memory([blob.location for blob in blobs], buffers,
                                                           [view.size_bytes for view in views])
    return reports, (views, buffers)


def _value(ort: Any, path: str, blob: _Blob, view: Any) -> Any:
    import numpy  # a dependency of ONNX Runtime's

    number, size, stand_in = _TYPES[view.dtype]
    if size == 0:
        raise Unsupported(f"{path}: record '{blob.record.name}': tensor '{view.name}' is {view.dtype}, which ONNX "
                          "Runtime's Python interface cannot borrow; use the route file_buffers")
    if stand_in is None:
        return ort.OrtValue.ortvalue_from_numpy(view.numpy())
    array = numpy.frombuffer(view, dtype=stand_in).reshape(view.shape) if view.nbytes else numpy.empty(view.shape, stand_in)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, number)


def _attach_initializers(ort: Any, options: Any, container: _core.Container, blobs: Sequence[_Blob],
                         keep_optimisation_level: bool) -> tuple[list[AttachedBlob], Any]:
    path = container.report.path
    values: dict[str, Any] = {}
    owners: dict[str, str] = {}
    reports = []
    for blob in blobs:
        if blob.table is None:
            raise Unsupported(f"{path}: record '{blob.record.name}' has no tensor table, and the route initializers "
                              "goes by names; pack it with --weights MODEL.onnx")
        if blob.untyped:
            raise Unsupported(f"{path}: record '{blob.record.name}': tensor '{blob.untyped[0]}' has a type that "
                              "tensor tables do not have; use the route file_buffers")
        for view in blob.table.values():
            if view.name in values:
                raise InvalidArgument(f"{path}: records '{owners[view.name]}' and '{blob.record.name}' both have a "
                                      f"tensor '{view.name}'; name the one that is meant in `files`")
            if not _aligned(view):
                raise _copied(path, blob, view, "kernels must not read it there; use the route file_buffers and "
                                                "allow copies")
            values[view.name] = _value(ort, path, blob, view)
            owners[view.name] = blob.record.name
        try:
            access_path = container.access_path(blob.record.id)
        except CopyNotAllowed:
            access_path = "direct"
        reports.append(AttachedBlob(blob.record.id, blob.record.name, blob.location, access_path,
                                    sum(view.nbytes for view in blob.table.values()), len(blob.table)))
    for name, value in values.items():
        options.add_initializer(name, value)
    if not keep_optimisation_level:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return reports, values


def attach_weights(session_options: Any, source: Any, *, model: Any = None, route: str = "auto",
                   files: Optional[Mapping[str, Optional[str]]] = None, allow_copies: bool = False,
                   disable_prepacking: bool = True, keep_optimisation_level: bool = False) -> AttachedWeights:
    """Attaches the weight blobs of a container to session options.

    Args:
        session_options: an `onnxruntime.SessionOptions`, not attached to before. Everything is checked before it is
            changed; after an error in ONNX Runtime's own words, throw it away.
        source: a path, a Container or a Model.
        model: the ONNX model, a path or its bytes. Its references to external data are compared with the
            container. A file without a blob, or a tensor at another position, is then an error, so that no session
            computes wrong results. With "file_buffers" a model without external data is an error too, because it
            would take nothing. None: nothing is compared.
        route: "file_buffers": each blob replaces an external data file, which need not exist; ONNX Runtime 1.31 or
            newer; initializers of the main graph only (`fatctx export --attached` writes models whose weights are
            there). "initializers": each tensor of the blob's table replaces the initializer with its name, inner
            graphs included, but functions not; the external data file must exist, of whatever size, and the optimiser
            is switched off, because it would read values from that file. "auto": the first if this ONNX Runtime can
            borrow, else the second.
        files: record name to external data file, for the blobs to attach; None as a file means the blob's option
            `onnx.location`. Not given: every weight blob with that option.
        allow_copies: lets every session copy the tensors whose offset is not a multiple of the size of their elements
            (file_buffers); otherwise such a tensor is an error.
        disable_prepacking: sets `session.disable_prepacking`. If it is not set, every session has a second,
            rearranged copy of the operands of matrix products and convolutions.
        keep_optimisation_level: leaves the level as it is with route "initializers". Only where the external data
            files have the bytes that the container has: from any other file, sessions compute wrong results.

    Returns:
        AttachedWeights: the attached weights. The session options hold it.

    Payload is verified by the container's open policy before a session exists.
    Threads: different session options at the same time.

    Raises ImportError (no ONNX Runtime); Unsupported (one that is too old; an initializer of an inner graph with
    file_buffers, and one of a function; a blob without a table, or a type that ONNX Runtime cannot borrow, with
    initializers); NotFound, InvalidArgument, CopyNotAllowed, Malformed, each naming the tensor or the record; and what Container.acquire raises.
    """
    ort, version = _runtime()
    if not isinstance(session_options, ort.SessionOptions):
        raise TypeError("session_options: expected an onnxruntime.SessionOptions, found "
                        f"{type(session_options).__name__}")
    route = _route(route, ort, version)
    container = _container(source)
    blobs = _choose(container, files, route)
    compared = model is not None and _compare(container.report.path, blobs, model, route)
    try:
        if route == "file_buffers":
            reports, keep = _attach_files(session_options, container, blobs, allow_copies)
        else:
            reports, keep = _attach_initializers(ort, session_options, container, blobs, keep_optimisation_level)
        if disable_prepacking:
            session_options.add_session_config_entry(_DISABLE_PREPACKING, "1")
    except RuntimeError as error:  # pybind11's, of ONNX Runtime's status
        raise InvalidArgument(f"ONNX Runtime {ort.__version__} refuses the weights of {container.report.path}: "
                              f"{error}") from error
    attached = AttachedWeights(route, ort.__version__, compared, tuple(reports), keep, container)
    # A finalizer holds its arguments until its object is gone; sessions hold the options they were made with.
    weakref.finalize(session_options, _let_go, attached).atexit = False
    return attached


def _let_go(attached: AttachedWeights) -> None:
    """Does nothing: as a pending callback it keeps `attached` alive."""
