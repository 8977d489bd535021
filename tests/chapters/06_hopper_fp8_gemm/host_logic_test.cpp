/// \file
/// What the host decides before anything reaches a GPU.
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "common/host/error.hpp"
#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"

namespace bw {
namespace {

using hopper::Workspace;

constexpr int kMultiprocessors = 132;

TEST(Configurations, NamesAreDistinctAndFindThemselves) {
  std::set<std::string> names;
  for (const hopper::GemmKernel& kernel : hopper::gemm_kernels()) {
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    EXPECT_EQ(&hopper::find_gemm_kernel(kernel.name), &kernel);
    EXPECT_NE(kernel.function, nullptr);
    constexpr uint32_t kMostSharedBytes = 227 * 1024;  // of a CTA of compute capability 9.0
    EXPECT_LE(kernel.shared_bytes, kMostSharedBytes) << kernel.name;
  }
  EXPECT_GE(names.size(), 2u);
}

TEST(Configurations, AnUnknownNameIsRefusedWithAllNames) {
  try {
    hopper::find_gemm_kernel("77x77_1x1");
    FAIL() << "was found";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("77x77_1x1"), std::string::npos) << message;
    for (const hopper::GemmKernel& kernel : hopper::gemm_kernels()) {
      EXPECT_NE(message.find(kernel.name), std::string::npos) << message;
    }
  }
}

TEST(LaunchOrder, IsAChoiceWithoutClustersAlone) {
  std::set<std::string> names;
  for (const hopper::GemmChoice& choice : hopper::gemm_choices()) {
    EXPECT_TRUE(names.insert(choice.name()).second) << choice.name();
    EXPECT_EQ(hopper::find_gemm_choice(choice.name()), choice);
  }
  for (const hopper::GemmKernel& kernel : hopper::gemm_kernels()) {
    const bool is_single = kernel.traits.cluster_size() == 1;
    EXPECT_EQ(names.count(kernel.name), 1u);
    EXPECT_EQ(names.count(std::string(kernel.name) + "/gpc"), is_single ? 1u : 0u) << kernel.name;
    if (is_single) continue;
    EXPECT_THROW(hopper::GemmChoice(kernel, hopper::LaunchOrder::kGpcByGpc), Error);
  }
}

TEST(Choice, EveryShapeGetsAConfigurationOfTheList) {
  std::set<std::string> chosen;
  for (const int64_t m : {1, 8, 64, 65, 128, 500, 4096, 16384}) {
    for (const int64_t n : {8, 576, 2112, 7168, 32768}) {
      for (const int64_t k : {16, 512, 2048, 7168, 16384}) {
        for (const int multiprocessors : {1, 78, 114, kMultiprocessors}) {
          for (const Workspace workspace : {Workspace::kNone, Workspace::kOfPlan}) {
            const hopper::GemmChoice choice =
                hopper::choose_gemm(m, n, k, multiprocessors, workspace);
            EXPECT_EQ(hopper::find_gemm_choice(choice.name()), choice);
            EXPECT_FALSE(choice.kernel->traits.stream_k && workspace == Workspace::kNone)
                << choice.name();
            chosen.insert(choice.name());
          }
        }
      }
    }
  }
  EXPECT_GT(chosen.size(), 1u) << "different shapes call for different configurations";
}

TEST(Choice, SplitsTheLastRoundOfTilesWhereAPlanHasTheMemory) {
  const auto choose = [](Workspace workspace) -> const hopper::GemmKernel& {
    return *hopper::choose_gemm(4096, 2112, 7168, kMultiprocessors, workspace).kernel;
  };
  EXPECT_TRUE(choose(Workspace::kOfPlan).traits.stream_k) << choose(Workspace::kOfPlan).name;
  EXPECT_FALSE(choose(Workspace::kNone).traits.stream_k) << choose(Workspace::kNone).name;
}

TEST(Choice, DoesNotDependOnEarlierCalls) {
  const auto choose = [](int64_t m, int64_t n, int64_t k) {
    return hopper::choose_gemm(m, n, k, kMultiprocessors, Workspace::kOfPlan).name();
  };
  const std::string first = choose(4096, 7168, 2048);
  choose(1, 8, 16);
  EXPECT_EQ(choose(4096, 7168, 2048), first);
}

/// Arguments that would be accepted, with addresses that are never read.
BlockwiseFp8GemmArguments plausible_arguments() {
  auto* address = reinterpret_cast<void*>(uintptr_t{1} << 20);
  BlockwiseFp8GemmArguments arguments{};
  arguments.m = 128;
  arguments.n = arguments.ldc = arguments.ldd = 256;
  arguments.k = arguments.lda = arguments.ldb = 512;
  arguments.a = static_cast<const Fp8E4m3*>(address);
  arguments.b = static_cast<const Fp8E4m3*>(address);
  arguments.a_scales = static_cast<const float*>(address);
  arguments.lda_scales = 128;
  arguments.b_scales = static_cast<const float*>(address);
  arguments.ldb_scales = 4;
  arguments.d = address;
  return arguments;
}

/// Fails unless every entry point refuses `arguments`, with `part` in the message.
void expect_refused(const std::string& part, const BlockwiseFp8GemmArguments& arguments) {
  const hopper::GemmKernel& kernel = hopper::gemm_kernels().front();
  const std::pair<const char*, std::function<void()>> entries[] = {
      {"the call", [&] { hopper::blockwise_fp8_gemm(arguments, kDefaultStream); }},
      {"the call with a configuration",
       [&] { hopper::blockwise_fp8_gemm(arguments, kernel, kDefaultStream); }},
      {"the plan", [&] { hopper::GemmPlan{arguments}; }},
      {"the plan with a configuration", [&] { hopper::GemmPlan(arguments, kernel); }}};
  for (const auto& [entry, call] : entries) {
    try {
      call();
      ADD_FAILURE() << entry << " accepted it: " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << entry << ": " << error.what();
    }
  }
}

TEST(Arguments, AreValidatedBeforeTheDevice) {
  BlockwiseFp8GemmArguments arguments = plausible_arguments();
  arguments.m = 0;
  expect_refused("M is 0", arguments);
  arguments = plausible_arguments();
  arguments.a = nullptr;
  expect_refused("A is a null pointer", arguments);
  arguments = plausible_arguments();
  arguments.ldd = 260;
  expect_refused("multiple of 8", arguments);
  arguments = plausible_arguments();
  arguments.beta = 1;
  expect_refused("C is a null pointer", arguments);
  arguments = plausible_arguments();
  arguments.output = OutputType::kFp32;
  expect_refused("bf16", arguments);
}

TEST(Arguments, WithoutHopperTheDeviceThatWasFoundIsNamed) {
  const std::string found = why_not_hopper();
  if (found.empty()) GTEST_SKIP() << "this machine has a Hopper GPU";
  expect_refused(found, plausible_arguments());
  expect_refused("H100", plausible_arguments());
}

}  // namespace
}  // namespace bw
