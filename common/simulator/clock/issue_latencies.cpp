#include "common/simulator/clock/issue_latencies.hpp"

#include <cstddef>
#include <cstdint>

#include "common/simulator/clock/timing_table.hpp"

namespace bw::sim {
namespace {

PipeTimes pipe_times(const TimingTable& times, Pipe pipe) {
  switch (pipe) {
    case Pipe::none:
      return {0, 0, 0};
    case Pipe::alu:
    case Pipe::add:
      return {times.alu_latency, times.alu_interval, times.alu_interval};
    case Pipe::fma:
      return {times.fma_latency, times.fma_interval, times.fma_interval};
    case Pipe::multiply:
      return {times.multiply_latency, times.multiply_interval, times.multiply_interval};
    case Pipe::half:
      return {times.half_latency, times.half_interval, times.half_interval};
    case Pipe::wide:
      return {times.wide_latency, times.wide_interval, times.wide_interval};
    case Pipe::special:
      return {times.special_latency, times.special_interval, times.special_interval};
    case Pipe::exchange:
      return {times.exchange_latency, times.load_store_interval, times.load_store_interval};
    case Pipe::load_store:
      return {1, times.load_store_interval, times.load_store_interval};
    case Pipe::tensor:
      return {times.mma_latency, times.mma_interval, times.mma_interval};
    case Pipe::system:
      return {times.special_register_latency, times.special_register_interval,
              times.special_register_busy};
    case Pipe::branch:
      return {1, 1, 1};
  }
  return {};
}

}  // namespace

IssueLatencies issue_latencies(const TimingTable& times) {
  IssueLatencies result = {.pipes = {},
                           .other_pipe = times.other_pipe_cycles,
                           .shared_load = times.planned_shared_latency,
                           .device_load = static_cast<uint32_t>(times.l2_load_latency),
                           .branch_guard = times.branch_predicate_cycles,
                           .branch_taken = times.branch_taken_cycles,
                           .branch_passed = times.branch_passed_cycles,
                           .copy_operands = static_cast<uint32_t>(times.tma_operand_cycles),
                           .copy_prepare = static_cast<uint32_t>(times.tma_prepare_cycles)};
  for (size_t pipe = 0; pipe < kPipeCount; ++pipe)
    result.pipes[pipe] = pipe_times(times, static_cast<Pipe>(pipe));
  return result;
}

}  // namespace bw::sim
