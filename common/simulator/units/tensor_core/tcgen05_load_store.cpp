/// \file
/// tcgen05.ld, tcgen05.st, tcgen05.wait: between Tensor Memory and the registers of a warp.
///
/// A load takes its data when it issues and delivers at wait::ld (TensorMemory::WarpState says
/// how), or at once where nothing could tell the difference; a store takes its registers when it
/// issues and writes Tensor Memory when it completes.
#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/ptx/register_usage.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/aligned.hpp"
#include "common/simulator/units/tensor_core/tcgen05_forms.hpp"
#include "common/simulator/units/tensor_core/tensor_core.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::tcgen05 {
namespace {

/// Data movement shapes (PTX ISA, "Tensor Memory: Data Movement Shape").
enum class Shape : uint8_t { s32x32b, s16x64b, s16x128b, s16x256b, s16x32bx2 };

struct TransferShape {
  std::string_view name;
  Shape shape;
  uint32_t registers;  ///< of .x1
  uint32_t columns;    ///< of .x1, each half for 16x32bx2
};
constexpr std::array kTransferShapes = {
    TransferShape{"32x32b", Shape::s32x32b, 1, 1},
    TransferShape{"16x64b", Shape::s16x64b, 1, 2},
    TransferShape{"16x128b", Shape::s16x128b, 2, 4},
    TransferShape{"16x256b", Shape::s16x256b, 4, 8},
    TransferShape{"16x32bx2", Shape::s16x32bx2, 1, 1},
};
constexpr uint32_t kMostRegisters = 128;

/// The reduction of tcgen05.ld.red over the registers of a thread.
struct LoadReduction {
  ptx::ScalarType type = ptx::ScalarType::f32;
  bool is_max = false, of_absolutes = false, keeps_nan = false;

  /// The reduction of two values.
  [[nodiscard]] uint32_t combine(uint32_t a, uint32_t b) const {
    if (type == ptx::ScalarType::u32) return is_max ? std::max(a, b) : std::min(a, b);
    if (type == ptx::ScalarType::f32) {
      if (is_nan(a) || is_nan(b)) {
        constexpr uint32_t kCanonicalNan = 0x7fffffff;
        if (keeps_nan || (is_nan(a) && is_nan(b))) return kCanonicalNan;
        return is_nan(a) ? b : a;
      }
      return (ordered(a) < ordered(b)) == is_max ? b : a;
    }
    return (static_cast<int32_t>(a) < static_cast<int32_t>(b)) == is_max ? b : a;
  }
  /// What a register contributes.
  [[nodiscard]] uint32_t contribution(uint32_t bits) const {
    return of_absolutes ? bits & ~kSign : bits;
  }

 private:
  static constexpr uint32_t kSign = 0x80000000u;
  static bool is_nan(uint32_t bits) { return (bits & ~kSign) > 0x7f800000u; }
  /// Integers in the order of the floats: -0 is below +0.
  static uint32_t ordered(uint32_t bits) { return (bits & kSign) != 0 ? ~bits : bits | kSign; }
};

/// A decoded load or store. Operands: the data registers, the result of a reduction if there is
/// one, then the address.
struct TransferForm {
  Shape shape = Shape::s32x32b;
  bool packed = false;  ///< .pack::16b / .unpack::16b: two 16-bit columns a register
  uint32_t registers = 0;
  uint32_t columns = 0;  ///< that one half touches, in Tensor Memory columns
  uint32_t split = 0;    ///< 16x32bx2: distance of the second half in columns
  std::optional<LoadReduction> reduction = {};
  /// Destinations of a load; the operand that follows is the address.
  [[nodiscard]] uint32_t results() const { return registers + (reduction.has_value() ? 1 : 0); }
  [[nodiscard]] uint32_t lanes() const { return shape == Shape::s32x32b ? 32 : 16; }
  /// Whether a register holds the warp's lanes of one column.
  [[nodiscard]] bool is_column() const { return shape == Shape::s32x32b && !packed; }
};

struct Position {
  uint32_t lane, column;
};

/// The position of register `r` of thread `t`, relative to the address; columns in units of a
/// register's width. PTX ISA, "Matrix fragments for shape ..." of tcgen05.ld.
Position position(Shape shape, uint32_t r, uint32_t t) {
  switch (shape) {
    case Shape::s32x32b:
      return {t, r};
    case Shape::s16x64b:
      return {t / 4 + 8 * (t % 2), 2 * r + t / 2 % 2};
    case Shape::s16x128b:
      return {t / 4 + 8 * (r % 2), 4 * (r / 2) + t % 4};
    case Shape::s16x256b:
      return {t / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (t % 4) + r % 2};
    case Shape::s16x32bx2:
      return {t % 16, r};
  }
  return {0, 0};
}

uint32_t split_of(const TransferForm& form, uint32_t t) {
  return form.shape == Shape::s16x32bx2 && t >= 16 ? form.split : 0;
}

/// Reads one register's 32 lanes from Tensor Memory, one by one.
void gather_elements(TensorMemory& memory, const TransferForm& form, TensorAddress base, uint32_t r,
                     uint32_t* out) {
  for (uint32_t t = 0; t < kWarpLanes; ++t) {
    const Position p = position(form.shape, r, t);
    const uint32_t lane = base.lane + p.lane, first = base.column + split_of(form, t);
    out[t] = form.packed ? (memory.column(first + 2 * p.column)[lane] & 0xffffu) |
                               memory.column(first + 2 * p.column + 1)[lane] << 16
                         : memory.column(first + p.column)[lane];
  }
}

/// Reads one register's 32 lanes from Tensor Memory.
inline void gather(TensorMemory& memory, const TransferForm& form, TensorAddress base, uint32_t r,
                   uint32_t* out) {
  if (form.is_column())
    std::memcpy(out, memory.column(base.column + r) + base.lane, kWarpLanes * sizeof *out);
  else
    gather_elements(memory, form, base, r, out);
}

/// Writes one register's 32 lanes to Tensor Memory.
void scatter(TensorMemory& memory, const TransferForm& form, TensorAddress base, uint32_t r,
             const uint32_t* in) {
  if (form.is_column()) {
    std::memcpy(memory.column(base.column + r) + base.lane, in, kWarpLanes * sizeof *in);
    return;
  }
  for (uint32_t t = 0; t < kWarpLanes; ++t) {
    const Position p = position(form.shape, r, t);
    const uint32_t lane = base.lane + p.lane, first = base.column + split_of(form, t);
    if (form.packed) {
      memory.column(first + 2 * p.column)[lane] = in[t] & 0xffffu;
      memory.column(first + 2 * p.column + 1)[lane] = in[t] >> 16;
    } else {
      memory.column(first + p.column)[lane] = in[t];
    }
  }
}

/// The checked address: uniform, in the warp's quarter of the lanes, in allocated columns.
TensorAddress checked_address(Strand& strand, const Instruction& i, LaneMask active,
                              const TransferForm& form) {
  require_converged(strand, i, active);
  const auto bits = static_cast<uint32_t>(
      uniform_value(strand, i, i.operands[form.results()], active, "the Tensor Memory address") +
      static_cast<uint64_t>(i.immediate));
  TensorAddress address = TensorAddress::decode(bits);
  const uint32_t quarter = strand.warp->index % TensorMemory::kQuarters * kWarpLanes;
  const uint32_t within = address.lane % kWarpLanes;
  const bool half_lanes = form.lanes() < kWarpLanes;
  const bool aligned = within == 0 || (half_lanes && within == form.lanes());
  const bool names_quarter = address.lane - within == quarter;
  if (!aligned || (!names_quarter && strand.cluster->at_isa_level()))
    Site{strand, i, active}.fault(
        {.code = FaultCode::tmem_lane_quarter,
         .what =
             fmt::format("invalid datapath (lane) alignment: the address names lane {}, but warp "
                         "{} may access lanes {}-{} only, starting at lane {}{}",
                         address.lane, strand.warp->index, quarter, quarter + kWarpLanes - 1,
                         quarter, half_lanes ? fmt::format(" or {}", quarter + form.lanes()) : ""),
         .rule = "warp w accesses the 32 lanes from 32 * (w % 4)",
         .fix = "add (warp % 4) * 32 << 16 to the address of the allocation",
         .section = "Access restrictions",
         .hardware_accepts = aligned});
  address.lane = quarter + within;
  TensorMemory& memory = units_of(strand).tensor_memory;
  memory.require_allocated(strand, i, active, address.column, form.columns);
  if (form.shape == Shape::s16x32bx2)
    memory.require_allocated(strand, i, active, address.column + form.split, form.columns);
  return address;
}

/// When a transfer that a warp issues now is done.
Cycle transfer_end(const Strand& strand, const TransferForm& form, bool is_load) {
  const uint32_t columns = form.columns * (form.shape == Shape::s16x32bx2 ? 2 : 1);
  const auto [begin, latency] =
      strand.cta->clock->tensor_memory.transfer(strand.warp->index, columns, is_load, strand.time);
  return begin + latency + strand.cluster->perturbation(latency);
}

/// Tells observers of a load or store, of both halves one by one.
void notify(const Strand& strand, const Instruction& i, TensorMemoryEvent::Operation operation,
            const TransferForm& form, TensorAddress address, Cycle done) {
  TensorMemoryEvent event{.operation = operation,
                          .column = address.column,
                          .columns = form.columns,
                          .lane = address.lane,
                          .lane_count = form.lanes(),
                          .done = done};
  notify_tensor_memory(strand, i, event);
  if (form.shape != Shape::s16x32bx2) return;
  event.column += form.split;
  notify_tensor_memory(strand, i, event);
}

/// Remembers a transfer until it is waited for.
void note(TensorMemory::WarpState& state, const Instruction& i, const TransferForm& form,
          TensorAddress address, bool is_load, Cycle done) {
  state.transfers.push_back({&i, address.column, form.columns, is_load, done});
  if (form.shape == Shape::s16x32bx2)
    state.transfers.push_back({&i, address.column + form.split, form.columns, is_load, done});
}

/// Instruction::flags of a load whose destinations nothing reads or writes before a wait::ld that
/// follows without a branch: whether they are written now or there makes no difference.
constexpr uint8_t kUntouched = 1;

/// Ranges of registers in a warp's file.
class RegisterRanges {
 public:
  explicit RegisterRanges(const KernelBuilder& builder) : builder_(builder) {}

  /// Adds one; false if it overlaps one added before.
  bool add(uint32_t reg) {
    if (touches(reg)) return false;
    const auto [first, end] = place_of(reg);
    places_[first] = end;
    return true;
  }
  /// Whether it shares bytes with one that was added.
  [[nodiscard]] bool touches(uint32_t reg) const {
    const auto [first, end] = place_of(reg);
    const auto after = places_.lower_bound(end);  // the first that begins after it
    return after != places_.begin() && std::prev(after)->second > first;
  }

 private:
  [[nodiscard]] std::pair<size_t, size_t> place_of(uint32_t reg) const {
    const Operand operand = builder_.register_operand(reg);
    const size_t bytes = operand.bytes == 0 ? sizeof(LaneMask) : size_t{operand.bytes} * kWarpLanes;
    return {operand.offset_bytes, operand.offset_bytes + bytes};
  }

  const KernelBuilder& builder_;
  std::map<size_t, size_t> places_;  ///< by the first byte: the end
};

/// Whether the load at `index` is kUntouched; `end`: of its basic block.
bool is_untouched(const KernelBuilder& builder, uint32_t index, uint32_t end) {
  const std::vector<ptx::Instruction>& instructions = builder.function().instructions;
  RegisterRanges destinations(builder);
  bool untouched = true;
  ptx::visit_written_registers(instructions[index],
                               [&](uint32_t reg) { untouched &= destinations.add(reg); });
  const auto visit = [&](uint32_t reg) { untouched &= !destinations.touches(reg); };
  for (uint32_t next = index + 1; untouched && next < end; ++next) {
    const ptx::Instruction& instruction = instructions[next];
    if (!instruction.has_guard && instruction.opcode.starts_with("tcgen05.wait::ld")) return true;
    ptx::visit_read_registers(instruction, visit);
    ptx::visit_written_registers(instruction, visit);
  }
  return false;
}

void find_untouched(KernelBuilder& builder) {
  const std::vector<ptx::Instruction>& instructions = builder.function().instructions;
  for (const ptx::BasicBlock& block : ptx::FlowGraph(builder.function()).blocks)
    for (uint32_t index = block.first; index < block.last; ++index)
      if (instructions[index].opcode.starts_with("tcgen05.ld.") &&
          is_untouched(builder, index, block.last))
        builder.decoded(index).flags |= kUntouched;
}

/// Reads what a load brings into its register `r`. The last one of a reduction is made of the
/// others, which `data` holds.
void read_result(TensorMemory& memory, const TransferForm& form, TensorAddress address, uint32_t r,
                 uint32_t* out, const std::vector<const uint32_t*>& data) {
  if (r < form.registers) return gather(memory, form, address, r, out);
  for (uint32_t t = 0; t < kWarpLanes; ++t) {
    uint32_t result = form.reduction->contribution(data[0][t]);
    for (uint32_t of = 1; of < form.registers; ++of)
      result = form.reduction->combine(result, form.reduction->contribution(data[of][t]));
    out[t] = result;
  }
}

/// Takes a load's data, and fills its destinations with a pattern.
void capture(TensorMemory& memory, TensorMemory::WarpState& state, const Strand& strand,
             const Instruction& i, TensorAddress address) {
  const TransferForm& form = *static_cast<const TransferForm*>(i.detail);
  const size_t first = state.data.size();
  state.data.resize(first + size_t{form.results()} * kWarpLanes);
  const uint32_t pattern = memory.next_pattern();
  std::vector<const uint32_t*> data;
  for (uint32_t r = 0; r < form.results(); ++r) {
    uint32_t* const out = state.data.data() + first + size_t{r} * kWarpLanes;
    read_result(memory, form, address, r, out, data);
    data.push_back(out);
    std::fill_n(strand.lanes<uint32_t>(i.operands[r]), kWarpLanes, pattern);
    state.loads.push_back({&i.operands[r], pattern, &i});
  }
}

Flow execute_load(Strand& strand, const Instruction& i, LaneMask active) {
  const TransferForm& form = *static_cast<const TransferForm*>(i.detail);
  const TensorAddress address = checked_address(strand, i, active, form);
  TensorMemory& memory = units_of(strand).tensor_memory;
  const auto prepare = [&](uint32_t column) {
    complete_tensor_writes(*strand.cta, strand.time, column, form.columns);
    memory.require_written(strand, i, active, address.lane, form.lanes(), column, form.columns);
  };
  prepare(address.column);
  if (form.shape == Shape::s16x32bx2) prepare(address.column + form.split);
  TensorMemory::WarpState& state = memory.warp_state(strand.warp->index);
  if ((i.flags & kUntouched) != 0 && active == strand.warp->live) {
    std::vector<const uint32_t*> data;
    for (uint32_t r = 0; r < form.results(); ++r) {
      uint32_t* const out = strand.lanes<uint32_t>(i.operands[r]);
      read_result(memory, form, address, r, out, data);
      if (form.reduction.has_value()) data.push_back(out);
    }
  } else {
    capture(memory, state, strand, i, address);
  }
  state.loads_done = std::max(state.loads_done, transfer_end(strand, form, true));
  note(state, i, form, address, true, state.loads_done);
  notify(strand, i, TensorMemoryEvent::Operation::load, form, address, state.loads_done);
  return Flow::next;
}

Flow execute_wait_load(Strand& strand, const Instruction& i, LaneMask active) {
  require_converged(strand, i, active);
  deliver_loads(strand, units_of(strand).tensor_memory.warp_state(strand.warp->index));
  notify_tensor_memory(strand, i, {.operation = TensorMemoryEvent::Operation::wait_load});
  return Flow::next;
}

Flow execute_store(Strand& strand, const Instruction& i, LaneMask active) {
  const TransferForm& form = *static_cast<const TransferForm*>(i.detail);
  const TensorAddress address = checked_address(strand, i, active, form);
  std::vector<uint32_t> data(size_t{form.registers} * kWarpLanes);
  for (uint32_t r = 0; r < form.registers; ++r)
    std::memcpy(data.data() + size_t{r} * kWarpLanes, strand.lanes<uint32_t>(i.operands[r]),
                kWarpLanes * sizeof data[0]);
  TensorMemory& memory = units_of(strand).tensor_memory;
  TensorMemory::WarpState& state = memory.warp_state(strand.warp->index);
  // Stores of a warp stay in order.
  const Cycle done = std::max(state.stores_done, transfer_end(strand, form, false));
  state.stores_done = done;
  std::erase_if(state.transfers,
                [&](const auto& t) { return !t.is_load && t.done <= strand.time; });
  note(state, i, form, address, false, done);
  notify(strand, i, TensorMemoryEvent::Operation::store, form, address, done);
  Cta* const cta = strand.cta;
  strand.cluster->at(done, [cta, &memory, &form, address, data = std::move(data)](Cycle now) {
    complete_tensor_work(*cta, now);
    for (uint32_t r = 0; r < form.registers; ++r)
      scatter(memory, form, address, r, data.data() + size_t{r} * kWarpLanes);
    memory.mark_written(address.lane, form.lanes(), address.column, form.columns);
    if (form.shape == Shape::s16x32bx2)
      memory.mark_written(address.lane, form.lanes(), address.column + form.split, form.columns);
  });
  return Flow::next;
}

Flow execute_wait_store(Strand& strand, const Instruction& i, LaneMask active) {
  require_converged(strand, i, active);
  TensorMemory::WarpState& state = units_of(strand).tensor_memory.warp_state(strand.warp->index);
  state.waited(false);
  // One cycle later, so that the stores' actions run before anything that follows.
  if (state.stores_done != 0) strand.time = std::max(strand.time, state.stores_done + 1);
  notify_tensor_memory(strand, i, {.operation = TensorMemoryEvent::Operation::wait_store});
  return Flow::next;
}

/// Decodes shape and count; `data` and `address` are operand indices.
void bind_transfer(Binder& binder, bool is_load,
                   std::optional<LoadReduction> reduction = std::nullopt) {
  const std::string_view name = binder.modifiers.get("shape");
  const auto info = std::find_if(kTransferShapes.begin(), kTransferShapes.end(),
                                 [&](const TransferShape& shape) { return shape.name == name; });
  const bool halves = info->shape == Shape::s16x32bx2;
  const size_t results = reduction.has_value() ? 2 : 1;
  const size_t operands = results + (halves ? 2 : 1);
  binder.expect_count(operands, operands);
  const size_t data = is_load ? 0 : binder.count() - 1, address = is_load ? results : 0;
  uint32_t repetitions = 0;
  for (const char digit : binder.modifiers.get("num").substr(1))
    repetitions = repetitions * 10 + static_cast<uint32_t>(digit - '0');
  TransferForm form;
  form.shape = info->shape;
  form.reduction = reduction;
  form.packed = binder.modifiers.has("pack::16b") || binder.modifiers.has("unpack::16b");
  form.registers = info->registers * repetitions;
  form.columns = info->columns * repetitions * (form.packed ? 2 : 1);
  if (form.registers > kMostRegisters)
    binder.refuse(fmt::format("needs {} registers; the most are 128", form.registers),
                  "use a smaller repetition count");
  if (halves) form.split = static_cast<uint32_t>(binder.immediate(binder.ptx_operand(address + 1)));
  const size_t registers =
      is_load ? binder.destination_vector(binder.ptx_operand(data), sizeof(uint32_t))
              : binder.source_vector(binder.ptx_operand(data), ptx::ScalarType::b32);
  if (registers != form.registers)
    binder.refuse(fmt::format("has {} data registers; its shape and count take {}", registers,
                              form.registers),
                  "");
  if (reduction.has_value()) binder.destination(binder.ptx_operand(1), sizeof(uint32_t));
  binder.address(binder.ptx_operand(address));
  binder.detail(form);
}

void bind_load(Binder& binder) {
  bind_transfer(binder, true);
  binder.builder().check_late_reads(execute_late_read);
  binder.builder().when_decoded(find_untouched);
  binder.out.execute = execute_load;
}
void bind_store(Binder& binder) {
  bind_transfer(binder, false);
  binder.out.execute = execute_store;
}
/// Each thread's own registers are reduced, in both shapes.
void bind_load_reduction(Binder& binder) {
  const Modifiers& modifiers = binder.modifiers;
  const LoadReduction reduction{.type = modifiers.type(),
                                .is_max = modifiers.get("operation") == "max",
                                .of_absolutes = modifiers.has("abs"),
                                .keeps_nan = modifiers.has("NaN")};
  if (reduction.type != ptx::ScalarType::f32 && (reduction.of_absolutes || reduction.keeps_nan))
    binder.refuse("has .abs or .NaN with an integer type", "use them with .f32");
  bind_transfer(binder, true, reduction);
  binder.builder().check_late_reads(execute_late_read);
  binder.builder().when_decoded(find_untouched);
  binder.out.execute = execute_load;
}
void bind_wait_load(Binder& binder) {
  binder.expect_count(0, 0);
  binder.out.execute = execute_wait_load;
}
void bind_wait_store(Binder& binder) {
  binder.expect_count(0, 0);
  binder.out.execute = execute_wait_store;
}

constexpr InstructionForm wait_row(std::string_view base, BindFunction bind, Unit unit) {
  return {.base = base,
          .modifiers = "sync aligned",
          .bind = bind,
          .effect = Effect::cluster,
          .cycles = costs::kAlu,
          .section = "tcgen05.wait",
          .destinations = 0,
          .unit = unit,
          .ordering = Ordering::wait,
          .crossing = Crossing::closed,
          .machines = kOnBlackwell};
}

constexpr InstructionForm kLoadStoreRows[] = {
    {.base = "tcgen05.ld",
     .modifiers = "sync aligned shape=32x32b|16x64b|16x128b|16x256b|16x32bx2 "
                  "num=x1|x2|x4|x8|x16|x32|x64|x128 [pack::16b] b32",
     .bind = bind_load,
     .effect = Effect::cluster,
     .cycles = costs::kSharedAccess,
     .section = "tcgen05.ld",
     .writes_later = true,
     .unit = Unit::tensor_load,
     .machines = kOnBlackwell},
    {.base = "tcgen05.st",
     .modifiers = "sync aligned shape=32x32b|16x64b|16x128b|16x256b|16x32bx2 "
                  "num=x1|x2|x4|x8|x16|x32|x64|x128 [unpack::16b] b32",
     .bind = bind_store,
     .effect = Effect::cluster,
     .cycles = costs::kSharedAccess,
     .awaits_loads = true,
     .section = "tcgen05.st",
     .destinations = 0,
     .unit = Unit::tensor_store,
     .machines = kOnBlackwell},
    {.base = "tcgen05.ld.red",
     .modifiers = "sync aligned shape=32x32b|16x32bx2 num=x2|x4|x8|x16|x32|x64|x128 "
                  "operation=min|max [abs] [NaN] type=f32|u32|s32",
     .bind = bind_load_reduction,
     .effect = Effect::cluster,
     .cycles = costs::kSharedAccess,
     .section = "tcgen05.ld",
     .destinations = 2,
     .writes_later = true,
     .unit = Unit::tensor_load,
     .machines = kOnBlackwellUltra,
     .unit_name = "tcgen05.ld"},
    wait_row("tcgen05.wait::ld", bind_wait_load, Unit::tensor_load),
    wait_row("tcgen05.wait::st", bind_wait_store, Unit::tensor_store),
};

}  // namespace

Rows load_store_rows() { return kLoadStoreRows; }

}  // namespace bw::sim::tcgen05
