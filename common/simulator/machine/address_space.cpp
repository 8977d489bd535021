#include "common/simulator/machine/address_space.hpp"

#include <cstdio>
#include <string>

#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {
namespace {

std::string hex(uint64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

constexpr LaneMask lane_bit(int lane) { return lane < 0 ? kAllLanes : 1u << lane; }

void check_alignment(const Strand& strand, const Instruction& instruction, uint64_t address,
                     size_t alignment_bytes, int lane) {
  if ((address & (alignment_bytes - 1)) == 0) return;
  strand.fault(instruction, FaultKind::contract, lane_bit(lane),
               "misaligned address " + hex(address) + ": this access needs a multiple of " +
                   std::to_string(alignment_bytes) + " bytes",
               "PTX ISA, Addresses as Operands: an access is aligned to its size",
               "align the pointer or use a narrower access");
}

std::byte* resolve_local(Strand& strand, const Instruction& instruction, uint64_t address,
                         size_t bytes, int lane) {
  const size_t size_bytes = strand.cluster->kernel().local_bytes();
  const uint64_t offset = address & ~kWindowMask;
  if (offset + bytes > size_bytes || offset + bytes < offset) {
    strand.fault(instruction, FaultKind::contract, lane_bit(lane),
                 "local memory access of " + std::to_string(bytes) + " bytes at offset " +
                     std::to_string(offset) + " is out of bounds: the thread has " +
                     std::to_string(size_bytes) + " bytes of local memory",
                 "an access stays inside the variable it belongs to",
                 "check the index into the local array");
  }
  return strand.warp->local.data() + static_cast<size_t>(lane) * size_bytes + offset;
}

}  // namespace

uint64_t lane_address(const Strand& strand, const Operand& base, int64_t displacement, int lane) {
  const auto offset = static_cast<uint64_t>(displacement);
  if (base.bytes == 8) return strand.lanes<uint64_t>(base)[lane] + offset;
  // 32-bit addresses wrap at 32 bits.
  return static_cast<uint32_t>(strand.value(base, lane) + offset);
}

SharedPlace resolve_shared(Strand& strand, const Instruction& instruction, AddressSpace space,
                           uint64_t address, size_t bytes, size_t alignment_bytes, int lane) {
  if (space == AddressSpace::generic && space_of_generic(address) != AddressSpace::shared_cluster) {
    strand.fault(instruction, FaultKind::contract, lane_bit(lane),
                 "address " + hex(address) + " is not in shared memory",
                 "this operand must be an address in the shared window",
                 "pass the address of a __shared__ object (or cvta.to.shared of it)");
  }
  const auto shared = static_cast<uint32_t>(address);
  const uint32_t rank = shared >> kSharedRankShift;
  const uint32_t offset = shared & kSharedOffsetMask;
  Cluster& cluster = *strand.cluster;
  // An address without rank bits names rank 0; in .shared::cta form it can only mean the own CTA.
  Cta* cta = nullptr;
  if (space == AddressSpace::shared_cta && (rank == strand.cta->rank || rank == 0)) {
    cta = strand.cta;
  } else if (rank < cluster.size()) {
    cta = &cluster.cta(rank);
  }
  if (cta == nullptr) {
    strand.fault(
        instruction, FaultKind::contract, lane_bit(lane),
        "shared address " + hex(shared) + " names CTA rank " + std::to_string(rank) +
            " of a cluster of " + std::to_string(cluster.size()),
        "PTX ISA, State Spaces, .shared: bits 24 and up of a shared-window address are the "
        "CTA's rank in the cluster",
        "map the address with mapa, or launch the kernel with the cluster it is written for");
  }
  if (space == AddressSpace::shared_cta && cta != strand.cta) {
    strand.fault(instruction, FaultKind::contract, lane_bit(lane),
                 "shared address " + hex(shared) + " lies in CTA rank " + std::to_string(rank) +
                     ", but this form accesses the own CTA's shared memory (rank " +
                     std::to_string(strand.cta->rank) + ")",
                 "PTX ISA, .shared::cta: the address must lie in the executing CTA's window",
                 "use the .shared::cluster form for another CTA's memory");
  }
  check_alignment(strand, instruction, offset, alignment_bytes, lane);
  if (offset < kReservedSharedBytes || offset + bytes > cta->shared.size()) {
    strand.fault(
        instruction, FaultKind::contract, lane_bit(lane),
        "shared memory access of " + std::to_string(bytes) + " bytes at " + hex(offset) +
            " is out of bounds: CTA rank " + std::to_string(cta->rank) + " has " +
            hex(kReservedSharedBytes) + " to " + hex(cta->shared.size()) +
            (offset < kReservedSharedBytes ? " (the bytes before are the system's)" : ""),
        "an access stays inside the CTA's shared memory",
        "check the index, the stage count and the dynamic shared memory size of the launch");
  }
  if (cta->exited) {
    strand.fault(
        instruction, FaultKind::contract, lane_bit(lane),
        "access to shared memory of CTA rank " + std::to_string(cta->rank) + ", which has exited",
        "PTX ISA, .shared::cluster: the memory is valid while its CTA runs",
        "keep the CTA alive with a cluster barrier or by draining its pipelines");
  }
  return {cta, offset};
}

std::byte* resolve_global(Strand& strand, const Instruction& instruction, uint64_t address,
                          size_t bytes, Access access) {
  const DeviceMemory& memory = strand.cluster->memory();
  const Allocation* allocation = memory.find(address);
  if (allocation == nullptr || address - allocation->address + bytes > allocation->size_bytes) {
    const Allocation* near = memory.nearest_below(address);
    std::vector<std::string> details;
    if (near != nullptr && memory.in_arena(address)) {
      details.push_back("the allocation below is " + near->description + " at " +
                        hex(near->address) + ", " + std::to_string(near->size_bytes) +
                        " bytes; the access begins " + std::to_string(address - near->address) +
                        " bytes into it");
    }
    strand.fault(instruction, FaultKind::contract, kAllLanes,
                 "global memory access of " + std::to_string(bytes) + " bytes at " + hex(address) +
                     " is out of bounds" +
                     (memory.in_arena(address) ? "" : ": the address is not device memory"),
                 "an access stays inside one allocation",
                 memory.in_arena(address) ? "check the index and the size of the buffer"
                                          : "pass a pointer from cudaMalloc, not a host pointer",
                 std::move(details));
  }
  if (access != Access::read && !allocation->writable) {
    strand.fault(
        instruction, FaultKind::contract, kAllLanes,
        "write to read-only memory at " + hex(address) + " (" + allocation->description + ")",
        "kernel parameters and constants may only be read", "write to a copy instead");
  }
  return reinterpret_cast<std::byte*>(address);
}

std::byte* resolve(Strand& strand, const Instruction& instruction, AddressSpace space,
                   uint64_t address, size_t bytes, size_t alignment_bytes, Access access,
                   int lane) {
  if (space == AddressSpace::generic) space = space_of_generic(address);
  switch (space) {
    case AddressSpace::shared_cta:
    case AddressSpace::shared_cluster: {
      const SharedPlace place =
          resolve_shared(strand, instruction, space, address, bytes, alignment_bytes, lane);
      return place.cta->shared.data() + place.offset_bytes;
    }
    case AddressSpace::local:
      check_alignment(strand, instruction, address, alignment_bytes, lane);
      return resolve_local(strand, instruction, address, bytes, lane);
    default:
      check_alignment(strand, instruction, address, alignment_bytes, lane);
      return resolve_global(strand, instruction, address, bytes, access);
  }
}

}  // namespace bw::sim
