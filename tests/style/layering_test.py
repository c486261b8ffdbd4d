"""Who may include whom: tools and capi -> runtime -> container -> mapping -> base, and one seam per third-party library."""

import pytest

from checkout import ROOT, cxx_files, includes, text_of

ORDER = ["base", "mapping", "container", "runtime", "capi"]  # a layer includes itself and those before it

# Public headers by the layer that answers for them; a layer may name the headers of its own and lower layers.
PUBLIC_LAYER = {
    "record.h": "base",
    "version.h": "base",
    "description.h": "container",
    "layout.h": "container",
    "container.h": "container",
    "file_mapping.h": "container",
    "memory.h": "container",
    "packer.h": "container",
    "appender.h": "container",
    "rewrite.h": "container",
    "keys.h": "container",
    "signature.h": "container",
    "repair.h": "container",
    "diff.h": "runtime",
    "sharing.h": "container",
    "import_dlc.h": "container",
    "import_irpa.h": "container",
    "import_tensors.h": "container",
    "import_safetensors.h": "container",
    "import_gguf.h": "container",
    "content_hash.h": "container",
    "diff.h": "runtime",
    "extract.h": "runtime",
    "stored_dlc.h": "runtime",
    "select.h": "runtime",
    "device.h": "runtime",
    "soc_table.h": "runtime",
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
}

# header prefix or exact name -> the places that may include it
SEAMS = {
    "boost/": ("src/mapping/",),
    "google/protobuf/": ("src/container/metadata_codec.cc",),
    "xxhash.h": ("src/container/hash.cc",),
    "nlohmann/": ("tools/",),
    "lz4": ("src/container/codec.cc",),
    "sodium": ("src/container/crypto.cc",),
    "onnx/": ("tools/onnx_import.cc", "tools/onnx_wrapper.cc", "src/runtime/ort/graph_"),
    # Programs that use it bring it along, as applications do.
    "onnxruntime": ("src/runtime/ort/", "tools/ort_bench/", "tools/ctx_gen/", "samples/cpp_attach.cc", "samples/ort_session.h",
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
    return "base" if rest.startswith("base/") else PUBLIC_LAYER.get(rest)


def source_layer(name: str) -> str | None:
    parts = name.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 and parts[1] in ORDER else None


def may_include(layer: str, other: str) -> bool:
    return ORDER.index(other) <= ORDER.index(layer)


def seam_violations(name: str, header: str) -> list[str]:
    places = next((places for key, places in SEAMS.items() if header.startswith(key)), None)
    if header.endswith(".pb.h"):
        places = SEAMS["google/protobuf/"]
    if places and not name.startswith(places):
        return [f"<{header}> belongs behind its seam: {', '.join(places)}"]
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
            elif header.startswith("runtime/ort/") and not name.startswith("src/runtime/ort/"):
                wrong.append("the adapter for ONNX Runtime is a library on top of the runtime; nothing below includes it")
            elif not may_include(layer, other):
                wrong.append(f'{layer} may not include "{header}" of {other}')
        elif name.startswith(("tools/", "python/src/", "samples/")) and quoted:
            own = name.startswith("tools/") and own_tools_file(header)
            sibling = (name.startswith("python/src/") and (ROOT / "python/src" / header).is_file()) or (
                name.startswith("samples/") and header == "ort_session.h")
            if not header.startswith("fatctx/") and not own and not sibling:
                wrong.append(f'"{header}" is not public; {name.split("/")[0]} uses include/fatctx only')
        found += [f"{name}:{line}: {text}" for text in wrong]
    return found


def test_every_include_follows_the_layers():
    names = cxx_files("include/", "src/", "tools/", "python/src/", "samples/")
    assert len(names) >= 20, "the search found too few files to mean anything"
    assert [bad for name in names for bad in violations(name, text_of(name))] == []


def test_every_public_header_has_a_layer():
    headers = [name.removeprefix("include/").removesuffix(".in") for name in cxx_files("include/")]
    assert [header for header in headers if public_layer(header) is None] == []


@pytest.mark.parametrize("name,line", [
    ("src/base/x.cc", '#include "mapping/os_file.h"'),
    ("src/mapping/x.cc", '#include "container/toc.h"'),
    ("src/mapping/x.cc", '#include "fatctx/container.h"'),
    ("src/container/x.cc", '#include "runtime/registry.h"'),
    ("src/container/x.cc", '#include "fatctx/model.h"'),
    ("src/container/x.cc", '#include "../runtime/registry.h"'),
    ("src/container/x.cc", '#  include <boost/filesystem.hpp>'),
    ("src/container/toc.cc", "#include <xxhash.h>"),
    ("src/container/toc.cc", '#include "container/metadata.pb.h"'),
    ("src/container/toc.cc", "#include <google/protobuf/message_lite.h>"),
    ("src/container/toc.cc", "#include <lz4frame.h>"),
    ("src/runtime/x.cc", "#include <onnx/onnx_pb.h>"),
    ("src/runtime/ort/x.cc", "#include <onnx/onnx_pb.h>"),
    ("src/runtime/x.cc", "#include <onnxruntime_c_api.h>"),
    ("src/runtime/x.cc", '#include "runtime/ort/api.h"'),
    ("src/capi/x.cc", '#include "runtime/ort/api.h"'),
    ("src/runtime/x.cc", "#include <CLI/CLI.hpp>"),
    ("src/runtime/x.cc", '#include "capi/boundary.h"'),
    ("src/runtime/x.cc", '#include "fatctx/fatctx.h"'),
    ("src/elsewhere/x.cc", '#include "fatctx/base/error.h"'),
    ("include/fatctx/x.h", "#include <boost/filesystem.hpp>"),
    ("include/fatctx/x.h", "#include <sys/mman.h>"),
    ("include/fatctx/x.h", '#include "container/toc.h"'),
    ("tools/x.cc", '#include "container/toc.h"'),
    ("python/src/x.cc", '#include "runtime/registry.h"'),
    ("samples/x.cc", '#include "runtime/registry.h"'),
    ("samples/c/x.c", '#include "capi/boundary.h"'),
])
def test_a_planted_violation_is_found(name, line):
    assert violations(name, f"// a file\n{line}\n", own_tools_file=lambda header: False)


@pytest.mark.parametrize("name,line", [
    ("src/mapping/x.cc", "#include <boost/filesystem.hpp>"),
    ("src/container/metadata_codec.cc", '#include "container/metadata.pb.h"'),
    ("src/runtime/x.cc", '#include "container/toc.h"'),
    ("src/container/x.cc", '// #include "runtime/registry.h"'),
    ("tools/x.cc", '#include "fatctx/model.h"'),
    ("src/capi/x.cc", '#include "mapping/fork_hook.h"'),
    ("samples/c/x.c", '#include "fatctx/fatctx.h"'),
])
def test_what_is_allowed_passes(name, line):
    assert violations(name, f"{line}\n") == []
