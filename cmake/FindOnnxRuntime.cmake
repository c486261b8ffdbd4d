# Finds ONNX Runtime: OnnxRuntime::headers, and OnnxRuntime::onnxruntime if the library exists too (tests, samples,
# bench).
#
# If ONNXRUNTIME_ROOT is set, as a variable of CMake or of the environment, only that folder is searched (an official
# release, or any folder with include/ and lib/). Otherwise the output of scripts/ort_setup.sh is used. The version is
# that of the interface in the headers: 1.23 for ORT_API_VERSION 23; 0 if they do not state it.
set(OnnxRuntime_place ${ONNXRUNTIME_ROOT})
if(NOT OnnxRuntime_place AND DEFINED ENV{ONNXRUNTIME_ROOT})
  set(OnnxRuntime_place $ENV{ONNXRUNTIME_ROOT})
endif()
if(NOT OnnxRuntime_place)
  set(OnnxRuntime_place ${PROJECT_SOURCE_DIR}/build/onnxruntime)
endif()

# Not cached, so that another ONNXRUNTIME_ROOT in the next run has an effect.
unset(OnnxRuntime_INCLUDE_DIR CACHE)
unset(OnnxRuntime_LIBRARY CACHE)
find_path(OnnxRuntime_INCLUDE_DIR onnxruntime_c_api.h PATHS ${OnnxRuntime_place}
  PATH_SUFFIXES include include/onnxruntime include/onnxruntime/core/session NO_DEFAULT_PATH
  NO_CMAKE_FIND_ROOT_PATH)
find_library(OnnxRuntime_LIBRARY onnxruntime PATHS ${OnnxRuntime_place} PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH
  NO_CMAKE_FIND_ROOT_PATH)
mark_as_advanced(OnnxRuntime_INCLUDE_DIR OnnxRuntime_LIBRARY)

if(OnnxRuntime_INCLUDE_DIR)
  file(STRINGS ${OnnxRuntime_INCLUDE_DIR}/onnxruntime_c_api.h OnnxRuntime_line REGEX "^#define ORT_API_VERSION [0-9]+")
  set(OnnxRuntime_VERSION 0)
  if(OnnxRuntime_line)
    string(REGEX REPLACE "[^0-9]*([0-9]+).*" "1.\\1" OnnxRuntime_VERSION "${OnnxRuntime_line}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxRuntime REQUIRED_VARS OnnxRuntime_INCLUDE_DIR VERSION_VAR OnnxRuntime_VERSION)

if(OnnxRuntime_FOUND AND NOT TARGET OnnxRuntime::headers)
  add_library(OnnxRuntime::headers INTERFACE IMPORTED)
  set_target_properties(OnnxRuntime::headers PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${OnnxRuntime_INCLUDE_DIR}
    INTERFACE_INCLUDE_DIRECTORIES ${OnnxRuntime_INCLUDE_DIR})
  if(OnnxRuntime_LIBRARY)
    add_library(OnnxRuntime::library UNKNOWN IMPORTED)
    set_target_properties(OnnxRuntime::library PROPERTIES IMPORTED_LOCATION ${OnnxRuntime_LIBRARY})
    add_library(OnnxRuntime::onnxruntime INTERFACE IMPORTED)
    set_target_properties(OnnxRuntime::onnxruntime PROPERTIES
      INTERFACE_LINK_LIBRARIES "OnnxRuntime::library;OnnxRuntime::headers")
    # The one function that programs call is OrtGetApiBase, and it is stable. In the official libraries, its symbol has
    # the version of the library ("VERS_1.31.1"), so a program that is linked with one of them starts with no other. A
    # stand-in of the same name, without versions, comes first on the line of the linker; no program loads it.
    set(OnnxRuntime_soname "")
    if(CMAKE_READELF)
      execute_process(COMMAND ${CMAKE_READELF} -d ${OnnxRuntime_LIBRARY} OUTPUT_VARIABLE OnnxRuntime_dynamic ERROR_QUIET)
      if(OnnxRuntime_dynamic MATCHES "SONAME[^\n]*\\[([^]]+)\\]")
        set(OnnxRuntime_soname ${CMAKE_MATCH_1})
      endif()
    endif()
    if(OnnxRuntime_soname)
      set(OnnxRuntime_source ${CMAKE_BINARY_DIR}/onnxruntime_link.cc)
      file(CONFIGURE OUTPUT ${OnnxRuntime_source} CONTENT
        "extern \"C\" __attribute__((visibility(\"default\"))) const void* OrtGetApiBase() { return nullptr; }\n")
      add_library(onnxruntime_link SHARED ${OnnxRuntime_source})
      # The file has another name than the one that programs look for.
      set_target_properties(onnxruntime_link PROPERTIES NO_SONAME ON)
      target_link_options(onnxruntime_link PRIVATE LINKER:-soname,${OnnxRuntime_soname})
      set(OnnxRuntime_links onnxruntime_link OnnxRuntime::library)
      if(FATCTX_PORTABLE) # the library of this machine may be of another kind of processor
        set(OnnxRuntime_links onnxruntime_link)
      endif()
      set_property(TARGET OnnxRuntime::onnxruntime PROPERTY
        INTERFACE_LINK_LIBRARIES "${OnnxRuntime_links};OnnxRuntime::headers")
    endif()
  endif()
endif()
