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
  PATH_SUFFIXES include include/onnxruntime include/onnxruntime/core/session NO_DEFAULT_PATH)
find_library(OnnxRuntime_LIBRARY onnxruntime PATHS ${OnnxRuntime_place} PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
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
    add_library(OnnxRuntime::onnxruntime UNKNOWN IMPORTED)
    set_target_properties(OnnxRuntime::onnxruntime PROPERTIES IMPORTED_LOCATION ${OnnxRuntime_LIBRARY}
      INTERFACE_LINK_LIBRARIES OnnxRuntime::headers)
  endif()
endif()
