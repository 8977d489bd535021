#include "common/host/kernel_description.hpp"

#include <cstdio>
#include <string>

#include "common/host/error.hpp"

namespace bw {
namespace {

/// "4", or "2 x 3" for two rings of three stages.
std::string stages_of(const RingDescription& ring) {
  const std::string stages = std::to_string(ring.stages);
  return ring.rings == 1 ? stages : std::to_string(ring.rings) + " x " + stages;
}

void print_roles(const KernelDescription& description) {
  std::printf("threads  %u, in warps:", description.threads());
  const char* separator = " ";
  for (const RoleDescription& role : description.roles) {
    std::printf("%s%s %u", separator, role.name, role.warps);
    separator = ", ";
  }
  std::printf("\nregisters at most %d a thread at launch", description.launch_registers);
  separator = "; after setmaxnreg ";
  for (const RoleDescription& role : description.roles) {
    if (role.registers == 0) continue;
    std::printf("%s%s %d", separator, role.name, role.registers);
    separator = ", ";
  }
  std::printf("\n");
}

void print_rings(const KernelDescription& description) {
  std::printf("%-20s %7s %14s %10s %15s\n", "mbarriers", "stages", "full: arrivals", "and bytes",
              "empty: arrivals");
  for (const RingDescription& ring : description.rings) {
    const std::string bytes = ring.full_bytes == 0 ? "-" : std::to_string(ring.full_bytes);
    const std::string empty = ring.empty_arrivals == 0 ? "-" : std::to_string(ring.empty_arrivals);
    std::printf("  %-18s %7s %14u %10s %15s\n", ring.name, stages_of(ring).c_str(),
                ring.full_arrivals, bytes.c_str(), empty.c_str());
  }
}

void print_shared_memory(const KernelDescription& description) {
  std::printf("%-20s %7s\n", "shared memory", "bytes");
  size_t named = 0;
  for (const SharedPart& part : description.shared) {
    std::printf("  %-18s %7zu\n", part.name, part.bytes);
    named += part.bytes;
  }
  std::printf("  %-18s %7zu\n", "alignment", description.storage_bytes - named);
  std::printf("  %-18s %7zu\n", "together", description.storage_bytes);
  // What goes beyond keeps other CTAs off the multiprocessor.
  std::printf("  %-18s %7zu\n", "of the launch", description.shared_bytes);
}

}  // namespace

uint32_t KernelDescription::threads() const {
  constexpr uint32_t kWarpThreads = 32;
  uint32_t warps = 0;
  for (const RoleDescription& role : roles) warps += role.warps;
  return warps * kWarpThreads;
}

void print_description(std::initializer_list<MessagePart> config,
                       const KernelDescription& description) {
  std::printf("config   %s\n", concatenate(config).c_str());
  std::printf("tile     %s\n", concatenate(description.tile).c_str());
  std::printf("cluster  %d x %d CTAs\n", description.cluster_m, description.cluster_n);
  print_roles(description);
  if (description.tmem_columns != 0) {
    std::printf("tmem     %d columns, accumulators: %d of %d columns\n", description.tmem_columns,
                description.accumulators, description.accumulator_columns);
  }
  print_rings(description);
  print_shared_memory(description);
}

}  // namespace bw
