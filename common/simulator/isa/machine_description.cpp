#include "common/simulator/isa/machine_description.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/core.h>

namespace bw::sim {
namespace {

constexpr uint32_t kMebibyte = 1024 * 1024;

// GPCs are not documented, and chips differ. Hopper's are those with which a program asks an H100
// how many clusters of 1 to 16 CTAs it holds, one CTA an SM, and gets the measured answers
// (tests/hardware); a B200's are assumed.
constexpr std::array<uint32_t, 8> kBlackwellGpcs = {20, 20, 18, 18, 18, 18, 18, 18};
constexpr std::array<uint32_t, 8> kHopperGpcs = {18, 18, 18, 18, 18, 18, 16, 8};

// Of an H100 measured by what a line costs that one SM has read before (sharing.first_read): all
// SMs of a GPC have one side, half of the chip each. Which, differs from chip to chip.
constexpr std::array<uint32_t, 8> kBlackwellSides = {0, 1, 0, 1, 0, 1, 0, 1};
constexpr std::array<uint32_t, 8> kHopperSides = {0, 1, 0, 1, 0, 1, 1, 0};
// Of an H100 whose launches begin on four pairs. (Clusters of 4 where four CTAs fit on an SM: 124;
// of 3, one CTA an SM: 39.)
constexpr uint32_t kHopperLonePairs = 4;

// Clocks, memory, L2 and engines: of the H100 as measured (tests/hardware); of the others
// published.
constexpr MachineDescription kB200{.name = "b200",
                                   .device_name = "Simulated sm_100a GPU (bw simulator)",
                                   .major = 10,
                                   .minor = 0,
                                   .sm_count = 148,
                                   .gpc_sms = kBlackwellGpcs,
                                   .gpc_sides = kBlackwellSides,
                                   .has_tensor_memory = true,
                                   .instructions = kOnBlackwell | kNotOnBlackwellUltra,
                                   .clock_ghz = 1.965,
                                   .memory_clock_kilohertz = 3996000,
                                   .memory_bus_bits = 8192,
                                   .l2_bytes = 126 * kMebibyte,
                                   .copy_engines = 4};

// Assumed to be a B200 but for the compute capability; the clock is published (table_b200.inc).
constexpr MachineDescription kB300 = [] {
  MachineDescription machine = kB200;
  machine.name = "b300";
  machine.device_name = "Simulated sm_103a GPU (bw simulator)";
  machine.minor = 3;
  machine.instructions = kOnBlackwell | kOnBlackwellUltra;
  machine.clock_ghz = 2.03;
  return machine;
}();

constexpr std::array kMachines = {
    kB200,
    kB300,
    MachineDescription{.name = "h100",
                       .device_name = "Simulated sm_90a GPU, H100 (bw simulator)",
                       .major = 9,
                       .minor = 0,
                       .sm_count = 132,
                       .gpc_sms = kHopperGpcs,
                       .gpc_sides = kHopperSides,
                       .lone_pairs = kHopperLonePairs,
                       .fills_gpcs = true,
                       .has_tensor_memory = false,
                       .instructions = kOnHopper,
                       .clock_ghz = 1.98,
                       .memory_clock_kilohertz = 2619000,
                       .memory_bus_bits = 5120,
                       .l2_bytes = 50 * kMebibyte,
                       .copy_engines = 3},
    MachineDescription{.name = "h200",
                       .device_name = "Simulated sm_90a GPU, H200 (bw simulator)",
                       .major = 9,
                       .minor = 0,
                       .sm_count = 132,
                       .gpc_sms = kHopperGpcs,
                       .gpc_sides = kHopperSides,
                       .lone_pairs = kHopperLonePairs,
                       .fills_gpcs = true,
                       .has_tensor_memory = false,
                       .instructions = kOnHopper,
                       .clock_ghz = 1.98,
                       .memory_clock_kilohertz = 3201000,
                       .memory_bus_bits = 6144,
                       .l2_bytes = 50 * kMebibyte,
                       .copy_engines = 3},
};

constexpr bool gpcs_hold_all_sms() {
  for (const MachineDescription& machine : kMachines) {
    uint32_t sum = 0;
    for (const uint32_t sms : machine.gpc_sms) sum += sms;
    if (sum != machine.sm_count || machine.gpc_sides.size() != machine.gpc_sms.size()) return false;
  }
  return true;
}
static_assert(gpcs_hold_all_sms(),
              "the SMs of a machine's GPCs are all its SMs, and each GPC has a side");

}  // namespace

std::string MachineDescription::specific_target() const {
  return fmt::format("{}a", architecture());
}

std::span<const MachineDescription> machines() { return kMachines; }

const MachineDescription* find_machine(std::string_view name) {
  const auto* const found =
      std::find_if(kMachines.begin(), kMachines.end(),
                   [&](const MachineDescription& machine) { return machine.name == name; });
  return found == kMachines.end() ? nullptr : found;
}

std::string machine_names() {
  std::string text;
  for (const MachineDescription& machine : kMachines) {
    const bool is_last = &machine == &kMachines.back();
    text += fmt::format("{}{}", text.empty() ? "" : is_last ? " or " : ", ", machine.name);
  }
  return text;
}

PtxTarget parse_target(std::string_view text) {
  constexpr std::string_view kPrefix = "sm_";
  if (!text.starts_with(kPrefix)) return {};
  PtxTarget target;
  const char* const begin = text.data() + kPrefix.size();
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(begin, end, target.architecture);
  if (error != std::errc()) return {};
  if (rest != end) target.suffix = *rest;
  return target;
}

uint32_t fitness(const MachineDescription& machine, const PtxTarget& target) {
  const uint32_t own = machine.architecture();
  if (target.suffix == '\0') return target.architecture > own ? 0 : target.architecture;
  if (target.suffix == 'a') return target.architecture == own ? own + 2 : 0;
  constexpr uint32_t kMajor = 10;
  const bool is_family = target.architecture / kMajor == machine.major;
  return is_family && target.architecture <= own ? target.architecture + 1 : 0;
}

namespace {

constexpr uint32_t kPair = 2;

/// SMs of a GPC on which clusters of that many CTAs may be.
uint32_t sms_for_clusters(const MachineDescription& machine, size_t gpc, uint64_t cluster_ctas) {
  const bool has_lone_pair = gpc < machine.lone_pairs && cluster_ctas > kPair;
  return machine.gpc_sms[gpc] - (has_lone_pair ? kPair : 0);
}

/// Of an H100's four lone pairs the first and the last read the L2 cache through the port of the
/// smallest GPC, the others by themselves.
uint32_t port_of_lone_pair(const MachineDescription& machine, uint32_t pair) {
  const auto gpcs = static_cast<uint32_t>(machine.gpc_sms.size());
  const bool is_outer = pair == 0 || pair + 1 == machine.lone_pairs;
  return is_outer ? gpcs - 1 : gpcs + pair;
}

}  // namespace

uint64_t resident_clusters(const MachineDescription& machine, uint32_t sm_count,
                           uint32_t ctas_per_sm, uint64_t cluster_ctas) {
  const auto in_gpc = [&](uint32_t sms) { return uint64_t{sms} * ctas_per_sm / cluster_ctas; };
  uint64_t clusters = 0;
  if (sm_count == machine.sm_count) {
    for (size_t gpc = 0; gpc < machine.gpc_sms.size(); ++gpc)
      clusters += in_gpc(sms_for_clusters(machine, gpc, cluster_ctas));
    return clusters;
  }
  const uint32_t largest = *std::max_element(machine.gpc_sms.begin(), machine.gpc_sms.end());
  return sm_count / largest * in_gpc(largest) + in_gpc(sm_count % largest);
}

std::vector<Place> places_of(const MachineDescription& machine, uint32_t sm_count,
                             uint32_t cluster_ctas) {
  const uint32_t unit = std::max(kPair, cluster_ctas);
  std::vector<uint32_t> left(machine.gpc_sms.begin(), machine.gpc_sms.end());
  std::vector<Place> places;
  const auto gpcs = static_cast<uint32_t>(left.size());
  uint32_t sms = 0;
  std::vector<Place> round;
  for (uint32_t lone = 0; unit == kPair && lone < machine.lone_pairs && sms < sm_count; ++lone) {
    left[lone] -= unit;
    round.push_back({sms, lone, 0, port_of_lone_pair(machine, lone)});
    sms += unit;
  }
  do {
    for (uint32_t gpc = 0; gpc < gpcs && sms < sm_count; ++gpc) {
      if (left[gpc] < unit) continue;
      left[gpc] -= unit;
      round.push_back({sms, gpc, machine.gpc_sides[gpc], gpc});
      sms += unit;
    }
    // SMs that are left over, or that the machine doesn't have.
    if (round.empty()) {
      round.push_back({sms, gpcs - 1, machine.gpc_sides[gpcs - 1], gpcs - 1});
      sms += unit;
    }
    places.insert(places.end(), round.begin(), round.end());
    for (Place& second : round) ++second.first_sm;
    if (cluster_ctas == 1) places.insert(places.end(), round.begin(), round.end());
    round.clear();
  } while (sms < sm_count);
  std::erase_if(places, [&](const Place& place) {
    return place.first_sm + cluster_ctas > sm_count && place.first_sm != 0;
  });
  return places;
}

std::vector<Place> places_by_gpc(const MachineDescription& machine, uint32_t sm_count,
                                 uint64_t ctas) {
  std::vector<Place> places = places_of(machine, sm_count, 1);
  const uint32_t lone_sms = kPair * machine.lone_pairs;
  const auto rank = [&](const Place& place) {
    return place.first_sm < lone_sms ? 0 : 1 + place.first_sm % kPair;
  };
  std::stable_sort(places.begin(), places.end(),
                   [&](const Place& x, const Place& y) { return rank(x) < rank(y); });
  if (ctas < places.size()) places.resize(ctas);
  const auto position = [&](const Place& place) {
    return std::pair(place.first_sm < lone_sms ? 0 : 1 + place.gpc, place.first_sm);
  };
  std::sort(places.begin(), places.end(),
            [&](const Place& x, const Place& y) { return position(x) < position(y); });
  return places;
}

}  // namespace bw::sim
