#include "tests/benchmarks/hopper/grid_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <functional>

namespace bw {
namespace {

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  char text[256];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

long long whole(int64_t number) { return static_cast<long long>(number); }

std::string machine_line(const MachineInfo& machine) {
  const std::time_t now = std::time(nullptr);
  char date[16];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return formatted("# %s, driver %s, CUDA %s, cuBLASLt %s, %s\n", machine.gpu.c_str(),
                   machine.driver.c_str(), machine.cuda_runtime.c_str(), machine.cublaslt.c_str(),
                   date);
}

std::string shape_columns(const Shape& shape, double beta) {
  return formatted("%lld,%lld,%lld,%g", whole(shape.m), whole(shape.n), whole(shape.k), beta);
}

std::string ratio_line(const char* name, const std::vector<GridResult>& results,
                       const std::function<double(const GridResult&)>& ratio) {
  double logarithms = 0, smallest = INFINITY;
  int count = 0;
  for (const GridResult& result : results) {
    if (!result.cublaslt) continue;
    logarithms += std::log(ratio(result));
    smallest = std::min(smallest, ratio(result));
    ++count;
  }
  if (count == 0) return "";
  return formatted("cuBLASLt / ours, %s: geometric mean %.3f, smallest %.3f (%d shapes)\n", name,
                   std::exp(logarithms / count), smallest, count);
}

}  // namespace

std::string grid_row_header() {
  return formatted("%-18s %-24s %9s %9s %6s %9s %9s %6s", "M x N x K", "configuration", "warm us",
                   "cuBLASLt", "ratio", "cold us", "cuBLASLt", "ratio");
}

std::string grid_row(const GridResult& r) {
  if (!r.cublaslt) {
    return formatted("%-18s %-24s %9.2f %9s %6s %9.2f %9s %6s", r.shape.name().c_str(),
                     r.config.c_str(), r.ours.warm, "none", "", r.ours.cold, "none", "");
  }
  return formatted("%-18s %-24s %9.2f %9.2f %6.3f %9.2f %9.2f %6.3f", r.shape.name().c_str(),
                   r.config.c_str(), r.ours.warm, r.cublaslt->warm, r.cublaslt->warm / r.ours.warm,
                   r.ours.cold, r.cublaslt->cold, r.cublaslt->cold / r.ours.cold);
}

std::string grid_summary(const std::vector<GridResult>& results) {
  return ratio_line("warm", results,
                    [](const GridResult& r) { return r.cublaslt->warm / r.ours.warm; }) +
         ratio_line("cold", results,
                    [](const GridResult& r) { return r.cublaslt->cold / r.ours.cold; });
}

std::string grid_csv(const std::vector<GridResult>& results, double beta,
                     const MachineInfo& machine) {
  std::string text = machine_line(machine) +
                     "m,n,k,beta,config,ours_warm_us,cublaslt_warm_us,ours_cold_us,"
                     "cublaslt_cold_us\n";
  for (const GridResult& r : results) {
    text += shape_columns(r.shape, beta) + "," + r.config;
    if (r.cublaslt) {
      text += formatted(",%.2f,%.2f,%.2f,%.2f\n", r.ours.warm, r.cublaslt->warm, r.ours.cold,
                        r.cublaslt->cold);
    } else {
      text += formatted(",%.2f,,%.2f,\n", r.ours.warm, r.ours.cold);
    }
  }
  return text;
}

std::string grid_configs_csv(const std::vector<GridResult>& results, double beta,
                             const MachineInfo& machine) {
  std::string text = machine_line(machine) + "m,n,k,beta,config,warm_us,cold_us\n";
  for (const GridResult& r : results) {
    for (const auto& [name, times] : r.configs) {
      text += shape_columns(r.shape, beta) + "," + name +
              formatted(",%.2f,%.2f\n", times.warm, times.cold);
    }
  }
  return text;
}

}  // namespace bw
