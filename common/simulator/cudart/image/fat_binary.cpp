#include "common/simulator/cudart/image/fat_binary.hpp"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/error.hpp"

namespace bw::sim::cudart {
namespace {

static_assert(std::endian::native == std::endian::little,
              "fat binaries are little endian and read in place");

constexpr uint32_t kMagic = 0xBA55ED50;
constexpr size_t kHeaderBytes = 16;
constexpr size_t kEntryHeaderBytes = 64;  // the part that this reader uses
constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstandard = 0x8000;
constexpr uint64_t kFlagArchitectureSpecific = 0x100000;
constexpr uint64_t kFlagFamilySpecific = 0x200000;
// Far beyond any PTX; a larger size in a header is damage, not data.
constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30;

// Offsets in an entry's header.
constexpr size_t kOffsetHeaderBytes = 4;
constexpr size_t kOffsetPayloadBytes = 8;
constexpr size_t kOffsetCompressedBytes = 16;
constexpr size_t kOffsetArchitecture = 28;
constexpr size_t kOffsetFlags = 40;
constexpr size_t kOffsetUncompressedBytes = 56;

[[noreturn]] void fail(FaultCode code, const std::string& name, std::string what, std::string fix) {
  Report report{.code = code};
  report.what = std::move(what);
  report.where = name;
  report.fix = std::move(fix);
  throw SimulationError(std::move(report));
}

[[noreturn]] void fail_malformed(const std::string& name, std::string what) {
  fail(FaultCode::image_malformed, name,
       "the fat binary is malformed or cut off: " + std::move(what),
       "build the program again; if the file was copied, check that it is complete");
}

template <class T>
T read(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

FatBinaryEntry::Compression compression_of(uint64_t flags, uint32_t compressed_bytes) {
  if ((flags & kFlagZstandard) != 0) return FatBinaryEntry::Compression::zstandard;
  if ((flags & kFlagLz4) != 0) return FatBinaryEntry::Compression::lz4;
  return compressed_bytes == 0 ? FatBinaryEntry::Compression::none
                               : FatBinaryEntry::Compression::unknown;
}

// Reads the entry at `offset` and moves `offset` past it.
FatBinaryEntry read_entry(std::span<const std::byte> bytes, size_t& offset,
                          const std::string& name) {
  const size_t left = bytes.size() - offset;
  const std::string place = fmt::format("the image at byte {}", offset);
  if (left < kEntryHeaderBytes) {
    fail_malformed(name, fmt::format("{} has {} bytes where its header takes {}", place, left,
                                     kEntryHeaderBytes));
  }
  const auto header = bytes.subspan(offset);
  const auto header_bytes = read<uint32_t>(header, kOffsetHeaderBytes);
  const auto payload_bytes = read<uint64_t>(header, kOffsetPayloadBytes);
  if (header_bytes < kEntryHeaderBytes || header_bytes > left) {
    fail_malformed(name, fmt::format("{} states a header of {} bytes, with {} bytes left", place,
                                     header_bytes, left));
  }
  if (payload_bytes > left - header_bytes) {
    fail_malformed(name, fmt::format("{} states {} bytes, with {} left", place, payload_bytes,
                                     left - header_bytes));
  }
  const auto compressed_bytes = read<uint32_t>(header, kOffsetCompressedBytes);
  if (compressed_bytes > payload_bytes) {
    fail_malformed(name, fmt::format("{} states {} compressed bytes in a payload of {}", place,
                                     compressed_bytes, payload_bytes));
  }
  const auto flags = read<uint64_t>(header, kOffsetFlags);

  FatBinaryEntry entry;
  entry.kind = read<uint16_t>(header, 0);
  entry.target.architecture = read<uint32_t>(header, kOffsetArchitecture);
  if ((flags & kFlagArchitectureSpecific) != 0) entry.target.suffix = 'a';
  if ((flags & kFlagFamilySpecific) != 0) entry.target.suffix = 'f';
  entry.compression = compression_of(flags, compressed_bytes);
  const bool compressed = entry.compression != FatBinaryEntry::Compression::none;
  entry.payload = header.subspan(header_bytes, compressed ? compressed_bytes : payload_bytes);
  entry.uncompressed_bytes = read<uint64_t>(header, kOffsetUncompressedBytes);
  offset += header_bytes + payload_bytes;
  return entry;
}

/// An upper bound of what a payload can hold: a byte of LZ4 encodes at most 255 (LZ4 block format),
/// the four bytes of a Zstandard block at most 128 KiB (RFC 8878). So damage in a header costs no
/// memory.
uint64_t most_uncompressed_bytes(const FatBinaryEntry& entry) {
  constexpr uint64_t kLz4Ratio = 255, kZstandardRatio = (128 << 10) / 4;
  const bool is_lz4 = entry.compression == FatBinaryEntry::Compression::lz4;
  return std::min(kMaxTextBytes, entry.payload.size() * (is_lz4 ? kLz4Ratio : kZstandardRatio));
}

/// The size that an entry states is one that it can have.
bool has_possible_size(const FatBinaryEntry& entry) {
  return entry.uncompressed_bytes != 0 &&
         entry.uncompressed_bytes <= most_uncompressed_bytes(entry);
}

size_t decompress(const FatBinaryEntry& entry, std::string& text) {
  if (entry.compression == FatBinaryEntry::Compression::zstandard) {
    const size_t size =
        ZSTD_decompress(text.data(), text.size(), entry.payload.data(), entry.payload.size());
    return ZSTD_isError(size) != 0 ? 0 : size;
  }
  const int size =
      LZ4_decompress_safe(reinterpret_cast<const char*>(entry.payload.data()), text.data(),
                          static_cast<int>(entry.payload.size()), static_cast<int>(text.size()));
  return size < 0 ? 0 : static_cast<size_t>(size);
}

}  // namespace

std::string FatBinaryEntry::describe() const {
  std::string text = is_ptx() ? "compute_" : "sm_";
  text += std::to_string(target.architecture);
  if (target.suffix != '\0') text += target.suffix;
  return text;
}

std::span<const std::byte> fat_binary_extent(const void* data, const std::string& name) {
  const auto* first = static_cast<const std::byte*>(data);
  const std::span<const std::byte> header(first, kHeaderBytes);
  if (read<uint32_t>(header, 0) != kMagic) {
    fail_malformed(name, "it does not start with the magic number of a fat binary");
  }
  return {first, read<uint16_t>(header, 6) + read<uint64_t>(header, 8)};
}

std::vector<FatBinaryEntry> read_fat_binary(std::span<const std::byte> bytes,
                                            const std::string& name) {
  if (bytes.size() < kHeaderBytes) {
    fail_malformed(
        name, fmt::format("it has {} bytes where its header takes {}", bytes.size(), kHeaderBytes));
  }
  if (read<uint32_t>(bytes, 0) != kMagic) {
    fail_malformed(name, "it does not start with the magic number of a fat binary");
  }
  const size_t header_bytes = read<uint16_t>(bytes, 6);
  const auto size_bytes = read<uint64_t>(bytes, 8);
  if (header_bytes < kHeaderBytes || header_bytes > bytes.size()) {
    fail_malformed(name, fmt::format("its header states a size of {} bytes", header_bytes));
  }
  if (size_bytes > bytes.size() - header_bytes) {
    fail_malformed(name, fmt::format("its header states {} bytes, with {} left", size_bytes,
                                     bytes.size() - header_bytes));
  }
  const auto image = bytes.first(header_bytes + static_cast<size_t>(size_bytes));
  std::vector<FatBinaryEntry> entries;
  for (size_t offset = header_bytes; offset < image.size();) {
    entries.push_back(read_entry(image, offset, name));
  }
  return entries;
}

const FatBinaryEntry& choose_ptx(std::span<const FatBinaryEntry> entries,
                                 const MachineDescription& machine, const std::string& name) {
  const FatBinaryEntry* best = nullptr;
  uint32_t best_fitness = 0;
  std::string found;
  bool has_ptx = false;
  for (const FatBinaryEntry& entry : entries) {
    const uint32_t fits = entry.is_ptx() ? fitness(machine, entry.target) : 0;
    if (fits > best_fitness) {
      best = &entry;
      best_fitness = fits;
    }
    has_ptx = has_ptx || entry.is_ptx();
    found += (found.empty() ? "" : ", ") + entry.describe();
  }
  if (best != nullptr) return *best;
  fail(
      FaultCode::no_ptx_for_machine, name,
      (has_ptx ? fmt::format("no PTX in this program runs on compute capability {}.{}",
                             machine.major, machine.minor)
               : "this program holds machine code (SASS) but no PTX, and the simulator runs PTX") +
          std::string("; its images are: ") + (found.empty() ? "none" : found),
      fmt::format("compile with `-gencode arch=compute_{0},code=[compute_{0},sm_{0}]`, so that the "
                  "PTX is kept alongside the machine code, and without -dlto",
                  machine.specific_target()));
}

std::string matching_machine_code(std::span<const FatBinaryEntry> entries,
                                  const FatBinaryEntry& ptx) {
  using Compression = FatBinaryEntry::Compression;
  for (const FatBinaryEntry& entry : entries) {
    if (entry.kind != static_cast<uint16_t>(FatBinaryEntry::Kind::elf) ||
        entry.target.architecture != ptx.target.architecture ||
        entry.target.suffix != ptx.target.suffix)
      continue;
    if (entry.compression == Compression::none)
      return {reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size()};
    if (entry.compression == Compression::unknown || !has_possible_size(entry)) return {};
    std::string code(static_cast<size_t>(entry.uncompressed_bytes), '\0');
    return decompress(entry, code) == code.size() ? code : std::string();
  }
  return {};
}

std::string ptx_text(const FatBinaryEntry& entry, const std::string& name) {
  using Compression = FatBinaryEntry::Compression;
  const std::string image = "the " + entry.describe() + " image";
  if (entry.compression == Compression::unknown) {
    fail(FaultCode::compression_unknown, name,
         image + " is compressed in a way that the simulator does not know",
         "compile with -no-compress, or with --compress-mode=default, size or speed");
  }
  std::string text;
  if (entry.compression == Compression::none) {
    text.assign(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
  } else {
    if (!has_possible_size(entry)) {
      fail_malformed(name, fmt::format("{} states {} uncompressed bytes, of {} compressed ones",
                                       image, entry.uncompressed_bytes, entry.payload.size()));
    }
    text.resize(static_cast<size_t>(entry.uncompressed_bytes));
    if (decompress(entry, text) != text.size()) {
      fail_malformed(name, fmt::format("{} does not decompress to the {} bytes that it states",
                                       image, text.size()));
    }
  }
  text.erase(text.find_last_not_of('\0') + 1);
  if (text.empty()) fail_malformed(name, image + " is empty");
  return text;
}

}  // namespace bw::sim::cudart
