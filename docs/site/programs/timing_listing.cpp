/// \file
/// Prints the numbers of the timing model for the site's page: one line a number and machine, its
/// fields separated by tabs (machine, name, unit, what it is, value, source, origin).
#include <iostream>

#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"

int main() {
  for (const bw::sim::MachineDescription& machine : bw::sim::machines())
    for (const bw::sim::TimingNumber& number : bw::sim::timing_numbers_of(machine))
      std::cout << machine.name << '\t' << number.name << '\t' << number.unit << '\t'
                << number.sentence << '\t' << number.value << '\t'
                << bw::sim::timing_source_name(number.source) << '\t' << number.origin << '\n';
  return std::cout.good() ? 0 : 1;
}
