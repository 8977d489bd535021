/// \file
/// The choice of a summation model, and the model that tcgen05 uses by default.
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::accumulation_test {
namespace {

class Variable {
 public:
  explicit Variable(const char* value) { setenv(kName, value, 1); }
  ~Variable() { unsetenv(kName); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  static constexpr const char* kName = "BW_SIM_ACCUMULATION";
};

TEST(Accumulation, IsChosenByTheEnvironment) {
  EXPECT_EQ(Settings::from_environment().summation, SummationModel::machine);
  for (const SummationModel model : {SummationModel::machine, SummationModel::sequential,
                                     SummationModel::hopper, SummationModel::blackwell}) {
    const Variable variable(summation_name(model));
    EXPECT_EQ(Settings::from_environment().summation, model);
  }
  const Variable variable("volta");
  expect_fault(FaultKind::launch, {"BW_SIM_ACCUMULATION is \"volta\"", "\"sequential\""},
               [] { (void)Settings::from_environment(); });
}

TEST(Accumulation, AnExplicitChoiceStandsAboveTheMachinesDefault) {
  Settings settings;
  for (const auto& [machine, by_default] :
       {std::pair{"b200", SummationModel::sequential}, std::pair{"h100", SummationModel::hopper},
        std::pair{"h200", SummationModel::hopper}}) {
    settings.machine = find_machine(machine);
    settings.summation = SummationModel::machine;
    EXPECT_EQ(settings.resolved_summation(), by_default) << machine;
    for (const SummationModel chosen : {SummationModel::sequential, SummationModel::hopper}) {
      settings.summation = chosen;
      EXPECT_EQ(settings.resolved_summation(), chosen) << machine;
    }
  }
}

TEST(Accumulation, SequentialIsOneChainOfFusedMultiplyAdds) {
  std::mt19937 random(31);
  std::normal_distribution<float> normal;
  constexpr size_t kN = 3, kK = 64;
  std::vector<float> a(kK * kRowBlock), b(kN * kK), d(kN * kRowBlock);
  for (auto* matrix : {&a, &b, &d})
    for (float& value : *matrix) value = normal(random);
  std::vector<float> expected = d;
  for (size_t n = 0; n < kN; ++n)
    for (size_t row = 0; row < kRowBlock; ++row)
      for (size_t k = 0; k < kK; ++k)
        expected[n * kRowBlock + row] =
            std::fma(a[k * kRowBlock + row], b[n * kK + k], expected[n * kRowBlock + row]);
  accumulation(SummationModel::sequential)
      .multiply({a.data(), b.data(), kK, d.data(), kRowBlock, kN, kK, true},
                {MmaFormat::f16, MmaFormat::f16, 16});
  EXPECT_EQ(d, expected);
}

}  // namespace
}  // namespace bw::sim::test::accumulation_test
