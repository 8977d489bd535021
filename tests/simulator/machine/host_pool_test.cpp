#include "common/simulator/machine/host_pool.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <cstdint>

namespace bw::sim::host_pool_test {
namespace {

cpu_set_t cores_of_this_thread() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  EXPECT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
  return cores;
}

constexpr uint32_t kThreads = 3;

std::array<cpu_set_t, kThreads> cores_in_tasks(bool pinned) {
  HostPool pool(kThreads, pinned);
  std::array<cpu_set_t, kThreads> cores;
  pool.run([&](uint32_t index) { cores[index] = cores_of_this_thread(); });
  return cores;
}

TEST(HostPool, PinnedThreadsKeepToACoreEachAndTheCallerIsFreeAfterwards) {
  const cpu_set_t before = cores_of_this_thread();
  const auto cores = cores_in_tasks(/*pinned=*/true);
  for (const cpu_set_t& set : cores) {
    EXPECT_EQ(CPU_COUNT(&set), 1);
    cpu_set_t common;
    CPU_AND(&common, &set, &before);
    EXPECT_EQ(CPU_COUNT(&common), 1) << "a core that the process may not use";
  }
  if (CPU_COUNT(&before) > 1) {
    EXPECT_FALSE(CPU_EQUAL(&cores[0], &cores[1]));
  }
  const cpu_set_t after = cores_of_this_thread();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(HostPool, OtherThreadsRunWhereTheProcessMay) {
  const cpu_set_t before = cores_of_this_thread();
  for (const cpu_set_t& set : cores_in_tasks(/*pinned=*/false))
    EXPECT_TRUE(CPU_EQUAL(&set, &before));
}

}  // namespace
}  // namespace bw::sim::host_pool_test
