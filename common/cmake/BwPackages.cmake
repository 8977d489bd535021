# Libraries that a target needs, found through the distribution's packages, with an error that says
# what to install.
include_guard(GLOBAL)

# bw_require_package(<name> TARGET <imported target> DEBIAN <package>
#                    [CONFIG <find_package arguments>] [HEADER <file> LIBRARY <name>])
#
# Makes sure that <imported target> exists. CONFIG: through the package's own CMake files. HEADER
# and LIBRARY: for packages that ship none (or only on newer distributions); the target is defined
# here then. DEBIAN is the Debian/Ubuntu package that the error names.
function(bw_require_package name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET;DEBIAN;HEADER;LIBRARY" "CONFIG")
  if(TARGET ${arg_TARGET})
    return()
  endif()
  if(arg_CONFIG)
    find_package(${arg_CONFIG} QUIET GLOBAL)
  endif()
  if(NOT TARGET ${arg_TARGET} AND arg_HEADER)
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
  if(NOT TARGET ${arg_TARGET})
    message(FATAL_ERROR
      "${name} was not found. On Debian and Ubuntu it is the package ${arg_DEBIAN}: install it "
      "with `apt-get install ${arg_DEBIAN}`, or run `./workbook setup`, which installs everything "
      "that is missing.")
  endif()
endfunction()
