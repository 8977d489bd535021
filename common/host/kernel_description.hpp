#pragma once
/// \file
/// What a configuration of a kernel is made of, for the programs' option --describe: roles, rings,
/// memory. A chapter fills it from the constants that its kernel is compiled from.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "common/host/require.hpp"

namespace bw {

/// The warps of a CTA that have one role.
struct RoleDescription {
  const char* name;   ///< of the role
  uint32_t warps;     ///< of a CTA
  int registers = 0;  ///< of a thread after setmaxnreg; 0: those of the launch
};

/// Stages with a full and an empty mbarrier each; or mbarriers without a counterpart.
struct RingDescription {
  const char* name;         ///< of the ring
  int stages;               ///< of one such ring
  uint32_t full_arrivals;   ///< that complete a phase of full, or of the only barrier
  uint32_t full_bytes;      ///< that have to land for it as well; 0: none
  uint32_t empty_arrivals;  ///< that complete a phase of empty; 0: no such barrier
  int rings = 1;            ///< rings of this kind in a CTA
};

/// A part of a CTA's shared memory.
struct SharedPart {
  const char* name;  ///< what it holds
  size_t bytes;      ///< of the CTA
};

/// A configuration of a kernel.
struct KernelDescription {
  std::vector<MessagePart> tile;       ///< what a CTA computes at a time, in words
  int cluster_m = 1;                   ///< CTAs of a cluster along M
  int cluster_n = 1;                   ///< CTAs of a cluster along N
  std::vector<RoleDescription> roles;  ///< in the order of their warps
  int launch_registers = 0;            ///< most registers of a thread at the launch
  int tmem_columns = 0;                ///< columns of tensor memory that a CTA allocates
  int accumulators = 0;                ///< accumulators in them
  int accumulator_columns = 0;         ///< columns from one accumulator to the next
  std::vector<RingDescription> rings;  ///< all mbarriers of the CTA
  std::vector<SharedPart> shared;      ///< the named parts of the storage
  size_t storage_bytes = 0;            ///< the parts, and what alignment adds to them
  size_t shared_bytes = 0;             ///< dynamic shared memory of the launch

  /// Threads of a CTA.
  uint32_t threads() const;
};

/// Prints a description under the configuration's name `config`, a line for each part of it.
void print_description(std::initializer_list<MessagePart> config,
                       const KernelDescription& description);

}  // namespace bw
