#include "tests/benchmarks/hopper/grid_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <functional>
#include <iterator>
#include <limits>

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

std::string grid_machine_line(const MachineInfo& machine) {
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

/// A geometric mean with its smallest member; "" without any.
std::string ratio_line(const std::string& name, const std::vector<double>& ratios) {
  if (ratios.empty()) return "";
  double logarithms = 0;
  for (const double ratio : ratios) logarithms += std::log(ratio);
  return formatted("%s: geometric mean %.3f, smallest %.3f (%zu shapes)\n", name.c_str(),
                   std::exp(logarithms / static_cast<double>(ratios.size())),
                   *std::min_element(ratios.begin(), ratios.end()), ratios.size());
}

/// The same of cuBLASLt's time over ours.
std::string cublaslt_line(const char* name, const std::vector<GridResult>& results,
                          const std::function<double(const GridResult&)>& ratio) {
  std::vector<double> ratios;
  for (const GridResult& result : results) {
    if (result.cublaslt) ratios.push_back(ratio(result));
  }
  return ratio_line(std::string("cuBLASLt / ours, ") + name, ratios);
}

/// Numbers of rows that limit the same things.
struct RowRange {
  const char* name;
  int64_t most;
};
constexpr RowRange kRowRanges[] = {{"up to 64 rows", 64},
                                   {"65 to 512 rows", 512},
                                   {"more rows", std::numeric_limits<int64_t>::max()}};

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
  return cublaslt_line("warm", results,
                       [](const GridResult& r) { return r.cublaslt->warm / r.ours.warm; }) +
         cublaslt_line("cold", results,
                       [](const GridResult& r) { return r.cublaslt->cold / r.ours.cold; });
}

std::string grid_peer_text(const std::vector<GridResult>& results, const PeerTimes& peer) {
  const auto ratios = peer.ratios(results);
  std::string text = formatted("%-18s %-24s %s / ours: %s %s\n", "M x N x K", "configuration",
                               peer.name().c_str(), "warm", "cold");
  std::vector<double> warm, cold;
  std::vector<double> of_range[std::size(kRowRanges)];
  for (size_t i = 0; i < results.size(); ++i) {
    if (!ratios[i]) continue;
    const Shape& shape = results[i].shape;
    text += formatted("%-18s %-24s %22.3f %.3f\n", shape.name().c_str(), results[i].config.c_str(),
                      ratios[i]->warm, ratios[i]->cold);
    warm.push_back(ratios[i]->warm);
    cold.push_back(ratios[i]->cold);
    size_t range = 0;
    while (shape.m > kRowRanges[range].most) ++range;
    of_range[range].push_back(ratios[i]->warm);
  }
  if (warm.empty()) return peer.name() + " has times of none of these shapes.\n";
  const std::string head = peer.name() + " / ours, ";
  text += ratio_line(head + "warm", warm) + ratio_line(head + "cold", cold);
  for (size_t range = 0; range < std::size(kRowRanges); ++range) {
    text += ratio_line(head + "warm, " + kRowRanges[range].name, of_range[range]);
  }
  return text;
}

std::string grid_csv(const std::vector<GridResult>& results, double beta,
                     const MachineInfo& machine) {
  std::string text = grid_machine_line(machine) +
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
  std::string text = grid_machine_line(machine) + "m,n,k,beta,config,warm_us,cold_us\n";
  for (const GridResult& r : results) {
    for (const auto& [name, times] : r.configs) {
      text += shape_columns(r.shape, beta) + "," + name +
              formatted(",%.2f,%.2f\n", times.warm, times.cold);
    }
  }
  return text;
}

}  // namespace bw
