#pragma once
/// \file
/// The small kernels of the catalogue: their arguments, their launches, a table for each source
/// file.

#include <cuda.h>

#include <cstdint>
#include <span>
#include <vector>

namespace bw::faults {

constexpr uint32_t kRowWords = 32;                    ///< of the maps' matrices: rows of 128 bytes
constexpr uint32_t kBoxRows = 4;                      ///< of the maps' boxes
constexpr uint32_t kBoxWords = kRowWords * kBoxRows;  ///< a word for each of 128 threads
constexpr uint32_t kBoxBytes = kBoxWords * sizeof(uint32_t);
constexpr uint32_t kWords = 4096;  ///< of `in`, `out` and `scratch`

/// Arguments of every kernel.
struct FaultArguments {
  CUtensorMap in_map;   ///< of `in`: boxes of kBoxRows rows of kRowWords words, not swizzled
  CUtensorMap out_map;  ///< of `out`, the same
  const uint32_t* in;   ///< [kWords]
  uint32_t* out;        ///< [kWords]
  uint32_t* scratch;    ///< [kWords], zeros
  uint32_t* fresh;      ///< [kWords], as cudaMalloc gives them
  CUtensorMap* map;     ///< in global memory, a copy of `in_map`
};

/// What a case with more than one launch is given.
struct FaultRun {
  FaultArguments arguments;  ///< for its launches
};

/// A kernel and its launch; or, for cases of several launches, a function of the host.
struct FaultKernel {
  const char* name;                          ///< of the case
  void (*kernel)(FaultArguments) = nullptr;  ///< with `host`: nothing
  void (*host)(FaultRun&) = nullptr;         ///< launches its kernels itself
  uint32_t threads = 64;                     ///< of a CTA
  uint32_t ctas = 1;                         ///< of the grid
  uint32_t cluster = 1;                      ///< CTAs of a cluster
  uint32_t shared_bytes = 0;                 ///< of dynamic shared memory
  uint32_t words = 0;                        ///< of `out` that are checked; 0: one a thread
};

using FaultTable = std::span<const FaultKernel>;

FaultTable shared_memory_kernels();  ///< threads of one CTA
FaultTable mbarrier_kernels();       ///< phases, counts and bytes
FaultTable async_copy_kernels();     ///< TMA, bulk copies, cp.async
FaultTable cluster_kernels();        ///< several CTAs
FaultTable tensor_memory_kernels();  ///< tcgen05
FaultTable global_memory_kernels();  ///< CTAs, launches, streams
FaultTable production_kernels();     ///< patterns of production kernels
FaultTable launch_kernels();         ///< dependent launches, launch control
FaultTable end_kernels();            ///< of CTAs, mbarriers, allocations
FaultTable hopper_kernels();         ///< wgmma

/// Those of this program.
std::vector<FaultTable> fault_tables();

}  // namespace bw::faults
