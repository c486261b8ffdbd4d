"""Four ways to load one model in a process, each any number of times.

Every loader has `open()`, which adds one session and returns it. A session has `run(feeds)`, which returns a copy of
the first output as an array. The constructor creates all that the sessions of a process may share (instance, device,
environment), before anything is measured.
"""

import numpy as np

SCOPE = "model"  # the parameter scope that compile gives to the weights
ENTRY = "main_graph"


class IreeSession:
    """An IREE context with its own module state, from any source of parameters."""

    def __init__(self, context, module, device):
        import iree.runtime as runtime

        self._context = context
        self._invoke = runtime.FunctionInvoker(context, device, module.lookup_function(entry_of(module)))

    def run(self, feeds):
        # A copy, so that the device's buffer is free for the next run.
        return np.array(self._invoke(*feeds.values()).to_host())


def entry_of(module):
    names = [name for name in module.function_names if not name.startswith("__") and not name.endswith("$async")]
    return ENTRY if ENTRY in names else names[0]


class IreeOwnFiles:
    """A loader of IREE from a module file and a parameter archive: mapped, or read into memory (preload)."""

    def __init__(self, module_path, parameters_path, preload):
        import iree.runtime as runtime

        self._module_path, self._parameters_path, self._preload = module_path, parameters_path, preload
        self._instance = runtime.VmInstance()
        self._device = runtime.get_device("local-task")

    def open(self):
        import iree.runtime as runtime

        index = runtime.ParameterIndex()
        index.load(self._parameters_path, mmap=not self._preload)
        module = runtime.VmModule.mmap(self._instance, self._module_path)
        context = runtime.VmContext(self._instance, [
            runtime.create_hal_module(self._instance, self._device),
            runtime.create_io_parameters_module(self._instance, index.create_provider(SCOPE)),
            module,
        ])
        return IreeSession(context, module, self._device)


class OnnxRuntime:
    """A loader of ONNX Runtime's CPU execution provider with default options."""

    def __init__(self, model_path):
        import onnxruntime

        onnxruntime.set_default_logger_severity(3)
        self._model_path = model_path

    def open(self):
        import onnxruntime

        return OnnxSession(onnxruntime.InferenceSession(self._model_path, providers=["CPUExecutionProvider"]))


class OnnxSession:
    def __init__(self, session):
        self._session = session

    def run(self, feeds):
        return self._session.run(None, feeds)[0]


class FatctxIree:
    """A loader of IREE from a container: every session opens the file anew, and all of them share one mapping."""

    def __init__(self, container_path, verify):
        import fatctx.iree
        import iree.runtime as runtime

        self._path = container_path
        self._verify = "record_on_acquire" if verify else "none"
        runtime.get_device("local-task")  # shared by all sessions of the process

    def open(self):
        import fatctx
        import fatctx.iree

        return FatctxSession(fatctx.iree.Runtime(fatctx.open_model(self._path, verify=self._verify)))


class FatctxSession:
    def __init__(self, runtime):
        self._runtime = runtime
        self._entry = runtime.functions[0]

    def run(self, feeds):
        outputs = self._runtime.invoke(self._entry, *feeds.values())
        return outputs[0] if isinstance(outputs, tuple) else outputs


def chosen_record(container_path):
    """Returns the choice for this machine as text for people: the record's name and its target."""
    import fatctx

    view = fatctx.open_model(container_path).session().binary()
    return f"{view.name} ({view.record.key.target})"


def chosen_bytes(container_path):
    """Returns the module chosen for this machine and its parameters, as the container stores them."""
    import fatctx

    session = fatctx.open_model(container_path).session()
    return bytes(session.binary()), bytes(session.weights[0])
