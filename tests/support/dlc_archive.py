#!/usr/bin/env python3
"""Writes archives in the shape of a multi-SoC DLC, for tests: payloads are invented, names and layout are those of
compilers.

Two namings exist. With "htp", the kind of an entry is in its name, and the metadata is JSON. With "backend", context
binaries are numbered, the source model is included, and the metadata is JSON or, in older archives, lines of
key=value.

    python3 dlc_archive.py OUT [--naming htp|backend] [--socs 43,57,69] [--metadata json|lines] [--unaligned] ...

It shares no code with the program under test, so that the two can be compared.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import struct

PAGE = 4096
ARCH = {30: 68, 36: 69, 43: 73, 57: 75, 60: 73, 69: 79, 87: 81, 88: 81}
VTCM_MB = {36: 8, 43: 8, 57: 8, 69: 8, 87: 8}


def payload(size: int, seed: int) -> bytes:
    """Returns bytes without a pattern that two payloads could share by accident."""
    out = bytearray()
    state = seed * 2654435761 % 2**32 or 1
    while len(out) < size:
        state = (state * 1103515245 + 12345) % 2**32
        out += struct.pack("<I", state ^ (state >> 16))
    return bytes(out[:size])


@dataclasses.dataclass
class Entry:
    name: str
    data: bytes
    aligned: bool = True


def header(name: str, size: int, at: int, aligned: bool) -> bytes:
    alignment = PAGE if aligned else 1
    padding = -(at + 30 + len(name.encode()) + 44) % alignment
    # All numbers of ZIP64, then those that the vendor's reader needs: padding, alignment and four bytes of zeros.
    extra = struct.pack("<HHQQQIIII", 1, 40 + padding, size, size, 0, 0, padding, alignment, 0) + bytes(padding)
    # 1980-01-01, CRC 0, sizes in the ZIP64 field, as compilers write them.
    return struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0x21, 0, 0xFFFFFFFF, 0xFFFFFFFF, len(name.encode()),
                       len(extra)) + name.encode() + extra


def directory_row(name: str, size: int, at: int) -> bytes:
    extra = struct.pack("<HHQQQIIII", 1, 40, size, size, at, 0, 0, 0, 0)
    return struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 0x21, 0, 0xFFFFFFFF, 0xFFFFFFFF,
                       len(name.encode()), len(extra), 0, 0, 0, 0, 0xFFFFFFFF) + name.encode() + extra


def end_records(directory_at: int, directory_size: int, count: int) -> bytes:
    end64 = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, directory_size, directory_at)
    locator = struct.pack("<IIQI", 0x07064B50, 0, directory_at + directory_size, 1)
    return end64 + locator + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, directory_size, 0xFFFFFFFF, 0)


def archive(entries: list[Entry]) -> bytes:
    out = bytearray()
    directory = b""
    for entry in entries:
        directory += directory_row(entry.name, len(entry.data), len(out))
        out += header(entry.name, len(entry.data), len(out), entry.aligned)
        out += entry.data
    return bytes(out) + directory + end_records(len(out), len(directory), len(entries))


def tensor(number: int, name: str, kind: str, dtype: str, shape: list[int], scale: float = 0, offset: int = 0) -> dict:
    how = {"definition": "QNN_DEFINITION_UNDEFINED", "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_UNDEFINED"}
    if scale:
        how = {"definition": "QNN_DEFINITION_DEFINED", "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET",
               "scaleOffset": {"scale": scale, "offset": offset}}
    return {"version": "QNN_TENSOR_VERSION_1", "id": number, "name": name, "type": f"QNN_TENSOR_TYPE_APP_{kind}",
            "dataFormat": "QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER", "dataType": f"QNN_DATATYPE_{dtype}", "rank": len(shape),
            "dimensions": shape, "memType": "QNN_TENSORMEMTYPE_RAW", "quantizeParams": how}


def graph_row(graph: str, soc: int) -> dict:
    inputs = [tensor(3, "tokens", "WRITE", "INT_32", [1, 8]),
              tensor(4, "image", "WRITE", "UFIXED_POINT_8", [1, 3, 4, 4], 0.02941391058266163, -125)]
    outputs = [tensor(9, f"{graph}.logits", "READ", "UFIXED_POINT_16", [1, 8, 32], 0.005032559856772423, -135)]
    return {
        "version": "QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3", "graphName": graph,
        "numGraphInputs": len(inputs), "graphInputs": inputs, "numGraphOutputs": len(outputs), "graphOutputs": outputs,
        "numUpdateableTensors": 0, "updateableTensors": [], "graphBlobInfoSize": 112,
        "graphBlobInfo": {"version": "QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1", "spillFillBufferSize": 65536,
                          "optimizationLevel": 3, "vtcmSize": VTCM_MB.get(soc, 4), "htpDlbc": 0, "numHvxThreads": 4},
        "graphBlobInfoV2": {"version": "QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V2", "isSafeShareIO": 0,
                            "ioTensorSize": 24576, "opDataSize": 12544, "constSize": 0, "ddrTensorSize": 0,
                            "sharedWeightsSize": 24576} if ARCH.get(soc, 68) >= 79 else {},
        "startOpIndex": 0, "endOpIndex": 41,
    }


def cache_row(name: str, soc: int, graphs: list[str], size: int) -> dict:
    return {
        "cacheName": name,
        "version": "QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3",
        "backendId": 6,
        "buildId": "v2.51.0.260101120000_1234",
        "coreApiVersion": "2.38.0",
        "backendApiVersion": "5.51.0",
        "socVersion": "",
        "contextBlobVersion": "3.3.3",
        "contextBlobSize": size,
        "numGraphs": len(graphs),
        "graphs": [graph_row(graph, soc) for graph in graphs],
        "contextMetadata": {"version": "QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1",
                            "dspArch": ARCH.get(soc, 68)},
        "socModel": soc,
        "timestamp": "2026-01-01 12:00:00 UTC",
    }


def metadata_text(rows: list[dict], relations: list[dict]) -> bytes:
    header = {"artifact_type": "DLC_METADATA", "version": {"major": 2, "minor": 3, "patch": 0},
              "timestamp": "2026-01-01 12:00:07 UTC"}
    return json.dumps({"header": header, "cacheList": rows, "relations": relations}, indent=1).encode()


def groups_of(socs: list[int]) -> list[list[int]]:
    """Returns the groups of SoCs that share weights: v68 with v69, v73 with newer ones."""
    old = [soc for soc in socs if ARCH.get(soc, 68) < 73]
    return [group for group in (old, [soc for soc in socs if soc not in old]) if group]


def htp_entries(socs: list[int], weights_size: int, cache_size: int, graphs: list[str], own_weights: bool,
                aligned: bool) -> list[Entry]:
    entries: list[Entry] = []
    relations: list[dict] = []
    rows: list[dict] = []
    caches: list[Entry] = []
    number: dict[int, int] = {}
    names = []
    for soc in socs:
        names.append(f"htp.cache.{soc}.{number.get(soc, 0)}")
        number[soc] = number.get(soc, 0) + 1
        caches.append(Entry(names[-1], payload(cache_size + (weights_size if own_weights else 0), 100 + len(names)),
                            aligned))
        rows.append(cache_row(names[-1], soc, graphs, len(caches[-1].data)))
    for index, group in enumerate(groups_of(socs)):
        weights = f"htp.shared.weights.{index}"
        described = f"htp.metadata.shared_weights.{index}_metadata"
        entries.append(Entry(weights, payload(weights_size, 7 + index), aligned))
        entries.append(Entry(described, payload(PAGE + 700 + index, 17 + index), aligned))
        relations.append({"parent": weights, "children": [described]})
        for name, soc in zip(names, socs):
            if soc in group:
                relations.append({"parent": name, "children": [weights]})
    return [*entries, *caches, Entry("dlc.metadata2.3.0", metadata_text(rows, relations), aligned)]


def backend_entries(socs: list[int], weights_size: int, cache_size: int, graphs: list[str], metadata: str,
                    aligned: bool) -> list[Entry]:
    entries = [Entry("model", payload(3000, 1), aligned), Entry("model.params", payload(900, 2), aligned),
               Entry("model.params.bin", payload(weights_size, 3), aligned)]
    names = [f"backend.metadata{index}" for index in range(len(socs))]
    entries += [Entry(name, payload(cache_size, 200 + index), aligned) for index, name in enumerate(names)]
    if metadata == "lines":
        text = "converter-command=made up\nmodel-version=1\n" + "".join(
            f"record={name}\n" for name in names)
        return [*entries, Entry("dlc.metadata", text.encode(), aligned)]
    rows = [cache_row(name, soc, graphs, cache_size) for name, soc in zip(names, socs)]
    for row in rows:  # the same facts in the other spelling
        row["name"] = row.pop("cacheName")
        row["soc_model"] = str(row.pop("socModel"))
    return [*entries, Entry("dlc.metadata", metadata_text(rows, []), aligned)]


def make(naming: str = "htp", socs: list[int] | None = None, weights_size: int = 6 * PAGE, cache_size: int = 3 * PAGE,
         graphs: list[str] | None = None, metadata: str = "json", own_weights: bool = False,
         aligned: bool = True) -> list[Entry]:
    socs = [43, 57, 69, 87] if socs is None else socs
    graphs = graphs or ["prefill", "decode"]
    if naming == "htp":
        return htp_entries(socs, weights_size, cache_size, graphs, own_weights, aligned)
    return backend_entries(socs, weights_size, cache_size, graphs, metadata, aligned)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--naming", choices=["htp", "backend"], default="htp")
    parser.add_argument("--socs", default="43,57,69,87", help="vendor numbers, in the order of compilation")
    parser.add_argument("--metadata", choices=["json", "lines"], default="json")
    parser.add_argument("--weights", type=int, default=6 * PAGE, help="bytes")
    parser.add_argument("--cache", type=int, default=3 * PAGE, help="bytes")
    parser.add_argument("--own-weights", action="store_true", help="no context binary uses the shared weights")
    parser.add_argument("--unaligned", action="store_true", help="entries follow each other without gaps")
    arguments = parser.parse_args()
    entries = make(arguments.naming, [int(soc) for soc in arguments.socs.split(",")], arguments.weights,
                   arguments.cache, None, arguments.metadata, arguments.own_weights, not arguments.unaligned)
    arguments.out.write_bytes(archive(entries))


if __name__ == "__main__":
    main()
