# Labs: small programs of a chapter, one idea each.
include_guard(GLOBAL)

# bw_add_lab(<name> [SOURCES <a.cu>...] [ARCHS <100a ...>] [LIBRARIES <target>...]
#            [TEST_OPTIONS <option>...] [TIMEOUT <seconds>])
#
# The program lab_NN_<name> of the chapter in whose folder (solutions/NN_name) this is called, linked
# as bw_add_program() does, and the test of the same name: it runs the lab with TEST_OPTIONS in the
# simulator and expects it to verify. SOURCES defaults to labs/<name>.cu, ARCHS to the chapter's in
# common/chapters.json.
function(bw_add_lab name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;ARCHS;LIBRARIES;TEST_OPTIONS")
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME chapter)
  if(NOT chapter MATCHES "^([0-9][0-9])_")
    message(FATAL_ERROR "bw_add_lab(${name}) belongs into a chapter's folder, solutions/NN_name.")
  endif()
  set(number "${CMAKE_MATCH_1}")
  if(NOT arg_SOURCES)
    set(arg_SOURCES "labs/${name}.cu")
  endif()
  if(NOT arg_ARCHS)
    set(arg_ARCHS ${BW_CHAPTER_ARCHITECTURES_${chapter}})
  endif()
  set(lab "lab_${number}_${name}")
  bw_add_program(${lab} SOURCES ${arg_SOURCES} ARCHS ${arg_ARCHS}
                 LIBRARIES ${arg_LIBRARIES})
  if(TARGET ${lab})
    bw_add_command_test(${lab} COMMAND ${lab} ${arg_TEST_OPTIONS} LABELS chapter${number}
                        TIMEOUT ${arg_TIMEOUT} EXPECT_OUTPUT "(^|\n)verified ")
  endif()
endfunction()

# bw_add_labs([<options of bw_add_lab()>...])
#
# A lab for each labs/*.cu of the chapter that no bw_add_lab() before it has named.
function(bw_add_labs)
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/labs/*.cu")
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME chapter)
  string(SUBSTRING "${chapter}" 0 2 number)
  foreach(file IN LISTS files)
    cmake_path(GET file STEM name)
    if(NOT TARGET lab_${number}_${name}_objects)
      bw_add_lab(${name} ${ARGN})
    endif()
  endforeach()
endfunction()
