#include "common/simulator/cudart/runtime/runtime.hpp"

#include <errno.h>
#include <sysexits.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/cudart/image/image.hpp"
#include "common/simulator/cudart/runtime/launch_file.hpp"
#include "common/simulator/cudart/runtime/reporting.hpp"
#include "common/simulator/machine/ignored_codes.hpp"
#include "common/simulator/session/equip.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::cudart {
namespace {

std::string image_name(size_t number) {
  return fmt::format("{} (embedded PTX {})", program_invocation_short_name, number);
}

// A program that ends well without the kernels that it was to run would look verified.
void check_replacement_was_used() {
  const ReplacementPtx& replacement = Runtime::instance().replacement();
  if (!replacement.is_unused()) return;
  show(replacement.complaint());
  std::_Exit(EX_SOFTWARE);
}

/// On demand: device memory that the program has allocated and not freed.
/// Says last what BW_SIM_IGNORE has left out.
void report_ignored() {
  const std::string summary = IgnoredCodes::of_process().summary();
  if (summary.empty()) return;
  std::fflush(stdout);
  std::fprintf(stderr, "simulator: %s\n", summary.c_str());
}

void report_leaks() {
  Runtime& runtime = Runtime::instance();
  const std::vector<std::string> leaks = runtime.leaks();
  if (leaks.empty()) return;
  Report report{.code = FaultCode::device_memory_leak};
  report.what = fmt::format("the program ends without having freed {} of device memory",
                            counted(leaks.size(), "piece"));
  constexpr size_t kMostListed = 8;
  for (size_t i = 0; i < std::min(leaks.size(), kMostListed); ++i)
    report.details.push_back(leaks[i]);
  if (leaks.size() > kMostListed)
    report.details.push_back(fmt::format("and {} more", leaks.size() - kMostListed));
  report.rule = "memory from cudaMalloc belongs to the program until cudaFree";
  report.fix = "free it, preferably in the destructor of an object";
  show(report);
}

}  // namespace

Runtime::Runtime() {
  // Called before main(), so the program's own exit handlers run before this one.
  if (replacement_.is_unused()) std::atexit(check_replacement_was_used);
  std::atexit(report_ignored);
  std::atexit(report_leaks);
}

Runtime& Runtime::instance() {
  static Runtime* const runtime = new Runtime;
  return *runtime;
}

const MachineDescription& Runtime::fitting_machine() const {
  std::vector<PtxTarget> targets;
  for (const Image& image : images_) add_targets(image, targets);
  for (const MachineDescription& machine : machines())
    for (const PtxTarget& target : targets)
      if (target.suffix != '\0' && fitness(machine, target) > 0) return machine;
  return machines().front();
}

Device& Runtime::device() {
  if (!device_) {
    begin_reports();
    try {
      device_ =
          std::make_unique<Device>(Settings::from_environment(fitting_machine()), all_units());
      const session::Equipment equipment = session::equip(*device_);
      written_ = equipment.written;
      records_launches_ = equipment.records_launches;
      if (LaunchFile* const file = LaunchFile::instance()) file->begin(*device_);
    } catch (const SimulationError& error) {
      // A setting that cannot be read or memory that cannot be allocated: the program can't
      // continue without a device.
      show(error.report());
      std::_Exit(EX_USAGE);
    }
  }
  return *device_;
}

Image& Runtime::add_image(const void* fat_binary) {
  Image& image = images_.emplace_back();
  image.name = image_name(images_.size());
  image.data = fat_binary;
  return image;
}

Image& Runtime::add_text_image(std::string ptx) {
  Image& image = add_image(nullptr);
  image.text = std::move(ptx);
  return image;
}

void Runtime::remove_image(Image& image) {
  // Records stay, so that a handle that is used later is known to be none.
  std::erase_if(functions_by_address_,
                [&](const auto& entry) { return entry.second->image == &image; });
  std::erase_if(symbols_, [&](const auto& entry) { return entry.second.image == &image; });
  image.registered = false;
  if (image.module != nullptr) device().unload(*image.module);
  image.module = nullptr;
}

bool Runtime::has_image(const void* handle) const {
  for (const Image& image : images_)
    if (&image == handle) return image.registered;
  return false;
}

Function& Runtime::add_function(Image& image, const void* host_address, std::string name) {
  Function& function = functions_.emplace_back();
  function.image = &image;
  function.name = std::move(name);
  functions_by_address_[&function] = &function;
  if (host_address != nullptr) functions_by_address_[host_address] = &function;
  return function;
}

void Runtime::add_symbol(Image& image, const void* host_address, std::string name,
                         size_t size_bytes) {
  symbols_[host_address] = {&image, std::move(name), size_bytes};
}

Function* Runtime::find_function(const void* host_address_or_handle) {
  const auto found = functions_by_address_.find(host_address_or_handle);
  return found == functions_by_address_.end() ? nullptr : found->second;
}

const Symbol* Runtime::find_symbol(const void* host_address) const {
  const auto found = symbols_.find(host_address);
  return found == symbols_.end() ? nullptr : &found->second;
}

Function* Runtime::find_function(Image& image, const std::string& name) {
  for (const auto& [handle, function] : functions_by_address_)
    if (function->image == &image && function->name == name) return function;
  const ptx::Function* const found = module(image).ptx().find_function(name);
  const bool is_kernel = found != nullptr && found->is_entry && found->is_defined;
  return is_kernel ? &add_function(image, nullptr, name) : nullptr;
}

LoadedModule& Runtime::module(Image& image) {
  if (image.module != nullptr) return *image.module;
  image.module = &device().load(parse_image(image, *device().settings().machine));
  if (LaunchFile* const file = LaunchFile::instance(); file != nullptr && image.objects.empty())
    file->note_module(*image.module, image_ptx(image, *device().settings().machine));
  for (const Image::ManagedVariable& variable : image.managed) {
    *variable.host_pointer = reinterpret_cast<void*>(image.module->variable_address(variable.name));
  }
  return *image.module;
}

const Kernel& Runtime::kernel(Function& function) {
  if (function.kernel == nullptr) {
    LoadedModule* const replacement = replacement_.find_kernel(device(), function.name);
    function.replaced = replacement != nullptr;
    function.kernel =
        &device().kernel(function.replaced ? *replacement : module(*function.image), function.name);
  }
  return *function.kernel;
}

uint64_t Runtime::symbol_address(const Symbol& symbol) {
  const uint64_t replaced = replacement_.find_variable(device(), symbol.name);
  return replaced != 0 ? replaced : module(*symbol.image).variable_address(symbol.name);
}

uint64_t Runtime::allocate(size_t size_bytes, cudaMemoryType type, unsigned flags,
                           const std::string& description) {
  const uint64_t address = device().memory().allocate(size_bytes, description);
  if (address == 0) return 0;
  allocations_[address] = {address, size_bytes, type, flags};
  if (LaunchFile* const file = LaunchFile::instance())
    file->note_allocation(address, size_bytes, description);
  // The host may write memory that it shares without a word.
  if (written_ != nullptr && type == cudaMemoryTypeDevice) written_->add(address, size_bytes);
  return address;
}

bool Runtime::release(uint64_t address, bool host_memory) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  if ((found->second.type == cudaMemoryTypeHost) != host_memory || found->second.is_registered)
    return false;
  allocations_.erase(found);
  if (written_ != nullptr) written_->remove(address);
  if (LaunchFile* const file = LaunchFile::instance()) file->note_free(address);
  return device().memory().free(address);
}

bool Runtime::register_host(uint64_t address, size_t size_bytes, unsigned flags) {
  const std::string description = fmt::format("cudaHostRegister of {} bytes", size_bytes);
  if (!device().memory().adopt(address, size_bytes, description)) return false;
  if (LaunchFile* const file = LaunchFile::instance())
    file->give_up("the program registers memory of the host's");
  allocations_[address] = {address, size_bytes, cudaMemoryTypeHost, flags, true};
  return true;
}

bool Runtime::unregister_host(uint64_t address) {
  if (!device().memory().forget(address)) return false;
  allocations_.erase(address);
  return true;
}

const ProgramAllocation* Runtime::find_allocation(uint64_t address) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  const ProgramAllocation& candidate = std::prev(after)->second;
  const uint64_t offset = address - candidate.address;
  return offset < candidate.size_bytes || offset == 0 ? &candidate : nullptr;
}

std::vector<std::string> Runtime::leaks() const {
  std::vector<std::string> found;
  // A program that has failed could not free anything.
  if (device_ == nullptr || !device_->settings().checks_leaks || sticky_error != cudaSuccess)
    return found;
  for (const auto& [address, allocation] : allocations_)
    if (allocation.type == cudaMemoryTypeDevice)
      if (const Allocation* const memory = device_->memory().find(address))
        found.push_back(memory->description);
  return found;
}

void Runtime::release_all() {
  for (const auto& [address, allocation] : allocations_) {
    if (allocation.is_registered)
      device().memory().forget(address);
    else
      device().memory().free(address);
    if (LaunchFile* const file = LaunchFile::instance()) file->note_free(address);
  }
  allocations_.clear();
}

void explain(FaultCode code, const char* api, const std::string& text) {
  show({.code = code, .what = std::string(api) + ": " + text});
}

}  // namespace bw::sim::cudart
