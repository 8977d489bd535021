# The libraries that the build uses. This is the one list of them: `./workbook` installs from it.
#
# Chapters, solutions, common/host and common/device need none of these, only the CUDA Toolkit.
include_guard(GLOBAL)

include(BwPackages)

if(BW_SIMULATOR)
  # The text of reports.
  bw_require_package(fmt FOR simulator TARGET fmt::fmt DEBIAN libfmt-dev HEADER fmt/core.h
                     LIBRARY fmt CONFIG fmt)
  # Fat binaries of programs that were built with compression.
  bw_require_package(zstd FOR simulator TARGET bw::zstd DEBIAN libzstd-dev HEADER zstd.h
                     LIBRARY zstd)
  bw_require_package(lz4 FOR simulator TARGET bw::lz4 DEBIAN liblz4-dev HEADER lz4.h LIBRARY lz4)
endif()
if(BW_TESTS)
  bw_require_package(GoogleTest FOR tests TARGET GTest::gtest_main DEBIAN libgtest-dev
                     HEADER gtest/gtest.h LIBRARY gtest_main CONFIG GTest)
endif()
if(BW_SIMULATOR)
  # What the simulated GEMM is compared with: only the target simulator_bench needs it.
  bw_require_package(OpenBLAS OPTIONAL FOR simulator_bench TARGET bw::openblas DEBIAN libopenblas-dev
                     HEADER cblas.h LIBRARY openblas)
endif()
