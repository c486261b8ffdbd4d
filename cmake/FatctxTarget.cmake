# Compiles up to 24 files of a folder at a time. Private names are unique within a folder. Tests keep their names in a
# namespace per file, so any of their files can be compiled together. The name of a group says nothing of the folder that
# the project is in: a release has the same bytes from any folder.
function(fatctx_unity target)
  set(batch 24)
  # Without optimization, so many files make more sections than an object for Windows has numbers, and its larger form takes
  # minutes to link.
  if(WIN32 AND target MATCHES "_(tools|tests)$")
    set(batch 6)
  endif()
  if(target MATCHES "_tests$")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "_(win32|windows)\\.cc$")
      # The header of the system has macros with names of ours.
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    elseif(source MATCHES "\\.cc$")
      get_filename_component(folder ${source} DIRECTORY)
      foreach(top IN ITEMS "${PROJECT_BINARY_DIR}/" "${PROJECT_SOURCE_DIR}/")
        string(FIND "${folder}/" "${top}" at)
        if(at EQUAL 0)
          file(RELATIVE_PATH folder "${top}" "${folder}")
          break()
        endif()
      endforeach()
      string(MAKE_C_IDENTIFIER "${folder}" room)
      math(EXPR ${room}_files "0${${room}_files} + 1")
      math(EXPR group "${${room}_files} / ${batch}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${room}_${group}")
    endif()
  endforeach()
endfunction()

# Sets the compile options that all targets of the project share.
function(fatctx_target_options target)
  if(MSVC)
    target_compile_options(${target} PRIVATE /W4 /permissive- /utf-8 /Zc:__cplusplus $<$<BOOL:${FATCTX_WERROR}>:/WX>)
    return()
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wimplicit-fallthrough)
  # When optimising, g++ 12 warns of overlaps and overruns inside std::string and std::vector that cannot happen (GCC
  # bug 105651 and its relatives). With the thread sanitizer it also warns of reads of members of an empty std::optional
  # (GCC bug 105562). clang and the other sanitizers check the same code with all warnings on.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-Wno-restrict> $<$<NOT:$<CONFIG:Debug>>:-Wno-array-bounds>
      -Wno-maybe-uninitialized)
  endif()
  if(FATCTX_UNITY)
    fatctx_unity(${target})
    # In a unity file, names of other files look like outer names, and types in unnamed namespaces look as if a header
    # had them. Builds of single files keep both warnings.
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

# Does the same for a C program that uses the C interface. The C++ compiler links it, because the library needs its
# sanitizers; the program's own few lines are not instrumented.
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

# A file whose name ends in the names of systems is compiled only for those.
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
