#include "common/simulator/clock/timing_table.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "common/simulator/isa/machine_description.hpp"

namespace bw::sim {
namespace {

enum class Number : size_t {
#define BW_TIMING_NUMBER(type, name, unit, sentence) name,
#include "common/simulator/clock/timing_numbers.inc"
#undef BW_TIMING_NUMBER
  count
};
constexpr auto kNumberCount = static_cast<size_t>(Number::count);

// Designated initialisers hold the table to the order of the members. The tables of the other
// machines list only differences: an unknown name does not compile.
// NOLINTBEGIN(bugprone-macro-parentheses): a member's name and a list's head take none.
constexpr TimingTable kH100 = {
#define BW_TIMING(name, value, source, origin) .name = value,
#include "common/simulator/clock/table_h100.inc"
#undef BW_TIMING
};
#define BW_TIMING(name, value, source, origin) table.name = {value};
constexpr TimingTable kH200 = [] {
  TimingTable table = kH100;
#include "common/simulator/clock/table_h200.inc"
  return table;
}();
constexpr TimingTable kB200 = [] {
  TimingTable table = kH100;
#include "common/simulator/clock/table_b200.inc"
  return table;
}();
#undef BW_TIMING

struct Value {
  double value;
  TimingSource source;
  std::string_view origin;
};
constexpr Value kH100Values[] = {
#define BW_TIMING(name, value, source, origin) {value, TimingSource::source, origin},
#include "common/simulator/clock/table_h100.inc"
#undef BW_TIMING
};
static_assert(std::size(kH100Values) == kNumberCount, "table_h100.inc gives every number");

/// The values of a machine that is described by its differences from an H100.
struct Differences {
  /// A throw in a constant expression does not compile.
  constexpr void give(Number number, Value value) {
    const auto index = static_cast<size_t>(number);
    if (is_given[index]) throw std::logic_error("the table gives a number twice");
    is_given[index] = true;
    if (value.value == values[index].value && value.source == values[index].source)
      throw std::logic_error("the table repeats what the machine has from an H100");
    values[index] = value;
  }
  Value values[kNumberCount] = {
#define BW_TIMING(name, value, source, origin) \
  {value, TimingSource::assumed, "as an H100: " origin},
#include "common/simulator/clock/table_h100.inc"
#undef BW_TIMING
  };
  bool is_given[kNumberCount] = {};
};
#define BW_TIMING(name, value, source, origin) \
  all.give(Number::name, {value, TimingSource::source, origin});
constexpr Differences kH200Values = [] {
  Differences all;
#include "common/simulator/clock/table_h200.inc"
  return all;
}();
constexpr Differences kB200Values = [] {
  Differences all;
#include "common/simulator/clock/table_b200.inc"
  return all;
}();
#undef BW_TIMING

using Numbers = std::array<TimingNumber, kNumberCount>;

constexpr Numbers numbers(const Value (&values)[kNumberCount]) {
  Numbers result = {{
#define BW_TIMING_NUMBER(type, name, unit, sentence) {#name, unit, sentence, 0, {}, {}},
#include "common/simulator/clock/timing_numbers.inc"
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
constexpr Numbers kH200Numbers = numbers(kH200Values.values);
constexpr Numbers kB200Numbers = numbers(kB200Values.values);

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
  throw std::logic_error("no timing table exists for the machine " + std::string(machine.name));
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
