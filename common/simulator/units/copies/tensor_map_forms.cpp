/// \file
/// Tensor maps: tensormap.replace and tensormap.cp_fenceproxy, by which a kernel changes one, and
/// prefetch.tensormap.
///
/// A map in memory is changed through the generic proxy; fence.proxy.tensormap passes it on to the
/// copies. Like every fence, it orders nothing here: copies read the current map.
#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/copies/copy_forms.hpp"
#include "common/simulator/units/copies/tensor_map.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/memory/access_events.hpp"
#include "common/simulator/units/synchronisation/aligned.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

/// cp_fenceproxy wants the alignment of a whole map, beyond a map's own.
constexpr size_t kCopyAlignmentBytes = 128;

/// The value of .swizzle_mode that only sm_103a has: 96 bytes.
constexpr uint64_t kMode96 = 4;

struct ReplaceForm {
  AddressSpace space = AddressSpace::generic;
  TensorMapField field = TensorMapField::global_address;
  uint32_t ordinal = 0;
};

struct Displacements {
  int64_t destination = 0, source = 0;
};

/// Operands: address, value.
Flow replace(Strand& strand, const Instruction& instruction, LaneMask active) {
  const auto& form = *static_cast<const ReplaceForm*>(instruction.detail);
  for (const int lane : lanes_of(active)) {
    const Site site{strand, instruction, lane_bit(lane)};
    const uint64_t address =
        lane_address(strand, instruction.operands[0], instruction.immediate, lane);
    std::byte* const map = resolve(site, form.space, address, kTensorMapBytes,
                                   kTensorMapAlignmentBytes, Access::read_write);
    const uint64_t value = strand.value(instruction.operands[1], lane);
    const Machines machine = strand.cluster->settings().machine->instructions;
    if (form.field == TensorMapField::swizzle_mode && value == kMode96 &&
        (machine & kOnBlackwellUltra) == 0)
      site.fault({.code = FaultCode::tensor_map_replaced,
                  .what = fmt::format("the value of .swizzle_mode is {} (96 bytes), which the "
                                      "machine {} does not have: it needs sm_103a",
                                      value, strand.cluster->settings().machine->name),
                  .rule = "the 96-byte swizzle is a mode of sm_103a alone",
                  .fix = "use 0 to 3 (none, 32, 64 or 128 bytes), or compile for sm_103a"});
    const TensorMapStatus status = replace_tensor_map_field(map, form.field, form.ordinal, value);
    if (!status.ok())
      site.fault({.code = FaultCode::tensor_map_replaced,
                  .what = status.message,
                  .rule = "the instruction changes a field of a tensor map in memory to a value "
                          "that the field can have",
                  .fix = "copy a map that was encoded on the host to this place first, and check "
                         "the value"});
    if (space_of_generic(address) == AddressSpace::global && form.space != AddressSpace::shared_cta)
      units_of(*strand.cluster).tensor_maps.change(site, address);
    LaneAddresses addresses{};
    addresses[static_cast<size_t>(lane)] = address;
    notify_access(strand, instruction, lane_bit(lane), form.space, Access::read_write, false,
                  kTensorMapBytes, addresses);
  }
  strand.cluster->note_progress();
  return Flow::next;
}

/// Operands: destination in global, source in shared memory.
Flow copy_and_fence(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  const int lane = lowest_lane(active);
  const Site site{strand, instruction, active};
  for (int operand = 0; operand < 2; ++operand)
    if (strand.lanes_that_differ(instruction.operands[operand], active) != 0)
      site.fault({.code = FaultCode::operand_differs,
                  .what = fmt::format("the lanes give different {} addresses",
                                      operand == 0 ? "destination" : "source"),
                  .rule = "all threads of the warp execute the instruction with the same operands",
                  .fix = "let one thread compute the address and pass it on with shfl.sync"});
  const auto& displacements = *static_cast<const Displacements*>(instruction.detail);
  const uint64_t destination =
      lane_address(strand, instruction.operands[0], displacements.destination, lane);
  const uint64_t source = lane_address(strand, instruction.operands[1], displacements.source, lane);
  const std::byte* const from = resolve(site, AddressSpace::shared_cta, source, kTensorMapBytes,
                                        kCopyAlignmentBytes, Access::read);
  std::memcpy(resolve(site, AddressSpace::global, destination, kTensorMapBytes, kCopyAlignmentBytes,
                      Access::write),
              from, kTensorMapBytes);
  TensorMapWatch& maps = units_of(*strand.cluster).tensor_maps;
  maps.change(site, destination);
  maps.fence(destination);
  LaneAddresses addresses{};
  addresses[static_cast<size_t>(lane)] = source;
  notify_access(strand, instruction, lane_bit(lane), AddressSpace::shared_cta, Access::read, false,
                kTensorMapBytes, addresses);
  addresses[static_cast<size_t>(lane)] = destination;
  notify_access(strand, instruction, lane_bit(lane), AddressSpace::global, Access::write, false,
                kTensorMapBytes, addresses);
  if (strand.cluster->observed(EventKind::fence))
    strand.cluster->notify(&Observer::on_fence,
                           FenceEvent{FenceKind::proxy_tensormap, strand.origin(instruction),
                                      strand.time, destination});
  strand.cluster->note_progress();
  return Flow::next;
}

struct NamedField {
  std::string_view name;
  TensorMapField field;
  ScalarType type;
  bool has_ordinal, is_constant;
};
constexpr NamedField kFields[] = {
    {"global_address", TensorMapField::global_address, ScalarType::b64, false, false},
    {"rank", TensorMapField::rank, ScalarType::b32, false, false},
    {"box_dim", TensorMapField::box_dim, ScalarType::b32, true, false},
    {"global_dim", TensorMapField::global_dim, ScalarType::b32, true, false},
    {"global_stride", TensorMapField::global_stride, ScalarType::b64, true, false},
    {"element_stride", TensorMapField::element_stride, ScalarType::b32, true, false},
    {"elemtype", TensorMapField::element_type, ScalarType::b32, false, true},
    {"interleave_layout", TensorMapField::interleave_layout, ScalarType::b32, false, true},
    {"swizzle_mode", TensorMapField::swizzle_mode, ScalarType::b32, false, true},
    {"swizzle_atomicity", TensorMapField::swizzle_atomicity, ScalarType::b32, false, true},
    {"fill_mode", TensorMapField::fill_mode, ScalarType::b32, false, true},
};

AddressSpace space_of(const Modifiers& modifiers) {
  const std::string_view space = modifiers.get("space");
  if (space == "global") return AddressSpace::global;
  return space.empty() ? AddressSpace::generic : AddressSpace::shared_cta;
}

// [address] {, ordinal}, value
void bind_replace(Binder& binder) {
  const std::string_view name = binder.modifiers.get("field");
  const auto* const known = std::find_if(std::begin(kFields), std::end(kFields),
                                         [&](const NamedField& f) { return f.name == name; });
  if (binder.modifiers.type() != known->type)
    binder.refuse(fmt::format("changes a field of type .{} as .{}", ptx::type_name(known->type),
                              binder.modifiers.get("type")),
                  "write the field's own type");
  const size_t count = known->has_ordinal ? 3 : 2;
  binder.expect_count(count, count);
  ReplaceForm form{space_of(binder.modifiers), known->field, 0};
  if (known->has_ordinal)
    form.ordinal = static_cast<uint32_t>(binder.immediate(binder.ptx_operand(1)));
  if (known->is_constant) (void)binder.immediate(binder.ptx_operand(count - 1));
  binder.address(binder.ptx_operand(0));
  binder.source_value(binder.ptx_operand(count - 1), known->type);
  binder.detail(form);
  binder.out.execute = replace;
}

// [destination], [source], size
void bind_copy_and_fence(Binder& binder) {
  binder.expect_count(3, 3);
  Displacements displacements;
  binder.address(binder.ptx_operand(0));
  displacements.destination = std::exchange(binder.out.immediate, 0);
  binder.address(binder.ptx_operand(1));
  displacements.source = std::exchange(binder.out.immediate, 0);
  if (binder.immediate(binder.ptx_operand(2)) != static_cast<int64_t>(kTensorMapBytes))
    binder.refuse("has a size other than 128", "128 is the only size that PTX allows");
  binder.detail(displacements);
  binder.out.execute = copy_and_fence;
}

Flow prefetch_map(Strand& strand, const Instruction& instruction, LaneMask active) {
  const AddressOperand operand{0, instruction.immediate};
  issue_each_operands(strand, instruction, active, /*is_by_lane=*/false, [&](LaneMask lanes) {
    const int lane = lowest_lane(lanes);
    (void)read_map(strand, instruction, lane, operand);
    (void)strand.cta->clock->wait_for_map(operand.of(strand, instruction, lane), strand.time);
  });
  return Flow::next;
}

void bind_prefetch_map(Binder& b) {
  b.expect_count(1, 1);
  b.address(b.ptx_operand(0));
  b.out.execute = prefetch_map;
}

/// A uniform address of 64 bits, and the prefetch.
Cost prefetch_map_cost(const Modifiers&, const ptx::Instruction&) {
  return {.pipe = Pipe::load_store, .instructions = 3};
}

/// A map in global memory may be another cluster's.
Effect effect_of_replace(const Modifiers& modifiers) {
  return modifiers.get("space").starts_with("shared") ? Effect::cluster : Effect::grid;
}

constexpr InstructionForm kTensorMapRows[] = {
    {.base = "tensormap.replace",
     .modifiers =
         "tile field=global_address|rank|box_dim|global_dim|global_stride|element_stride|elemtype|"
         "interleave_layout|swizzle_mode|swizzle_atomicity|fill_mode [space=global|shared::cta] "
         "b1024 type=b32|b64",
     .bind = bind_replace,
     .effect = effect_of_replace,
     .cycles = costs::kSharedAccess,
     .awaits_loads = true,
     .section = "tensormap.replace",
     .destinations = 0},
    {.base = "tensormap.cp_fenceproxy",
     .modifiers = "global shared::cta tensormap::generic release scope=cta|cluster|gpu|sys sync "
                  "aligned",
     .bind = bind_copy_and_fence,
     .effect = Effect::cluster,
     .cycles = costs::kFence,
     .section = "tensormap.cp_fenceproxy",
     .destinations = 0},
    {.base = "prefetch",
     .modifiers = "[space=param|const] tensormap",
     .bind = bind_prefetch_map,
     .effect = Effect::cluster,
     .cycles = costs::kTmaIssue,
     .cost = prefetch_map_cost,
     .section = "prefetch",
     .destinations = 0},
};

}  // namespace

Rows tensor_map_rows() { return kTensorMapRows; }

}  // namespace bw::sim
