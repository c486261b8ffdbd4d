# The compile options every target of the project shares.
function(fatctx_target_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wimplicit-fallthrough)
  if(FATCTX_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(FATCTX_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${FATCTX_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${FATCTX_SANITIZE})
  endif()
endfunction()
