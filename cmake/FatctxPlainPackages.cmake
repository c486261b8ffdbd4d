# Third-party libraries as they lie in a folder (CMAKE_PREFIX_PATH), without the files by which packages describe
# themselves: for cross builds, whose folder somebody has filled by hand. fmt, nlohmann-json, CLI11 and xxHash are
# needed as headers only. Without lz4 and protobuf only base and mapping are built, with their tests.
function(fatctx_header_only target header)
  string(MAKE_C_IDENTIFIER "FATCTX_${header}_FOLDER" folder)
  find_path(${folder} ${header})
  if(${folder})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} SYSTEM INTERFACE ${${folder}})
    target_compile_definitions(${target} INTERFACE ${ARGN})
  endif()
endfunction()

fatctx_header_only(fmt::fmt fmt/format.h FMT_HEADER_ONLY)
fatctx_header_only(nlohmann_json::nlohmann_json nlohmann/json.hpp)
fatctx_header_only(CLI11::CLI11 CLI/CLI.hpp)
fatctx_header_only(PkgConfig::XXHASH xxhash.h XXH_INLINE_ALL)
if(NOT TARGET fmt::fmt)
  message(FATAL_ERROR "fmt/format.h lies in no folder of CMAKE_PREFIX_PATH (${CMAKE_PREFIX_PATH})")
endif()

find_library(FATCTX_LZ4_LIBRARY lz4)
find_path(FATCTX_LZ4_HEADERS lz4frame.h)
find_library(FATCTX_PROTOBUF_LITE_LIBRARY protobuf-lite)
find_path(FATCTX_PROTOBUF_HEADERS google/protobuf/message_lite.h)
find_package(Protobuf QUIET) # for its way to generate code; the full library is not needed
if(FATCTX_LZ4_LIBRARY AND FATCTX_LZ4_HEADERS AND FATCTX_PROTOBUF_LITE_LIBRARY AND FATCTX_PROTOBUF_HEADERS
   AND Protobuf_PROTOC_EXECUTABLE AND TARGET PkgConfig::XXHASH AND TARGET nlohmann_json::nlohmann_json
   AND TARGET CLI11::CLI11)
  add_library(PkgConfig::LZ4 UNKNOWN IMPORTED GLOBAL)
  set_target_properties(PkgConfig::LZ4 PROPERTIES IMPORTED_LOCATION ${FATCTX_LZ4_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${FATCTX_LZ4_HEADERS})
  if(NOT TARGET protobuf::libprotobuf-lite)
    add_library(protobuf::libprotobuf-lite UNKNOWN IMPORTED GLOBAL)
    set_target_properties(protobuf::libprotobuf-lite PROPERTIES IMPORTED_LOCATION ${FATCTX_PROTOBUF_LITE_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${FATCTX_PROTOBUF_HEADERS})
  endif()
  if(NOT TARGET protobuf::protoc)
    add_executable(protobuf::protoc IMPORTED GLOBAL)
    set_target_properties(protobuf::protoc PROPERTIES IMPORTED_LOCATION ${Protobuf_PROTOC_EXECUTABLE})
  endif()
  set(FATCTX_ONLY_MAPPING OFF)
else()
  message(STATUS
    "fatctx: no lz4 or protobuf for ${CMAKE_SYSTEM_NAME} in CMAKE_PREFIX_PATH: only base and mapping are built")
  set(FATCTX_ONLY_MAPPING ON)
endif()
