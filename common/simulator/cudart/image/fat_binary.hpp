#pragma once
/// \file
/// Reads the fat binaries that nvcc embeds in a program and finds the PTX to run.
///
/// Layout (observed in the output of nvcc 13.0; little endian): a header {u32 magic, u16 version,
/// u16 header bytes, u64 bytes that follow}, then entries, each a header {u16 kind, u16 version,
/// u32 header bytes, u64 payload bytes (padded), u32 compressed bytes, u32, u16 PTX minor, u16 PTX
/// major, u32 architecture, u64, u64 flags, u64, u64 uncompressed bytes} and its payload.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/simulator/isa/machine_description.hpp"

namespace bw::sim::cudart {

/// One image of a fat binary.
struct FatBinaryEntry {
  /// What an entry holds.
  enum class Kind : uint16_t { ptx = 1, elf = 2 };
  /// How an entry is packed.
  enum class Compression : uint8_t { none, lz4, zstandard, unknown };

  uint16_t kind = 0;                            ///< a `Kind`, or another value that is ignored
  PtxTarget target;                             ///< what it was compiled for
  Compression compression = Compression::none;  ///< how the entry is packed
  std::span<const std::byte> payload;  ///< as stored: compressed, or padded with zero bytes
  uint64_t uncompressed_bytes = 0;     ///< when compressed

  /// Whether the entry is PTX.
  [[nodiscard]] bool is_ptx() const { return kind == static_cast<uint16_t>(Kind::ptx); }
  /// "compute_100a" for PTX, "sm_100a" for machine code.
  [[nodiscard]] std::string describe() const;
};

/// The bytes of the fat binary that starts at `data`, by the sizes in its header.
/// Throws SimulationError{parse} without such a header.
[[nodiscard]] std::span<const std::byte> fat_binary_extent(const void* data,
                                                           const std::string& name);

/// The entries of a fat binary. `name` is used in messages; the result points into `bytes`.
/// Throws SimulationError{parse} for a bad magic number and for sizes that leave the image.
[[nodiscard]] std::vector<FatBinaryEntry> read_fat_binary(std::span<const std::byte> bytes,
                                                          const std::string& name);

/// The PTX that a machine runs best: of a B200 compute_100a, then compute_100f, then the newest
/// generic compute_XX up to 100. Targets of other architectures with a suffix never fit. Throws
/// SimulationError{unsupported} if none fits, and says how to compile.
[[nodiscard]] const FatBinaryEntry& choose_ptx(std::span<const FatBinaryEntry> entries,
                                               const MachineDescription& machine,
                                               const std::string& name);

/// The machine code of the same target as an entry's PTX, decompressed; empty if it is absent or
/// can't be read, since nothing of it is executed.
[[nodiscard]] std::string matching_machine_code(std::span<const FatBinaryEntry> entries,
                                                const FatBinaryEntry& ptx);

/// The PTX text of an entry, decompressed and without padding.
/// Throws SimulationError{parse} when it cannot be decompressed to the size that it states.
[[nodiscard]] std::string ptx_text(const FatBinaryEntry& entry, const std::string& name);

}  // namespace bw::sim::cudart
