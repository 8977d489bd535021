#pragma once
/// \file
/// What a user can choose about a simulation.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/simulator/base/device_address.hpp"
#include "common/simulator/base/event_number.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"

namespace bw::sim {

/// What happens where a program does what the PTX ISA leaves undefined and hardware is known to
/// carry out.
enum class Strictness : uint8_t {
  isa,       ///< a fault: programs are held to the PTX ISA's words (default)
  hardware,  ///< what hardware does, because proven kernels rely on it
};

/// How much of a program is checked beyond what it takes to execute it.
enum class Checks : uint8_t {
  off,       ///< bounds and the state of units alone: no history for reports, nothing is tracked
  contract,  ///< the rules of single instructions as well (default)
  races,     ///< and whether accesses that conflict are ordered
};

/// How the tensor cores sum products (units/tensor_core/accumulation.hpp).
enum class SummationModel : uint8_t {
  machine,     ///< the default of the instruction's machine
  sequential,  ///< one chain of fp32 fused multiply-adds in ascending order of k
  hopper,      ///< as measured on an H100
  none,        ///< not at all, D does not change: for callers that need only times
  blackwell,   ///< as others have measured it on a B200
};

/// "machine", "sequential", "hopper", "none", "blackwell".
[[nodiscard]] const char* summation_name(SummationModel model);

/// Of a launch, from the environment.
struct Settings {
  uint64_t seed = 0;            ///< 0: fixed order and latencies; else perturbs both (BW_SIM_SEED)
  bool seed_is_chosen = false;  ///< BW_SIM_SEED is set: reports say how to run the schedule again
  uint32_t host_threads = 0;    ///< 0: one per core (BW_SIM_THREADS)
  bool pin_threads = false;     ///< a core for each host thread (BW_SIM_PIN_THREADS=1)
  const MachineDescription* machine = machines().data();  ///< BW_SIM_MACHINE
  uint32_t sm_count = machine->sm_count;                  ///< BW_SIM_SMS
  /// Address space of device memory (BW_SIM_MEMORY_GB). A host with small pointers has less of it.
  uint64_t memory_bytes = uint64_t{kSharesAddresses ? 65536u : 512u} << 20;
  Strictness strictness = Strictness::isa;  ///< BW_SIM_STRICTNESS=isa|hardware
  Checks checks = Checks::contract;         ///< BW_SIM_CHECKS=off|contract|races
  /// Reads of device memory that nothing has written are faults (BW_SIM_MEMORY_CHECKS=unwritten).
  bool checks_unwritten = false;
  /// At its end the program is told of device memory that it has not freed (...=leaks).
  bool checks_leaks = false;
  SummationModel summation = SummationModel::machine;  ///< BW_SIM_ACCUMULATION
  TimingModel timing = TimingModel::model;             ///< BW_SIM_TIMING=simple|model
  /// Shared and Tensor Memory begin as NaN in every floating-point format that has one
  /// (BW_SIM_POISON=nan).
  bool poisons_with_nan = false;
  /// Of this many requests of a launch to cancel a pending cluster the last one fails, whatever is
  /// pending; 0: none (BW_SIM_CANCEL_FAILS).
  uint8_t cancel_fails = 0;
  /// Simulated cycles without any change of state after which spinning threads are a livelock.
  uint64_t livelock_cycles = 100'000'000;  ///< BW_SIM_LIVELOCK_CYCLES
  /// Simulated cycles after which a launch that goes on is ended; 0: never (BW_SIM_CYCLE_LIMIT).
  uint64_t cycle_limit = 0;
  /// The event before which the run stops, as at the limit of cycles (BW_SIM_UNTIL_EVENT).
  std::optional<EventNumber> until_event;
  std::string focus;  ///< base names of files whose lines reports shall name (BW_SIM_FOCUS)
  bool print_statistics = false;  ///< BW_SIM_STATS=1: a line per launch on stderr

  /// Simulated cycles in that many nanoseconds, and the other way round.
  [[nodiscard]] double cycles_of(double nanoseconds) const {
    return nanoseconds * machine->clock_ghz;
  }
  /// The seed, where it was chosen.
  [[nodiscard]] std::optional<uint64_t> chosen_seed() const {
    return seed_is_chosen ? std::optional(seed) : std::nullopt;
  }
  /// At the machine's clock.
  [[nodiscard]] double nanoseconds_of(double cycles) const { return cycles / machine->clock_ghz; }

  /// The numbers of the timing model for the machine; null without a model.
  [[nodiscard]] const TimingTable* times() const {
    return timing == TimingModel::simple ? nullptr : &times_of(*machine);
  }

  /// How this launch sums: `summation`, or the meaning of SummationModel::machine: on Hopper what
  /// an H100 does, else a chain.
  [[nodiscard]] SummationModel resolved_summation() const;

  /// Defaults overridden by the environment; `fallback` is the machine where that names none.
  /// Throws SimulationError{launch} for a value that cannot be read, naming the variable, the value
  /// and what is allowed.
  [[nodiscard]] static Settings from_environment(
      const MachineDescription& fallback = machines().front());
};

}  // namespace bw::sim
