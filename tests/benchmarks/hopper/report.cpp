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

/// All ways of comparing, with their names in the CSV file.
struct NamedMethod {
  const char* name;
  Method method;
};
constexpr NamedMethod kMethods[] = {
    {"single", single_launches}, {"graph", graph_launches}, {"queued", queued_launches}};

double smallest_ratio(const std::vector<ContestResult>& results, Method method) {
  double smallest = HUGE_VAL;
  for (const ContestResult& result : results) {
    const TimePair* comparison = method(result);
    if (result.has_peer() && comparison != nullptr) {
      smallest = std::min(smallest, comparison->ratio());
    }
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
      "| TMA from L2 | SMs | under way per SM | arriving, bytes per clock and SM | read from L2,"
      " bytes per clock and SM | arriving, TB/s |\n|---|---|---|---|---|---|\n";
  for (const TmaRate& rate : rates) {
    const std::string name = rate.cluster == 1
                                 ? "no multicast"
                                 : "multicast to " + std::to_string(rate.cluster) + " CTAs";
    text += format("| %s | %d | %d KiB | %.1f | %.1f | %.2f |\n", name.c_str(),
                   rate.multiprocessors, rate.bytes_under_way / 1024, rate.bytes_per_clock_per_sm,
                   rate.l2_bytes_per_clock_per_sm, rate.terabytes_per_second);
  }
  return text;
}

std::string shared_markdown(const std::vector<SharedRate>& rates) {
  std::string text =
      "The wgmma loop while TMA writes boxes into the same shared memory; bytes per clock and SM."
      "\n\n| wgmma | SMs | TMA should write | TMA wrote | wgmma reads at full rate | of the tensor"
      " pipe | clock while it ran |\n|---|---|---|---|---|---|---|\n";
  for (const SharedRate& rate : rates) {
    text += format("| %s | %d | %.0f | %.1f | %.0f | %.1f %% | %.3f GHz |\n", rate.form.c_str(),
                   rate.multiprocessors, rate.wanted_bytes_per_clock, rate.written_bytes_per_clock,
                   rate.read_bytes_per_clock, 100 * rate.pipe_share, rate.clock_ghz);
  }
  return text;
}

std::string accumulation_markdown(const std::vector<AccumulationBits>& bits) {
  std::string text =
      "What is left of a small product added to one 2^distance as large (1: all, 0: nothing).\n\n"
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

double geometric_mean(const std::vector<ContestResult>& results, Method method) {
  double logarithms = 0;
  int count = 0;
  for (const ContestResult& result : results) {
    const TimePair* comparison = method(result);
    if (!result.has_peer() || comparison == nullptr) continue;
    logarithms += std::log(comparison->ratio());
    ++count;
  }
  return count == 0 ? 0.0 : std::exp(logarithms / count);
}

std::string floor_markdown(const Floor& floor) {
  std::string text = tensor_markdown(floor.tensor);
  text += format("\nShares of the floor are of the highest rate here: %.0f TFLOP/s.\n",
                 floor.best_tflops());
  text += format(
      "\n| device memory | TB/s |\n|---|---|\n| copy, read and written | %.2f |\n"
      "| read | %.2f |\n\n",
      floor.memory.copy * 1e-12, floor.memory.read * 1e-12);
  return text + tma_markdown(floor.tma) + "\n" + shared_markdown(floor.shared) + "\n" +
         accumulation_markdown(floor.accumulation);
}

std::string empty_launch_text(const EmptyLaunch& empty) {
  std::string text;
  const auto add = [&](const std::optional<MedianTime>& time, const char* how) {
    if (!time) return;
    text += format("%s %.1f us %s", text.empty() ? "" : ",", time->microseconds, how);
  };
  add(empty.single, "launched alone");
  add(empty.graph, "alone as a graph");
  add(empty.queued, "queued");
  return "An empty kernel:" + text + ".";
}

std::string results_markdown(const Results& results) {
  const bool has_floor = results.floor.best_tflops() > 0;
  const auto any_has = [&](Method method) {
    return std::any_of(results.shapes.begin(), results.shapes.end(),
                       [&](const ContestResult& result) { return method(result) != nullptr; });
  };
  const bool has_graph = any_has(graph_launches);
  const bool has_second = any_has(single_launches) && any_has(queued_launches);
  std::string text = machine_line(results.machine) + "\n\n" + empty_launch_text(results.empty);
  text += has_graph ? " The first columns are of single launches, ours by a plan, cuBLASLt's by its"
                      " call. \"As a graph\": that call captured in a graph, as our plan is.\n\n"
                    : "\n\n";
  text +=
      "| M | N | K | beta | configuration | ours | TFLOP/s | spread | cuBLASLt | TFLOP/s | spread |"
      " ratio | of the floor | error, ours / cuBLASLt |";
  if (has_graph) text += " cuBLASLt as a graph | ratio |";
  if (has_second) text += " queued: ours | cuBLASLt | ratio |";
  text += "\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";
  if (has_graph) text += "---|---|";
  text += has_second ? "---|---|---|\n" : "\n";
  for (const ContestResult& result : results.shapes) {
    const TimePair& first = result.headline();
    text += format("| %lld | %lld | %lld | %g | %s | %.1f us | %.0f | %.1f %% |",
                   static_cast<long long>(result.shape.m), static_cast<long long>(result.shape.n),
                   static_cast<long long>(result.shape.k), result.beta, result.config.c_str(),
                   first.ours.microseconds, result.our_tflops(), 100 * first.ours.spread);
    text += result.has_peer()
                ? format(" %.1f us | %.0f | %.1f %% | %.3f |", first.peer.microseconds,
                         result.peer_tflops(), 100 * first.peer.spread, first.ratio())
                : std::string(" no algorithm | | | |");
    text += has_floor
                ? format(" %.1f %% |", 100 * results.floor.limit(result.shape, result.beta != 0) /
                                           first.ours.microseconds)
                : std::string(" |");
    text += result.has_peer() ? format(" %.4f |", result.our_error / result.peer_error)
                              : std::string(" |");
    if (has_graph) {
      text += result.has_peer() ? format(" %.1f us | %.3f |", result.graph->peer.microseconds,
                                         result.graph->ratio())
                                : std::string(" | |");
    }
    if (has_second) {
      text += format(" %.1f us |", result.queued->ours.microseconds);
      text += result.has_peer() ? format(" %.1f us | %.3f |", result.queued->peer.microseconds,
                                         result.queued->ratio())
                                : std::string(" | |");
    }
    text += "\n";
  }
  const auto mean_text = [&](const char* name, Method method) {
    const double mean = geometric_mean(results.shapes, method);
    if (mean == 0) return std::string();
    return format("\nGeometric mean of the ratios, %s: %.3f; the smallest: %.3f.\n", name, mean,
                  smallest_ratio(results.shapes, method));
  };
  return text + mean_text("single launches", single_launches) +
         mean_text("single launches, cuBLASLt as a graph", graph_launches) +
         mean_text("queued launches", queued_launches);
}

std::string results_csv(const Results& results) {
  std::string text =
      "date,gpu,driver,cuda,cublaslt,m,n,k,beta,config,our_error,peer_error,peer_algorithms,"
      "limit_us";
  for (const auto& [name, method] : kMethods) {
    for (const char* column :
         {"our_us", "our_spread", "peer_us", "peer_spread", "peer_algorithm", "ratio"}) {
      text += format(",%s_%s", name, column);
    }
  }
  text += "\n";
  const MachineInfo& machine = results.machine;
  for (const ContestResult& result : results.shapes) {
    text += format("%s,%s,%s,%s,%s,", machine.date.c_str(), machine.gpu.c_str(),
                   machine.driver.c_str(), machine.cuda_runtime.c_str(), machine.cublaslt.c_str());
    text += format("%lld,%lld,%lld,%g,%s,%.8f,", static_cast<long long>(result.shape.m),
                   static_cast<long long>(result.shape.n), static_cast<long long>(result.shape.k),
                   result.beta, result.config.c_str(), result.our_error);
    text += result.has_peer() ? format("%.8f,", result.peer_error) : std::string(",");
    text += format("%d,", result.peer_algorithms);
    if (results.floor.best_tflops() > 0) {
      text += format("%.3f", results.floor.limit(result.shape, result.beta != 0));
    }
    for (const auto& [name, method] : kMethods) {
      const TimePair* comparison = method(result);
      if (comparison == nullptr) {
        text += ",,,,,,";
        continue;
      }
      text += format(",%.3f,%.4f", comparison->ours.microseconds, comparison->ours.spread);
      text += result.has_peer()
                  ? format(",%.3f,%.4f,%d,%.4f", comparison->peer.microseconds,
                           comparison->peer.spread, comparison->peer_algorithm, comparison->ratio())
                  : std::string(",,,,");
    }
    text += "\n";
  }
  return text;
}

std::string results_chart(const Results& results) {
  BarChart chart;
  const double beta = results.shapes.empty() ? 0 : results.shapes.front().beta;
  chart.title = "Blockwise FP8 GEMM on Hopper" + (beta == 0 ? "" : format(", plus %g x C", beta)) +
                ": speed relative to cuBLASLt";
  const MachineInfo& machine = results.machine;
  chart.subtitle =
      format("%s, driver %s, CUDA %s, cuBLASLt %s, %s", machine.gpu.c_str(), machine.driver.c_str(),
             machine.cuda_runtime.c_str(), machine.cublaslt.c_str(), machine.date.c_str());
  for (const ContestResult& result : results.shapes) {
    if (!result.has_peer()) continue;
    Bar bar{result.shape.name(), result.ratio(),
            format("%.2f  (%.0f vs %.0f TFLOP/s)", result.ratio(), result.our_tflops(),
                   result.peer_tflops()),
            std::nullopt};
    if (result.graph) bar.second = result.graph->ratio();
    chart.bars.push_back(bar);
  }
  chart.reference = 1;
  chart.reference_label = "cuBLASLt";
  chart.axis_label = "time of cuBLASLt / time of this kernel (M x N x K)";
  const double single = geometric_mean(results.shapes, single_launches);
  chart.bar_legend = single > 0 ? format("single launches: geometric mean %.3f", single)
                                : format("queued launches: geometric mean %.3f",
                                         geometric_mean(results.shapes, queued_launches));
  chart.second_legend = format("cuBLASLt's call as a graph, too: %.3f",
                               geometric_mean(results.shapes, graph_launches));
  return draw_bar_chart(chart);
}

}  // namespace bw
