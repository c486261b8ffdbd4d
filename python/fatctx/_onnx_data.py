"""Reads the references of an ONNX model to its external data from its bytes alone; no other package is required.

A model is a protobuf message. Tensors appear only in the fields that `_CHILDREN` lists; all others are skipped by size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Iterator, Optional, Union

from .errors import Malformed

_MODEL, _GRAPH, _NODE, _ATTRIBUTE, _SPARSE, _FUNCTION, _TENSOR = range(7)

# Field `number` of a message of this kind is a message of that kind.
_CHILDREN = {
    (_MODEL, 7): _GRAPH, (_MODEL, 25): _FUNCTION, (_GRAPH, 1): _NODE, (_GRAPH, 5): _TENSOR, (_GRAPH, 15): _SPARSE,
    (_NODE, 5): _ATTRIBUTE, (_FUNCTION, 7): _NODE, (_ATTRIBUTE, 5): _TENSOR, (_ATTRIBUTE, 6): _GRAPH,
    (_ATTRIBUTE, 10): _TENSOR, (_ATTRIBUTE, 11): _GRAPH, (_ATTRIBUTE, 22): _SPARSE, (_ATTRIBUTE, 23): _SPARSE,
    (_SPARSE, 1): _TENSOR, (_SPARSE, 2): _TENSOR,
}
_DIMS, _DATA_TYPE, _NAME, _EXTERNAL_DATA, _DATA_LOCATION = 1, 2, 8, 13, 14  # of a tensor
_EXTERNAL = 1  # a data location
_OUTPUT, _OPERATOR, _DOMAIN = 2, 4, 7  # of a node
_VALUE = 5  # of an attribute: its tensor


@dataclass(frozen=True)
class ExternalTensor:
    """A tensor whose bytes lie outside of the model."""

    name: str
    type: int  # TensorProto.DataType
    shape: tuple[int, ...]
    location: str
    offset: int
    size_bytes: Optional[int]
    inner: bool  # neither an initializer nor a Constant node of the main graph
    by_name: bool  # ONNX Runtime replaces it by name: an initializer or a Constant node, of the body of a node too


def _not_a_model(why: str) -> Malformed:
    return Malformed(f"the bytes given as model are no ONNX model: {why}")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for count in range(10):
        if at >= len(data):
            raise _not_a_model("it ends inside a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, at
    raise _not_a_model("a number of more than ten bytes")


def _fields(data: memoryview) -> Iterator[tuple[int, Union[int, memoryview, None]]]:
    """Yields number and value of each field: a number, the bytes of a message or text, None for a skipped field."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        value: Union[int, memoryview, None] = None
        if kind == 0:
            value, at = _varint(data, at)
        elif kind in (1, 2, 5):
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = _varint(data, at)
            if size > len(data) - at:
                raise _not_a_model("it ends inside a field")
            if kind == 2:
                value = data[at:at + size]
            at += size
        else:
            raise _not_a_model(f"a field of wire type {kind}")
        yield key >> 3, value


def _text(value: memoryview) -> str:
    return bytes(value).decode("utf-8", "surrogateescape")


def _number(tensor: str, key: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Malformed(f"model: tensor '{tensor}': the {key} of its external data is '{text}', not a whole number")
    return int(text)


def _external(data: memoryview, inner: bool, by_name: bool) -> Optional[ExternalTensor]:
    """None for a tensor whose bytes are inside of the model."""
    name, data_type, external = "", 0, False
    shape: list[int] = []
    entries: dict[str, str] = {}
    for number, value in _fields(data):
        if number == _DIMS and isinstance(value, int):
            shape.append(value)
        elif number == _DIMS and value is not None:
            at = 0
            while at < len(value):
                dim, at = _varint(value, at)
                shape.append(dim)
        elif number == _DATA_TYPE and isinstance(value, int):
            data_type = value
        elif number == _NAME and isinstance(value, memoryview):
            name = _text(value)
        elif number == _DATA_LOCATION:
            external = value == _EXTERNAL
        elif number == _EXTERNAL_DATA and isinstance(value, memoryview):
            entry = {part: _text(text) for part, text in _fields(value) if isinstance(text, memoryview)}
            entries[entry.get(1, "")] = entry.get(2, "")
    if not external:
        return None
    if not entries.get("location"):
        raise Malformed(f"model: tensor '{name}' has external data without a location")
    size = _number(name, "length", entries["length"]) if "length" in entries else None
    return ExternalTensor(name, data_type, tuple(shape), entries["location"],
                          _number(name, "offset", entries.get("offset", "0")), size, inner, by_name)


def _constant(node: memoryview) -> str:
    """The output of a Constant node, which ONNX Runtime turns into an initializer of this name; empty for others."""
    said = {number: _text(value) for number, value in _fields(node)
            if number in (_OUTPUT, _OPERATOR, _DOMAIN) and isinstance(value, memoryview)}
    constant = said.get(_OPERATOR) == "Constant" and said.get(_DOMAIN, "") in ("", "ai.onnx")
    return said.get(_OUTPUT, "") if constant else ""


def external_tensors(model: Union[bytes, bytearray, memoryview]) -> list[ExternalTensor]:
    """Tensors outside of the model, those of the main graph first. Raises Malformed."""
    found: list[ExternalTensor] = []
    any_graph = False
    waiting = [(_MODEL, memoryview(model), False, "", False, False)]
    for kind, data, inner, constant, function, by_name in waiting:  # grows as it is walked: no model makes this recurse
        if kind == _TENSOR:
            tensor = _external(data, inner, by_name)
            if tensor is not None:
                found.append(replace(tensor, name=constant) if constant else tensor)
            continue
        for number, value in _fields(data):
            child = _CHILDREN.get((kind, number))
            if child is None:
                continue
            if not isinstance(value, memoryview):
                raise _not_a_model(f"field {number} is not a message")
            any_graph = any_graph or child == _GRAPH
            name = ""
            if (kind, child) == (_GRAPH, _NODE):
                name = _constant(value)
            elif kind == _NODE or (kind == _ATTRIBUTE and number == _VALUE):
                name = constant
            in_function = function or child == _FUNCTION
            # A node belongs to its graph, and an attribute to its node; a graph in an attribute is a body.
            deeper = inner or (kind, child) == (_ATTRIBUTE, _GRAPH)
            named = child == _TENSOR and (kind == _GRAPH or bool(name)) and not in_function
            waiting.append((child, value, deeper or (child == _TENSOR and not named), name, in_function, named))
    if not any_graph:
        raise _not_a_model("it has no graph")
    return sorted(found, key=lambda tensor: tensor.inner)
