/// \file
/// Any text as a PTX module: it is parsed, its jumps and calls are replaced and its registers laid
/// out, or there is a report of malformed or unknown PTX.
#include <fmt/core.h>

#include "common/simulator/base/error.hpp"
#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/control_flow.hpp"
#include "common/simulator/ptx/lower_jumps.hpp"
#include "tests/fuzz/choices.hpp"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bw::sim;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto module = ptx::parse(text, "fuzz.ptx");
    ptx::lower_jumps(*module);
    ptx::inline_calls(*module);
    for (const auto& function : module->functions) {
      if (!function->is_entry) continue;
      if (ptx::reconvergence_points(*function).size() != function->instructions.size())
        fuzz::found("instructions without a reconvergence point");
      const ptx::RegisterLayout layout = ptx::allocate_registers(*function);
      for (size_t i = 0; i < function->registers.size(); ++i)
        if (layout.offset_bytes[i] + ptx::register_storage_bytes(function->registers[i].type) >
            layout.total_bytes)
          fuzz::found(fmt::format("register {} lies outside of the register file", i));
    }
  } catch (const SimulationError& error) {
    const FaultKind kind = error.report().kind();
    if (kind != FaultKind::parse && kind != FaultKind::unsupported) fuzz::found(error.what());
  }
  return 0;
}
