# Tests and their labels.
#
# Labels: `chapterNN` (what `./workbook test NN` runs), `hopper` (runs on a
# Hopper GPU, is skipped elsewhere), `simulator`, `host`, `workbook`, `timeline`, `docs`, `lint`,
# `toolkits` (compares releases of the CUDA Toolkit, which pip installs), and `slow`
# (left out of `./workbook test` and of the preset; `./workbook test --all` runs them).
include_guard(GLOBAL)

enable_testing()
include(GoogleTest)
# Asked for once: each question costs a quarter of a second.
if(BW_TESTS)
  find_package(Python3 3.8 REQUIRED COMPONENTS Interpreter)
endif()

# bw_add_test(<name> SOURCES <a.cpp | a.cu>... [LIBRARIES <target>...] [LABELS <label>...]
#             [ARCHS <100a ...>] [TIMEOUT <seconds, default 120>] [ON_GPU | ALSO_GPU] [SHARDS <count>])
#
# A GoogleTest executable; each of its test cases becomes one ctest test named <name>.<Suite>.<Case>. SHARDS: its
# cases are shared out among that many ctest tests, <name>.1 and so on. It is for programs of many short cases, where
# a process and the reading of its PTX take longer than a case.
# Sources ending in .cu are compiled as bw_add_program() does and run in the simulator; with ON_GPU
# on a GPU, one test at a time. Such tests skip themselves where there is none that fits. ALSO_GPU: with
# BW_GPU_PROGRAMS there is a program <name>_gpu too, which `./workbook test --gpu` runs.
function(bw_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ON_GPU;ALSO_GPU" "TIMEOUT;SHARDS"
    "SOURCES;LIBRARIES;LABELS;ARCHS")
  if(NOT BW_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(libraries ${arg_LIBRARIES} GTest::gtest_main)
  set(one_at_a_time "")
  if(arg_ON_GPU)
    bw_add_device_objects(${name}_objects SOURCES ${arg_SOURCES} ARCHS ${arg_ARCHS}
                          LIBRARIES ${libraries})
    bw_link_program(${name} bw::cudart ${name}_objects ${libraries})
    set(one_at_a_time RESOURCE_LOCK gpu)
  elseif(arg_SOURCES MATCHES "\\.cu(;|$)")
    set(only_simulated NO_GPU)
    if(arg_ALSO_GPU)
      set(only_simulated "")
    endif()
    bw_add_program(${name} ${only_simulated} SOURCES ${arg_SOURCES} ARCHS ${arg_ARCHS}
                   LIBRARIES ${libraries})
  else()
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE bw::build_flags ${libraries} bw::host)
  endif()
  if(arg_SHARDS)
    foreach(shard RANGE 1 ${arg_SHARDS})
      math(EXPR index "${shard} - 1")
      bw_add_command_test(${name}.${shard} COMMAND ${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT}
        ENVIRONMENT GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${index})
    endforeach()
    return()
  endif()
  gtest_discover_tests(${name}
    TEST_PREFIX "${name}."
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${arg_TIMEOUT} ${one_at_a_time})
  # gtest_discover_tests() cannot hand over a list, so the labels are set once the tests are known.
  if(arg_LABELS)
    set(labels_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake")
    file(CONFIGURE OUTPUT "${labels_file}" @ONLY CONTENT
      "if(@name@_TESTS)\n  set_tests_properties(\${@name@_TESTS} PROPERTIES LABELS \"@arg_LABELS@\")\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels_file}")
  endif()
endfunction()

# bw_build_for_slow_tests(<target> <test>...)
#
# A program that nothing but these slow tests runs: it is built when ctest is to run one of them, and not by
# `./workbook test`.
function(bw_build_for_slow_tests target)
  if(NOT BW_TESTS)
    return()
  endif()
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_test(NAME ${target}.is_built
    COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target ${target})
  set_tests_properties(${target}.is_built PROPERTIES
    FIXTURES_SETUP ${target} LABELS slow TIMEOUT 1800 RESOURCE_LOCK build_folder)
  set_tests_properties(${ARGN} PROPERTIES FIXTURES_REQUIRED ${target})
endfunction()

# bw_add_command_test(<name> COMMAND <command>... [LABELS <label>...] [TIMEOUT <seconds>]
#                     [ENVIRONMENT <NAME=value>...] [EXPECT_OUTPUT <regular expression>])
#
# A test that runs a command and looks at its exit status (77: skipped) or at its output.
function(bw_add_command_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;EXPECT_OUTPUT" "COMMAND;LABELS;ENVIRONMENT")
  if(NOT BW_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
    ENVIRONMENT "${arg_ENVIRONMENT}")
  if(arg_EXPECT_OUTPUT)
    set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "${arg_EXPECT_OUTPUT}")
  endif()
endfunction()
