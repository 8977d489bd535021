#include "common/simulator/cudart/image/replacement.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "common/simulator/base/error.hpp"
#include "common/simulator/cudart/runtime/launch_file.hpp"

namespace bw::sim::cudart {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file) return text;
  Report report{.code = FaultCode::replacement_unreadable};
  report.what =
      "the PTX file " + path + ", which BW_SIM_PTX names, can't be read: " + std::strerror(errno);
  report.fix = "name files that exist, separated by colons, or unset BW_SIM_PTX";
  throw SimulationError(std::move(report));
}

}  // namespace

ReplacementPtx::ReplacementPtx() {
  const char* const value = std::getenv("BW_SIM_PTX");
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (end != 0) files_.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void ReplacementPtx::load(Device& device) {
  while (modules_.size() < files_.size()) {
    const std::string& path = files_[modules_.size()];
    const std::string text = read_file(path);
    modules_.push_back(&device.load(text, path));
    if (LaunchFile* const file = LaunchFile::instance()) file->note_module(*modules_.back(), text);
  }
}

LoadedModule* ReplacementPtx::find_kernel(Device& device, std::string_view name) {
  load(device);
  const auto holds = [&](const LoadedModule* module) {
    const ptx::Function* const function = module->ptx().find_function(name);
    return function != nullptr && function->is_entry;
  };
  const auto found = std::find_if(modules_.begin(), modules_.end(), holds);
  return found == modules_.end() ? nullptr : *found;
}

uint64_t ReplacementPtx::find_variable(Device& device, std::string_view name) {
  load(device);
  for (const LoadedModule* const module : modules_)
    if (const uint64_t address = module->variable_address(name); address != 0) return address;
  return 0;
}

void ReplacementPtx::note_launch(const Kernel& kernel, bool replaced) {
  used_ = used_ || replaced;
  if (!files_.empty() && !replaced &&
      std::find(other_launches_.begin(), other_launches_.end(), kernel.name()) ==
          other_launches_.end())
    other_launches_.push_back(kernel.name());
}

Report ReplacementPtx::complaint() const {
  Report report{.code = FaultCode::replacement_unused};
  report.what = "none of the kernels in the files of BW_SIM_PTX was launched";
  report.details.emplace_back(other_launches_.empty() ? "the program launched no kernel at all"
                                                      : "what was launched instead:");
  for (const std::string& name : other_launches_) report.details.push_back("    " + name);
  report.rule =
      "a kernel is taken from the files by its mangled name; a kernel in an anonymous"
      " namespace has another one in each compilation";
  report.fix = "compile the source that holds the kernel which the program launches";
  return report;
}

}  // namespace bw::sim::cudart
