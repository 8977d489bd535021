/// \file
/// Whole programs that nvcc has compiled, run as processes: what they print and how they end.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace {

struct Ended {
  int status = -1;
  std::string output;  ///< stdout and stderr
};

// Runs `command` in a shell, with `environment` before it.
Ended run(const std::string& command, const std::string& environment = "") {
  Ended ended;
  FILE* const pipe = popen((environment + " " + command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ended;
  std::array<char, 4096> part{};
  size_t size = 0;
  while ((size = fread(part.data(), 1, part.size(), pipe)) > 0)
    ended.output.append(part.data(), size);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  return ended;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kReturnErrors = "BW_SIM_ON_ERROR=return";

class Feature : public testing::TestWithParam<const char*> {};

TEST_P(Feature, Works) {
  const std::string name = GetParam();
  const Ended ended = run(std::string(BW_FEATURES_PROGRAM) + " " + name);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_TRUE(contains(ended.output, name + ": ok\n")) << ended.output;
}

// The same program, compiled with default flags and linked to the toolkit's libcudart.so.13.
TEST_P(Feature, WorksUnmodified) {
  if (std::string(BW_UNMODIFIED_PROGRAM).empty()) GTEST_SKIP() << "the toolkit has no libcudart.so";
  const std::string name = GetParam();
  const Ended ended = run(std::string(BW_UNMODIFIED_PROGRAM) + " " + name,
                          std::string("LD_LIBRARY_PATH=") + BW_SHARED_RUNTIME_FOLDER +
                              " LD_PRELOAD=" + BW_UNMODIFIED_PRELOAD);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_TRUE(contains(ended.output, name + ": ok\n")) << ended.output;
}

INSTANTIATE_TEST_SUITE_P(Programs, Feature,
                         testing::Values("saxpy", "symbols", "second_unit", "printf",
                                         "dynamic_shared", "events", "launch"),
                         [](const auto& feature) { return std::string(feature.param); });

class Concurrency : public testing::TestWithParam<const char*> {};

TEST_P(Concurrency, Works) {
  const std::string name = GetParam();
  const Ended ended = run(std::string(BW_CONCURRENCY_PROGRAM) + " " + name);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_TRUE(contains(ended.output, name + ": ok\n")) << ended.output;
}

INSTANTIATE_TEST_SUITE_P(Programs, Concurrency,
                         testing::Values("cooperative", "cooperative_too_large", "graph", "pools",
                                         "managed", "wait_for_host", "wait_for_kernel",
                                         "wait_for_thread"),
                         [](const auto& one) { return std::string(one.param); });

TEST(Programs, AKernelThatNobodyHelpsIsALivelockWhereTheHostWaits) {
  const std::string command = std::string(BW_CONCURRENCY_PROGRAM) + " nobody_helps";
  const Ended ended = run(command);
  EXPECT_EQ(ended.status, 70) << ended.output;
  EXPECT_TRUE(contains(ended.output, "the host goes on\nsimulator: livelock")) << ended.output;
  EXPECT_TRUE(contains(ended.output, "concurrency.cu:")) << ended.output;
  const Ended returned = run(command, kReturnErrors);
  EXPECT_EQ(returned.status, 0) << returned.output;
  EXPECT_TRUE(contains(returned.output, "after the livelock: cudaErrorLaunchTimeout"))
      << returned.output;
  // Without a wait the program's end is the place.
  const Ended at_exit = run(std::string(BW_CONCURRENCY_PROGRAM) + " never_synchronised");
  EXPECT_EQ(at_exit.status, 70) << at_exit.output;
  EXPECT_TRUE(contains(at_exit.output, "livelock")) << at_exit.output;
}

// A file of events holds the launches in sequence: a launch that would overlap a waiting kernel
// follows it instead, so a kernel that only another one could help is a livelock there.
TEST(Programs, LaunchesThatAreWrittenToAFileDoNotOverlap) {
  const std::string log = testing::TempDir() + "bw_concurrency_events.jsonl";
  const std::string program = BW_CONCURRENCY_PROGRAM;
  for (const char* const setting : {"BW_SIM_EVENTS=", "BW_SIM_RECORDING="}) {
    const Ended host = run(program + " wait_for_host", setting + log);
    EXPECT_EQ(host.status, 0) << host.output;
    const Ended kernel = run(program + " wait_for_kernel", setting + log);
    EXPECT_EQ(kernel.status, 70) << kernel.output;
    EXPECT_TRUE(contains(kernel.output, "livelock")) << kernel.output;
  }
  std::remove(log.c_str());
}

// nvcc -rdc=true: the device code of two object files, linked.
TEST(Programs, ObjectFilesAreLinked) {
  if (std::string(BW_LINKED_PROGRAM).empty()) GTEST_SKIP() << "the toolkit has no libcudart.so";
  const Ended ended =
      run(BW_LINKED_PROGRAM, std::string("LD_LIBRARY_PATH=") + BW_SHARED_RUNTIME_FOLDER +
                                 " LD_PRELOAD=" + BW_UNMODIFIED_PRELOAD);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_TRUE(contains(ended.output, "linked: ok\n")) << ended.output;
}

TEST(Programs, PrintInOrder) {
  const Ended ended = run(std::string(BW_FEATURES_PROGRAM) + " printf");
  EXPECT_EQ(ended.output,
            "block 0 thread 0: hello  0.00 -3  | 1099511627776 z %\n"
            "block 0 thread 1: hello  1.50 -3  | 1099511627776 z %\n"
            "block 1 thread 0: hello  0.00 -3  | 1099511627776 z %\n"
            "block 1 thread 1: hello  1.50 -3  | 1099511627776 z %\n"
            "printf: ok\n");
}

TEST(Programs, AFailedAssertionEndsTheProgram) {
  const std::string command = std::string(BW_FEATURES_PROGRAM) + " assert";
  const Ended ended = run(command);
  EXPECT_EQ(ended.status, 70);
  EXPECT_TRUE(contains(ended.output, ": block: [0,0,0], thread: [")) << ended.output;
  EXPECT_TRUE(contains(ended.output, "] Assertion `value > 0` failed.")) << ended.output;
  EXPECT_TRUE(contains(ended.output, "features.cu:")) << ended.output;
  EXPECT_FALSE(contains(ended.output, "after the assertion"));
  const Ended returned = run(command, kReturnErrors);
  EXPECT_EQ(returned.status, 0) << returned.output;
  EXPECT_TRUE(contains(returned.output, "after the assertion: cudaErrorAssert")) << returned.output;
}

TEST(Programs, AFaultNamesTheSourceLine) {
  const std::string command = std::string(BW_FEATURES_PROGRAM) + " out_of_bounds";
  const Ended ended = run(command);
  EXPECT_EQ(ended.status, 70);
  EXPECT_TRUE(contains(ended.output, "out of bounds")) << ended.output;
  EXPECT_TRUE(contains(ended.output, "features.cu:")) << ended.output;
  EXPECT_TRUE(contains(ended.output, "cudaMalloc of 16 bytes")) << ended.output;
  EXPECT_FALSE(contains(ended.output, "after the fault"));
  const Ended returned = run(command, kReturnErrors);
  EXPECT_EQ(returned.status, 0) << returned.output;
}

TEST(Programs, AnUnsupportedInstructionIsRefusedByName) {
  const std::string command = std::string(BW_FEATURES_PROGRAM) + " unsupported";
  const Ended ended = run(command);
  EXPECT_EQ(ended.status, 70);
  EXPECT_TRUE(contains(ended.output, "vadd.s32.s32.s32")) << ended.output;
  EXPECT_TRUE(contains(ended.output, "features.cu:")) << ended.output;
  EXPECT_EQ(run(command, kReturnErrors).status, 0);
}

TEST(Programs, SettingsThatCannotBeReadEndTheProgram) {
  const std::string command = std::string(BW_FEATURES_PROGRAM) + " saxpy";
  const Ended seed = run(command, "BW_SIM_SEED=many");
  EXPECT_NE(seed.status, 0);
  EXPECT_TRUE(contains(seed.output, "BW_SIM_SEED")) << seed.output;
  const Ended policy = run(std::string(BW_FEATURES_PROGRAM) + " assert", "BW_SIM_ON_ERROR=ignore");
  EXPECT_NE(policy.status, 0);
  EXPECT_TRUE(contains(policy.output, "BW_SIM_ON_ERROR")) << policy.output;
}

TEST(Programs, TheFileOfLaunchesHoldsTheSettingsThatMatter) {
  const std::string path = testing::TempDir() + "bw_launches_of_saxpy";
  const Ended ended = run(std::string(BW_FEATURES_PROGRAM) + " saxpy",
                          "BW_SIM_SEED=5 BW_SIM_THREADS=1 BW_SIM_LAUNCHES=" + path);
  EXPECT_EQ(ended.status, 0) << ended.output;
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(contains(text, "\"settings\":{\"BW_SIM_SEED\":\"5\"}")) << text.substr(0, 500);
  std::remove(path.c_str());
}

// One program carries PTX for sm_90a and sm_100a, the other for sm_90a alone.
TEST(Programs, TheMachineIsChosenByTheProgramOrByName) {
  const std::string command = std::string(BW_FEATURES_PROGRAM) + " machine";
  EXPECT_TRUE(contains(run(command).output, "sm_100a GPU (bw simulator): 10.0, 148 SMs"));
  const Ended hopper = run(command, "BW_SIM_MACHINE=h100");
  EXPECT_EQ(hopper.status, 0) << hopper.output;
  EXPECT_TRUE(contains(hopper.output, "H100 (bw simulator): 9.0, 132 SMs, 1980000 kHz"))
      << hopper.output;
  const std::string only_hopper = std::string(BW_HOPPER_PROGRAM) + " machine";
  EXPECT_TRUE(contains(run(only_hopper).output, "H100 (bw simulator): 9.0")) << only_hopper;
  const Ended mismatch = run(only_hopper, "BW_SIM_MACHINE=b200");
  EXPECT_EQ(mismatch.status, 70);
  EXPECT_TRUE(contains(mismatch.output, "no PTX in this program runs on compute capability 10.0"))
      << mismatch.output;
  const Ended unknown = run(command, "BW_SIM_MACHINE=h800");
  EXPECT_EQ(unknown.status, 64);
  EXPECT_TRUE(contains(unknown.output, "b200, b300, h100 or h200")) << unknown.output;
}

TEST(Programs, ThrustRuns) {
  const Ended ended = run(BW_THRUST_PROGRAM);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_TRUE(contains(ended.output, "thrust: ok")) << ended.output;
}

}  // namespace
