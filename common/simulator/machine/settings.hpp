#pragma once
/// \file
/// What a user can choose about a simulation.

#include <cstddef>
#include <cstdint>
#include <string>

namespace bw::sim {

enum class Strictness : uint8_t {
  strict,   ///< the PTX ISA's words (default)
  lenient,  ///< also accepts what production kernels rely on and hardware tolerates
};

/// How the tensor cores sum products (units/tensor_core/accumulation.hpp).
enum class SummationModel : uint8_t {
  machine,     ///< the default of the instruction's machine
  sequential,  ///< one chain of fp32 fused multiply-adds in ascending order of k
  hopper,      ///< as measured on an H100
};

/// "machine", "sequential", "hopper".
[[nodiscard]] const char* summation_name(SummationModel model);

struct Settings {
  uint64_t seed = 0;          ///< 0: fixed order and latencies; else perturbs both (BW_SIM_SEED)
  uint32_t host_threads = 0;  ///< 0: one per core (BW_SIM_THREADS)
  bool pin_threads = false;   ///< a core for each host thread (BW_SIM_PIN_THREADS=1)
  uint32_t sm_count = 148;    ///< BW_SIM_SMS
  size_t memory_bytes = size_t{64} << 30;  ///< address space of device memory (BW_SIM_MEMORY_GB)
  Strictness strictness = Strictness::strict;          ///< BW_SIM_STRICTNESS=strict|lenient
  SummationModel summation = SummationModel::machine;  ///< BW_SIM_ACCUMULATION
  /// Simulated cycles without any change of state after which spinning threads are a livelock.
  uint64_t livelock_cycles = 100'000'000;  ///< BW_SIM_LIVELOCK_CYCLES
  /// Simulated cycles after which a launch that goes on is ended; 0: never (BW_SIM_CYCLE_LIMIT).
  uint64_t cycle_limit = 0;
  std::string focus;  ///< base name of the file whose lines reports shall name (BW_SIM_FOCUS)
  bool print_statistics = false;  ///< BW_SIM_STATS=1: a line per launch on stderr

  /// Defaults overridden by the environment. Throws SimulationError{launch} for a value that cannot
  /// be read, naming the variable, the value and what is allowed.
  [[nodiscard]] static Settings from_environment();
};

}  // namespace bw::sim
