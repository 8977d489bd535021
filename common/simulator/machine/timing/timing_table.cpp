#include "common/simulator/machine/timing/timing_table.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "common/simulator/machine/machine_description.hpp"

namespace bw::sim {
namespace {

// Designated initialisers hold the tables to the order of the members.
// NOLINTBEGIN(bugprone-macro-parentheses): a member's name and a list's head take none.
constexpr TimingTable kH100 = {
#define BW_TIMING(name, value, source, origin) .name = value,
#include "common/simulator/machine/timing/table_h100.inc"
};
constexpr TimingTable kH200 = {
#include "common/simulator/machine/timing/table_h200.inc"
};
constexpr TimingTable kB200 = {
#include "common/simulator/machine/timing/table_b200.inc"
#undef BW_TIMING
};

constexpr size_t kNumberCount = 0
#define BW_TIMING_NUMBER(type, name, unit, sentence) +1
#include "common/simulator/machine/timing/timing_numbers.inc"
#undef BW_TIMING_NUMBER
    ;

struct Value {
  double value;
  TimingSource source;
  std::string_view origin;
};
constexpr Value kH100Values[] = {
#define BW_TIMING(name, value, source, origin) {value, TimingSource::source, origin},
#include "common/simulator/machine/timing/table_h100.inc"
};
constexpr Value kH200Values[] = {
#include "common/simulator/machine/timing/table_h200.inc"
};
constexpr Value kB200Values[] = {
#include "common/simulator/machine/timing/table_b200.inc"
#undef BW_TIMING
};
static_assert(std::size(kH100Values) == kNumberCount, "table_h100.inc gives every number");
static_assert(std::size(kH200Values) == kNumberCount, "table_h200.inc gives every number");
static_assert(std::size(kB200Values) == kNumberCount, "table_b200.inc gives every number");

using Numbers = std::array<TimingNumber, kNumberCount>;

constexpr Numbers numbers(const Value (&values)[kNumberCount]) {
  Numbers result = {{
#define BW_TIMING_NUMBER(type, name, unit, sentence) {#name, unit, sentence, 0, {}, {}},
#include "common/simulator/machine/timing/timing_numbers.inc"
#undef BW_TIMING_NUMBER
  }};
  for (size_t index = 0; index < kNumberCount; ++index) {
    result[index].value = values[index].value;
    result[index].source = values[index].source;
    result[index].origin = values[index].origin;
  }
  return result;
}
// NOLINTEND(bugprone-macro-parentheses)
constexpr Numbers kH100Numbers = numbers(kH100Values);
constexpr Numbers kH200Numbers = numbers(kH200Values);
constexpr Numbers kB200Numbers = numbers(kB200Values);

struct MachineTimes {
  std::string_view machine;
  const TimingTable& table;
  std::span<const TimingNumber> numbers;
};
constexpr MachineTimes kMachines[] = {
    {"b200", kB200, kB200Numbers}, {"h100", kH100, kH100Numbers}, {"h200", kH200, kH200Numbers}};

const MachineTimes& find(const MachineDescription& machine) {
  for (const MachineTimes& known : kMachines)
    if (known.machine == machine.name) return known;
  throw std::logic_error("there is no timing table of the machine " + std::string(machine.name));
}

}  // namespace

const char* timing_source_name(TimingSource source) noexcept {
  switch (source) {
    case TimingSource::measured:
      return "measured";
    case TimingSource::fitted:
      return "fitted";
    case TimingSource::published:
      return "published";
    case TimingSource::assumed:
      return "assumed";
  }
  return "";
}

const TimingTable& times_of(const MachineDescription& machine) { return find(machine).table; }

std::span<const TimingNumber> timing_numbers_of(const MachineDescription& machine) {
  return find(machine).numbers;
}

}  // namespace bw::sim
