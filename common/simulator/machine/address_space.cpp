#include "common/simulator/machine/address_space.hpp"

#include <cstdio>
#include <string>

#include <fmt/core.h>

#include "common/simulator/base/device_address.hpp"
#include "common/simulator/base/text.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {
namespace {

void check_alignment(const Site& site, uint64_t address, size_t alignment_bytes) {
  if ((address & (alignment_bytes - 1)) == 0) return;
  site.fault({.code = FaultCode::misaligned,
              .what = fmt::format("misaligned address {}: this access needs a multiple of {} bytes",
                                  hex(address), alignment_bytes),
              .rule = "an access is aligned to its size",
              .fix = "align the pointer or use a narrower access",
              .section = "Addresses as Operands",
              .device_error = DeviceError::misaligned_address});
}

std::byte* resolve_local(const Site& site, uint64_t address, size_t bytes) {
  const Strand& strand = site.strand;
  const size_t size_bytes = strand.cluster->kernel().local_bytes();
  const uint64_t offset = address & ~kWindowMask;
  if (offset + bytes > size_bytes || offset + bytes < offset) {
    site.fault(
        {.code = FaultCode::local_out_of_bounds,
         .what = fmt::format("local memory access of {} bytes at offset {} is out of bounds: the "
                             "thread has {} bytes of local memory",
                             bytes, offset, size_bytes),
         .rule = "an access stays inside the variable it belongs to",
         .fix = "check the index into the local array",
         .section = kNotFromPtxIsa,
         .device_error = DeviceError::illegal_address});
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

namespace {

Fault exited_cta(const Cta& cta, Access access) {
  return {.code = FaultCode::exited_cta_memory,
          .what = fmt::format("access to shared memory of CTA rank {}, which has exited", cta.rank),
          .rule = "the memory is valid while its CTA runs",
          .fix = "keep the CTA alive with a cluster barrier or by draining its pipelines",
          .section = "Shared State Space",
          .hardware_accepts = access != Access::read};
}

/// Without checking whether the CTA has exited.
SharedPlace find_shared(const Site& site, AddressSpace space, uint64_t address, size_t bytes,
                        size_t alignment_bytes) {
  const Strand& strand = site.strand;
  if (space == AddressSpace::generic && space_of_generic(address) != AddressSpace::shared_cluster) {
    site.fault({.code = FaultCode::not_shared_address,
                .what = "address " + hex(address) + " is not in shared memory",
                .rule = "this operand must be an address in the shared window",
                .fix = "pass the address of a __shared__ object (or cvta.to.shared of it)",
                .device_error = DeviceError::invalid_address_space});
  }
  const auto shared = static_cast<uint32_t>(address);
  const uint32_t rank = shared >> kSharedRankShift;
  const uint32_t offset = shared & kSharedOffsetMask;
  Cluster& cluster = *strand.cluster;
  // An address without rank bits names rank 0; in .shared::cta form it can only mean its own CTA.
  Cta* cta = nullptr;
  if (space == AddressSpace::shared_cta && (rank == strand.cta->rank || rank == 0)) {
    cta = strand.cta;
  } else if (rank < cluster.size()) {
    cta = &cluster.cta(rank);
  }
  if (cta == nullptr) {
    site.fault(
        {.code = FaultCode::unknown_cta_rank,
         .what = fmt::format("shared address {} names CTA rank {} of a cluster of {}", hex(shared),
                             rank, cluster.size()),
         .rule = "bits 24 and up of a shared-window address are the CTA's rank in the cluster",
         .fix =
             "map the address with mapa, or launch the kernel with the cluster it is written for",
         .section = "Shared State Space"});
  }
  if (space == AddressSpace::shared_cta && cta != strand.cta) {
    site.fault(
        {.code = FaultCode::other_cta_memory,
         .what = fmt::format("shared address {} is in CTA rank {}, but this form accesses the "
                             "executing CTA's shared memory (rank {})",
                             hex(shared), rank, strand.cta->rank),
         .rule = "the address must be in the executing CTA's window",
         .fix = "use the .shared::cluster form for another CTA's memory",
         .section = "Shared State Space"});
  }
  check_alignment(site, offset, alignment_bytes);
  if (offset < kGroupScratchOffset || offset + bytes > cta->shared.size()) {
    site.fault(
        {.code = FaultCode::shared_out_of_bounds,
         .what = fmt::format(
             "shared memory access of {} bytes at {} is out of bounds: CTA rank {} has {} to {}{}",
             bytes, hex(offset), cta->rank, hex(kReservedSharedBytes), hex(cta->shared.size()),
             offset < kReservedSharedBytes ? " (the bytes before are the system's)" : ""),
         .rule = "an access stays inside the CTA's shared memory",
         .fix = "check the index, the stage count and the dynamic shared memory size of the launch",
         .section = kNotFromPtxIsa});
  }
  return {cta, offset};
}

}  // namespace

SharedPlace resolve_shared(const Site& site, AddressSpace space, uint64_t address, size_t bytes,
                           size_t alignment_bytes, Access access) {
  if (access == Access::write) {
    const SharedPlace place = resolve_copy_target(site, space, address, bytes, alignment_bytes);
    note_written(site, *place.cta, place.offset_bytes, bytes);
    return place;
  }
  const SharedPlace place = find_shared(site, space, address, bytes, alignment_bytes);
  if (place.cta->exited && (access == Access::read || site.strand.cluster->at_isa_level()))
    site.fault(exited_cta(*place.cta, access));
  return place;
}

SharedPlace resolve_copy_target(const Site& site, AddressSpace space, uint64_t address,
                                size_t bytes, size_t alignment_bytes) {
  const SharedPlace place = find_shared(site, space, address, bytes, alignment_bytes);
  if (place.cta->exited && site.strand.cluster->at_isa_level())
    site.fault(exited_cta(*place.cta, Access::write));
  return place;
}

SharedPlace resolve_mbarrier(const Site& site, AddressSpace space, uint64_t address, size_t bytes) {
  const SharedPlace place = find_shared(site, space, address, bytes, bytes);
  note_written(site, *place.cta, place.offset_bytes, bytes);
  return place;
}

void note_written(const Site& site, Cta& cta, uint32_t offset_bytes, size_t bytes) {
  if (!cta.contents.is_tracked()) return;
  cta.contents.write(offset_bytes, bytes, writer_at(site));
}

SharedContents::Writer writer_at(const Site& site) {
  return {&site.instruction, static_cast<uint16_t>(site.strand.cta->rank),
          static_cast<uint16_t>(site.strand.warp->index)};
}

Fault unwritten_shared(const Cta& cta, uint32_t offset_bytes, size_t bytes, const std::string& use,
                       const Strand& strand, const Instruction* load) {
  const Kernel& kernel = cta.cluster->kernel();
  // The value may have been loaded some time ago.
  const bool is_written_now = cta.contents.is_written(offset_bytes, bytes);
  const SharedContents::Range missing =
      is_written_now
          ? SharedContents::Range{offset_bytes, static_cast<uint32_t>(offset_bytes + bytes - 1)}
          : cta.contents.first_unwritten(offset_bytes, bytes);
  Fault fault{
      .code = FaultCode::shared_never_written,
      .what = fmt::format("{} {} of shared memory that nothing {} written, from {} (shared offset "
                          "{}, CTA rank {})",
                          use, counted(missing.last - missing.first + 1, "byte"),
                          is_written_now ? "had" : "has", kernel.describe_shared(missing.first),
                          missing.first, cta.rank),
      .rule = "shared memory holds whatever was there when a CTA begins",
      .fix =
          is_written_now
              ? "before the load, wait for what writes the bytes: a copy's mbarrier, or a barrier "
                "that the writing thread reaches too"
              : "write it before it is read: check which threads fill the tile, its size, and "
                "what the index reaches",
      .section = kNotFromPtxIsa,
      .hardware_accepts = true};
  if (load != nullptr) fault.places.push_back(strand.place(*load, 0, "the load"));
  if (const auto near = cta.contents.nearest(missing.first)) {
    fault.details.push_back(fmt::format("{}: {} to {} ({} to {})",
                                        is_written_now ? "they have been written since the load"
                                                       : "the nearest bytes that were written",
                                        near->bytes.first, near->bytes.last,
                                        kernel.describe_shared(near->bytes.first),
                                        kernel.describe_shared(near->bytes.last)));
    if (near->writer.instruction != nullptr) {
      Strand writer;
      writer.cluster = cta.cluster;
      writer.cta = &cta.cluster->cta(near->writer.cta_rank);
      writer.warp = &writer.cta->warps[near->writer.warp];
      fault.places.push_back(writer.place(*near->writer.instruction, 0, "last written there"));
    }
  } else {
    fault.details.emplace_back("nothing has written to this CTA's shared memory");
  }
  return fault;
}

void require_written(const Site& site, const Cta& cta, uint32_t offset_bytes, size_t bytes,
                     const std::string& use) {
  if (!cta.contents.is_tracked() || offset_bytes < kReservedSharedBytes ||
      cta.contents.is_written(offset_bytes, bytes))
    return;
  site.fault_at_isa(FaultCode::shared_never_written,
                    [&] { return unwritten_shared(cta, offset_bytes, bytes, use, site.strand); });
}

void warn_of_unwritten_row(const Site& site, const std::byte* row, size_t bytes) {
  const Cta& cta = *site.strand.cta;
  if (!cta.contents.is_tracked() || row < cta.shared.data() ||
      row >= cta.shared.data() + cta.shared.size())
    return;
  const auto offset = static_cast<uint32_t>(row - cta.shared.data());
  if (cta.contents.is_written(offset, bytes)) return;
  site.warn(FaultCode::shared_never_written, [&] {
    return unwritten_shared(cta, offset, bytes, "this reads a row with", site.strand);
  });
}

namespace {

/// Whether an allocation is the program's, or its module's, rather than the simulator's own.
bool is_known_to_reader(const DeviceMemory& memory, const Allocation& allocation) {
  return allocation.address != memory.parameter_buffer();
}

/// No allocation holds the bytes: what is there in the reader's terms.
[[noreturn]] void fault_outside(const Site& site, uint64_t address, size_t bytes) {
  const DeviceMemory& memory = site.strand.cluster->memory();
  Fault fault{.code = FaultCode::global_out_of_bounds,
              .what = fmt::format("global memory access of {} bytes at {} is out of bounds", bytes,
                                  hex(address)),
              .rule = "an access stays inside one allocation",
              .fix = "check the index and the size of the buffer",
              .section = kNotFromPtxIsa,
              .device_error = DeviceError::illegal_address};
  // The guard gap after an allocation is not what was freed there before.
  const Allocation* const near = memory.nearest_below(address);
  const bool is_overrun = near != nullptr && address - near->address < near->size_bytes;
  if (const Allocation* const freed = memory.find_freed(address); freed != nullptr && !is_overrun) {
    fault.what =
        fmt::format("access of {} bytes at {}, in memory that has been freed", bytes, hex(address));
    fault.code = FaultCode::freed_memory;
    fault.rule = "memory is valid until it is freed";
    fault.fix =
        "free it after the last kernel that uses it, and don't pass a pointer to freed memory";
    fault.details.push_back(fmt::format("it was {} at {}; the access begins {} bytes into it",
                                        freed->description, hex(freed->address),
                                        address - freed->address));
  } else if (!memory.in_arena(address)) {
    fault.code = FaultCode::wild_pointer;
    fault.what += ": the address is not device memory";
    fault.fix = "pass a pointer from cudaMalloc, not a host pointer";
  } else if (near != nullptr && is_known_to_reader(memory, *near)) {
    fault.details.push_back(fmt::format(
        "the allocation below is {} at {}, {} bytes; the access begins {} bytes into it",
        near->description, hex(near->address), near->size_bytes, address - near->address));
  } else {
    fault.what += ": the program has no allocation there or below";
  }
  site.fault(std::move(fault));
}

/// A generic address below 4 GiB outside this cluster's shared memory.
[[noreturn]] void fault_wild(const Site& site, uint64_t address, size_t bytes) {
  constexpr uint64_t kNullPage = 4096;
  const bool is_null = address < kNullPage;
  std::string what = fmt::format("access of {} bytes at {}: ", bytes, hex(address));
  if (is_null)
    what += address == 0 ? "a null pointer" : fmt::format("a null pointer plus {} bytes", address);
  else
    what += "no memory of the program is at this address";
  site.fault({.code = FaultCode::wild_pointer,
              .what = std::move(what),
              .rule = "an access stays inside one allocation",
              .fix = is_null
                         ? "pass a pointer that has been set, and check what the kernel loads it "
                           "from"
                         : "check where the pointer comes from: no allocation, and no shared "
                           "memory of this cluster, is below 4 GiB there",
              .section = kNotFromPtxIsa,
              .device_error = DeviceError::illegal_address});
}

/// Whether a zero-extended 32-bit address is in the shared memory of a CTA of the cluster.
bool is_in_cluster(Cluster& cluster, uint64_t address, size_t bytes) {
  const auto rank = static_cast<uint32_t>(address >> kSharedRankShift);
  const uint64_t offset = address & kSharedOffsetMask;
  return rank < cluster.size() && offset >= kReservedSharedBytes &&
         offset + bytes <= cluster.cta(rank).shared.size();
}

}  // namespace

std::byte* resolve_global(const Site& site, uint64_t address, size_t bytes, Access access) {
  const Allocation* const allocation = site.strand.cluster->memory().find(address);
  if (allocation == nullptr || address - allocation->address + bytes > allocation->size_bytes)
    fault_outside(site, address, bytes);
  if (access != Access::read && !allocation->writable) {
    site.fault({.code = FaultCode::read_only_memory,
                .what = "write to read-only memory at " + hex(address) + " (" +
                        allocation->description + ")",
                .rule = "kernel parameters and constants may only be read",
                .fix = "write to a copy instead",
                .section = kNotFromPtxIsa,
                .device_error = DeviceError::illegal_address});
  }
  return host_pointer(address);
}

std::byte* resolve(const Site& site, AddressSpace space, uint64_t address, size_t bytes,
                   size_t alignment_bytes, Access access) {
  if (space == AddressSpace::generic) {
    space = space_of_generic(address);
    if (space == AddressSpace::shared_cluster && address >> 32 == 0 &&
        !is_in_cluster(*site.strand.cluster, address, bytes))
      fault_wild(site, address, bytes);
  }
  switch (space) {
    case AddressSpace::shared_cta:
    case AddressSpace::shared_cluster: {
      const SharedPlace place =
          resolve_shared(site, space, address, bytes, alignment_bytes, access);
      if (place.cta->exited)
        site.warn(FaultCode::exited_cta_memory, [&] { return exited_cta(*place.cta, access); });
      return place.cta->shared.data() + place.offset_bytes;
    }
    case AddressSpace::local:
      check_alignment(site, address, alignment_bytes);
      return resolve_local(site, address, bytes);
    default:
      check_alignment(site, address, alignment_bytes);
      // For global memory the report names the warp.
      return resolve_global({site.strand, site.instruction, kAllLanes}, address, bytes, access);
  }
}

}  // namespace bw::sim
