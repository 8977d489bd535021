/// \file
/// cvta and isspacep (PTX ISA, "Data Movement and Conversion Instructions").
///
/// Global, constant and parameter addresses are generic addresses already; shared and local ones
/// gain or lose the bits of their window.
#include <string_view>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::conversion {
namespace {

using ptx::ScalarType;

struct AddSharedWindow {
  static uint64_t apply(uint64_t a) { return a | kSharedWindow; }
};
struct AddLocalWindow {
  static uint64_t apply(uint64_t a) { return a | kLocalWindow; }
};
struct DropWindow {
  static uint64_t apply(uint64_t a) { return a & ~kWindowMask; }
};
struct Same {
  static uint64_t apply(uint64_t a) { return a; }
};

/// The generic address of a shared variable named in the instruction itself.
Flow shared_variable_to_generic(Strand& strand, const Instruction& instruction, LaneMask active) {
  uint64_t* const d = strand.lanes<uint64_t>(instruction.operands[0]);
  const uint64_t address = strand.lanes<uint64_t>(instruction.operands[1])[0] |
                           uint64_t{strand.cta->rank} << kSharedRankShift | kSharedWindow;
  for_lanes(active, [=](int lane) { d[lane] = address; });
  return Flow::next;
}

template <class Operation>
constexpr Handler kUnary = lanewise::map1<Operation, uint64_t, uint64_t>;

/// Whether a generic address is in the space `name`.
bool in_space(std::string_view name, AddressSpace space, const Allocation* allocation,
              uint64_t address, const Strand& strand) {
  if (name == "local") return space == AddressSpace::local;
  if (name == "shared::cluster") return space == AddressSpace::shared_cluster;
  if (name.starts_with("shared"))
    return space == AddressSpace::shared_cluster &&
           static_cast<uint32_t>(address) >> kSharedRankShift == strand.cta->rank;
  if (space != AddressSpace::global || allocation == nullptr)
    return name == "global" && space == AddressSpace::global;
  const bool parameter =
      address - strand.cluster->memory().parameter_buffer() < kParameterBufferBytes;
  if (name.starts_with("param")) return parameter;
  if (name == "const") return !parameter && !allocation->writable;
  return !parameter && allocation->writable;
}

struct Space {
  std::string_view name;
};

Flow is_in_space(Strand& strand, const Instruction& instruction, LaneMask active) {
  const std::string_view name = static_cast<const Space*>(instruction.detail)->name;
  LaneMask result = 0;
  for_lanes(active, [&](int lane) {
    const uint64_t address = strand.value(instruction.operands[1], lane);
    const AddressSpace space = space_of_generic(address);
    const Allocation* const allocation =
        space == AddressSpace::global ? strand.cluster->memory().find(address) : nullptr;
    result |= LaneMask{in_space(name, space, allocation, address, strand)} << lane;
  });
  strand.set_predicate(instruction.operands[0], active, result);
  return Flow::next;
}

void bind_cvta(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::u64, 1);
  const std::string_view space = binder.modifiers.get("space");
  const ptx::Operand& source = binder.ptx_operand(1);
  if (space.starts_with("shared")) {
    binder.out.execute = source.kind == ptx::Operand::Kind::variable ? shared_variable_to_generic
                                                                     : kUnary<AddSharedWindow>;
  } else {
    binder.out.execute = space == "local" ? kUnary<AddLocalWindow> : kUnary<Same>;
  }
}

void bind_cvta_to(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::u64, 1);
  const std::string_view space = binder.modifiers.get("space");
  binder.out.execute =
      space == "local" || space.starts_with("shared") ? kUnary<DropWindow> : kUnary<Same>;
}

void bind_isspacep(Binder& binder) {
  binder.expect_count(2, 2);
  binder.destination(binder.ptx_operand(0), 0);
  binder.source_value(binder.ptx_operand(1), ScalarType::u64);
  // The modifier's text lives as long as the PTX module, hence as long as the kernel.
  binder.detail(Space{binder.modifiers.get("space")});
  binder.out.execute = is_in_space;
}

using costs::kAlu;
constexpr std::string_view kCvta = "cvta";
constexpr std::string_view kIsspacep = "isspacep";

constexpr InstructionForm kAddressRows[] = {
    computing(Operation::convert,
              costing(kNoCost,
                      register_form("cvta",
                                    "space=global|local|shared|shared::cta|shared::cluster|const|"
                                    "param|param::entry type=u64",
                                    bind_cvta, kCvta, kAlu, Effect::warp))),
    computing(
        Operation::convert,
        costing(
            kNoCost,
            register_form(
                "cvta",
                "to space=global|local|shared|shared::cta|shared::cluster|const|param|param::entry "
                "type=u64",
                bind_cvta_to, kCvta))),
    register_form("isspacep",
                  "space=global|local|shared|shared::cta|shared::cluster|const|param|param::entry",
                  bind_isspacep, kIsspacep, kAlu, Effect::warp),
};

}  // namespace

Rows address_rows() { return kAddressRows; }

}  // namespace bw::sim::conversion
