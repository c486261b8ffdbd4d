"""The permitted includes: layers, the rooms inside each layer, and one place per third-party library.

Layers: tools and loader -> capi -> runtime -> container -> mapping -> base. ROOMS has the arrows inside a layer;
docs/architecture.md shows the same arrows.
"""

import re

import pytest

from checkout import ROOT, cxx_files, includes, text_of

ORDER = ["base", "mapping", "container", "runtime", "capi", "loader"]  # a layer includes itself and those before it

# A room is a folder of a layer. It may include itself, the rooms listed here, and every room of a lower layer.
ROOMS = {
    "container/format": (),
    "container/read": ("format",),
    "container/sharing": ("format", "read"),
    "container/write": ("format", "read", "sharing"),
    "container/check": ("format", "read", "sharing"),
    "container/edit": ("format", "read", "write", "check", "fetch"),
    "container/fetch": ("format", "read", "sharing", "check", "update"),
    "container/update": ("format", "read", "sharing", "check"),
    "container/import": ("format", "read"),
    "container/dlc": ("format",),
    "container/xxhash": (),
    "runtime/observe": (),
    "runtime/device": (),
    "runtime/select": ("device",),
    "runtime/open": ("observe",),
    "runtime/view": ("observe", "open"),
    "runtime/load": ("facade", "open"),
    "runtime/inspect": ("observe", "open", "view"),
    "runtime/facade": ("device", "observe", "open", "select", "view"),
    "runtime/fetch": ("select",),
    "runtime/ort/attach": (),
    "runtime/ort/graph": ("ort/attach",),
    "runtime/ort/ep": ("open", "ort/attach", "ort/graph"),
    "tools/system": (),
    "tools/cli": ("system",),
    "tools/onnx": (),
    "tools/facts": ("cli", "onnx"),
    "tools/http": (),
    "tools/source": ("cli", "http", "system"),
    "tools/device": ("cli", "facts", "source"),
    "tools/pack": ("cli", "facts", "onnx"),
    "tools/wrap": ("cli", "device", "facts", "onnx", "pack"),
    "tools/picture": ("cli", "device"),
    "tools/inspect": ("cli", "device", "facts", "onnx", "pack", "picture", "source", "wrap"),
    "tools/jobs": ("cli", "facts", "pack"),
    "tools/change": ("cli", "device", "inspect", "jobs", "onnx", "pack", "source"),
    "tools/compile": ("cli", "device", "facts", "jobs", "onnx", "pack"),
    "tools/ctx_gen": ("cli", "compile", "device", "facts", "onnx", "pack", "system"),
    "tools/fetch": ("cli", "device", "source"),
    "tools/bench": ("cli", "compile", "device", "onnx"),
}
LARGEST_ROOM = 42  # files; src/mapping is exempt: X.h has one X_<system>.cc for each system

# Public headers by the layer that owns them. A layer may include the headers of its own and lower layers.
PUBLIC_LAYER = {
    "record.h": "base",
    "version.h": "base",
    "description.h": "container",
    "layout.h": "container",
    "container.h": "runtime",
    "load_signal.h": "runtime",
    "open_options.h": "container",
    "open_report.h": "runtime",
    "progress.h": "base",
    "source.h": "runtime",
    "verify.h": "container",
    "view.h": "container",
    "file_mapping.h": "container",
    "memory.h": "container",
    "packer.h": "container",
    "appender.h": "container",
    "rewrite.h": "container",
    "keys.h": "container",
    "signature.h": "container",
    "repair.h": "container",
    "repair_source.h": "container",
    "sharing.h": "container",
    "fetch_report.h": "container",
    "update.h": "container",
    "block_index.h": "container",
    "fetch_plan.h": "runtime",
    "import_dlc.h": "container",
    "import_irpa.h": "container",
    "import_qnn_json.h": "container",
    "import_tensors.h": "container",
    "import_safetensors.h": "container",
    "import_gguf.h": "container",
    "content_hash.h": "runtime",
    "diff.h": "runtime",
    "extract.h": "runtime",
    "presence.h": "runtime",
    "stored_dlc.h": "runtime",
    "select.h": "runtime",
    "device.h": "runtime",
    "soc_table.h": "runtime",
    "targets.h": "runtime",
    "model.h": "runtime",
    "load.h": "runtime",
    "onnxruntime.h": "runtime",
    "info.h": "runtime",
    "metrics.h": "runtime",
    "view_cache.h": "runtime",
    "private_folder.h": "mapping",
    "mapping_guard.h": "runtime",
    "range_access.h": "runtime",
    "profile.h": "runtime",
    "trace.h": "runtime",
    "fatctx.h": "capi",
    "loader.h": "capi",
}
PUBLIC_FOLDER = {"base": "base", "c": "capi"}  # all headers of these

# The adapters for ONNX Runtime are clients of the public headers. These private ones are the exceptions.
OF_ADAPTERS = {
    "base/immortal.h": "state that outlives static destructors, because sessions may live until the process ends",
    "container/edit/append.h": "takes an append back when ONNX Runtime refuses the compiled model",
    "container/edit/stored_container.h": "merges weights into a container that another model has written",
    "container/format/hash.h": "compares weights before they are packed",
    "mapping/file_below.h": "opens a path that a model names without following a link in between",
    "mapping/file_identity.h": "tells whether a file is still the one that was looked at",
    "mapping/os_file.h": "reads weights out of the model's own external data",
    "mapping/same_file.h": "tells whether two names lead to one file",
    "mapping/scratch_files.h": "files in memory that ONNX Runtime writes and this library reads back",
    "mapping/work_folder.h": "a private folder for files that ONNX Runtime writes",
    "runtime/open/container_impl.h": "asks an open container which file it maps",
    "runtime/open/live_table.h": "shares weights and embedded containers between sessions",
    "runtime/open/mapped_container.h": "asks an open container which file it maps",
}

# The command is a client of the public headers, too. These private ones are the exceptions.
OF_TOOLS = {
    "base/json.h": "one JSON stack in the program; a public header would make a tree of values a part of the library's interface",
    "base/json_place.h": "the reader of such a tree, with the same errors for files of people and of compilers",
}

# header prefix or exact name -> the places that may include it
SEAMS = {
    "boost/": ("src/mapping/",),
    "google/protobuf/": ("src/container/format/metadata_codec.cc",),
    "xxhash.h": ("src/container/format/hash.cc", "src/container/xxhash/plain_names.cc"),
    "nlohmann/": (),  # the oracle of the tests, and a rival in bench/; this test reads neither
    "lz4": ("src/container/format/codec.cc",),
    "sodium": ("src/container/format/crypto.cc",),
    "onnx/": ("tools/onnx/onnx_file.", "tools/onnx/onnx_hoist.", "tools/onnx/onnx_import.cc", "tools/onnx/onnx_infer.cc",
               "tools/onnx/onnx_look.cc", "tools/onnx/onnx_operators.cc", "tools/onnx/onnx_shapes.cc", "tools/onnx/onnx_walk.",
               "tools/onnx/onnx_whole.cc",
               "tools/onnx/onnx_wrapper.cc",
              "src/runtime/ort/ep/graph_",
              "src/runtime/ort/graph/graph_"),
    # Programs that use it link it themselves, as applications do.
    "onnxruntime": ("src/runtime/ort/", "tools/bench/ort/", "tools/ctx_gen/engine/", "samples/cpp_attach.cc", "samples/ort_session.h",
                    "samples/ep_context_", "samples/recreate_session.cc"),
    "nanobind/": ("python/src/",),
    "CLI/": ("tools/",),
}

STANDARD_HEADERS = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint
cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem format forward_list fstream
functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore
set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view strstream
syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
variant vector version stddef.h stdint.h
""".split())


def public_layer(header: str) -> str | None:
    rest = header.removeprefix("fatctx/")
    folder = PUBLIC_FOLDER.get(rest.partition("/")[0]) if "/" in rest else None
    return folder or PUBLIC_LAYER.get(rest)


def source_layer(name: str) -> str | None:
    parts = name.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 and parts[1] in ORDER else None


def may_include(layer: str, other: str) -> bool:
    return ORDER.index(other) <= ORDER.index(layer)


def room_of(name: str) -> str | None:
    """Returns the room of a source file: the longest room name that its path begins with."""
    path = name.removeprefix("src/")
    return max((room for room in ROOMS if path.startswith(room + "/")), key=len, default=None)


def layer_of_room(room: str) -> str:
    return room.split("/")[0]


def room_violation(name: str, header: str) -> str | None:
    """Returns the reason why `name` must not include `header`, or None. It checks only the arrows inside a layer;
    may_include() checks layers."""
    room, other = room_of(name), room_of(header if header.startswith("tools/") else "src/" + header)
    if room is None or other is None or room == other or layer_of_room(room) != layer_of_room(other):
        return None
    allowed = [f"{layer_of_room(room)}/{name}" for name in ROOMS[room]]
    return None if other in allowed else f'{room} may not include "{header}" of {other}'


def seam_violations(name: str, header: str) -> list[str]:
    places = next((places for key, places in SEAMS.items() if header.startswith(key)), None)
    if header.endswith(".pb.h"):
        places = SEAMS["google/protobuf/"]
    if places is not None and not name.startswith(places):
        return [f"<{header}> belongs behind its seam: {', '.join(places) or 'tests only'}"]
    return []


def tools_file(header: str) -> bool:
    return (ROOT / "tools" / header).is_file() or (header.startswith("tools/") and (ROOT / header).is_file())


def violations(name: str, text: str, own_tools_file=tools_file) -> list[str]:
    found = []
    for line, quoted, header in includes(text):
        wrong = seam_violations(name, header)
        if name.startswith("include/"):
            if quoted and not header.startswith("fatctx/"):
                wrong.append(f'"{header}" is not a public header')
            if not quoted and header not in STANDARD_HEADERS:
                wrong.append(f"<{header}> is not a standard header; public headers include nothing else")
        elif name.startswith("src/") and quoted and not header.endswith(".pb.h"):
            layer = source_layer(name)
            other = public_layer(header) if header.startswith("fatctx/") else source_layer("src/" + header)
            if layer is None:
                wrong.append(f"the folder is none of {', '.join(ORDER)}")
            elif other is None:
                wrong.append(f'"{header}" is not "<layer>/<file>" nor a known public header (PUBLIC_LAYER lists them)')
            elif room_violation(name, header):
                wrong.append(room_violation(name, header))
            elif header.startswith("runtime/ort/") and not name.startswith("src/runtime/ort/"):
                wrong.append("the adapter for ONNX Runtime is a library on top of the runtime; nothing below includes it")
            elif not may_include(layer, other):
                wrong.append(f'{layer} may not include "{header}" of {other}')
        elif name.startswith(("tools/", "python/src/", "samples/")) and quoted:
            own = name.startswith("tools/") and own_tools_file(header)
            sibling = (name.startswith("python/src/") and (ROOT / "python/src" / header).is_file()) or (
                name.startswith("samples/") and header == "ort_session.h")
            if own and room_violation(name, header):
                wrong.append(room_violation(name, header))
            of_tools = name.startswith("tools/") and header in OF_TOOLS
            if not header.startswith("fatctx/") and not own and not sibling and not of_tools:
                wrong.append(f'"{header}" is not public; {name.split("/")[0]} uses include/fatctx only')
        found += [f"{name}:{line}: {text}" for text in wrong]
    return found


def test_every_include_follows_the_layers():
    names = cxx_files("include/", "src/", "tools/", "python/src/", "samples/")
    assert len(names) >= 20, "the search found too few files to mean anything"
    assert [bad for name in names for bad in violations(name, text_of(name))] == []


def test_the_adapters_use_public_headers_and_the_listed_exceptions():
    names = cxx_files("src/runtime/ort/")
    assert len(names) >= 30
    used = {header for name in names for _, quoted, header in includes(text_of(name))
            if quoted and not header.startswith(("fatctx/", "runtime/ort/")) and not header.endswith(".pb.h")}
    assert used == set(OF_ADAPTERS)


def test_the_command_uses_public_headers_and_the_listed_exceptions():
    names = cxx_files("tools/")
    assert len(names) >= 100
    used = {header for name in names for _, quoted, header in includes(text_of(name))
            if quoted and not header.startswith("fatctx/") and not tools_file(header)}
    assert used == set(OF_TOOLS)


def process_objects(text: str) -> set[str]:
    """Files that the table of process-wide objects in docs/architecture.md names."""
    section = text.split("## Objects of the process\n")[1].split("\n## ")[0]
    return {f"src/{file}" for file in re.findall(r"^\| `([\w/.]+)`", section, re.MULTILINE)}


def test_every_object_of_the_process_is_listed_with_its_reason():
    names = [name for name in cxx_files("src/") if re.search(r"^(?:static )?constinit Immortal<", text_of(name), re.MULTILINE)]
    assert len(names) >= 8
    assert process_objects(text_of("docs/architecture.md")) == set(names)


def test_every_source_is_in_a_room():
    names = [name for name in cxx_files("src/", "tools/") if name.startswith(("src/container/", "src/runtime/", "tools/"))]
    assert len(names) >= 20
    assert [name for name in names if room_of(name) is None] == []


def test_no_circle_of_rooms():
    for room, allowed in ROOMS.items():
        reached, waiting = set(), [f"{layer_of_room(room)}/{name}" for name in allowed]
        while waiting:
            current = waiting.pop()
            if current not in reached:
                reached.add(current)
                waiting += [f"{layer_of_room(current)}/{name}" for name in ROOMS[current]]
        assert room not in reached, f"{room} reaches itself"


def test_every_arrow_is_used():
    used = set()
    for name in cxx_files("src/", "tools/"):
        for _, _, header in includes(text_of(name)):
            other = room_of(header if header.startswith("tools/") else "src/" + header)
            used.add((room_of(name), other))
    unused = [(room, name) for room, allowed in ROOMS.items() for name in allowed
              if (room, f"{layer_of_room(room)}/{name}") not in used]
    assert unused == []


def test_rooms_are_small():
    count = {}
    for name in cxx_files("src/", "tools/"):
        room = room_of(name)
        if room:
            count[room] = count.get(room, 0) + 1
    assert {room: number for room, number in count.items() if number > LARGEST_ROOM} == {}


def test_the_document_shows_the_same_arrows():
    rooms = text_of("docs/architecture.md").partition("\n## Rooms\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `((?:src|tools)/[a-z_/]+)/` \|[^|]*\|(?: ([^|]*))? \|$", rooms, re.MULTILINE)
    shown = {name.removeprefix("src/"): tuple(re.findall(r"`([a-z_/]+)`", uses)) for name, uses in rows}
    assert shown == ROOMS


def test_every_public_header_has_a_layer():
    headers = [name.removeprefix("include/").removesuffix(".in") for name in cxx_files("include/")]
    assert [header for header in headers if public_layer(header) is None] == []


@pytest.mark.parametrize("name,line", [
    ("src/base/x.cc", '#include "mapping/os_file.h"'),
    ("src/mapping/x.cc", '#include "container/read/parse.h"'),
    ("src/mapping/x.cc", '#include "fatctx/container.h"'),
    ("src/container/x.cc", '#include "runtime/open/registry.h"'),
    ("src/container/x.cc", '#include "fatctx/model.h"'),
    ("src/container/x.cc", '#include "../runtime/registry.h"'),
    ("src/container/x.cc", '#  include <boost/filesystem.hpp>'),
    ("src/container/read/toc.cc", "#include <xxhash.h>"),
    ("src/container/read/toc.cc", '#include "container/format/metadata.pb.h"'),
    ("src/container/read/toc.cc", "#include <google/protobuf/message_lite.h>"),
    ("src/container/read/toc.cc", "#include <lz4frame.h>"),
    ("src/runtime/x.cc", "#include <onnx/onnx_pb.h>"),
    ("src/runtime/ort/ep/x.cc", "#include <onnx/onnx_pb.h>"),
    ("src/runtime/x.cc", "#include <onnxruntime_c_api.h>"),
    ("src/runtime/x.cc", '#include "runtime/ort/graph/api.h"'),
    ("src/capi/x.cc", '#include "runtime/ort/graph/api.h"'),
    ("src/runtime/x.cc", "#include <CLI/CLI.hpp>"),
    ("src/runtime/x.cc", '#include "capi/boundary.h"'),
    ("src/runtime/x.cc", '#include "fatctx/fatctx.h"'),
    ("src/runtime/x.cc", '#include "fatctx/c/error.h"'),
    ("src/elsewhere/x.cc", '#include "fatctx/base/error.h"'),
    ("src/container/read/x.cc", '#include "container/write/plan.h"'),
    ("src/container/dlc/x.cc", '#include "container/read/parse.h"'),
    ("src/runtime/open/x.cc", '#include "runtime/view/record_copy.h"'),
    ("include/fatctx/x.h", "#include <boost/filesystem.hpp>"),
    ("include/fatctx/x.h", "#include <sys/mman.h>"),
    ("include/fatctx/x.h", '#include "container/read/parse.h"'),
    ("tools/x.cc", '#include "container/read/parse.h"'),
    ("tools/x.cc", '#include "base/utf8.h"'),
    ("tools/x.cc", "#include <nlohmann/json.hpp>"),
    ("src/runtime/x.cc", "#include <nlohmann/json.hpp>"),
    ("samples/x.cc", '#include "base/json.h"'),
    ("python/src/x.cc", '#include "runtime/open/registry.h"'),
    ("samples/x.cc", '#include "runtime/open/registry.h"'),
    ("samples/c/x.c", '#include "capi/boundary.h"'),
])
def test_a_planted_violation_is_found(name, line):
    assert violations(name, f"// a file\n{line}\n", own_tools_file=lambda header: False)


@pytest.mark.parametrize("name,line", [
    ("src/mapping/x.cc", "#include <boost/filesystem.hpp>"),
    ("src/container/format/metadata_codec.cc", '#include "container/format/metadata.pb.h"'),
    ("src/runtime/x.cc", '#include "container/read/parse.h"'),
    ("src/container/x.cc", '// #include "runtime/open/registry.h"'),
    ("tools/x.cc", '#include "fatctx/model.h"'),
    ("tools/x.cc", '#include "base/json.h"'),
    ("src/container/write/x.cc", '#include "container/read/parse.h"'),
    ("src/runtime/open/x.cc", '#include "container/edit/repair.h"'),
    ("src/capi/x.cc", '#include "mapping/fork_hook.h"'),
    ("samples/c/x.c", '#include "fatctx/fatctx.h"'),
])
def test_what_is_allowed_passes(name, line):
    assert violations(name, f"{line}\n") == []
