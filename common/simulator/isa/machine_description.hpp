#pragma once
/// \file
/// The GPUs that can be simulated: what they have and how large it is.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/simulator/isa/vocabulary.hpp"

namespace bw::sim {

/// One GPU. What all of them share is in machine/limits.hpp.
struct MachineDescription {
  std::string_view name;                ///< as BW_SIM_MACHINE takes it
  std::string_view device_name;         ///< what it calls itself
  uint32_t major = 0;                   ///< compute capability
  uint32_t minor = 0;                   ///< compute capability
  uint32_t sm_count = 0;                ///< SMs of the GPU
  std::span<const uint32_t> gpc_sms;    ///< SMs of each GPC: a cluster's CTAs are in one
  std::span<const uint32_t> gpc_sides;  ///< side of the L2 cache that each is near to
  /// Number of GPCs whose first pair of SMs a launch fills first: these pairs form no cluster of
  /// more CTAs with other SMs, and all are near side 0.
  uint32_t lone_pairs = 0;
  /// Whether a launch without cluster dimensions puts neighbours into one GPC (places_by_gpc).
  /// Known of the H100 alone.
  bool fills_gpcs = false;
  bool has_tensor_memory = false;          ///< whether its SMs have tensor memory
  Machines instructions = kOnAllMachines;  ///< its bit in the records of the forms that it has
  double clock_ghz = 0;  ///< of the SMs; turns cycles into event times and %globaltimer
  uint32_t memory_clock_kilohertz = 0;  ///< as the runtime gives it
  uint32_t memory_bus_bits = 0;         ///< as the runtime gives it
  uint32_t l2_bytes = 0;                ///< size of the L2 cache
  uint32_t copy_engines = 0;            ///< as the runtime gives it

  /// 100 for compute capability 10.0.
  [[nodiscard]] constexpr uint32_t architecture() const { return major * 10 + minor; }
  /// The target of architecture-specific code for it: "100a".
  [[nodiscard]] std::string specific_target() const;
};

/// All of them; the first is the one that is taken where nothing asks for another.
[[nodiscard]] std::span<const MachineDescription> machines();
/// The one of that name, or nullptr.
[[nodiscard]] const MachineDescription* find_machine(std::string_view name);
/// Their names, for messages: "b200, h100 or h200".
[[nodiscard]] std::string machine_names();

/// What PTX was compiled for.
struct PtxTarget {
  uint32_t architecture = 0;  ///< 100 for sm_100, sm_100a and sm_100f
  char suffix = '\0';         ///< 'a' architecture-specific, 'f' family-specific, or none
};
/// The target of "sm_100a"; architecture 0 for a text that is not a target.
[[nodiscard]] PtxTarget parse_target(std::string_view text);

/// How well PTX that was compiled for a target fits a machine: 0 does not run, else higher is
/// better. With suffix 'a' it runs on its own architecture alone, with 'f' on its family (here: its
/// own architecture), without one on its own and on every newer architecture.
[[nodiscard]] uint32_t fitness(const MachineDescription& machine, const PtxTarget& target);

/// A place of a cluster's CTAs on a machine.
struct Place {
  uint32_t first_sm = 0;  ///< the CTAs are there and on the SMs after it
  uint32_t gpc = 0;       ///< whose SMs they are
  uint32_t side = 0;      ///< of the L2 cache, that is near
  uint32_t port = 0;      ///< through which it reads that cache: mostly one for a GPC
};
/// Places in the order in which a launch of clusters fills them, one CTA an SM: as an H100 does,
/// the lone pairs, then one in each GPC and again from the beginning. SMs with numbers 2n and 2n +
/// 1 are in one GPC.
[[nodiscard]] std::vector<Place> places_of(const MachineDescription& machine, uint32_t sm_count,
                                           uint32_t cluster_ctas);

/// Places of the first `ctas` CTAs of a launch without cluster dimensions, as an H100 fills them:
/// the lone pairs, then one SM of each pair in all GPCs, then the other one; and numbered so that
/// the CTAs of a GPC are neighbours. At most one CTA an SM: further ones follow in the same order.
[[nodiscard]] std::vector<Place> places_by_gpc(const MachineDescription& machine, uint32_t sm_count,
                                               uint64_t ctas);

/// How many clusters of `cluster_ctas` CTAs are resident at once on `sm_count` SMs that hold
/// `ctas_per_sm` CTAs each. With the machine's own number of SMs by its GPCs; with another, by as
/// many of its largest GPCs as are needed. Lone pairs hold no clusters of more than two CTAs.
[[nodiscard]] uint64_t resident_clusters(const MachineDescription& machine, uint32_t sm_count,
                                         uint32_t ctas_per_sm, uint64_t cluster_ctas);

}  // namespace bw::sim
