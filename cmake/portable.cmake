# Toolchain: Linux with glibc 2.28 or newer, static with musl, or Android, by the compiler and libraries that
# scripts/portable_setup.sh or scripts/android_setup.sh has made in FATCTX_PORTABLE. Nothing of the machine is linked.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FATCTX_PORTABLE)
get_filename_component(portable_arch ${FATCTX_PORTABLE} NAME)
if(portable_arch MATCHES "-musl$")
  string(REPLACE "-musl" "" portable_arch ${portable_arch})
  set(portable_static " -static")
elseif(portable_arch MATCHES "-android$")
  string(REPLACE "-android" "" portable_arch ${portable_arch})
  set(portable_shared " -Wl,--no-undefined,-z,max-page-size=16384") # 16 KiB, as Google Play demands
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # a sysroot of stubs links no programs
  set(CMAKE_HAVE_LIBC_PTHREAD TRUE CACHE INTERNAL "bionic has threads in libc")
  set(CMAKE_CXX_STANDARD_LIBRARIES -llog) # protobuf writes there
endif()
cmake_host_system_information(RESULT portable_host QUERY OS_PLATFORM)
if(NOT portable_arch STREQUAL portable_host)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${portable_arch})
endif()
set(CMAKE_C_COMPILER ${FATCTX_PORTABLE}/bin/cc)
set(CMAKE_CXX_COMPILER ${FATCTX_PORTABLE}/bin/c++)
set(CMAKE_AR ${FATCTX_PORTABLE}/bin/ar)
set(CMAKE_RANLIB ${FATCTX_PORTABLE}/bin/ranlib)
set(CMAKE_FIND_ROOT_PATH ${FATCTX_PORTABLE}/prefix)
set(CMAKE_PREFIX_PATH /) # below the root path
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${FATCTX_PORTABLE}/prefix/lib/pkgconfig)
set(ENV{PKG_CONFIG_PATH} "")
get_filename_component(portable_place ${FATCTX_PORTABLE} DIRECTORY)
# Messages name files of headers, and objects their sources; those names do not depend on these folders.
get_filename_component(portable_sources ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(CMAKE_CXX_FLAGS_INIT "-ffunction-sections -fdata-sections \"-ffile-prefix-map=${portable_sources}/=\" \"-ffile-prefix-map=${portable_place}/=\"")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--gc-sections -s${portable_static}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,--gc-sections -s${portable_shared}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-Wl,--gc-sections -s")
set(CMAKE_STRIP true) # the linker has done it, also for another kind of processor
