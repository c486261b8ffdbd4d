# Compiles the files of a folder ten at a time. Private names are unique within a folder; in tests, whose names are in a
# namespace of their file, any files can go together.
function(fatctx_unity target)
  if(target MATCHES "_tests$")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.cc$")
      get_filename_component(folder ${source} DIRECTORY)
      string(MAKE_C_IDENTIFIER "${folder}" room)
      math(EXPR ${room}_files "0${${room}_files} + 1")
      math(EXPR group "${${room}_files} / 10")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${room}_${group}")
    endif()
  endforeach()
endfunction()

# The compile options every target of the project shares.
function(fatctx_target_options target)
  if(MSVC)
    target_compile_options(${target} PRIVATE /W4 /permissive- /utf-8 /Zc:__cplusplus $<$<BOOL:${FATCTX_WERROR}>:/WX>)
    return()
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wimplicit-fallthrough)
  # When it optimises, g++ 12 sees overlaps and overruns inside std::string and std::vector that cannot happen (GCC bug
  # 105651 and its relatives), and under the thread sanitizer members of an empty std::optional that might be read (GCC bug
  # 105562). clang and the other sanitizers look at the same code with all of them on.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-Wno-restrict> $<$<NOT:$<CONFIG:Debug>>:-Wno-array-bounds>
      -Wno-maybe-uninitialized)
  endif()
  if(FATCTX_UNITY)
    fatctx_unity(${target})
    # In a unit, names of other files look like outer names, and types in unnamed namespaces look as if a header had them.
    # Builds of single files keep both warnings.
    target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  if(FATCTX_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(FATCTX_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${FATCTX_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${FATCTX_SANITIZE})
  endif()
endfunction()

# The same for a program in C that uses the C interface. It is linked by the C++ compiler, whose sanitizers the library
# needs; its own few lines are not instrumented.
function(fatctx_c_target_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion)
  if(FATCTX_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  set_target_properties(${target} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF LINKER_LANGUAGE CXX)
  if(FATCTX_SANITIZE)
    target_link_options(${target} PRIVATE -fsanitize=${FATCTX_SANITIZE})
  endif()
endfunction()

# A file that ends in the names of systems is for those only.
set(FATCTX_SYSTEMS posix linux)
if(WIN32)
  set(FATCTX_SYSTEMS win32)
elseif(APPLE)
  set(FATCTX_SYSTEMS posix darwin)
endif()
function(fatctx_sources_of_system out)
  set(chosen "")
  foreach(source IN LISTS ARGN)
    if(source MATCHES "_(posix|linux|darwin|win32)\\.cc$")
      set(wanted FALSE)
      foreach(system IN LISTS FATCTX_SYSTEMS)
        if(source MATCHES "_${system}(_(posix|linux|darwin|win32))*\\.cc$")
          set(wanted TRUE)
        endif()
      endforeach()
      if(NOT wanted)
        continue()
      endif()
    endif()
    list(APPEND chosen ${source})
  endforeach()
  set(${out} ${chosen} PARENT_SCOPE)
endfunction()
