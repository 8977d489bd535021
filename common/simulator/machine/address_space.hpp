#pragma once
/// \file
/// From a PTX address to host memory, with the checks that belong to the address's state space.

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/simulator/base/types.hpp"
#include "common/simulator/machine/instruction.hpp"
#include "common/simulator/machine/shared_contents.hpp"

namespace bw::sim {

struct Cta;
struct Fault;
struct Site;

/// State space of an access; `generic` is resolved per address.
enum class AddressSpace : uint8_t {
  generic,
  global,
  constant,
  param,
  local,
  shared_cta,
  shared_cluster,
};

/// A shared-window address: offset in bits 0-23, CTA rank in the cluster in bits 24 and up (own CTA
/// too).
inline constexpr uint32_t kSharedRankShift = 24;
/// The offset in a shared address.
inline constexpr uint32_t kSharedOffsetMask = (1u << kSharedRankShift) - 1;
/// Generic addresses: windows above what a host address can be; everything else is global, except
/// that values below 2^32 are taken as zero-extended shared addresses (as production kernels rely
/// on).
inline constexpr uint64_t kSharedWindow = 0x0100'0000'0000'0000ull;
/// Where generic addresses of local memory begin.
inline constexpr uint64_t kLocalWindow = 0x0200'0000'0000'0000ull;
inline constexpr uint64_t kWindowMask = 0xff00'0000'0000'0000ull;  ///< the bits that name a window
/// The first bytes of a CTA's shared memory belong to the system (compute capability 9.0 and later
/// reserve 1 KB per CTA), so address 0 is never a variable.
inline constexpr uint32_t kReservedSharedBytes = 1024;
/// Of these bytes the last 288 are scratch for programs: cooperative_groups keeps the barriers of
/// its tiles of several warps there (%reserved_smem_offset_1). Accesses may begin here.
inline constexpr uint32_t kGroupScratchOffset = kReservedSharedBytes - 288;

/// What is done to memory.
enum class Access : uint8_t { read, write, read_write };

/// The space a generic address falls into.
[[nodiscard]] constexpr AddressSpace space_of_generic(uint64_t address) {
  if ((address & kWindowMask) == kSharedWindow || address < (1ull << 32))
    return AddressSpace::shared_cluster;
  if ((address & kWindowMask) == kLocalWindow) return AddressSpace::local;
  return AddressSpace::global;
}

/// The address of one lane: base operand (4 or 8 bytes wide) plus displacement.
[[nodiscard]] uint64_t lane_address(const Strand& strand, const Operand& base, int64_t displacement,
                                    int lane);

/// Host pointer to `bytes` bytes at `address` as seen by the lowest lane of the site. Checks
/// alignment to `alignment_bytes`, bounds, writability and that a shared address names a CTA that
/// exists and has not exited (at the level `hardware` only reading is refused then). Throws
/// SimulationError{contract}.
[[nodiscard]] std::byte* resolve(const Site& site, AddressSpace space, uint64_t address,
                                 size_t bytes, size_t alignment_bytes, Access access);

/// A location in the shared memory of a CTA of the same cluster.
struct SharedPlace {
  Cta* cta = nullptr;
  uint32_t offset_bytes = 0;  ///< within the CTA's window (includes the reserved bytes)
};

/// Resolves a 32-bit shared-window address or a generic one to CTA and offset; checks like
/// `resolve`. For shared_cta the rank bits must name the site's CTA.
[[nodiscard]] SharedPlace resolve_shared(const Site& site, AddressSpace space, uint64_t address,
                                         size_t bytes, size_t alignment_bytes,
                                         Access access = Access::write);

/// Likewise for what a copy will write: note_written() follows when its data arrive.
[[nodiscard]] SharedPlace resolve_copy_target(const Site& site, AddressSpace space,
                                              uint64_t address, size_t bytes,
                                              size_t alignment_bytes);

/// Likewise for an mbarrier of `bytes` bytes. Whether its CTA has exited is checked by the unit
/// that operates on it, now or when the operation arrives there.
[[nodiscard]] SharedPlace resolve_mbarrier(const Site& site, AddressSpace space, uint64_t address,
                                           size_t bytes);

/// Records that the site writes (or has ordered a write of) bytes of a CTA's shared memory;
/// resolve_shared does so for Access::write.
void note_written(const Site& site, Cta& cta, uint32_t offset_bytes, size_t bytes);
/// The site's part of such a record, for callers that make many.
[[nodiscard]] SharedContents::Writer writer_at(const Site& site);

/// The fault of reading bytes of shared memory that were partly never written. `use`: what needs
/// them, "this reads"; `load`: the instruction that read them, if it is another one.
[[nodiscard]] Fault unwritten_shared(const Cta& cta, uint32_t offset_bytes, size_t bytes,
                                     const std::string& use, const Strand& strand,
                                     const Instruction* load = nullptr);

/// A fault at the level isa, a warning at the other, if some of these bytes were never written.
void require_written(const Site& site, const Cta& cta, uint32_t offset_bytes, size_t bytes,
                     const std::string& use);

/// A warning if some bytes of a matrix's row at `row`, in the shared memory of the site's CTA, were
/// never written: rows that only pad a matrix have no effect, so reading them is not a fault.
void warn_of_unwritten_row(const Site& site, const std::byte* row, size_t bytes);

/// Host pointer to global memory; checks bounds and writability. Throws SimulationError{contract},
/// placed at the site.
[[nodiscard]] std::byte* resolve_global(const Site& site, uint64_t address, size_t bytes,
                                        Access access);

}  // namespace bw::sim
