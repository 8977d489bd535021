# The build for WebAssembly (preset `wasm`): libraries of which headers are enough, and the options of the module.
include_guard(GLOBAL)

# bw_browser_headers(<imported target> DEBIAN <package> HEADER <file> [DEFINITIONS <name>...])
#
# Defines the target for a library of this machine that needs no machine code. Only its own folder becomes visible:
# the rest of the system's headers would hide Emscripten's.
function(bw_browser_headers target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DEBIAN;HEADER" "DEFINITIONS")
  string(MAKE_C_IDENTIFIER "BW_BROWSER_${target}" variable)
  find_path(${variable} "${arg_HEADER}" NO_CMAKE_FIND_ROOT_PATH
            PATHS /usr/include /usr/local/include)
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR
      "${arg_HEADER} was not found. On Debian and Ubuntu it is in the package ${arg_DEBIAN}: install it with "
      "`apt-get install ${arg_DEBIAN}`, or run `./workbook setup`, which installs everything that is missing.")
  endif()
  string(REGEX REPLACE "/.*" "" folder "${arg_HEADER}")
  set(own "${CMAKE_BINARY_DIR}/headers")
  file(MAKE_DIRECTORY "${own}")
  file(CREATE_LINK "${${variable}}/${folder}" "${own}/${folder}" SYMBOLIC)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${own}")
  target_compile_definitions(${target} INTERFACE ${arg_DEFINITIONS})
endfunction()

bw_browser_headers(fmt::fmt DEBIAN libfmt-dev HEADER fmt/core.h DEFINITIONS FMT_HEADER_ONLY)

# There is one thread: pages with several need headers that a plain web server does not send.
add_library(Threads::Threads INTERFACE IMPORTED GLOBAL)

# Exceptions and vectors are WebAssembly's own. Browsers have both since 2022 (Safari since 16.4).
set(bw_browser_options -fwasm-exceptions -msimd128)
add_compile_options(${bw_browser_options} "SHELL:-include ${PROJECT_SOURCE_DIR}/common/simulator/browser/library_gaps.hpp")
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)  # there is one module
add_link_options(${bw_browser_options})
