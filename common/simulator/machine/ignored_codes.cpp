#include "common/simulator/machine/ignored_codes.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"

namespace bw::sim {
namespace {

constexpr std::string_view kPrefix = "BW-";

}  // namespace

IgnoredCodes& IgnoredCodes::of_process() {
  static auto* const codes = [] {
    auto* const read = new IgnoredCodes;  // lives to the end of the process
    if (const char* const list = std::getenv("BW_SIM_IGNORE"); list != nullptr)
      static_cast<void>(read->add(list));  // Settings::from_environment() refuses a wrong one
    return read;
  }();
  return *codes;
}

std::string IgnoredCodes::add(std::string_view list) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (one.starts_with(kPrefix)) one.remove_prefix(kPrefix.size());
    const auto rows = fault_codes();
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const FaultCodeRow& candidate) {
      return candidate.id.substr(kPrefix.size()) == one;
    });
    if (row == rows.end())
      return "a list of codes of reports, separated by commas: R03,R08 (docs/codes lists them)";
    codes_.insert(row->code);
  }
  return {};
}

void IgnoredCodes::left_out(FaultCode code, uint64_t count) {
  const std::lock_guard lock(mutex_);
  counts_[code] += count;
}

std::string IgnoredCodes::summary() const {
  const std::lock_guard lock(mutex_);
  if (codes_.empty()) return {};
  uint64_t all = 0;
  std::string text;
  for (const auto& [code, count] : counts_) {
    all += count;
    text +=
        fmt::format("{} {} {}", text.empty() ? ":" : ",", row_of(code).id.substr(kPrefix.size()),
                    count == 1 ? "once" : counted(count, "time"));
  }
  return fmt::format("BW_SIM_IGNORE left out {}{}", all == 0 ? "no report" : counted(all, "report"),
                     text);
}

}  // namespace bw::sim
