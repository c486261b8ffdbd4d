# For cross builds of base and mapping alone (FATCTX_ONLY_MAPPING): finds the headers of the libraries that they and
# their tests need, in a folder of CMAKE_PREFIX_PATH, without package files.
function(fatctx_header_only target header)
  string(MAKE_C_IDENTIFIER "FATCTX_${header}_FOLDER" folder)
  find_path(${folder} ${header} REQUIRED)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${${folder}})
  target_compile_definitions(${target} INTERFACE ${ARGN})
endfunction()

fatctx_header_only(fmt::fmt-header-only fmt/format.h FMT_HEADER_ONLY)
add_library(fmt::fmt ALIAS fmt::fmt-header-only)
if(FATCTX_BUILD_TESTS)
  fatctx_header_only(nlohmann_json::nlohmann_json nlohmann/json.hpp)
endif()
