# Options of the build and the settings that hold for all of it.
include_guard(GLOBAL)

if(EXISTS /dev/nvidia0)
  set(bw_gpu_present ON)
else()
  find_program(BW_NVIDIA_SMI nvidia-smi)
  mark_as_advanced(BW_NVIDIA_SMI)
  set(bw_gpu_present OFF)
  if(BW_NVIDIA_SMI)
    execute_process(COMMAND "${BW_NVIDIA_SMI}" -L RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(result EQUAL 0)
      set(bw_gpu_present ON)
    endif()
  endif()
endif()

option(BW_WERROR "Treat warnings as errors" ON)
set(BW_SANITIZE "" CACHE STRING
    "Sanitizers for all host code, as -fsanitize takes them: address,undefined or thread")
option(BW_FUZZ "Make the fuzz targets libFuzzer's (needs Clang)" OFF)
option(BW_COVERAGE "Count which lines of the host code run (gcov)" OFF)
option(BW_SIMULATOR "Build the simulator and the programs that run in it" ON)
if(BW_SIMULATOR)
  option(BW_GPU_PROGRAMS "Build <program>_gpu (the toolkit's runtime) along with <program>"
         ${bw_gpu_present})
else()
  # Without the simulator a program has no other runtime.
  set(BW_GPU_PROGRAMS ON)
endif()
# A sanitizer, a fuzzer and gcov look at the simulator as a part of the program.
if(BW_SANITIZE OR BW_FUZZ OR BW_COVERAGE)
  set(BW_SHARED_SIMULATOR OFF)
else()
  option(BW_SHARED_SIMULATOR "Link programs and tests with the simulator as one shared library" ON)
endif()
set(BW_BLACKWELL_ARCH 100a CACHE STRING
    "What Blackwell code is compiled for: 100a (a B200), or 100f (its family, B200 and B300)")
set_property(CACHE BW_BLACKWELL_ARCH PROPERTY STRINGS 100a 100f)
if(NOT BW_BLACKWELL_ARCH MATCHES "^100[af]$")
  message(FATAL_ERROR "BW_BLACKWELL_ARCH is ${BW_BLACKWELL_ARCH}; it can be 100a or 100f.")
endif()
option(BW_BENCH "Build the benchmark of the Hopper GEMM (needs cuBLASLt)" OFF)
option(BW_UNITY "Compile files in groups: quicker from nothing; OFF for work on single files" ON)
option(BW_TESTS "Build the tests (needs GoogleTest)" ON)
option(BW_NATIVE "Compile what computes on the host for this machine's processor" ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
# There are no modules here; CMake 3.28 and newer would read every file a second time to look for them.
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The simulator's objects become a shared libcudart.so.13 and static libraries.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
# Programs in bin find the simulator in lib wherever the build folder is moved to. A change of the
# simulator links it alone.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)
