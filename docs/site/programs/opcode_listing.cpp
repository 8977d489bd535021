/// \file
/// Prints the simulator's opcode table for the site's instruction pages: one line a form, its
/// fields separated by tabs (opcode, grammar, effect, PTX ISA section).
#include <iostream>
#include <string_view>

#include "common/simulator/machine/opcode_table.hpp"

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

/// Where the modifiers decide about the effect, the form without any stands for all.
void print_row(const bw::sim::OpcodeRow& row) {
  const std::string_view effect = row.bind == nullptr ? "refused" : name_of(row.effect({}));
  std::cout << row.base << '\t' << row.modifiers << '\t' << effect << '\t' << row.section << '\n';
}

}  // namespace

int main() {
  for (const auto family : bw::sim::opcode_families())
    for (const bw::sim::OpcodeRow& row : family) print_row(row);
  return std::cout.good() ? 0 : 1;
}
