# What `cmake --install <build> --component simulator --prefix <folder>` installs: the simulator's
# runtime, static and shared (with the library that it loads), and a package that other projects find with
# find_package(BlackwellSimulator). Other projects link the static form.
include_guard(GLOBAL)

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

install(TARGETS simulator simulator_cudart simulator_cudart_shared simulator_observers simulator_cuda_shared
  COMPONENT simulator)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/BlackwellSimulator")
set(package_config "${PROJECT_BINARY_DIR}/BlackwellSimulatorConfig.cmake")
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/BlackwellSimulatorConfig.cmake.in" "${package_config}"
  INSTALL_DESTINATION "${package_folder}" PATH_VARS CMAKE_INSTALL_LIBDIR)
install(FILES "${package_config}" DESTINATION "${package_folder}" COMPONENT simulator)
