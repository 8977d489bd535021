#pragma once
/// \file
/// Random producer and consumer programs, each with its expected result: one warp fills the
/// stages of a ring, others read them; the kind of copies, the arriving threads, the ring's depth
/// and the mistake vary.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/simulator/base/error.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/simulation.hpp"

namespace bw::sim::fuzz {

/// How a stage is filled.
enum class Transport : uint8_t {
  stores,     ///< ld.global and st.shared by the warp
  bulk,       ///< cp.async.bulk
  cp_async,   ///< cp.async, arrivals by cp.async.mbarrier.arrive.noinc
  multicast,  ///< a tensor copy to both CTAs of a cluster
};

/// What is wrong with a program.
enum class Mistake : uint8_t {
  none,
  wrong_initial_phase,    ///< the producer waits for the phase that no consumer can complete
  forgotten_release,      ///< a consumer does not arrive once
  empty_count_too_large,  ///< an arrival more than there are consumers
  full_count_too_large,   ///< an arrival more than there are producers
  too_many_bytes,         ///< expect_tx announces more than is copied
  one_round_too_many,     ///< the consumers wait for what is not produced
  misaligned_barrier,
  read_beyond_memory,  ///< the producer's last read of global memory
  zero_count,          ///< mbarrier.init with 0
  initialised_again,   ///< mbarrier.init of a barrier in use
  never_initialised,   ///< a wait for an uninitialised barrier
  read_beyond_shared,  ///< a consumer's last read of shared memory
  // What gives the right numbers and is a race:
  no_proxy_fence,  ///< the consumers' reads are not ordered before the copy that overwrites them
  no_warp_sync,    ///< one lane arrives for 32 that nothing has ordered before it
};

/// A program and its verdict.
struct PipelineProgram {
  Task task;
  Mistake mistake = Mistake::none;
  std::optional<FaultKind> verdict;  ///< none: it finishes
  bool races = false;                ///< it finishes, and the race detector refuses it
  std::vector<uint32_t> expected;    ///< memory after a program that finishes
  std::string description;           ///< "3 stages, 7 rounds, ..."
};

/// A program from an input.
[[nodiscard]] PipelineProgram pipeline_program(Choices& choices);

}  // namespace bw::sim::fuzz
