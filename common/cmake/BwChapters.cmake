# The chapters, as common/chapters.json lists them; `./workbook` reads the same file.
#
#   BW_CHAPTERS                          their names, in order: folders and programs are called so
#   BW_CHAPTER_ARCHITECTURES_<name>      what a chapter's program is compiled for, for nvcc (100a)
include_guard(GLOBAL)

set(bw_chapters_file "${PROJECT_SOURCE_DIR}/common/chapters.json")
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             "${bw_chapters_file}")
file(READ "${bw_chapters_file}" bw_chapters_json)

set(BW_CHAPTERS "")
string(JSON bw_count LENGTH "${bw_chapters_json}")
math(EXPR bw_last "${bw_count} - 1")
foreach(index RANGE ${bw_last})
  string(JSON name GET "${bw_chapters_json}" ${index} name)
  list(APPEND BW_CHAPTERS ${name})
  string(JSON count LENGTH "${bw_chapters_json}" ${index} architectures)
  math(EXPR last "${count} - 1")
  set(BW_CHAPTER_ARCHITECTURES_${name} "")
  foreach(item RANGE ${last})
    string(JSON architecture GET "${bw_chapters_json}" ${index} architectures ${item})
    list(APPEND BW_CHAPTER_ARCHITECTURES_${name} ${architecture})
  endforeach()
endforeach()

# bw_add_chapter_program(SOURCES <a.cu>... [LIBRARIES <target>...])
#
# The program of the chapter whose folder calls this: bw_add_program() with the chapter's name and its
# architectures.
function(bw_add_chapter_program)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME name)
  if(NOT name IN_LIST BW_CHAPTERS)
    message(FATAL_ERROR "${name} is not in the list of chapters, common/chapters.json.")
  endif()
  bw_add_program(${name} ${ARGV} ARCHS ${BW_CHAPTER_ARCHITECTURES_${name}})
endfunction()
