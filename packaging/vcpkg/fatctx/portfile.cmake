# The libraries of fatctx, built from a source archive of scripts/package:
#
#   scripts/package --source
#   export FATCTX_SOURCE_ARCHIVE=$PWD/build/package/fatctx-0.1.0-source.tar.gz VCPKG_KEEP_ENV_VARS=FATCTX_SOURCE_ARCHIVE
#   vcpkg install fatctx --overlay-ports=packaging/vcpkg
if(NOT EXISTS "$ENV{FATCTX_SOURCE_ARCHIVE}")
  message(FATAL_ERROR "FATCTX_SOURCE_ARCHIVE names no file (\"$ENV{FATCTX_SOURCE_ARCHIVE}\"). scripts/package --source makes a "
    "source archive; VCPKG_KEEP_ENV_VARS=FATCTX_SOURCE_ARCHIVE lets vcpkg see the variable.")
endif()
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "$ENV{FATCTX_SOURCE_ARCHIVE}")
vcpkg_find_acquire_program(PKGCONFIG)

# The C interface is a shared library beside the static ones, whatever the triplet prefers.
set(VCPKG_POLICY_DLLS_IN_STATIC_LIBRARY enabled)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DFATCTX_BUILD_TESTS=OFF
    -DFATCTX_BUILD_BENCH=OFF
    -DFATCTX_BUILD_TOOLS=OFF
    -DFATCTX_ONNXRUNTIME=OFF
    -DFATCTX_UNITY=ON
    -DFATCTX_WERROR=OFF
    "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}"
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/fatctx)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
