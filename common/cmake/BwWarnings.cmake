# bw::build_flags: warnings and sanitizers, for C++ and CUDA sources. Every target of the repository
# links it (bw_add_program and bw_add_test do so by themselves; a library names it as PRIVATE).
include_guard(GLOBAL)

add_library(bw_build_flags INTERFACE)
add_library(bw::build_flags ALIAS bw_build_flags)
target_include_directories(bw_build_flags INTERFACE "${PROJECT_SOURCE_DIR}")

set(bw_warnings -Wall -Wextra -Wshadow)
# nvcc passes its host compiler code with GNU line markers, which -Wpedantic rejects.
target_compile_options(bw_build_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${bw_warnings};-Wpedantic>"
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler=$<JOIN:${bw_warnings},$<COMMA>>>")
if(BW_WERROR)
  target_compile_options(bw_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings -Xcompiler=-Werror>")
endif()

if(BW_SANITIZE)
  set(bw_sanitizers -fsanitize=address,undefined -fno-omit-frame-pointer)
  target_compile_options(bw_build_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:${bw_sanitizers};-fno-sanitize-recover=all>")
  target_link_options(bw_build_flags INTERFACE ${bw_sanitizers})
endif()
