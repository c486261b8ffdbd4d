"""Runs IREE modules whose code and parameters are stored in a container, without copying the parameters.

    model = fatctx.open_model("model.fatctx")
    with fatctx.iree.Runtime(model) as runtime:
        output = runtime.invoke("main_graph", ids, mask, types)

Shared: every runtime of every session of the process uses the parameters where they are mapped.
Owned by each runtime: IREE's view of the module (the ELF loader copies the code, some hundred kilobytes), its
context, and the allocations of an invocation.

The module can be imported without IREE; using it then raises ImportError with the line that installs IREE.
"""

from __future__ import annotations

import threading
from typing import Any, Optional, Sequence, Union

from . import _core
from .errors import InvalidArgument, NotFound

__all__ = ["SCOPE_OPTION", "Refused", "Runtime", "parameter_scope"]

SCOPE_OPTION = "iree.parameter_scope"
"""Key of the description option of a weight blob that names the scope its parameters are registered under."""

_DEFAULT_SCOPE = "model"
_MODULE_ALIGNMENT = 64  # bytes; IREE refuses to wrap a module at any other address


class Refused(RuntimeError):
    """The IREE run time refuses the bytes: built for another machine, another version, or not a module at all.

    The text has the record's name in front of the run time's own words; `record_id` is the record.
    """

    def __init__(self, message: str, record_id: Optional[int] = None):
        super().__init__(message)
        self.record_id = record_id


def _iree_runtime():
    try:
        import iree.runtime
    except ImportError as error:
        raise ImportError("fatctx.iree needs the IREE run time: pip install \"fatctx[iree]\" "
                          f"(or: pip install iree-base-runtime); importing it said: {error}") from error
    return iree.runtime


_instance_lock = threading.Lock()
_instance: Any = None


def _vm_instance(rt: Any) -> Any:
    """Returns the one VM instance of the process.

    Making an instance registers IREE's reference types in variables that the whole process reads, unguarded, while
    it invokes. Were each runtime to make one, an invocation of another thread could find a type unregistered ("ref
    type mismatch") or not end. It is kept for good, since its end would take the registrations back.
    """
    global _instance
    with _instance_lock:
        if _instance is None:
            _instance = rt.VmInstance()
        return _instance


def parameter_scope(container: _core.Container, weights: Union[int, str]) -> str:
    """Returns the scope of a weight blob's parameters: its option `iree.parameter_scope`, or "model".

    Raises NotFound, and what Container.describe raises.
    """
    record = container.record(weights)
    described = container.describe().find(record.id)
    scopes = [option.value for option in described.options if option.key == SCOPE_OPTION] if described else []
    return scopes[0] if scopes else _DEFAULT_SCOPE


def _text(view: _core.RecordView) -> str:
    key = view.record.key
    target = f" ({key.target})" if key.type == "context_binary" else ""
    return f"record {view.record_id} '{view.name}'{target}"


def _device(rt: Any, device: Any) -> Any:
    if not isinstance(device, str):
        return device
    try:
        return rt.get_device(device)
    except (RuntimeError, ValueError) as error:
        raise InvalidArgument(f"iree: device '{device}': {error}; drivers of this run time: "
                              f"{', '.join(rt.query_available_drivers())}") from error


class Runtime:
    """A live IREE context over a session's views: the module from the context binary, parameters from the weights.

    Args:
        source: a Model (a session is begun), or a Session.
        device: "local-task" (a thread per core), "local-sync" (the calling thread), any other IREE device URI, or an
            `iree.runtime.HalDevice`. Devices named by text are shared by all runtimes of the process.
        unit: the context binary to run; empty: the only one.

    Ownership: IREE holds the views as long as it uses their bytes, whatever is destroyed first; a Runtime may outlive
    model, session and container. Results are arrays of their own.
    Threads: one invocation at a time, others wait; different runtimes run at the same time.

    Raises ImportError (IREE is not installed), Refused (IREE refuses the module or the parameters), NotFound (no such
    unit), InvalidArgument (no such device), and what Model.session raises.
    """

    def __init__(self, source: Union[_core.Model, _core.Session], *, device: Any = "local-task", unit: str = ""):
        session = source.session() if isinstance(source, _core.Model) else source
        if not isinstance(session, _core.Session):
            raise TypeError(f"source: expected a fatctx.Model or fatctx.Session, found {type(source).__name__}; "
                            "Runtime.from_views takes record views")
        scopes = [parameter_scope(session.container, view.record_id) for view in session.weights]
        self._start(session.binary(unit), session.weights, scopes, device)

    @classmethod
    def from_views(cls, binary: _core.RecordView, weights: Sequence[_core.RecordView] = (), *,
                   scopes: Optional[Sequence[str]] = None, device: Any = "local-task") -> "Runtime":
        """Makes a runtime over records of the caller's choice, whatever selection thinks of them.

        Args:
            binary: view of the module.
            weights: views of the parameter archives.
            scopes: one parameter scope per archive; None: "model" for each.
        """
        names = [_DEFAULT_SCOPE] * len(weights) if scopes is None else list(scopes)
        if len(names) != len(weights):
            raise InvalidArgument(f"{len(weights)} weight blobs and {len(names)} scopes; give one scope per blob")
        runtime = cls.__new__(cls)
        runtime._start(binary, list(weights), names, device)
        return runtime

    def _start(self, binary: _core.RecordView, weights: Sequence[_core.RecordView], scopes: Sequence[str],
               device: Any) -> None:
        rt = _iree_runtime()
        self._lock = threading.Lock()
        self._invokers: dict[str, Any] = {}
        self._repr = f"{_text(binary)}, {len(weights)} weight blobs"
        self._record_id = binary.record_id
        self._device = _device(rt, device)
        instance = _vm_instance(rt)

        # By scope: archives of one scope make one provider, as IREE looks a scope up once.
        indices: dict[str, Any] = {}
        for view, scope in zip(weights, scopes):
            index = indices.setdefault(scope, rt.ParameterIndex())
            try:
                # The handle takes a buffer of the view and gives it back when IREE's last user of the bytes is gone.
                index.load_from_file_handle(rt.FileHandle.wrap_memory(view), "irpa")
            except (RuntimeError, ValueError) as error:
                raise Refused(f"iree: {_text(view)}: not a parameter archive: {error}", view.record_id) from error

        try:
            if binary.address % _MODULE_ALIGNMENT == 0 and len(binary) > 0:
                module = rt.VmModule.wrap_buffer(instance, binary)
            else:
                module = rt.VmModule.copy_buffer(instance, memoryview(binary))
            modules = [rt.create_hal_module(instance, self._device)]
            if indices:
                providers = [index.create_provider(scope=scope) for scope, index in indices.items()]
                modules.append(rt.create_io_parameters_module(instance, *providers))
            modules.append(module)
            # Runs the module's initialisers, which look for a device they were built for and take their parameters.
            self._context = rt.VmContext(instance, modules=modules)
        except (RuntimeError, ValueError) as error:
            raise Refused(f"iree: {_text(binary)}: {error}", binary.record_id) from error
        self._module = module

    @property
    def functions(self) -> list[str]:
        """Returns the names of the functions that invoke() takes."""
        return [name for name in self._open_module().function_names
                if not name.startswith("__") and not name.endswith("$async")]

    def invoke(self, function: str, *arguments: Any) -> Any:
        """Runs a function and waits for it.

        Args:
            function: one of `functions`.
            arguments: NumPy arrays (or what NumPy makes arrays of) with the element types the module expects.

        Returns:
            One NumPy array, or a tuple of them; copies, which do not hold the device's memory.

        Raises NotFound for an unknown function, Refused if the run time reports an error, ValueError after close().
        """
        rt = _iree_runtime()
        import numpy

        with self._lock:
            module = self._open_module()
            invoker = self._invokers.get(function)
            if invoker is None:
                found = module.lookup_function(function)
                if found is None:
                    raise NotFound(f"iree: {self._repr}: no function '{function}'; there are "
                                   f"{', '.join(self.functions)}")
                invoker = self._invokers[function] = rt.FunctionInvoker(self._context, self._device, found)
            try:
                results = invoker(*arguments)
            except (RuntimeError, ValueError) as error:
                raise Refused(f"iree: {self._repr}: {function}: {error}", self._record_id) from error
            if results is None:
                return ()
            if isinstance(results, (tuple, list)):
                return tuple(_owned(numpy, result) for result in results)
            return _owned(numpy, results)

    def close(self) -> None:
        """Gives everything back now instead of with the last reference; closing twice is allowed."""
        with self._lock:
            # Users before what they use. IREE counts references itself, so this order is a courtesy, not a need.
            self._invokers.clear()
            self._context = None
            self._module = None

    def _open_module(self):
        module = self._module
        if module is None:
            raise ValueError(f"this runtime of {self._repr} is closed")
        return module

    def __enter__(self) -> "Runtime":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed, " if self._module is None else ""
        return f"<fatctx.iree.Runtime {state}{self._repr}, device {self._device!r}>"


def _owned(numpy: Any, result: Any) -> Any:
    """Copies to the host, so that dropping the result returns its memory to the device's pool."""
    if hasattr(result, "to_host"):
        return numpy.array(result.to_host(), copy=True)
    return result
