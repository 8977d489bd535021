# CUDA programs: compiled once, linked twice.
include_guard(GLOBAL)

# bw_add_device_objects(<name> SOURCES <a.cu | a.cpp>... [ARCHS <100a 90a ...>]
#                       [LIBRARIES <target>...])
#
# An object library of device code, for programs to name among their LIBRARIES: each source is
# compiled once, with PTX and machine code for every architecture of ARCHS (default 100a). Includes
# are relative to the root of the repository. The PTX is there as text, which tests read and whose paths the
# wheel changes, unless the calling folder sets BW_COMPRESS_IMAGES: then PTX and machine code take a tenth of
# the space. BW_PTX_ALONE leaves the machine code out of programs that no GPU runs: what the simulator takes from it,
# the kernels' registers, matters to times and to how many CTAs an SM holds.
function(bw_add_device_objects name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;ARCHS;LIBRARIES")
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "bw_add_device_objects(${name}) needs SOURCES.")
  endif()
  if(NOT arg_ARCHS)
    set(arg_ARCHS 100a)
  endif()

  add_library(${name} OBJECT ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE bw::build_flags ${arg_LIBRARIES})
  set(compression -no-compress)
  if(BW_COMPRESS_IMAGES)
    set(compression -Xfatbin=-compress-all)
  endif()
  # A profiler on a GPU wants the lines of machine code; the simulator reads those of the PTX, and of the machine code
  # the registers alone. Its lines are half of a program's size.
  set(lines -lineinfo)
  if(NOT BW_GPU_PROGRAMS)
    list(APPEND lines -Xptxas=-suppress-debug-info)
  endif()
  set(gencode "")
  foreach(arch IN LISTS arg_ARCHS)
    if(arch STREQUAL "100a")
      set(arch "${BW_BLACKWELL_ARCH}")
    endif()
    set(code "[compute_${arch},sm_${arch}]")
    if(BW_PTX_ALONE AND NOT BW_GPU_PROGRAMS)
      set(code "compute_${arch}")
    endif()
    list(APPEND gencode "SHELL:-gencode arch=compute_${arch},code=${code}")
  endforeach()
  target_compile_options(${name} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:${gencode};${lines};${compression};--expt-relaxed-constexpr>")
  if(BW_BLACKWELL_ARCH STREQUAL "100f")
    target_compile_definitions(${name} PRIVATE BW_BLACKWELL_FAMILY)
  endif()
endfunction()

# bw_share_device_objects(<name>)
#
# <name>_shared: the objects of bw_add_device_objects(<name>) as a shared library, which test programs with the same
# kernels link instead of the objects: ten megabytes each. It names no runtime, so that programs for the simulator and
# for a GPU can link it. Where each program holds the simulator itself, it is another name of the objects.
function(bw_share_device_objects name)
  if(BW_SIMULATOR AND BW_SHARED_SIMULATOR)
    add_library(${name}_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${name}>)
    set_target_properties(${name}_shared PROPERTIES LINKER_LANGUAGE CXX)
  else()
    add_library(${name}_shared ALIAS ${name})
  endif()
endfunction()

# bw_add_program(<name> SOURCES <a.cu>... [ARCHS <100a 90a ...>] [LIBRARIES <target>...] [NO_GPU]
#                [NO_SIMULATOR])
#
# Compiles the sources by bw_add_device_objects() and links the objects into
#   <name>       the simulator's runtime (bw::simulator): runs on any CPU; only with BW_SIMULATOR
#                and without NO_SIMULATOR
#   <name>_gpu   the toolkit's runtime: runs on a GPU; only with BW_GPU_PROGRAMS and without NO_GPU;
#                always with NO_SIMULATOR (it has no other form)
# Both land in <build>/bin. LIBRARIES are linked to both and give the objects their include folders.
function(bw_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_GPU;NO_SIMULATOR" "" "SOURCES;ARCHS;LIBRARIES")
  bw_add_device_objects(${name}_objects SOURCES ${arg_SOURCES} ARCHS ${arg_ARCHS}
                        LIBRARIES ${arg_LIBRARIES})

  if(BW_SIMULATOR AND NOT arg_NO_SIMULATOR)
    bw_link_program(${name} bw::simulator ${name}_objects ${arg_LIBRARIES})
  endif()
  if((BW_GPU_PROGRAMS AND NOT arg_NO_GPU) OR arg_NO_SIMULATOR)
    bw_link_program(${name}_gpu bw::cudart ${name}_objects ${arg_LIBRARIES})
  endif()
endfunction()

# An executable of an object library, the host's code and a runtime, linked by the C++ compiler.
function(bw_link_program name runtime objects)
  add_executable(${name} $<TARGET_OBJECTS:${objects}>)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE bw::build_flags ${ARGN} bw::host ${runtime})
endfunction()
