"""The libraries of fatctx as a Conan package, built from a source archive:

    scripts/package --source
    FATCTX_SOURCE_ARCHIVE=build/package/fatctx-0.1.0-source.tar.gz conan create packaging/conan

Components: `c`, the C interface, shared; `cxx`, the C++ interface, static. The command is in neither: a release archive
or a Debian package has it.
"""

import os

from conan import ConanFile
from conan.errors import ConanException
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rm, rmdir, unzip
from conan.tools.gnu import PkgConfigDeps

ARCHIVE = "fatctx-source.tar.gz"


class FatctxConan(ConanFile):
    name = "fatctx"
    version = "0.1.0"
    license = "Apache-2.0"
    description = "The fat binary for compiled models: one file, mapped once, the right record chosen with a reason"
    topics = ("machine-learning", "model", "mmap", "onnx")
    settings = "os", "arch", "compiler", "build_type"

    def export_sources(self):
        """Keeps the archive with the recipe, so that the package can be built again where the archive is not."""
        named = os.environ.get("FATCTX_SOURCE_ARCHIVE")
        if not named or not os.path.isfile(named):
            raise ConanException(f"FATCTX_SOURCE_ARCHIVE names no file ({named or 'not set'}); scripts/package --source makes a source archive")
        with open(named, "rb") as archive, open(os.path.join(self.export_sources_folder, ARCHIVE), "wb") as kept:
            kept.write(archive.read())

    def source(self):
        unzip(self, os.path.join(self.export_sources_folder, ARCHIVE), strip_root=True)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanException(f"fatctx is for Linux so far, not for {self.settings.os}")
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("boost/[>=1.74 <2]", transitive_headers=False)
        self.requires("protobuf/[>=3.21 <4]", transitive_headers=False)
        self.requires("xxhash/[>=0.8 <1]")
        self.requires("lz4/[>=1.9 <2]")
        self.requires("libsodium/[>=1.0.18 <2]")
        # Compiled in: nothing of it is in the package.
        self.requires("fmt/[>=9 <11]", options={"header_only": True}, visible=False)

    def build_requirements(self):
        self.tool_requires("protobuf/<host_version>")

    def generate(self):
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "FATCTX_BUILD_TESTS": False, "FATCTX_BUILD_BENCH": False, "FATCTX_BUILD_TOOLS": False, "FATCTX_ONNXRUNTIME": "OFF",
            "FATCTX_UNITY": True, "FATCTX_WERROR": False})
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="fatctx_product")

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan writes package files of its own.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        rm(self, "libfatctx.a", os.path.join(self.package_folder, "lib"))  # `c` is the shared library

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "fatctx")
        c = self.cpp_info.components["c"]
        c.set_property("cmake_target_name", "fatctx::fatctx_c")
        c.set_property("pkg_config_name", "fatctx")
        c.libs = ["fatctx"]
        cxx = self.cpp_info.components["cxx"]
        cxx.set_property("cmake_target_name", "fatctx::fatctx")
        cxx.set_property("pkg_config_name", "fatctx-cxx")
        cxx.libs = ["fatctx_runtime", "fatctx_dlc", "fatctx_container", "fatctx_mapping", "fatctx_base"]
        if os.path.exists(os.path.join(self.package_folder, "lib", "libfatctx_xxhash.a")):
            cxx.libs.append("fatctx_xxhash")
        cxx.system_libs = ["pthread", "m"]
        cxx.requires = ["boost::filesystem", "protobuf::libprotobuf-lite", "xxhash::xxhash", "lz4::lz4", "libsodium::libsodium"]
