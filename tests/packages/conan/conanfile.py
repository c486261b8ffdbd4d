"""A library of Debian as a Conan package: `conan create . --name lz4 --version 1.9.4`.

The recipe of fatctx names the packages of Conan's own index. The tests have no network, so these stand for them: same
names, same targets, Debian's headers and libraries.
"""

import os

from conan import ConanFile
from conan.tools.files import save

# Components, as the recipes of the index name them: the target of CMake, the name of pkg-config, the library.
COMPONENTS = {
    "boost": {"filesystem": ("Boost::filesystem", "boost_filesystem", "boost_filesystem")},
    "protobuf": {"libprotobuf-lite": ("protobuf::libprotobuf-lite", "protobuf-lite", "protobuf-lite"),
                 "libprotobuf": ("protobuf::libprotobuf", "protobuf", "protobuf")},
    "xxhash": {"xxhash": ("xxHash::xxhash", "libxxhash", "xxhash")},
    "lz4": {"lz4": ("LZ4::lz4_shared", "liblz4", "lz4")},
    "libsodium": {"libsodium": ("libsodium::libsodium", "libsodium", "sodium")},
    "fmt": {"fmt": ("fmt::fmt-header-only", "fmt", None)},
}
FILES = {"boost": "Boost", "protobuf": "Protobuf", "xxhash": "xxHash"}
# The part of CMake's own module that the index has as a file of its package.
GENERATE = """
if(NOT COMMAND protobuf_generate_cpp)
  function(protobuf_generate_cpp sources headers proto)
    get_filename_component(folder ${proto} ABSOLUTE)
    get_filename_component(folder ${folder} DIRECTORY)
    get_filename_component(name ${proto} NAME_WE)
    set(made ${CMAKE_CURRENT_BINARY_DIR}/${name}.pb)
    add_custom_command(OUTPUT ${made}.cc ${made}.h COMMAND /usr/bin/protoc --proto_path=${folder}
      --cpp_out=${CMAKE_CURRENT_BINARY_DIR} ${folder}/${name}.proto DEPENDS ${folder}/${name}.proto)
    set(${sources} ${made}.cc PARENT_SCOPE)
    set(${headers} ${made}.h PARENT_SCOPE)
  endfunction()
endif()
"""


class DebianLibraryConan(ConanFile):
    options = {"header_only": [True, False]}
    default_options = {"header_only": False}
    settings = "os", "arch", "compiler", "build_type"

    def package(self):
        if self.name == "protobuf":
            save(self, os.path.join(self.package_folder, "generate.cmake"), GENERATE)

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", FILES.get(self.name, self.name))
        if self.name == "protobuf":
            self.cpp_info.builddirs = [""]
            self.cpp_info.set_property("cmake_find_mode", "both")
            self.cpp_info.set_property("cmake_build_modules", ["generate.cmake"])
        for name, (target, pkg_config, library) in COMPONENTS[self.name].items():
            component = self.cpp_info.components[name]
            component.set_property("cmake_target_name", target)
            component.set_property("pkg_config_name", pkg_config)
            component.includedirs = component.libdirs = component.bindirs = []
            component.system_libs = [library] if library else []
            if name == "fmt":
                component.defines = ["FMT_HEADER_ONLY=1"]
