#include "common/simulator/session/session.hpp"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/error.hpp"
#include "common/simulator/base/report_text.hpp"
#include "common/simulator/diagnosis/explain.hpp"
#include "common/simulator/machine/ignored_codes.hpp"
#include "common/simulator/ptx/parser.hpp"
#include "common/simulator/session/report_json.hpp"
#include "common/simulator/trace/json.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::session {
namespace {

using trace::Fields;
using trace::List;

Settings settings_for(std::string_view machine, std::string_view ptx) {
  const MachineDescription* fallback = find_machine(machine);
  if (fallback == nullptr && !machine.empty()) {
    throw SimulationError(Report{.code = FaultCode::setting_invalid,
                                 .what = fmt::format("the machine is \"{}\", which is not a "
                                                     "machine that is known here: {}",
                                                     machine, machine_names())});
  }
  if (fallback == nullptr) {
    fallback = machines().data();
    const PtxTarget target =
        ptx.empty() ? PtxTarget{} : parse_target(ptx::parse(ptx, "the module")->target);
    for (const MachineDescription& one : machines()) {
      if (target.suffix == '\0' || fitness(one, target) <= 0) continue;
      fallback = &one;
      break;
    }
  }
  Settings settings = Settings::from_environment(*fallback);
  if constexpr (!kSharesAddresses) settings.host_threads = 1;  // a page's module has one thread
  return settings;
}

/// With the text that a program would print.
std::string shown_json(const Report& report) {
  const std::string fields = report_json(report, 1);
  const std::string shown = present(report, {.shows_code = true});
  return fmt::format("{},\"shown\":{}}}", fields.substr(0, fields.size() - 1),
                     trace::json_string(shown));
}

std::string extents(const uint32_t (&sizes)[3]) {
  List list;
  if (sizes[0] != 0)
    for (const uint32_t size : sizes) list.add(std::to_string(size == 0 ? 1 : size));
  return list.json();
}

std::string parameters_json(const ptx::Function& function, const Kernel& kernel) {
  List list;
  for (size_t i = 0; i < kernel.parameters().size(); ++i) {
    const ptx::Variable& variable = *function.parameters[i];
    list.add(Fields()
                 .add("name", variable.name)
                 .add("offset", kernel.parameters()[i].offset_bytes)
                 .add("bytes", kernel.parameters()[i].size_bytes)
                 .add("type", std::string_view(ptx::type_name(variable.type)))
                 .object());
  }
  return list.json();
}

}  // namespace

std::string failure_json(const Report& report) {
  return fmt::format("{{\"status\":\"failed\",\"reports\":[{}]}}", shown_json(report));
}

Session::Session(std::string_view machine, std::string_view ptx)
    : device_(settings_for(machine, ptx), all_units()), equipment_(equip(device_)) {}

size_t Session::load(std::string_view ptx, std::string name,
                     const std::map<std::string, uint32_t>& registers) {
  std::unique_ptr<ptx::Module> module = ptx::parse(ptx, std::move(name));
  for (const auto& function : module->functions)
    if (const auto found = registers.find(function->name); found != registers.end())
      function->machine_registers = found->second;
  modules_.push_back(&device_.load(std::move(module)));
  return modules_.size() - 1;
}

std::string Session::kernels(size_t module) {
  const LoadedModule& loaded = *modules_.at(module);
  List list;
  for (const auto& function : loaded.ptx().functions) {
    if (!function->is_entry || !function->is_defined) continue;
    Fields fields;
    fields.add("name", function->name);
    try {
      const Kernel& kernel = device_.kernel(loaded, function->name);
      const ptx::EntryDirectives& directives = function->directives;
      fields.add("shown", kernel.name())
          .add_raw("parameters", parameters_json(*function, kernel))
          .add_raw("threads",
                   extents(directives.required_threads[0] != 0 ? directives.required_threads
                                                               : directives.max_threads))
          .add_raw("cluster", extents(directives.required_cluster))
          .add("shared", kernel.static_shared_bytes());
    } catch (const SimulationError& error) {
      fields.add("shown", function->name).add_raw("refused", shown_json(error.report()));
    }
    list.add(fields.object());
  }
  return list.json();
}

uint64_t Session::allocate(size_t bytes, std::string description) {
  const uint64_t address = device_.memory().allocate(bytes, std::move(description));
  if (address != 0 && equipment_.written != nullptr) equipment_.written->add(address, bytes);
  return address;
}

bool Session::free(uint64_t address) {
  if (equipment_.written != nullptr) equipment_.written->remove(address);
  return device_.memory().free(address);
}

void Session::note_write(uint64_t address, size_t bytes, bool through_l2) {
  if (equipment_.written != nullptr) equipment_.written->write(address, bytes);
  if (L2Cache* const cache = through_l2 ? device_.l2_cache() : nullptr; cache != nullptr)
    cache->write(address, bytes);
}

std::string Session::launch(const LaunchRequest& request) {
  List reports;
  const auto show_warnings = [&] {
    for (const Warning& warning : std::exchange(device_.warnings(), {})) {
      if (IgnoredCodes::of_process().contains(warning.report.code)) continue;
      const size_t before = shown_.size();
      merge(shown_, {warning});
      if (shown_.size() != before) reports.add(shown_json(warning.report));
    }
  };
  Fields fields;
  try {
    const Kernel& kernel = device_.kernel(*modules_.at(request.module), request.kernel);
    if (request.arguments.size() != kernel.parameter_bytes()) {
      throw SimulationError(Report{
          .code = FaultCode::launch_arguments,
          .what = fmt::format("{} takes {} bytes of parameters, {} were given", kernel.name(),
                              kernel.parameter_bytes(), request.arguments.size())});
    }
    std::vector<const void*> arguments;
    for (const ParameterLayout& parameter : kernel.parameters())
      arguments.push_back(request.arguments.data() + parameter.offset_bytes);
    LaunchResult result = device_.launch(kernel, request.configuration, arguments);
    // No host can write what its threads wait for.
    while (result.status == RunStatus::waiting) {
      const std::shared_ptr<Grid> grid = result.stuck;
      const bool is_hopeless = grid->idle_cycles() > device_.settings().livelock_cycles;
      result = is_hopeless ? grid->report_livelock() : device_.resume(grid);
      if (is_hopeless) result.stuck = grid;
    }
    result = explained(std::move(result));
    show_warnings();
    fields.add("status", "finished")
        .add("cycles", result.cycles)
        .add("instructions", result.warp_instructions)
        .add("clusters", result.clusters);
  } catch (const SimulationError& error) {
    show_warnings();
    reports.add(shown_json(error.report()));
    fields.add("status", "failed");
  }
  return fields.add_raw("reports", reports.json()).object();
}

}  // namespace bw::sim::session
