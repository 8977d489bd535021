#include "common/simulator/machine/warnings.hpp"

#include <algorithm>

namespace bw::sim {
namespace {

bool is_same_line(const Report& a, const Report& b) {
  if (FaultCode{a.code} != FaultCode{b.code} || a.places.size() != b.places.size()) return false;
  return std::equal(a.places.begin(), a.places.end(), b.places.begin(),
                    [](const ReportPlace& one, const ReportPlace& other) {
                      return one.line == other.line && one.path == other.path;
                    });
}

}  // namespace

void merge(std::vector<Warning>& all, const std::vector<Warning>& more) {
  for (const Warning& warning : more) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const Warning& other) {
      return is_same_line(other.report, warning.report);
    });
    if (known == all.end())
      all.push_back(warning);
    else
      known->count += warning.count;
  }
}

uint64_t count_of(const std::vector<Warning>& warnings, FaultCode code) noexcept {
  uint64_t count = 0;
  for (const Warning& warning : warnings)
    if (FaultCode{warning.report.code} == code) count += warning.count;
  return count;
}

uint64_t count_of(const std::vector<Warning>& warnings) noexcept {
  uint64_t count = 0;
  for (const Warning& warning : warnings) count += warning.count;
  return count;
}

}  // namespace bw::sim
