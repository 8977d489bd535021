/// \file
/// Prints what the simulator does with instruction forms: for each line of the standard input,
/// `machine target registers instruction` separated by tabs, one of `executed`, `refused` (by name
/// or for its operands) and `unknown`, and the version of PTX that its opcode came with ("-" up to
/// 9.0), in the same order.
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include "common/simulator/base/error.hpp"
#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/isa/machine_description.hpp"
#include "common/simulator/isa/ptx_version.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/units/units.hpp"

namespace {

bw::sim::Settings settings_for(std::string_view machine) {
  constexpr size_t kMemoryBytes = size_t{1} << 24;
  bw::sim::Settings settings;
  settings.machine = bw::sim::find_machine(machine);
  settings.sm_count = 1;
  settings.host_threads = 1;
  settings.memory_bytes = kMemoryBytes;
  settings.timing = bw::sim::TimingModel::simple;
  return settings;
}

/// The opcode of "opcode operands".
std::string_view opcode_of(std::string_view instruction) {
  return instruction.substr(0, instruction.find(' '));
}

std::string_view status_of(bw::sim::Device& device, std::string_view target,
                           std::string_view registers, std::string_view instruction) {
  if (!bw::sim::find_form(opcode_of(instruction)).has_value()) return "unknown";
  std::string text = ".version 9.5\n.target ";
  text.append(target).append("\n.address_size 64\n.entry k() {\n").append(registers);
  text.append("\n").append(instruction).append(";\nret;\n}\n");
  try {
    const bw::sim::LoadedModule& module = device.load(text, "form.ptx");
    device.kernel(module, "k");
    device.unload(module);
    return "executed";
  } catch (const bw::sim::SimulationError&) {
    return "refused";
  }
}

}  // namespace

int main() {
  std::map<std::string, bw::sim::Device> devices;
  for (std::string line; std::getline(std::cin, line);) {
    std::string_view rest = line;
    std::string_view fields[4];
    for (std::string_view& field : fields) {
      const size_t end = rest.find('\t');
      field = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    const std::string machine(fields[0]);
    if (bw::sim::find_machine(machine) == nullptr) {
      std::cerr << "form_status: \"" << machine << "\" is not a machine; the machines are "
                << bw::sim::machine_names() << ".\n";
      return 1;
    }
    const auto device =
        devices.try_emplace(machine, settings_for(machine), bw::sim::all_units()).first;
    const std::string_view version = bw::sim::introduced_in(opcode_of(fields[3]));
    std::cout << status_of(device->second, fields[1], fields[2], fields[3]) << '\t'
              << (version.empty() ? "-" : version) << '\n';
  }
  return std::cout.good() ? 0 : 1;
}
