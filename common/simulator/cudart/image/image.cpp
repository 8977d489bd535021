#include "common/simulator/cudart/image/image.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/cudart/image/fat_binary.hpp"
#include "common/simulator/cudart/image/machine_code.hpp"

namespace bw::sim::cudart {
namespace {

constexpr char kElfMagic[] = {'\x7f', 'E', 'L', 'F'};
constexpr uint32_t kFatBinaryMagic = 0xBA55ED50;

std::vector<FatBinaryEntry> entries_of(const void* fat_binary, const std::string& name) {
  return read_fat_binary(fat_binary_extent(fat_binary, name), name);
}

std::string ptx_of(const void* fat_binary, const MachineDescription& machine,
                   const std::string& name) {
  return ptx_text(choose_ptx(entries_of(fat_binary, name), machine, name), name);
}

/// The PTX of a fat binary, parsed. Each kernel has the number of registers that the accompanying
/// machine code takes.
std::unique_ptr<ptx::Module> parse_fat_binary(const void* data, const MachineDescription& machine,
                                              const std::string& name) {
  const std::vector<FatBinaryEntry> entries = entries_of(data, name);
  const FatBinaryEntry& chosen = choose_ptx(entries, machine, name);
  std::unique_ptr<ptx::Module> module = ptx::parse(ptx_text(chosen, name), name);
  const std::string code = matching_machine_code(entries, chosen);
  const auto registers = registers_of_kernels(std::as_bytes(std::span(code)));
  for (const auto& function : module->functions)
    if (const auto found = registers.find(function->name);
        function->is_entry && found != registers.end())
      function->machine_registers = found->second;
  return module;
}

/// The target that PTX text names in its header.
PtxTarget target_of_text(std::string_view text) {
  constexpr std::string_view kDirective = ".target";
  const size_t found = text.find(kDirective);
  if (found == std::string_view::npos) return {};
  text.remove_prefix(found + kDirective.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return parse_target(text.substr(0, text.find_first_of(", \t\r\n")));
}

// What the text of linked modules begins with, and each module in it.
constexpr std::string_view kLinkedMark = "//# PTX modules, linked by the simulator\n";
constexpr std::string_view kModuleMark = "//# module ";

std::unique_ptr<ptx::Module> link_text(std::string_view text, const std::string& name) {
  std::vector<std::unique_ptr<ptx::Module>> modules;
  text.remove_prefix(kLinkedMark.size());
  while (!text.empty()) {
    text.remove_prefix(kModuleMark.size());
    const size_t name_end = text.find('\n');
    const std::string module(text.substr(0, name_end));
    text.remove_prefix(name_end + 1);
    const std::string_view body = text.substr(0, text.find(kModuleMark));
    modules.push_back(ptx::parse(std::string(body), module));
    text.remove_prefix(body.size());
  }
  return ptx::link(std::move(modules), name);
}

[[noreturn]] void fail(FaultCode code, std::string what, std::string fix) {
  Report report{.code = code};
  report.what = std::move(what);
  report.fix = std::move(fix);
  throw SimulationError(std::move(report));
}

template <class T>
T first_of(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

}  // namespace

std::unique_ptr<ptx::Module> parse_image(const Image& image, const MachineDescription& machine) {
  if (image.text.starts_with(kLinkedMark)) return link_text(image.text, image.name);
  if (!image.text.empty()) return ptx::parse(image.text, image.name);
  if (image.objects.empty()) return parse_fat_binary(image.data, machine, image.name);
  std::vector<std::unique_ptr<ptx::Module>> modules;
  for (const void* const object : image.objects) {
    const std::string name = fmt::format("{}, object file {}", image.name, modules.size() + 1);
    modules.push_back(parse_fat_binary(object, machine, name));
  }
  return ptx::link(std::move(modules), image.name);
}

void add_targets(const Image& image, std::vector<PtxTarget>& targets) {
  if (!image.text.empty()) {
    targets.push_back(target_of_text(image.text));
    return;
  }
  std::vector<const void*> parts = image.objects;
  if (parts.empty()) parts.push_back(image.data);
  for (const void* const part : parts) {
    try {
      for (const FatBinaryEntry& entry : entries_of(part, image.name))
        if (entry.is_ptx()) targets.push_back(entry.target);
    } catch (const SimulationError&) {
      // Damage is reported when something of the image is used.
    }
  }
}

Image& add_loaded_image(Runtime& runtime, const void* data) {
  if (std::memcmp(data, kElfMagic, sizeof kElfMagic) == 0) {
    fail(FaultCode::no_ptx_for_machine,
         "the module is machine code (a cubin), and the simulator runs PTX",
         "load the PTX (nvcc -ptx -arch=compute_100a), or a fat binary that holds it");
  }
  if (first_of<uint32_t>(data) == kFatBinaryMagic) return runtime.add_image(data);
  if (first_of<int>(data) == kWrapperMagic)
    return runtime.add_image(static_cast<const FatBinaryWrapper*>(data)->data);
  // PTX is text that ends with a zero byte.
  const char* const text = static_cast<const char*>(data);
  const size_t begin = std::strspn(text, " \t\r\n");
  if (text[begin] != '/' && text[begin] != '.') {
    fail(FaultCode::image_malformed,
         "the module is neither PTX text nor a fat binary: it starts with neither `.version`, a "
         "comment nor the magic number of a fat binary",
         "pass the PTX that nvcc -ptx or NVRTC writes, with a zero byte after it");
  }
  return runtime.add_text_image(text);
}

std::string link_input_ptx(const void* data, size_t bytes, bool is_text,
                           const MachineDescription& machine, const std::string& name) {
  const bool is_wrapped =
      !is_text && bytes >= sizeof(FatBinaryWrapper) && first_of<int>(data) == kWrapperMagic;
  if (is_wrapped) data = static_cast<const FatBinaryWrapper*>(data)->data;
  if (!is_text && bytes >= sizeof(uint32_t) && first_of<uint32_t>(data) == kFatBinaryMagic)
    return ptx_of(data, machine, name);
  if (!is_text)
    fail(FaultCode::image_malformed, "the linker's input " + name + " is not a fat binary",
         "pass what nvcc -fatbin -rdc=true writes, or PTX with its own type of input");
  const auto* const text = static_cast<const char*>(data);
  std::string ptx(text, strnlen(text, bytes));
  // (Here an error in the text is told of the input that has it.)
  static_cast<void>(ptx::parse(ptx, name));
  return ptx;
}

std::string linked_text(const std::vector<LinkInput>& inputs) {
  std::string text(kLinkedMark);
  for (const LinkInput& input : inputs)
    text += fmt::format("{}{}\n{}\n", kModuleMark, input.name, input.ptx);
  static_cast<void>(link_text(text, "the linked module"));
  return text;
}

cudaError_t add_image_of_file(Runtime& runtime, const char* api, const char* path, Image*& image) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    explain(FaultCode::call_argument, api, fmt::format("the file {} can't be read", path));
    return cudaErrorFileNotFound;
  }
  // Fat binaries are read in place, so what is loaded stays.
  auto* const bytes = new std::string(std::istreambuf_iterator<char>(file), {});
  bytes->resize(bytes->size() + sizeof(FatBinaryWrapper));
  image = &add_loaded_image(runtime, bytes->data());
  image->name = path;
  return cudaSuccess;
}

}  // namespace bw::sim::cudart
