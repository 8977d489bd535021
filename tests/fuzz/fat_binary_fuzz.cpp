/// \file
/// Any bytes as the fat binary of a program: its entries are inside, and the text of each can be
/// extracted, or there is a report.
#include <vector>

#include "common/simulator/base/error.hpp"
#include "common/simulator/cudart/image/fat_binary.hpp"
#include "tests/fuzz/choices.hpp"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bw::sim;
  // A program's image is aligned; the fuzzer's input need not be.
  std::vector<uint64_t> storage((size + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  std::copy_n(data, size, reinterpret_cast<uint8_t*>(storage.data()));
  const auto* const image = reinterpret_cast<const std::byte*>(storage.data());
  const std::span bytes(image, size);
  try {
    // The extent is read by the header's own sizes: only where the header is whole.
    constexpr size_t kHeaderBytes = 16;
    if (size >= kHeaderBytes) (void)cudart::fat_binary_extent(image, "fuzz");
    const auto entries = cudart::read_fat_binary(bytes, "fuzz");
    for (const cudart::FatBinaryEntry& entry : entries) {
      if (entry.payload.data() < image ||
          entry.payload.data() + entry.payload.size() > image + size)
        fuzz::found("an entry that leaves the image");
      (void)entry.describe();
      try {
        if (entry.is_ptx()) (void)cudart::ptx_text(entry, "fuzz");
      } catch (const SimulationError&) {
      }
    }
    for (const MachineDescription& machine : machines())
      (void)cudart::choose_ptx(entries, machine, "fuzz");
  } catch (const SimulationError& error) {
    const FaultKind kind = error.report().kind();
    if (kind != FaultKind::parse && kind != FaultKind::unsupported) fuzz::found(error.what());
  }
  return 0;
}
