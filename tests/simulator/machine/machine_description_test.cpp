/// \file
/// Which machine runs what, and how many clusters it holds at once.
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::machine_description_test {
namespace {

const MachineDescription& machine(std::string_view name) {
  const MachineDescription* const found = find_machine(name);
  if (found == nullptr) throw std::invalid_argument("no such machine");
  return *found;
}

TEST(Machine, RunsWhatItsArchitectureRuns) {
  struct Case {
    const char* target;
    bool on_blackwell, on_hopper;
  };
  for (const Case& c :
       {Case{"sm_100a", true, false}, Case{"sm_100f", true, false}, Case{"sm_100", true, false},
        Case{"sm_90a", false, true}, Case{"sm_90", true, true}, Case{"sm_80", true, true},
        Case{"sm_103a", false, false}, Case{"sm_103", false, false},
        Case{"sm_120", false, false}}) {
    EXPECT_EQ(fitness(machine("b200"), parse_target(c.target)) > 0, c.on_blackwell) << c.target;
    EXPECT_EQ(fitness(machine("h100"), parse_target(c.target)) > 0, c.on_hopper) << c.target;
  }
  EXPECT_EQ(parse_target("compute_90").architecture, 0u);
  EXPECT_EQ(parse_target("sm_").architecture, 0u);
}

TEST(Machine, SpecificCodeIsPreferred) {
  const MachineDescription& h100 = machine("h100");
  EXPECT_GT(fitness(h100, parse_target("sm_90a")), fitness(h100, parse_target("sm_90")));
  EXPECT_GT(fitness(h100, parse_target("sm_90")), fitness(h100, parse_target("sm_80")));
}

// What an H100 answers to cudaOccupancyMaxActiveClusters is measured (tests/hardware); here: the
// rule, that a cluster does not leave its GPC.
TEST(Machine, AClusterStaysInItsGpc) {
  for (const MachineDescription& m : machines()) {
    EXPECT_EQ(resident_clusters(m, m.sm_count, 1, 1), m.sm_count) << m.name;
    EXPECT_EQ(resident_clusters(m, m.sm_count, 2, 1), 2 * m.sm_count) << m.name;
    EXPECT_LE(resident_clusters(m, m.sm_count, 1, 16), m.gpc_sms.size()) << m.name;
  }
  // Counted on an H100 that launched more.
  const MachineDescription& h100 = machine("h100");
  EXPECT_EQ(resident_clusters(h100, h100.sm_count, 1, 3), 39u);
  EXPECT_EQ(resident_clusters(h100, h100.sm_count, 3, 4), 92u);
  EXPECT_EQ(resident_clusters(h100, h100.sm_count, 4, 4), 124u);
  const MachineDescription& b200 = machine("b200");
  EXPECT_EQ(resident_clusters(b200, 8, 1, 4), 2u);
  EXPECT_EQ(resident_clusters(b200, 3, 1, 4), 0u);
  EXPECT_EQ(resident_clusters(b200, 2, 2, 4), 1u);
}

TEST(Machine, PlacesGoFromGpcToGpc) {
  for (const MachineDescription& machine : machines()) {
    for (const uint32_t ctas : {1u, 2u, 4u}) {
      std::set<uint32_t> sms;
      std::map<uint32_t, uint32_t> of_gpc;
      const std::vector<Place> places = places_of(machine, machine.sm_count, ctas);
      for (const Place& place : places) {
        sms.insert(place.first_sm);
        of_gpc[place.gpc] += ctas;
      }
      EXPECT_EQ(sms.size(), places.size());
      EXPECT_GE(places.size() * ctas, machine.sm_count / ctas * ctas);
      if (ctas == 1) {
        for (const auto& [gpc, count] : of_gpc) EXPECT_EQ(count, machine.gpc_sms[gpc]);
      }
      const uint32_t lone = ctas <= 2 ? machine.lone_pairs : 0;
      for (uint32_t i = 0; i < machine.gpc_sms.size(); ++i) {
        EXPECT_EQ(places[lone + i].gpc, i);
        EXPECT_EQ(places[lone + i].port, i);
      }
    }
    // Each side of the L2 cache is near to half of the SMs, give or take a GPC that has more.
    int second = 0;
    const std::vector<Place> single = places_of(machine, machine.sm_count, 1);
    for (const Place& place : single) second += static_cast<int>(place.side);
    EXPECT_NEAR(second, machine.sm_count / 2.0, machine.lone_pairs > 0 ? 0 : 2) << machine.name;
    // SMs 2n and 2n + 1 are neighbours.
    std::map<uint32_t, uint32_t> gpcs;
    for (const Place& place : places_of(machine, machine.sm_count, 1))
      gpcs[place.first_sm] = place.gpc;
    for (uint32_t sm = 0; sm < machine.sm_count; sm += 2) EXPECT_EQ(gpcs[sm], gpcs[sm + 1]) << sm;
  }
  // On another number of SMs each has a place too.
  EXPECT_EQ(places_of(*find_machine("h100"), 3, 1).size(), 3u);
  EXPECT_EQ(places_of(*find_machine("h100"), 200, 1).size(), 200u);
}

/// GPCs of the places in their order, one letter each: a lone pair's SM is an L, an SM of the n-th
/// GPC the n-th letter of the alphabet.
std::string gpcs_of(const std::vector<Place>& places, uint32_t lone_sms) {
  std::string letters;
  for (const Place& place : places)
    letters += place.first_sm < lone_sms ? 'L' : static_cast<char>('a' + place.gpc);
  return letters;
}

TEST(Machine, WithoutClusterDimensionsNeighboursShareAGpc) {
  // Read from %smid on an H100, whose order of the GPCs differs from launch to launch.
  const MachineDescription& h100 = machine("h100");
  const auto places = [&](uint64_t ctas) {
    return gpcs_of(places_by_gpc(h100, h100.sm_count, ctas), 2 * h100.lone_pairs);
  };
  EXPECT_EQ(places(6), "LLLLLL");
  EXPECT_EQ(places(17), "LLLLLLLLaabcdefgh");
  // One SM of each pair: the smallest GPC has four pairs.
  EXPECT_EQ(places(66), "LLLLLLLLaaaaaaaabbbbbbbbccccccccddddddddeeeeeeeefffffffggggggghhhh");
  const std::vector<Place> all = places_by_gpc(h100, h100.sm_count, 1000);
  EXPECT_EQ(all.size(), h100.sm_count);
  std::set<uint32_t> sms;
  for (const Place& place : all) sms.insert(place.first_sm);
  EXPECT_EQ(sms.size(), h100.sm_count);
  int changes = 0;
  for (size_t i = 1; i < all.size(); ++i) changes += all[i].gpc != all[i - 1].gpc ? 1 : 0;
  EXPECT_LE(changes, static_cast<int>(h100.gpc_sms.size()) + static_cast<int>(h100.lone_pairs));
}

TEST(Machine, RefusesPtxOfAnotherArchitecture) {
  Settings settings = test_settings();
  settings.machine = find_machine("h100");
  expect_fault(FaultKind::unsupported, {"sm_100a", "h100", "BW_SIM_MACHINE"},
               [&] { Runner(settings).run(entry("", "ret;"), threads(32)); });
}

TEST(Machine, RefusesWhatOnlyAnotherHas) {
  std::string text = entry("", "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; ret;");
  text.replace(text.find("sm_100a"), 7, "sm_80");
  Settings settings = test_settings();
  settings.machine = find_machine("h100");
  expect_fault(FaultKind::unsupported,
               {"tcgen05.relinquish_alloc_permit", "not an instruction of the machine h100"},
               [&] { Runner(settings).run(text, threads(32)); });
}

TEST(Machine, AHopperHasNoWideIm2col) {
  std::string text = entry(".param .align 64 .b8 map[128]",
                           ".reg .b64 %d; .reg .b16 %h; mov.b16 %h, 0; mov.b64 %d, map;\n"
                           "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w [%d, {0, 0, 0}], "
                           "{%h, %h}; ret;");
  text.replace(text.find("sm_100a"), 7, "sm_80");
  Settings settings = test_settings();
  settings.machine = find_machine("h100");
  const std::array<std::byte, 128> map{};
  expect_fault(FaultKind::unsupported, {".im2col::w` is not an instruction of the machine h100"},
               [&] { Runner(settings).run(text, threads(1), map); });
}

TEST(Machine, TheEnvironmentChooses) {
  const auto chosen = [](const char* name) {
    setenv("BW_SIM_MACHINE", name, 1);
    struct Unset {
      ~Unset() { unsetenv("BW_SIM_MACHINE"); }
    } const unset;
    return Settings::from_environment();
  };
  EXPECT_EQ(chosen("h200").machine->name, "h200");
  EXPECT_EQ(chosen("h200").sm_count, 132u);
  EXPECT_EQ(chosen("").machine->name, "b200");
  expect_fault(FaultKind::launch, {"BW_SIM_MACHINE", "\"a100\"", "b200, h100 or h200"},
               [&] { (void)chosen("a100"); });
  EXPECT_EQ(Settings::from_environment(machine("h100")).machine->name, "h100");
}

/// Bits of the memory's bus as the makers tell: eight stacks of HBM3e, five of HBM3, six of HBM3e.
TEST(Machine, BusesOfMemory) {
  EXPECT_EQ(machine("b200").memory_bus_bits, 8 * 1024u);
  EXPECT_EQ(machine("h100").memory_bus_bits, 5 * 1024u);
  EXPECT_EQ(machine("h200").memory_bus_bits, 6 * 1024u);
}

/// NVIDIA's data sheets: an H200 is an H100 with another memory, of 4.8 TB/s instead of 3.35.
TEST(Machine, AnH200HasTheTimesOfAnH100ButForItsMemory) {
  const std::span<const TimingNumber> h100 = timing_numbers_of(machine("h100"));
  const std::span<const TimingNumber> h200 = timing_numbers_of(machine("h200"));
  ASSERT_EQ(h100.size(), h200.size());
  for (size_t i = 0; i < h100.size(); ++i) {
    ASSERT_EQ(h100[i].name, h200[i].name);
    if (h100[i].name == "hbm_bytes_per_cycle")
      EXPECT_NEAR(h200[i].value / h100[i].value, 4.8 / 3.35, 0.01);
    else
      EXPECT_EQ(h100[i].value, h200[i].value) << h100[i].name;
  }
}

/// The list for pages and the numbers that the model runs with come from the same rows.
TEST(Machine, TheListOfTimesIsWhatTheModelRunsWith) {
  for (const MachineDescription& each : machines()) {
    const TimingTable& times = times_of(each);
    const std::map<std::string_view, double> used = {
#define BW_TIMING_NUMBER(type, name, unit, sentence) {#name, static_cast<double>(times.name)},
#include "common/simulator/clock/timing_numbers.inc"
#undef BW_TIMING_NUMBER
    };
    for (const TimingNumber& number : timing_numbers_of(each)) {
      EXPECT_EQ(number.value, used.at(number.name)) << each.name << ' ' << number.name;
      // Programs of this project measured and fitted on an H100 only; a B200's fits are of
      // published curves.
      const bool is_own = number.source == TimingSource::measured ||
                          (number.source == TimingSource::fitted &&
                           number.origin.find("SemiAnalysis") == std::string_view::npos);
      EXPECT_TRUE(!is_own || each.name == "h100") << each.name << ' ' << number.name;
    }
  }
}

TEST(Machine, AsManyThreadsAsTheHostHasCores) {
  const auto chosen = [](const char* count) {
    setenv("BW_SIM_THREADS", count, 1);
    struct Unset {
      ~Unset() { unsetenv("BW_SIM_THREADS"); }
    } const unset;
    return Settings::from_environment().host_threads;
  };
  EXPECT_EQ(chosen("0"), 0u);  // as many
  EXPECT_EQ(chosen("1"), 1u);
  EXPECT_EQ(chosen("1024"), 1024u);
  EXPECT_THROW((void)chosen("1025"), SimulationError);
}

}  // namespace
}  // namespace bw::sim::test::machine_description_test
