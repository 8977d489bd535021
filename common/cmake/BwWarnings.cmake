# bw::build_flags: warnings and the include folder, for C++ and CUDA sources (bw_add_program and
# bw_add_test link it by themselves; a library names it as PRIVATE).
include_guard(GLOBAL)

add_library(bw_build_flags INTERFACE)
add_library(bw::build_flags ALIAS bw_build_flags)
target_include_directories(bw_build_flags INTERFACE "${PROJECT_SOURCE_DIR}")

set(bw_warnings -Wall -Wextra -Wshadow)
# GCC 12 and 13 report overlaps and overflows that cannot be where std::string is concatenated (GCC
# bug 105329): all of them once the standard headers are precompiled.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  list(APPEND bw_warnings -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread
       -Wno-array-bounds)
endif()
# With its sanitizers GCC takes members of std::regex's states for uninitialised (GCC bug 105616).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND BW_SANITIZE)
  list(APPEND bw_warnings -Wno-maybe-uninitialized)
endif()
# nvcc passes its host compiler code with GNU line markers, which -Wpedantic rejects.
target_compile_options(bw_build_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${bw_warnings};-Wpedantic>"
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler=$<JOIN:${bw_warnings},$<COMMA>>>")
# GCC collects garbage from 128 MB on, which is a tenth of the time that large groups of files take it. With the first
# collection at 1 GB their compilation needs a third more memory, at most 1.3 GB.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(bw_first_collection_kib 1000000)
  target_compile_options(bw_build_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=${bw_first_collection_kib}>")
endif()
# Host code rounds as written on every machine, and plain characters are signed as on x86-64: 64-bit
# Arm has fused multiply-adds in its base instructions, and its characters are unsigned.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(bw_arithmetic -ffp-contract=off -fsigned-char)
  target_compile_options(bw_build_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:${bw_arithmetic}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler=$<JOIN:${bw_arithmetic},$<COMMA>>>")
endif()

# BW_NATIVE_OPTIONS: what compiles for the processor of this machine, for the files that compute.
set(BW_NATIVE_OPTIONS "")
if(BW_NATIVE)
  include(CheckCXXCompilerFlag)
  foreach(option IN ITEMS march mcpu)  # Clang for Arm has the second one alone
    check_cxx_compiler_flag(-${option}=native bw_has_${option}_native)
    if(bw_has_${option}_native)
      set(BW_NATIVE_OPTIONS -${option}=native)
      break()
    endif()
  endforeach()
endif()

if(BW_WERROR)
  target_compile_options(bw_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings -Xcompiler=-Werror>")
endif()

# Sanitizers have to be in everything that is linked together. Not `enum`: whoever calls the CUDA
# runtime may pass any number where it takes an enumeration, and the runtime has to check it.
if(BW_SANITIZE)
  set(bw_sanitizers -fsanitize=${BW_SANITIZE})
  if(BW_SANITIZE MATCHES "undefined")
    list(APPEND bw_sanitizers -fno-sanitize=enum)
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${bw_sanitizers};-fno-sanitize-recover=all;\
-fno-omit-frame-pointer>")
  add_link_options(${bw_sanitizers})
endif()
if(BW_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "BW_FUZZ needs Clang, whose libFuzzer it uses; the compiler is "
                        "${CMAKE_CXX_COMPILER_ID}. Add -DCMAKE_CXX_COMPILER=clang++.")
  endif()
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()
if(BW_COVERAGE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--coverage>)
  add_link_options(--coverage)
endif()

# Lets ccache, where it is the compiler's launcher, cache what is compiled with precompiled headers
# (its settings must allow for them too: sloppiness = pch_defines,time_macros).
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
