# Toolchain: Windows on x86-64 with MinGW-w64, the variant with C++ threads; programs run under Wine if it exists.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
find_program(FATCTX_WINE wine)
if(FATCTX_WINE)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${FATCTX_WINE})
endif()
# Headers and libraries of the host must not be found; programs that run during the build must.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_PREFIX_PATH} /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Links statically, so that programs and libraries run without the compiler's own libraries beside it.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-static")
# The libraries that scripts/windows_setup.sh has built.
foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
  set(ENV{PKG_CONFIG_LIBDIR} ${prefix}/lib/pkgconfig)
endforeach()
set(ENV{PKG_CONFIG_PATH} "")
