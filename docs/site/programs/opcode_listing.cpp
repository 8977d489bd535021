/// \file
/// Prints the simulator's opcode table for the site's instruction pages: one line a form, its
/// fields separated by tabs (subject, opcode, grammar, effect, PTX ISA section).
#include <iostream>
#include <string_view>

#include "common/simulator/isa/instruction_form.hpp"

namespace {

std::string_view name_of(bw::sim::Effect effect) {
  using bw::sim::Effect;
  switch (effect) {
    case Effect::lane:
      return "lane";
    case Effect::warp:
      return "warp";
    case Effect::cluster:
      return "cluster";
    case Effect::grid:
      return "grid";
  }
  return "?";
}

/// Where the modifiers decide the effect, the form without any represents all.
void print_form(std::string_view subject, const bw::sim::InstructionForm& form) {
  const std::string_view effect = form.bind == nullptr ? "refused" : name_of(form.effect({}));
  std::cout << subject << '\t' << form.base << '\t' << form.modifiers << '\t' << effect << '\t'
            << form.section << '\n';
}

}  // namespace

int main() {
  for (const bw::sim::FormFamily& family : bw::sim::instruction_forms())
    for (const bw::sim::InstructionForm& form : family) print_form(family.subject, form);
  return std::cout.good() ? 0 : 1;
}
