#pragma once
/// \file
/// Runs PTX text in the simulator and looks at the memory afterwards.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/simulator/base/error.hpp"
#include "common/simulator/diagnosis/explain.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/units/units.hpp"
#include "tests/simulator/outcomes.hpp"

namespace bw::sim::test {

/// A module with one entry `k`: `parameters` as in ".param .u64 out, .param .u32 n"; `body` without
/// braces. `module_text` goes before the entry (global variables, functions), `directives` between
/// head and body.
[[nodiscard]] std::string entry(std::string_view parameters, std::string_view body,
                                std::string_view module_text = "",
                                std::string_view directives = "");

/// Settings for tests: few SMs, small memory, given seed, one host thread unless a test asks for
/// more.
[[nodiscard]] Settings test_settings(uint64_t seed = 0);

/// Typed device memory that a test reads and writes directly.
template <class T>
class Buffer {
 public:
  Buffer(DeviceMemory& memory, std::vector<T> values) : memory_(memory), count_(values.size()) {
    address_ = memory.allocate(count_ * sizeof(T), "test buffer");
    std::memcpy(data(), values.data(), count_ * sizeof(T));
  }
  ~Buffer() {
    note_memory(data(), count_ * sizeof(T));
    memory_.free(address_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] uint64_t address() const { return address_; }
  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(address_); }
  [[nodiscard]] T& operator[](size_t index) const { return data()[index]; }
  [[nodiscard]] std::vector<T> values() const { return {data(), data() + count_}; }

 private:
  DeviceMemory& memory_;
  size_t count_ = 0;
  uint64_t address_ = 0;
};

/// Adds what reports need, and the race detector if the device's settings ask for it.
void watch_with_races(Device& device);

class Runner {
 public:
  explicit Runner(Settings settings = test_settings())
      : device_(with_chosen(settings), all_units()) {
    watch_with_races(device_);
    note_launches(device_);
  }

  [[nodiscard]] Device& device() { return device_; }

  template <class T>
  [[nodiscard]] Buffer<T> buffer(std::vector<T> values) {
    return Buffer<T>(device_.memory(), std::move(values));
  }

  /// Loads `text` and runs entry `k` with the given parameter values (a Buffer passes its address).
  template <class... Arguments>
  LaunchResult run(const std::string& text, const LaunchConfiguration& configuration,
                   const Arguments&... arguments) try {
    const LoadedModule& module = device_.load(text, "test.ptx");
    const Kernel& kernel = device_.kernel(module, "k");
    return launch(kernel, configuration, value_of(arguments)...);
  } catch (const SimulationError& error) {
    note_report(error.report());
    throw;
  }

 private:
  template <class T>
  static auto value_of(const T& value) {
    if constexpr (requires { value.address(); }) {
      return value.address();
    } else {
      return value;
    }
  }
  template <class... Values>
  LaunchResult launch(const Kernel& kernel, const LaunchConfiguration& configuration,
                      Values... values) {
    const void* const pointers[sizeof...(values) + 1] = {&values..., nullptr};
    return explained(device_.launch(kernel, configuration, {pointers, sizeof...(values)}));
  }
  Device device_;
};

/// One CTA of `threads` threads.
[[nodiscard]] LaunchConfiguration threads(uint32_t count);
/// A grid of `ctas` CTAs in clusters of `cluster`.
[[nodiscard]] LaunchConfiguration grid(uint32_t ctas, uint32_t threads_per_cta,
                                       uint32_t cluster = 1);

/// Whether a rule names the PTX ISA in the one way that reports have: at its end, with the section.
inline bool cites_properly(const std::string& rule) {
  const size_t at = rule.find("PTX ISA");
  if (at == std::string::npos) return true;
  constexpr std::string_view kBefore = " (PTX ISA, \"", kAfter = "\")";
  const size_t begin = rule.find(kBefore);
  return begin != std::string::npos && begin + 2 == at && begin != 0 && rule.ends_with(kAfter) &&
         rule.size() > begin + kBefore.size() + kAfter.size() &&
         rule.find("PTX ISA", at + 1) == std::string::npos;
}

/// Runs `action`, expects a SimulationError of the kind whose text contains all `parts`; returns
/// the report.
template <class Action>
Report expect_fault(FaultKind kind, const std::vector<std::string>& parts, Action&& action) {
  try {
    action();
  } catch (const SimulationError& error) {
    note_report(error.report());
    EXPECT_EQ(error.report().kind(), kind) << error.what();
    for (const std::string& part : parts)
      EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos)
          << "missing \"" << part << "\" in:\n"
          << error.what();
    EXPECT_TRUE(cites_properly(error.report().rule)) << error.report().rule;
    return error.report();
  }
  ADD_FAILURE() << "no fault; expected a " << fault_kind_name(kind);
  return {.code = FaultCode::ptx_malformed};
}

/// The same for one code.
template <class Action>
Report expect_fault(FaultCode code, const std::vector<std::string>& parts, Action&& action) {
  Report report = expect_fault(row_of(code).kind, parts, std::forward<Action>(action));
  EXPECT_EQ(row_of(report.code).id, row_of(code).id) << report.format();
  return report;
}

}  // namespace bw::sim::test
