#include "tests/benchmarks/hopper/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "tests/benchmarks/hopper/bar_chart.hpp"

namespace bw {
namespace {

/// printf into a string.
__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof(text), pattern, arguments);
  va_end(arguments);
  return text;
}

std::string machine_line(const MachineInfo& machine) {
  return format("%s, %d SMs, driver %s, CUDA %s, cuBLASLt %s, %s; clocks: %s", machine.gpu.c_str(),
                machine.multiprocessors, machine.driver.c_str(), machine.cuda_runtime.c_str(),
                machine.cublaslt.c_str(), machine.date.c_str(), machine.clocks.c_str());
}

double smallest_ratio(const std::vector<ContestResult>& results) {
  double smallest = HUGE_VAL;
  for (const ContestResult& result : results) {
    if (result.has_peer()) smallest = std::min(smallest, result.ratio());
  }
  return smallest;
}

std::string tensor_markdown(const std::vector<TensorRate>& rates) {
  std::string text =
      "| wgmma | launch | TFLOP/s | FMA per clock and SM | of 4096 | clock while it ran |\n"
      "|---|---|---|---|---|---|\n";
  for (const TensorRate& rate : rates) {
    text += format("| %s | %.2f ms | %.0f | %.0f | %.1f %% | %.3f GHz |\n", rate.form.c_str(),
                   rate.milliseconds, rate.tflops, rate.fma_per_clock_per_sm,
                   100 * rate.fma_per_clock_per_sm / kFp8FmaPerClock, rate.clock_ghz);
  }
  return text;
}

std::string tma_markdown(const std::vector<TmaRate>& rates) {
  std::string text =
      "| TMA from L2 | arriving, bytes per clock and SM | read from L2, bytes per clock and SM |"
      " arriving, TB/s |\n|---|---|---|---|\n";
  for (const TmaRate& rate : rates) {
    const std::string name = rate.cluster == 1
                                 ? "no multicast"
                                 : "multicast to " + std::to_string(rate.cluster) + " CTAs";
    text += format("| %s | %.1f | %.1f | %.2f |\n", name.c_str(), rate.bytes_per_clock_per_sm,
                   rate.l2_bytes_per_clock_per_sm, rate.terabytes_per_second);
  }
  return text;
}

std::string accumulation_markdown(const std::vector<AccumulationBits>& bits) {
  std::string text =
      "What is left of a small product beside one 2^distance as large (1: all, 0: nothing).\n\n"
      "| distance | neighbours in one wgmma | first and last of one wgmma | small one in the next"
      " wgmma | the same, negative | the same, 1.5 times as large |\n|---|---|---|---|---|---|\n";
  for (const AccumulationBits& entry : bits) {
    text += format("| 2^%d | %g | %g | %g | %g | %g |\n", entry.distance, entry.within,
                   entry.across, entry.chained, entry.negative, entry.half_more);
  }
  return text;
}

}  // namespace

double Floor::best_tflops() const {
  double best = 0;
  for (const TensorRate& rate : tensor) best = std::max(best, rate.tflops);
  return best;
}

double Floor::limit(const Shape& shape, bool residual) const {
  const double multiply = shape.flops() / (best_tflops() * 1e12);
  const double move = shape.least_bytes(residual) / std::max(memory.copy, memory.read);
  return 1e6 * std::max(multiply, move);
}

double geometric_mean(const std::vector<ContestResult>& results) {
  double logarithms = 0;
  int count = 0;
  for (const ContestResult& result : results) {
    if (!result.has_peer()) continue;
    logarithms += std::log(result.ratio());
    ++count;
  }
  return count == 0 ? 0.0 : std::exp(logarithms / count);
}

std::string floor_markdown(const Floor& floor) {
  std::string text = tensor_markdown(floor.tensor);
  text += format(
      "\n| device memory | TB/s |\n|---|---|\n| copy, read and written | %.2f |\n"
      "| read | %.2f |\n\n",
      floor.memory.copy * 1e-12, floor.memory.read * 1e-12);
  return text + tma_markdown(floor.tma) + "\n" + accumulation_markdown(floor.accumulation);
}

std::string results_markdown(const std::vector<ContestResult>& results, const Floor& floor,
                             const MachineInfo& machine) {
  const bool has_floor = floor.best_tflops() > 0;
  std::string text = machine_line(machine) + "\n\n";
  text +=
      "| M | N | K | beta | configuration | ours | TFLOP/s | spread | cuBLASLt | TFLOP/s | spread |"
      " ratio | of the floor | error, ours / cuBLASLt |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const ContestResult& result : results) {
    text += format("| %lld | %lld | %lld | %g | %s | %.1f us | %.0f | %.1f %% |",
                   static_cast<long long>(result.shape.m), static_cast<long long>(result.shape.n),
                   static_cast<long long>(result.shape.k), result.beta, result.config.c_str(),
                   result.our_time, result.our_tflops(), 100 * result.our_spread);
    text += result.has_peer()
                ? format(" %.1f us | %.0f | %.1f %% | %.3f |", result.peer_time,
                         result.peer_tflops(), 100 * result.peer_spread, result.ratio())
                : std::string(" no algorithm | | | |");
    text += has_floor ? format(" %.1f %% |",
                               100 * floor.limit(result.shape, result.beta != 0) / result.our_time)
                      : std::string(" |");
    text += result.has_peer() ? format(" %.4f |\n", result.our_error / result.peer_error)
                              : std::string(" |\n");
  }
  const double mean = geometric_mean(results);
  if (mean > 0) {
    text += format("\nGeometric mean of the ratios: %.3f; the smallest: %.3f.\n", mean,
                   smallest_ratio(results));
  }
  return text;
}

std::string results_csv(const std::vector<ContestResult>& results, const Floor& floor,
                        const MachineInfo& machine) {
  std::string text =
      "date,gpu,driver,cuda,cublaslt,m,n,k,beta,config,our_us,our_tflops,our_spread,our_error,"
      "peer_algorithms,peer_algorithm,peer_us,peer_tflops,peer_spread,peer_error,ratio,limit_us\n";
  for (const ContestResult& result : results) {
    text += format(
        "%s,%s,%s,%s,%s,%s,%g,%s,%.3f,%.2f,%.4f,%.8f,%d,", machine.date.c_str(),
        machine.gpu.c_str(), machine.driver.c_str(), machine.cuda_runtime.c_str(),
        machine.cublaslt.c_str(),
        format("%lld,%lld,%lld", static_cast<long long>(result.shape.m),
               static_cast<long long>(result.shape.n), static_cast<long long>(result.shape.k))
            .c_str(),
        result.beta, result.config.c_str(), result.our_time, result.our_tflops(), result.our_spread,
        result.our_error, result.peer_algorithms);
    text += result.has_peer() ? format("%d,%.3f,%.2f,%.4f,%.8f,%.4f,", result.peer_algorithm,
                                       result.peer_time, result.peer_tflops(), result.peer_spread,
                                       result.peer_error, result.ratio())
                              : std::string(",,,,,,");
    text += floor.best_tflops() > 0 ? format("%.3f\n", floor.limit(result.shape, result.beta != 0))
                                    : std::string("\n");
  }
  return text;
}

std::string results_chart(const std::vector<ContestResult>& results, const MachineInfo& machine) {
  BarChart chart;
  chart.title = "Blockwise FP8 GEMM: speed relative to cuBLASLt";
  chart.subtitle = format("%s, driver %s, CUDA %s, cuBLASLt %s, %s; geometric mean %.2f",
                          machine.gpu.c_str(), machine.driver.c_str(), machine.cuda_runtime.c_str(),
                          machine.cublaslt.c_str(), machine.date.c_str(), geometric_mean(results));
  for (const ContestResult& result : results) {
    if (!result.has_peer()) continue;
    chart.bars.push_back({result.shape.name(), result.ratio(),
                          format("%.2f  (%.0f vs %.0f TFLOP/s)", result.ratio(),
                                 result.our_tflops(), result.peer_tflops())});
  }
  chart.reference = 1;
  chart.reference_label = "cuBLASLt";
  chart.axis_label =
      "time of cuBLASLt / time of this kernel (M x N x K, median of single launches)";
  return draw_bar_chart(chart);
}

}  // namespace bw
