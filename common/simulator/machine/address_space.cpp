#include "common/simulator/machine/address_space.hpp"

#include <cstdio>
#include <string>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {
namespace {

void check_alignment(const Site& site, uint64_t address, size_t alignment_bytes) {
  if ((address & (alignment_bytes - 1)) == 0) return;
  site.fault({.what = fmt::format("misaligned address {}: this access needs a multiple of {} bytes",
                                  hex(address), alignment_bytes),
              .rule = "an access is aligned to its size",
              .fix = "align the pointer or use a narrower access",
              .section = "Addresses as Operands"});
}

std::byte* resolve_local(const Site& site, uint64_t address, size_t bytes) {
  const Strand& strand = site.strand;
  const size_t size_bytes = strand.cluster->kernel().local_bytes();
  const uint64_t offset = address & ~kWindowMask;
  if (offset + bytes > size_bytes || offset + bytes < offset) {
    site.fault(
        {.what = fmt::format("local memory access of {} bytes at offset {} is out of bounds: the "
                             "thread has {} bytes of local memory",
                             bytes, offset, size_bytes),
         .rule = "an access stays inside the variable it belongs to",
         .fix = "check the index into the local array",
         .section = kNotFromPtxIsa});
  }
  return strand.warp->local.data() + static_cast<size_t>(lowest_lane(site.lanes)) * size_bytes +
         offset;
}

}  // namespace

uint64_t lane_address(const Strand& strand, const Operand& base, int64_t displacement, int lane) {
  const auto offset = static_cast<uint64_t>(displacement);
  if (base.bytes == 8) return strand.lanes<uint64_t>(base)[lane] + offset;
  // 32-bit addresses wrap at 32 bits.
  return static_cast<uint32_t>(strand.value(base, lane) + offset);
}

SharedPlace resolve_shared(const Site& site, AddressSpace space, uint64_t address, size_t bytes,
                           size_t alignment_bytes) {
  const Strand& strand = site.strand;
  if (space == AddressSpace::generic && space_of_generic(address) != AddressSpace::shared_cluster) {
    site.fault({.what = "address " + hex(address) + " is not in shared memory",
                .rule = "this operand must be an address in the shared window",
                .fix = "pass the address of a __shared__ object (or cvta.to.shared of it)"});
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
    site.fault(
        {.what = fmt::format("shared address {} names CTA rank {} of a cluster of {}", hex(shared),
                             rank, cluster.size()),
         .rule = "bits 24 and up of a shared-window address are the CTA's rank in the cluster",
         .fix =
             "map the address with mapa, or launch the kernel with the cluster it is written for",
         .section = "Shared State Space"});
  }
  if (space == AddressSpace::shared_cta && cta != strand.cta) {
    site.fault(
        {.what = fmt::format("shared address {} lies in CTA rank {}, but this form accesses the "
                             "own CTA's shared memory (rank {})",
                             hex(shared), rank, strand.cta->rank),
         .rule = "the address must lie in the executing CTA's window",
         .fix = "use the .shared::cluster form for another CTA's memory",
         .section = "Shared State Space"});
  }
  check_alignment(site, offset, alignment_bytes);
  if (offset < kGroupScratchOffset || offset + bytes > cta->shared.size()) {
    site.fault(
        {.what = fmt::format(
             "shared memory access of {} bytes at {} is out of bounds: CTA rank {} has {} to {}{}",
             bytes, hex(offset), cta->rank, hex(kReservedSharedBytes), hex(cta->shared.size()),
             offset < kReservedSharedBytes ? " (the bytes before are the system's)" : ""),
         .rule = "an access stays inside the CTA's shared memory",
         .fix = "check the index, the stage count and the dynamic shared memory size of the launch",
         .section = kNotFromPtxIsa});
  }
  if (cta->exited) {
    site.fault(
        {.what = fmt::format("access to shared memory of CTA rank {}, which has exited", cta->rank),
         .rule = "the memory is valid while its CTA runs",
         .fix = "keep the CTA alive with a cluster barrier or by draining its pipelines",
         .section = "Shared State Space"});
  }
  return {cta, offset};
}

std::byte* resolve_global(const Site& site, uint64_t address, size_t bytes, Access access) {
  const DeviceMemory& memory = site.strand.cluster->memory();
  const Allocation* allocation = memory.find(address);
  if (allocation == nullptr || address - allocation->address + bytes > allocation->size_bytes) {
    const Allocation* near = memory.nearest_below(address);
    std::vector<std::string> details;
    if (near != nullptr && memory.in_arena(address)) {
      details.push_back(fmt::format(
          "the allocation below is {} at {}, {} bytes; the access begins {} bytes into it",
          near->description, hex(near->address), near->size_bytes, address - near->address));
    }
    site.fault(
        {.what = fmt::format("global memory access of {} bytes at {} is out of bounds{}", bytes,
                             hex(address),
                             memory.in_arena(address) ? "" : ": the address is not device memory"),
         .rule = "an access stays inside one allocation",
         .fix = memory.in_arena(address) ? "check the index and the size of the buffer"
                                         : "pass a pointer from cudaMalloc, not a host pointer",
         .details = std::move(details),
         .section = kNotFromPtxIsa});
  }
  if (access != Access::read && !allocation->writable) {
    site.fault({.what = "write to read-only memory at " + hex(address) + " (" +
                        allocation->description + ")",
                .rule = "kernel parameters and constants may only be read",
                .fix = "write to a copy instead",
                .section = kNotFromPtxIsa});
  }
  return reinterpret_cast<std::byte*>(address);
}

std::byte* resolve(const Site& site, AddressSpace space, uint64_t address, size_t bytes,
                   size_t alignment_bytes, Access access) {
  if (space == AddressSpace::generic) space = space_of_generic(address);
  switch (space) {
    case AddressSpace::shared_cta:
    case AddressSpace::shared_cluster: {
      const SharedPlace place = resolve_shared(site, space, address, bytes, alignment_bytes);
      return place.cta->shared.data() + place.offset_bytes;
    }
    case AddressSpace::local:
      check_alignment(site, address, alignment_bytes);
      return resolve_local(site, address, bytes);
    default:
      check_alignment(site, address, alignment_bytes);
      // Of global memory the report names the warp.
      return resolve_global({site.strand, site.instruction, kAllLanes}, address, bytes, access);
  }
}

}  // namespace bw::sim
