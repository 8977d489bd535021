# Finds a supported CUDA Toolkit (common/toolkits.json), enables the CUDA language with it, and defines
#   bw::cuda_headers   the toolkit's host headers (cuda.h, cuda_runtime_api.h, cuda_fp8.h, ...)
#   bw::cudart         the toolkit's own runtime: what <program>_gpu links
#   bw::cublaslt       cuBLASLt, where the toolkit has it: what Hopper's GEMM is compared with
#
# Places, in this order; the first toolkit that is new enough is taken:
#   CMAKE_CUDA_COMPILER or CUDACXX (then nothing else is tried), CUDA_HOME, CUDA_PATH,
#   CUDAToolkit_ROOT, PATH, /usr/local/cuda, the checkout's private environment .workbook/.
# BW_TOOLKIT_IGNORE_SYSTEM=1 in the environment leaves only the private environment.
# BW_TOOLKIT_ANY_RELEASE=1 also accepts a toolkit older than the oldest supported one.
include_guard(GLOBAL)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             "${PROJECT_SOURCE_DIR}/common/toolkits.json")
file(READ "${PROJECT_SOURCE_DIR}/common/toolkits.json" bw_toolkits_json)
string(JSON BW_CUDA_MINIMUM GET "${bw_toolkits_json}" oldest)
string(JSON BW_CUDA_NEWEST GET "${bw_toolkits_json}" newest)

# The release ("13.0") that an nvcc reports, or an empty string if it does not run.
function(bw_nvcc_release nvcc result)
  set(${result} "" PARENT_SCOPE)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE code)
  if(code EQUAL 0 AND text MATCHES "release ([0-9]+\\.[0-9]+)")
    set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  endif()
endfunction()

# The candidates that exist, best first.
function(bw_nvcc_candidates result)
  set(candidates "")
  if(NOT "$ENV{BW_TOOLKIT_IGNORE_SYSTEM}" STREQUAL "1")
    foreach(root IN ITEMS "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" "${CUDAToolkit_ROOT}"
                          "$ENV{CUDAToolkit_ROOT}")
      if(root)
        list(APPEND candidates "${root}/bin/nvcc")
      endif()
    endforeach()
    find_program(bw_nvcc_in_path nvcc NO_CACHE)
    if(bw_nvcc_in_path)
      list(APPEND candidates "${bw_nvcc_in_path}")
    endif()
    list(APPEND candidates /usr/local/cuda/bin/nvcc)
  endif()
  file(GLOB private_nvcc
       "${CMAKE_SOURCE_DIR}/.workbook/venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc")
  list(APPEND candidates ${private_nvcc})
  set(existing "")
  foreach(candidate IN LISTS candidates)
    if(EXISTS "${candidate}")
      list(APPEND existing "${candidate}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES existing)
  set(${result} "${existing}" PARENT_SCOPE)
endfunction()

function(bw_find_nvcc)
  if(CMAKE_CUDA_COMPILER)
    set(candidates "${CMAKE_CUDA_COMPILER}")
  elseif(DEFINED ENV{CUDACXX})
    set(candidates "$ENV{CUDACXX}")
  else()
    bw_nvcc_candidates(candidates)
  endif()
  set(rejected "")
  foreach(candidate IN LISTS candidates)
    bw_nvcc_release("${candidate}" release)
    if(release AND (release VERSION_GREATER_EQUAL BW_CUDA_MINIMUM OR
                    "$ENV{BW_TOOLKIT_ANY_RELEASE}" STREQUAL "1"))
      if(release VERSION_GREATER BW_CUDA_NEWEST)
        message(STATUS "CUDA Toolkit ${release} is newer than ${BW_CUDA_NEWEST}, the newest release "
                       "that this workbook was tested with. It is used.")
      elseif(release VERSION_LESS BW_CUDA_MINIMUM)
        message(STATUS "CUDA Toolkit ${release} is older than ${BW_CUDA_MINIMUM}, the oldest "
                       "supported release. It is used because BW_TOOLKIT_ANY_RELEASE is 1, and code "
                       "for sm_100a may not compile.")
      endif()
      set(CMAKE_CUDA_COMPILER "${candidate}" CACHE FILEPATH "nvcc, ${BW_CUDA_MINIMUM} or newer")
      return()
    endif()
    if(NOT release)
      set(release "does not run")
    endif()
    string(APPEND rejected " ${candidate} (${release})")
  endforeach()
  if(rejected)
    set(rejected " Found but not usable:${rejected}.")
  endif()
  message(FATAL_ERROR
    "No CUDA Toolkit with nvcc ${BW_CUDA_MINIMUM} or newer was found.${rejected} Put its nvcc on "
    "PATH, set CUDA_HOME to its folder, or run `./workbook setup`, which installs one into this "
    "checkout. BW_TOOLKIT_ANY_RELEASE=1 accepts an older one.")
endfunction()

bw_find_nvcc()

# The program is linked by the C++ compiler against a runtime of our choice, for targets that
# bw_add_program() names one by one: CMake must add neither.
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
set(CMAKE_CUDA_ARCHITECTURES OFF)
enable_language(CUDA)
# What CMake's trial of the compiler leaves: five megabytes that nothing reads.
file(REMOVE_RECURSE "${CMAKE_PLATFORM_INFO_DIR}/CompilerIdCUDA/tmp")
# This is the host code's optimisation alone: PTX and machine code are the same at every level.
string(REPLACE "-O3" "-O1" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
# CMake before 3.26 does not know that nvcc 12 and later have C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)

# <root>/bin/nvcc, or what nvcc itself calls TOP when it was reached through a link or a wrapper.
file(REAL_PATH "${CMAKE_CUDA_COMPILER}" bw_nvcc_real)
cmake_path(GET bw_nvcc_real PARENT_PATH bw_cuda_bin)
cmake_path(GET bw_cuda_bin PARENT_PATH BW_CUDA_ROOT)

find_path(BW_CUDA_INCLUDE cuda_runtime_api.h NO_DEFAULT_PATH
          HINTS "${BW_CUDA_ROOT}" ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}
          PATH_SUFFIXES include targets/${CMAKE_SYSTEM_PROCESSOR}-linux/include
                        targets/sbsa-linux/include)
if(NOT BW_CUDA_INCLUDE)
  message(FATAL_ERROR
    "The CUDA Toolkit in ${BW_CUDA_ROOT} has nvcc but not cuda_runtime_api.h. Install the rest of "
    "it (the runtime's headers), or run `./workbook setup` with BW_TOOLKIT_IGNORE_SYSTEM=1 to use "
    "a toolkit of this checkout's own.")
endif()
set(CUDA_TOOLKIT_INCLUDE "${BW_CUDA_INCLUDE}")
add_library(bw_cuda_headers INTERFACE)
add_library(bw::cuda_headers ALIAS bw_cuda_headers)
target_include_directories(bw_cuda_headers SYSTEM INTERFACE "${BW_CUDA_INCLUDE}")
if(EXISTS "${BW_CUDA_INCLUDE}/cccl")
  target_include_directories(bw_cuda_headers SYSTEM INTERFACE "${BW_CUDA_INCLUDE}/cccl")
endif()

# The wheels carry libcudart.so.13 alone, without the development link libcudart.so.
find_file(BW_CUDART_LIBRARY NAMES libcudart.so libcudart.so.13 NO_DEFAULT_PATH
          HINTS "${BW_CUDA_INCLUDE}/.." "${BW_CUDA_ROOT}" PATH_SUFFIXES lib lib64)
if(BW_CUDART_LIBRARY)
  add_library(bw::cudart SHARED IMPORTED)
  set_target_properties(bw::cudart PROPERTIES IMPORTED_LOCATION "${BW_CUDART_LIBRARY}")
elseif(BW_GPU_PROGRAMS)
  message(FATAL_ERROR
    "BW_GPU_PROGRAMS is on, but the CUDA Toolkit in ${BW_CUDA_ROOT} has no libcudart.so. Install "
    "the toolkit's runtime, or configure with -DBW_GPU_PROGRAMS=OFF.")
endif()

find_path(BW_CUBLASLT_INCLUDE cublasLt.h NO_DEFAULT_PATH HINTS "${BW_CUDA_INCLUDE}")
find_file(BW_CUBLASLT_LIBRARY NAMES libcublasLt.so libcublasLt.so.13 NO_DEFAULT_PATH
          HINTS "${BW_CUDA_INCLUDE}/.." "${BW_CUDA_ROOT}" PATH_SUFFIXES lib lib64)
if(BW_CUBLASLT_INCLUDE AND BW_CUBLASLT_LIBRARY)
  add_library(bw::cublaslt SHARED IMPORTED)
  set_target_properties(bw::cublaslt PROPERTIES
    IMPORTED_LOCATION "${BW_CUBLASLT_LIBRARY}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${BW_CUBLASLT_INCLUDE}")
endif()
mark_as_advanced(BW_CUDA_INCLUDE BW_CUDART_LIBRARY BW_CUBLASLT_INCLUDE BW_CUBLASLT_LIBRARY)
message(STATUS "CUDA Toolkit ${CMAKE_CUDA_COMPILER_VERSION}: ${BW_CUDA_ROOT}")
