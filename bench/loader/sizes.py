#!/usr/bin/env python3
"""Measures how many bytes a loader adds to a program: the small loader, gguf, safetensors, ExecuTorch.

    bench/loader/sizes.py [--ggml FOLDER] [--executorch FOLDER --flatbuffers FOLDER] [--safetensors VERSION]

FOLDER is a checkout of that project's sources; cargo fetches safetensors. A loader without its sources is left out, and
the line says so. Each program opens a file, finds one part of it by name and prints the part's first byte. It is linked
twice, with the shared C++ library and static, and stripped. The figure is its size less that of a program which prints a
line. All of them are built for size, with sections collected.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = ["-Os", "-ffunction-sections", "-fdata-sections", "-DNDEBUG", "-fno-asynchronous-unwind-tables"]
LINK = ["-Wl,--gc-sections", "-s"]
LINE = '#include <stdio.h>\nint main(void) { return puts("a line") < 0; }\n'

FATCTX = """
#include "fatctx_loader.h"
#include <stdio.h>
int main(int count, char** words) {
  fatctx_view view;
  fatctx_error error;
  fatctx_error_init(&error, sizeof error);
  if (count < 2 || fatctx_view_open(words[1], NULL, NULL, &view, &error) != FATCTX_OK) return puts(error.message), 1;
  printf("%d\\n", *(const unsigned char*)view.data);
  fatctx_view_close(view, NULL);
  return 0;
}
"""

GGUF = """
#include "gguf.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
int main(int count, char** words) {
  struct gguf_init_params how = {true, NULL};
  struct gguf_context* file = count < 3 ? NULL : gguf_init_from_file(words[1], how);
  const long found = file == NULL ? -1 : (long)gguf_find_tensor(file, words[2]);
  if (found < 0) return puts("not found"), 1;
  const size_t at = gguf_get_data_offset(file) + gguf_get_tensor_offset(file, found);
  const void* bytes = mmap(NULL, at + 1, PROT_READ, MAP_SHARED, open(words[1], O_RDONLY), 0);
  if (bytes == MAP_FAILED) return puts("not mapped"), 1;
  printf("%d\\n", ((const unsigned char*)bytes)[at]);
  return 0;
}
"""

EXECUTORCH = """
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>
#include <cstdio>
using namespace executorch;
int main(int count, char** words) {
  runtime::runtime_init();
  if (count < 3) return 1;
  auto file = extension::MmapDataLoader::from(words[1]);
  if (!file.ok()) return std::puts("not opened"), 1;
  auto program = runtime::Program::load(&*file);
  if (!program.ok()) return std::puts("not a program"), 1;
  auto method = program->method_meta(words[2]);
  if (!method.ok()) return std::puts("not found"), 1;
  std::printf("%zu %zu\\n", method->num_inputs(), method->num_backends());
  auto part = program->get_constant_buffer_data(0, 1);
  if (!part.ok()) return std::puts("not read"), 1;
  std::printf("%d\\n", *static_cast<const unsigned char*>(*part));
  return 0;
}
"""

SAFETENSORS = """
fn main() {
    let words: Vec<String> = std::env::args().collect();
    let file = std::fs::File::open(&words[1]).unwrap();
    let bytes = unsafe { memmap2::Mmap::map(&file) }.unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    println!("{}", tensors.tensor(&words[2]).unwrap().data()[0]);
}
"""
CARGO = """[package]
name = "reader"
version = "0.0.0"
edition = "2021"
[dependencies]
safetensors = "={version}"
memmap2 = "0.9"
[profile.release]
opt-level = "s"
lto = true
codegen-units = 1
panic = "abort"
strip = true
"""


def run(*words, cwd) -> None:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stderr}")


def linked(folder: pathlib.Path, objects: list[pathlib.Path]) -> list[int]:
    """Sizes of the program with the shared C++ library, and static."""
    sizes = []
    for static in ([], ["-static"]):
        run("g++", *LINK, *static, *objects, "-o", "program", "-lpthread", cwd=folder)
        sizes.append((folder / "program").stat().st_size)
    return sizes


def compiled(folder: pathlib.Path, file: pathlib.Path, *flags: str) -> pathlib.Path:
    target = folder / f"{file.name}.o"
    cpp = file.suffix != ".c"
    run("g++" if cpp else "gcc", "-std=c++20" if cpp else "-std=gnu11", *SMALL, *flags, "-c", file, "-o", target, cwd=folder)
    return target


def written(folder: pathlib.Path, name: str, text: str) -> pathlib.Path:
    (folder / name).write_text(text)
    return folder / name


def of_line(folder: pathlib.Path) -> list[int]:
    return linked(folder, [compiled(folder, written(folder, "line.c", LINE))])


def of_fatctx(folder: pathlib.Path) -> list[int]:
    run(ROOT / "scripts" / "loader_single", "-o", folder, cwd=folder)
    return linked(folder, [compiled(folder, written(folder, "main.c", FATCTX), f"-I{folder}"),
                           compiled(folder, folder / "fatctx_loader.cc", "-fno-exceptions", "-fno-rtti")])


def of_gguf(folder: pathlib.Path, sources: pathlib.Path) -> list[int]:
    flags = (f"-I{sources / 'include'}", f"-I{sources / 'src'}", "-D_GNU_SOURCE", '-DGGML_VERSION="0"', '-DGGML_COMMIT="0"')
    files = [sources / "src" / name for name in ("gguf.cpp", "ggml.c", "ggml.cpp", "ggml-quants.c", "ggml-threading.cpp")]
    return linked(folder, [compiled(folder, file, *flags) for file in [written(folder, "main.c", GGUF), *files]])


def of_executorch(folder: pathlib.Path, sources: pathlib.Path, flatbuffers: pathlib.Path) -> list[int]:
    place = folder / "include" / "executorch"
    place.mkdir(parents=True)
    for name in ("runtime", "extension"):
        (place / name).symlink_to(sources / name)
    shutil.copytree(sources / "schema", place / "schema")
    run("cmake", "-S", flatbuffers, "-B", "flatc", "-DFLATBUFFERS_BUILD_TESTS=OFF", cwd=folder)
    run("cmake", "--build", "flatc", "--target", "flatc", cwd=folder)
    run(folder / "flatc" / "flatc", "--cpp", "--cpp-std", "c++11", "--gen-mutable", "--scoped-enums", "-o", place / "schema",
        "program.fbs", "scalar_type.fbs", cwd=place / "schema")
    flags = (f"-I{folder / 'include'}", f"-I{flatbuffers / 'include'}", f"-I{sources / 'runtime/core/portable_type/c10'}", "-DC10_USING_CUSTOM_GENERATED_MACROS",
             "-DET_LOG_ENABLED=0", "-DET_MIN_LOG_LEVEL=Fatal", "-fno-exceptions", "-fno-rtti", "-DFLATBUFFERS_MAX_ALIGNMENT=1024")
    files = [sources / name for name in (
        "runtime/executor/program.cpp", "runtime/executor/program_validation.cpp", "runtime/executor/method_meta.cpp",
        "runtime/executor/pte_data_map.cpp", "runtime/executor/tensor_parser_exec_aten.cpp", "schema/extended_header.cpp",
        "extension/data_loader/mmap_data_loader.cpp", "runtime/platform/abort.cpp", "runtime/platform/log.cpp",
        "runtime/platform/platform.cpp", "runtime/platform/runtime.cpp", "runtime/platform/default/posix.cpp",
        "runtime/platform/profiler.cpp", "runtime/core/tag.cpp", "runtime/core/evalue.cpp", "runtime/executor/method.cpp",
        "runtime/core/exec_aten/util/tensor_util_portable.cpp", "runtime/core/exec_aten/util/tensor_shape_to_c_string.cpp",
        "runtime/core/portable_type/tensor_impl.cpp", "runtime/kernel/operator_registry.cpp",
        "runtime/executor/tensor_parser_portable.cpp", "runtime/backend/interface.cpp")]
    return linked(folder, [compiled(folder, file, *flags) for file in [written(folder, "main.cc", EXECUTORCH), *files]])


def of_safetensors(folder: pathlib.Path, version: str) -> list[int]:
    written(folder, "Cargo.toml", CARGO.replace("{version}", version))
    (folder / "src").mkdir()
    main = written(folder, "src/main.rs", SAFETENSORS)
    sizes = []
    for text in (SAFETENSORS, 'fn main() { println!("a line"); }'):
        main.write_text(text)
        for flags in ("", "-C target-feature=+crt-static"):
            run("env", f"RUSTFLAGS={flags}", "cargo", "build", "--release", "--quiet", "--target", "x86_64-unknown-linux-gnu", cwd=folder)
            sizes.append((folder / "target/x86_64-unknown-linux-gnu/release/reader").stat().st_size)
    return [sizes[0] - sizes[2], sizes[1] - sizes[3]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ggml", type=pathlib.Path, help="sources of ggml")
    parser.add_argument("--executorch", type=pathlib.Path, help="sources of ExecuTorch; needs --flatbuffers too")
    parser.add_argument("--flatbuffers", type=pathlib.Path, help="sources of FlatBuffers, in the version that ExecuTorch names")
    parser.add_argument("--safetensors", help="version of the crate; needs cargo")
    given = parser.parse_args()
    if (given.executorch is None) != (given.flatbuffers is None):
        parser.error("--executorch and --flatbuffers come together")
    rows = [("fatctx, small loader", of_fatctx, []), ("gguf (ggml)", of_gguf, [given.ggml]),
            ("ExecuTorch, without its operators", of_executorch, [given.executorch, given.flatbuffers]),
            ("safetensors (Rust)", of_safetensors, [given.safetensors])]
    with tempfile.TemporaryDirectory() as empty:
        line = of_line(pathlib.Path(empty))
    print(f"A program that prints a line has {line[0]:,} bytes, and {line[1]:,} if it is static.\n")
    print("| bytes added | with the shared C++ library | static |\n|---|---:|---:|")
    for name, measure, parts in rows:
        if None in parts:
            print(f"| {name} | left out: its sources are not given | |", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            sizes = measure(pathlib.Path(folder), *(part.resolve() if isinstance(part, pathlib.Path) else part for part in parts))
        # A Rust program is compared with a Rust program.
        less = [0, 0] if measure is of_safetensors else line
        print(f"| {name} | {sizes[0] - less[0]:,} | {sizes[1] - less[1]:,} |", flush=True)


if __name__ == "__main__":
    main()
