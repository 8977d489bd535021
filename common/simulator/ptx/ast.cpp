#include "common/simulator/ptx/ast.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/core.h>

#include "common/simulator/ptx/demangle.hpp"

namespace bw::sim::ptx {
namespace {

std::string_view base_name(std::string_view path) noexcept {
  const size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view path_of(const Module& module, const SourceLocation& location) noexcept {
  return location.file < module.files.size() ? std::string_view(module.files[location.file])
                                             : std::string_view{};
}

/// Whether a file is a library's, not the reader's own: the system's and the CUDA Toolkit's
/// headers, and those libraries that are compiled into kernels wherever they are kept.
bool is_of_library(std::string_view path) noexcept {
  constexpr std::string_view kRoots[] = {"/usr/", "/opt/"};
  constexpr std::string_view kFolders[] = {"/targets/",
                                           "/cub/",
                                           "/thrust/",
                                           "/cuda/std/",
                                           "/cute/",
                                           "/cutlass/",
                                           "/cooperative_groups/",
                                           "/crt/",
                                           "/site-packages/"};
  return std::any_of(std::begin(kRoots), std::end(kRoots),
                     [=](std::string_view root) { return path.starts_with(root); }) ||
         std::any_of(std::begin(kFolders), std::end(kFolders), [=](std::string_view folder) {
           return path.find(folder) != std::string_view::npos;
         });
}

/// "Roles::load" of a mangled "void bw::Roles<bw::Config<128> >::load(int) const": no template
/// arguments, parameters, return type, or namespace in lower case.
std::string function_base_name(const std::string& symbol) {
  const std::string full = demangle(symbol);
  std::string plain;
  int depth = 0;
  for (const char c : full) {
    if (c == '(' && depth == 0 && !plain.empty() && !plain.ends_with("operator")) break;
    if (c == '<') ++depth;
    if (depth == 0) plain += c;
    if (c == '>') --depth;
  }
  const size_t space = plain.find_last_of(' ');
  if (space != std::string::npos) plain.erase(0, space + 1);
  for (size_t colon = plain.find("::"); colon != std::string::npos && std::islower(plain[0]);
       colon = plain.find("::"))
    plain.erase(0, colon + 2);
  return plain;
}

}  // namespace

void Instruction::set_opcode(std::string_view text) {
  opcode = text;
  match = &match_of(text);
}

const Function* Module::find_function(std::string_view function_name) const noexcept {
  for (const auto& function : functions) {
    if (function->name == function_name) return function.get();
  }
  return nullptr;
}

std::vector<const SourceLocation*> Module::call_chain(const Instruction& instruction) const {
  const auto known = [this](int32_t index) {
    return index >= 0 && static_cast<size_t>(index) < locations.size();
  };
  std::vector<const SourceLocation*> chain;
  // The chain ends at -1; the bound keeps a wrong table from looping.
  for (int32_t index = instruction.location; known(index) && chain.size() < locations.size();
       index = chain.back()->inlined_at)
    chain.push_back(&locations[static_cast<size_t>(index)]);
  return chain;
}

std::string_view Module::file_name(const SourceLocation& location) const {
  const std::string_view file = base_name(path_of(*this, location));
  return file.empty() ? "<unknown>" : file;
}

std::string Module::function_name(const SourceLocation& location) {
  return location.function.empty() ? std::string{} : function_base_name(location.function);
}

std::string Module::describe(const SourceLocation& location) const {
  std::string text = fmt::format("{}:{}", file_name(location), location.line);
  if (!location.function.empty()) text += " in " + function_name(location);
  return text;
}

const SourceLocation& Module::place_in(const std::vector<const SourceLocation*>& chain) const {
  // Code that the kernel only uses is in other files, so the place is the innermost call in the
  // kernel's own file, or, where that is only the entry that calls the roles, in the kernel's own
  // folder. A library's kernel that calls the reader's code has its place in the latter.
  const size_t outermost = chain.size() - 1;
  if (is_of_library(path_of(*this, *chain.back()))) {
    for (const SourceLocation* const location : chain)
      if (!is_of_library(path_of(*this, *location))) return *location;
  }
  const auto innermost = [&](const auto& belongs) {
    size_t index = 0;
    while (index < outermost && !belongs(chain[index]->file)) ++index;
    return index;
  };
  const uint32_t kernel_file = chain.back()->file;
  const auto folder = [this](uint32_t file) {
    const std::string_view path = file < files.size() ? std::string_view(files[file]) : "";
    return path.substr(0, path.size() - base_name(path).size());
  };
  size_t place = innermost([&](uint32_t file) { return file == kernel_file; });
  if (place == outermost)
    place = innermost([&](uint32_t file) { return folder(file) == folder(kernel_file); });
  // A library's kernel that runs nothing but the library, as those of CUTLASS: the innermost call
  // in the folders below the kernel's, except the wrappers in the instruction's own folder.
  if (place == outermost && is_of_library(path_of(*this, *chain.back())))
    place = innermost([&](uint32_t file) {
      return folder(file) != folder(kernel_file) && folder(file) != folder(chain.front()->file) &&
             folder(file).starts_with(folder(kernel_file));
    });
  return *chain[place];
}

const SourceLocation* Module::focused(const std::vector<const SourceLocation*>& chain) const {
  if (focus.empty()) return nullptr;
  const auto is_in_focus = [this](std::string_view file) {
    return fmt::format(":{}:", focus).find(fmt::format(":{}:", file)) != std::string::npos;
  };
  const auto found = std::find_if(chain.begin(), chain.end(), [&](const SourceLocation* location) {
    return location->file < files.size() && is_in_focus(base_name(files[location->file]));
  });
  return found == chain.end() ? nullptr : *found;
}

std::string Module::describe_place(const Instruction& instruction) const {
  const std::vector<const SourceLocation*> chain = call_chain(instruction);
  if (chain.empty()) return fmt::format("{}:{}", name, instruction.line);
  const SourceLocation& place = place_in(chain);
  const SourceLocation* const by = focused(chain);
  return describe(place) + (by == nullptr || by == &place ? "" : ", by " + describe(*by));
}

ReportPlace Module::report_place(const Instruction& instruction) const {
  ReportPlace result;
  result.opcode = instruction.opcode;
  const std::vector<const SourceLocation*> chain = call_chain(instruction);
  if (chain.empty()) {
    result.path = name;
    result.line = instruction.line;
    return result;
  }
  const SourceLocation* const by = focused(chain);
  const SourceLocation& place = by == nullptr ? place_in(chain) : *by;
  result.path = path_of(*this, place);
  result.line = place.line;
  result.column = place.column;
  result.function = function_name(place);
  return result;
}

std::string Module::describe_location(const Instruction& instruction) const {
  const std::vector<const SourceLocation*> chain = call_chain(instruction);
  std::string place = describe_place(instruction);
  if (chain.empty()) return place;
  // Inside the place: the innermost call in a file of the reader's own, and the instruction's line.
  std::string inside;
  const SourceLocation& named = place_in(chain);
  for (const SourceLocation* const location : chain) {
    if (location == &named) break;
    if (is_of_library(path_of(*this, *location))) continue;
    if (location != chain.front()) inside = describe(*location) + ", ";
    break;
  }
  const std::string origin = describe(*chain.front());
  if (origin != place) place += " (" + inside + origin + ")";
  // Inside of a library: the calls that lead there.
  if (!is_of_library(path_of(*this, named))) return place;
  constexpr size_t kMostCallers = 3;
  size_t callers = 0;
  for (auto outer = std::find(chain.begin(), chain.end(), &named) + 1;
       outer != chain.end() && *outer != chain.back() && callers < kMostCallers; ++outer, ++callers)
    place += (callers == 0 ? ", called at " : ", ") + describe(**outer);
  return place;
}

}  // namespace bw::sim::ptx
