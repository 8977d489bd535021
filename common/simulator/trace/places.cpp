#include "common/simulator/trace/places.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <fmt/core.h>

#include "common/simulator/trace/json.hpp"

namespace bw::sim::trace {
namespace {

std::string place_text(const ptx::Module& module, const ptx::SourceLocation& location) {
  return fmt::format("{}:{}", module.file_name(location), location.line);
}

}  // namespace

std::vector<const ptx::SourceLocation*> Places::chain_of(uint32_t instruction) const {
  return kernel_.module().ptx().call_chain(kernel_.function().instructions[instruction]);
}

const std::string& Places::fields_of(uint32_t instruction) {
  const auto [found, is_new] = fields_.try_emplace(instruction);
  if (!is_new) return found->second;
  const ptx::Module& module = kernel_.module().ptx();
  const ptx::Instruction& source = kernel_.function().instructions[instruction];
  const std::vector<const ptx::SourceLocation*> chain = chain_of(instruction);
  Fields fields;
  if (chain.empty()) {
    fields.add("file", module.name).add("line", source.line);
  } else {
    const ptx::SourceLocation& place = module.place_in(chain);
    fields.add("file", module.file_name(place)).add("line", place.line);
    if (!place.function.empty()) fields.add("function", ptx::Module::function_name(place));
    if (chain.size() > 1) {
      List stack;
      for (const ptx::SourceLocation* const location : chain)
        stack.add(json_string(place_text(module, *location)));
      fields.add_raw("stack", stack.json());
    }
  }
  fields.add("opcode", source.opcode);
  return found->second = fields.text();
}

std::string Places::name_of(uint32_t instruction) const {
  const ptx::Module& module = kernel_.module().ptx();
  const auto chain = chain_of(instruction);
  if (!chain.empty()) return place_text(module, module.place_in(chain));
  return fmt::format("{}:{}", module.name, kernel_.function().instructions[instruction].line);
}

const ptx::SourceLocation* Places::detail_of(uint32_t instruction) const {
  const auto chain = chain_of(instruction);
  if (chain.empty()) return nullptr;
  const std::vector<std::string>& files = kernel_.module().ptx().files;
  const auto folder = [&](const ptx::SourceLocation* location) -> std::string_view {
    if (location->file >= files.size()) return {};
    const std::string_view path = files[location->file];
    return path.substr(0, path.rfind('/') + 1);
  };
  return *std::find_if(chain.begin(), chain.end(), [&](const ptx::SourceLocation* location) {
    return folder(location) == folder(chain.back());
  });
}

std::string Places::table(const std::vector<uint32_t>& instructions) const {
  const ptx::Module& module = kernel_.module().ptx();
  std::unordered_map<const void*, size_t> numbers;  // by location, or by instruction without one
  List locations;
  const auto number_of = [&](const void* key, const auto& describe) {
    const auto [found, is_new] = numbers.try_emplace(key, numbers.size());
    if (is_new) locations.add(describe());
    return std::to_string(found->second);
  };
  const auto describe = [](std::string_view file, uint32_t line, std::string_view function) {
    List parts;
    parts.add(json_string(file));
    parts.add(std::to_string(line));
    parts.add(json_string(function));
    return parts.json();
  };
  Fields entries;
  for (const uint32_t index : instructions) {
    const ptx::Instruction& source = kernel_.function().instructions[index];
    const auto chain = module.call_chain(source);
    List stack;
    for (const ptx::SourceLocation* const location : chain)
      stack.add(number_of(location, [&] {
        return describe(location->file < module.files.size() ? module.files[location->file] : "",
                        location->line, ptx::Module::function_name(*location));
      }));
    if (chain.empty())
      stack.add(number_of(&source, [&] { return describe(module.name, source.line, ""); }));
    const auto number = [&](const ptx::SourceLocation* location) {
      return std::to_string(
          numbers.at(location != nullptr ? static_cast<const void*>(location) : &source));
    };
    List entry;
    entry.add(json_string(source.opcode));
    entry.add(number(chain.empty() ? nullptr : &module.place_in(chain)));
    entry.add(number(detail_of(index)));
    entry.add(stack.json());
    entries.add_raw(std::to_string(index), entry.json());
  }
  Fields all;
  all.add_raw("locations", locations.json()).add_raw("instructions", entries.object());
  return all.object();
}

}  // namespace bw::sim::trace
