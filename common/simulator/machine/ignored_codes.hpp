#pragma once
/// \file
/// Codes of reports that the user leaves out: BW_SIM_IGNORE=R08,R03.

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "common/simulator/base/fault_code.hpp"

namespace bw::sim {

/// The codes that reports leave out, and how often each has been left out. Any thread.
class IgnoredCodes {
 public:
  /// Those of the process's environment, read once.
  [[nodiscard]] static IgnoredCodes& of_process();
  /// Adds the codes of a list such as "R08,BW-R03". Returns what is wrong with it, or an empty
  /// text.
  [[nodiscard]] std::string add(std::string_view list);
  /// Whether reports of a code are left out.
  [[nodiscard]] bool contains(FaultCode code) const { return codes_.contains(code); }
  /// One has been left out, `count` times.
  void left_out(FaultCode code, uint64_t count = 1);
  /// "BW_SIM_IGNORE left out 3 reports: R03 once, R08 2 times"; empty if none is ignored.
  [[nodiscard]] std::string summary() const;

 private:
  std::set<FaultCode> codes_;
  mutable std::mutex mutex_;
  std::map<FaultCode, uint64_t> counts_;
};

}  // namespace bw::sim
