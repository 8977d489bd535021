# Libraries that a target needs, found through the distribution's packages, with an error that says
# what to install.
include_guard(GLOBAL)

# bw_require_package(<name> TARGET <imported target> DEBIAN <package> HEADER <file>
#                    [CONFIG <find_package arguments>] [LIBRARY <name>] [FOR <purpose>] [OPTIONAL])
#
# Makes sure that <imported target> exists, or with OPTIONAL defines it where it can be had. CONFIG:
# through the package's own CMake files. LIBRARY: what the linker calls it; where there are no such
# files (or only on newer distributions), the target is defined here. DEBIAN is the Debian/Ubuntu
# package that the error names.
#
# `./workbook` reads these calls too: it looks for HEADER and LIBRARY and installs DEBIAN where one of
# them is missing. FOR says what needs the library, where not every build does: `simulator`, `tests`
# or `simulator_bench`.
function(bw_require_package name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIONAL" "TARGET;DEBIAN;HEADER;LIBRARY;FOR" "CONFIG")
  if(NOT arg_TARGET OR NOT arg_DEBIAN OR NOT arg_HEADER)
    message(FATAL_ERROR "bw_require_package(${name}) needs TARGET, DEBIAN and HEADER.")
  endif()
  if(TARGET ${arg_TARGET})
    return()
  endif()
  if(arg_CONFIG)
    find_package(${arg_CONFIG} QUIET GLOBAL)
  endif()
  if(NOT TARGET ${arg_TARGET} AND arg_LIBRARY)
    foreach(found IN ITEMS BW_${name}_INCLUDE BW_${name}_LIBRARY)
      if(${found} AND NOT EXISTS "${${found}}")
        unset(${found} CACHE)  # it was removed since, or lies elsewhere now
      endif()
    endforeach()
    find_path(BW_${name}_INCLUDE "${arg_HEADER}")
    find_library(BW_${name}_LIBRARY NAMES ${arg_LIBRARY})
    mark_as_advanced(BW_${name}_INCLUDE BW_${name}_LIBRARY)
    if(BW_${name}_INCLUDE AND BW_${name}_LIBRARY)
      add_library(${arg_TARGET} UNKNOWN IMPORTED GLOBAL)
      set_target_properties(${arg_TARGET} PROPERTIES
        IMPORTED_LOCATION "${BW_${name}_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${BW_${name}_INCLUDE}")
    endif()
  endif()
  if(NOT TARGET ${arg_TARGET} AND NOT arg_OPTIONAL)
    message(FATAL_ERROR
      "${name} was not found. On Debian and Ubuntu it is the package ${arg_DEBIAN}: install it "
      "with `apt-get install ${arg_DEBIAN}`, or run `./workbook setup`, which installs everything "
      "that is missing.")
  endif()
endfunction()
