# Files that are compiled together: a group's headers are read once, which halves the time of a first build.
#
# bw_unite(TARGET SIZE ["<folder> <folder>..."]...): compiles TARGET's C++ files in groups of up to SIZE files of one
# folder; the folders that one further argument lists count as one.
#
# The anonymous namespaces of a group become one, so the files of a group give their helpers distinct names; the
# tests of the simulator have a namespace for each file. BW_UNITY=OFF compiles file by file: for work on one file,
# and for tools that replace one file's object (tests/mutation).
function(bw_unite target size)
  if(NOT BW_UNITY)
    return()
  endif()
  foreach(together IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "${together}" key)
    separate_arguments(folders UNIX_COMMAND "${together}")
    foreach(folder IN LISTS folders)
      set("key_of_${folder}" "${key}")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(language "${source}" LANGUAGE)
    if(NOT source MATCHES "\\.cpp$" AND NOT (source MATCHES "\\.cu$" AND language STREQUAL "CXX"))
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    if(DEFINED "key_of_${folder}")
      set(key "${key_of_${folder}}")
    else()
      string(MAKE_C_IDENTIFIER "${folder}" key)
    endif()
    if(NOT DEFINED count_${key})
      set(count_${key} 0)
    endif()
    math(EXPR group "${count_${key}} / ${size}")
    math(EXPR count_${key} "${count_${key}} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${key}_${group}")
  endforeach()
endfunction()

# bw_without_device_code(FILE...): CUDA files that hold no device code and include none. nvcc reads the headers of
# such a file three times; the C++ compiler reads them once.
function(bw_without_device_code)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
endfunction()

# bw_unite_cuda(VARIABLE SIZE): replaces the CUDA files in the list VARIABLE by files that include up to SIZE of them.
#
# An exercise's check compiles the members one by one (tools/device_code.py). Where programs for a GPU are built too,
# nothing is united: a GPU loads the modules that it was measured with.
function(bw_unite_cuda variable size)
  if(NOT BW_UNITY OR NOT BW_SIMULATOR OR BW_GPU_PROGRAMS)
    return()
  endif()
  set(united "")
  set(files ${${variable}})
  list(FILTER files INCLUDE REGEX "\\.cu$")
  set(others ${${variable}})
  list(FILTER others EXCLUDE REGEX "\\.cu$")
  list(LENGTH files left)
  set(text "")
  set(in_group 0)
  foreach(file IN LISTS files)
    cmake_path(ABSOLUTE_PATH file)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    string(APPEND text "#include \"${file}\"\n")
    math(EXPR in_group "${in_group} + 1")
    math(EXPR left "${left} - 1")
    if(in_group EQUAL size OR left EQUAL 0)
      cmake_path(GET file STEM stem)
      set(together "${CMAKE_CURRENT_BINARY_DIR}/${variable}_to_${stem}.cu")
      file(CONFIGURE OUTPUT "${together}" CONTENT "${text}" @ONLY)
      list(APPEND united "${together}")
      set(text "")
      set(in_group 0)
    endif()
  endforeach()
  set(${variable} ${others} ${united} PARENT_SCOPE)
endfunction()
