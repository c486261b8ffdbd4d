"""fatctx: the fat binary for compiled models.

One `.fatctx` file holds a model's context binaries for many chips and the weights they share. A process maps the
file once, picks the record for its chip with a reason, and hands every inference session read-only views.

    model = fatctx.open_model("model.fatctx")   # chosen for this machine
    print(model.explain())                      # why this record and no other
    session = model.session()
    code = memoryview(session.binary())         # the bytes of the mapped file, not a copy

Errors are exceptions of `fatctx.errors`, all of them `fatctx.Error`. `fatctx.iree` runs IREE modules from the views.
"""

from . import errors, iree
from ._core import (
    Container,
    ContainerDescription,
    DescribedGraph,
    DescribedOption,
    DescribedTensor,
    Device,
    Model,
    OpenReport,
    PackRecord,
    PackReport,
    PackTensor,
    Record,
    RecordDescription,
    RecordView,
    Selection,
    SelectionKey,
    Session,
    TensorTable,
    Verdict,
    VerifyReport,
    WeightView,
    __format_version__,
    __version__,
    detect_device,
    open,
    open_memory,
    open_model,
    pack,
    select,
    tensors_from_irpa,
    verify_file,
)
from .errors import *  # noqa: F403  the exceptions, one per error code

__all__ = [
    "Container",
    "ContainerDescription",
    "DescribedGraph",
    "DescribedOption",
    "DescribedTensor",
    "Device",
    "Model",
    "OpenReport",
    "PackRecord",
    "PackReport",
    "PackTensor",
    "Record",
    "RecordDescription",
    "RecordView",
    "Selection",
    "SelectionKey",
    "Session",
    "TensorTable",
    "Verdict",
    "VerifyReport",
    "WeightView",
    "__format_version__",
    "__version__",
    "detect_device",
    "errors",
    "iree",
    "open",
    "open_memory",
    "open_model",
    "pack",
    "select",
    "tensors_from_irpa",
    "verify_file",
    *errors.__all__,
]
