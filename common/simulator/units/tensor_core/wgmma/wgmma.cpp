/// \file
/// wgmma.mma_async, wgmma.mma_async.sp, wgmma.fence, wgmma.commit_group and wgmma.wait_group (PTX
/// ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions").
#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/machine/late_read.hpp"
#include "common/simulator/ptx/wgmma_registers.hpp"
#include "common/simulator/units/copies/async_groups.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/aligned.hpp"
#include "common/simulator/units/tensor_core/footprint.hpp"
#include "common/simulator/units/tensor_core/operand_contents.hpp"
#include "common/simulator/units/tensor_core/wgmma/wgmma_descriptor.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::wgmma {
namespace {

/// The alternatives "m64n8kK|m64n16kK|...|m64n256kK" of a grammar, as a constant.
template <uint32_t k, bool integers>
class Shapes {
 public:
  consteval Shapes() {
    for (uint32_t n = 8; n <= kMostColumns; n += 8) {
      if (integers && n % 16 != 0 && n != 8 && n != 24) continue;
      if (size_ != 0) add('|');
      for (const char c : std::string_view("m64n")) add(c);
      add_number(n);
      add('k');
      add_number(k);
    }
  }
  [[nodiscard]] constexpr std::string_view text() const { return {text_.data(), size_}; }

 private:
  static constexpr uint32_t kMostColumns = 256;
  constexpr void add(char c) { text_[size_++] = c; }
  constexpr void add_number(uint32_t value) {
    if (value >= 10) add_number(value / 10);
    add(static_cast<char>('0' + value % 10));
  }
  std::array<char, 512> text_{};
  size_t size_ = 0;
};

/// A row's grammar: "sync aligned shape=" + shapes + what follows.
template <size_t capacity>
class Grammar {
 public:
  consteval Grammar(std::string_view shapes, std::string_view rest) {
    for (const std::string_view part : {std::string_view("sync aligned shape="), shapes, rest})
      for (const char c : part) text_[size_++] = c;
  }
  [[nodiscard]] constexpr std::string_view text() const { return {text_.data(), size_}; }

 private:
  std::array<char, capacity> text_{};
  size_t size_ = 0;
};
using RowGrammar = Grammar<640>;

MmaFormat format_of(std::string_view name) {
  if (name == "bf16") return MmaFormat::bf16;
  if (name == "tf32") return MmaFormat::tf32;
  if (name == "e4m3") return MmaFormat::e4m3;
  if (name == "e5m2") return MmaFormat::e5m2;
  if (name == "s8") return MmaFormat::s8;
  if (name == "u8" || name == "b1") return MmaFormat::u8;
  return MmaFormat::f16;
}

AccumulatorFormat accumulator_of(std::string_view name) {
  if (name == "f16") return AccumulatorFormat::f16;
  return name == "s32" ? AccumulatorFormat::s32 : AccumulatorFormat::f32;
}

/// N of "m64n128k32".
uint32_t columns_of(std::string_view shape) {
  constexpr size_t kBeforeN = std::string_view("m64n").size();
  uint32_t n = 0;
  std::from_chars(shape.data() + kBeforeN, shape.data() + shape.size(), n);
  return n;
}

std::string place_of(const Strand& strand, uint32_t source_index) {
  const Kernel& kernel = strand.cluster->kernel();
  const ptx::Instruction& source = kernel.function().instructions[source_index];
  return fmt::format("{}: `{}`", kernel.module().ptx().describe_location(source), source.opcode);
}

void require_uniform(const Strand& strand, const Instruction& i, LaneMask active,
                     const Operand& operand, const char* what) {
  const LaneMask different = strand.lanes_that_differ(operand, active);
  if (different == 0) return;
  Site{strand, i, different}.fault(
      {.code = FaultCode::warpgroup_differs,
       .what = fmt::format("{} differs between the threads of the warp", what),
       .rule = "all threads of the warpgroup give the same descriptors and scale-d",
       .fix =
           "compute it from values that the threads share, such as the number of the warpgroup"});
}

MatrixDescriptor checked_descriptor(const Strand& strand, const Instruction& i, LaneMask active,
                                    uint64_t bits, const WgmmaForm& form, bool is_a) {
  const char* const name = is_a ? "A" : "B";
  if (auto problem = check_wgmma_descriptor(bits)) {
    problem->what = std::string(name) + ": " + problem->what;
    Site{strand, i, active}.fault(*problem);
  }
  const MatrixDescriptor descriptor = decode_wgmma_descriptor(bits);
  const uint32_t element = container_bytes(is_a ? form.a_format : form.b_format);
  const uint32_t row_bytes = is_a ? kMmaKBytes : form.b_row_bytes();
  const uint32_t rows = is_a ? kWgmmaRows : form.n;
  const size_t shared_bytes = strand.cta->shared.size();
  if (!matrix_in_bounds(descriptor, is_a ? form.a_major : form.b_major, rows, row_bytes / element,
                        element, shared_bytes, kReservedSharedBytes))
    Site{strand, i, active}.fault(
        {.code = FaultCode::matrix_out_of_bounds,
         .what =
             fmt::format("out of bounds: {} of {} rows from shared address {} with leading offset "
                         "{} and stride offset {} reaches outside of the CTA's {} bytes of shared "
                         "memory (the first {} are reserved)",
                         name, rows, descriptor.start_bytes, descriptor.leading_bytes,
                         descriptor.stride_bytes, shared_bytes, kReservedSharedBytes),
         .rule = "the matrix is in the CTA's shared memory",
         .fix = "check start address, offsets (in bytes >> 4) and the size of the tile",
         .section = "Matrix Descriptor Format"});
  return descriptor;
}

void require_warpgroup(const Strand& strand, const Instruction& i, LaneMask active) {
  require_converged(strand, i, active);
  const size_t warps = strand.cta->warps.size();
  const uint32_t first = strand.warp->index / kWarpgroupWarps * kWarpgroupWarps;
  if (first + kWarpgroupWarps <= warps && active == kAllLanes) return;
  Site{strand, i, active}.fault(
      {.code = FaultCode::warpgroup_incomplete,
       .what = fmt::format("warp {} is not one of four whole warps: its warpgroup would be warps "
                           "{} to {} of a CTA of {}, and all of its threads execute this",
                           strand.warp->index, first, first + kWarpgroupWarps - 1, warps),
       .rule = "a warpgroup is four contiguous warps, the first of which has a number that is a "
               "multiple of 4, and all its threads execute the instruction",
       .fix = "launch a multiple of 128 threads, and let whole warpgroups take the path"});
}

/// The warp's place in what all warps of a warpgroup give.
void read_registers(const Strand& strand, const Instruction& i, uint32_t first, uint32_t count,
                    std::vector<uint32_t>& out) {
  out.resize(size_t{kWarpgroupWarps} * count * kWarpLanes);
  uint32_t* place = out.data() + strand.warp->index % kWarpgroupWarps * size_t{count} * kWarpLanes;
  for (uint32_t r = 0; r < count; ++r, place += kWarpLanes)
    std::copy_n(strand.lanes<uint32_t>(i.operands[first + r]), kWarpLanes, place);
}

void notify_order(const Strand& strand, const Instruction& i, OrderEvent::Operation operation,
                  std::span<const MemoryRange> reads = {}) {
  if (!strand.cluster->observed(EventKind::order)) return;
  OrderEvent event{.operation = operation, .origin = strand.origin(i), .cycle = strand.time};
  event.reads = reads;
  strand.cluster->notify(&Observer::on_order, event);
}

/// Shared memory that an MMA reads, for observers that want to know it.
std::vector<MemoryRange> shared_reads(const Strand& strand, const WgmmaOperation& operation) {
  if (!strand.cluster->observed(EventKind::footprint)) return {};
  const WgmmaForm& form = *operation.form;
  const uint32_t rank = strand.cta->rank;
  std::vector<MemoryRange> reads = matrix_runs(
      operation.b, form.b_major, form.n, container_bytes(form.b_format), form.b_row_bytes(), rank);
  if (form.a_in_registers) return reads;
  const std::vector<MemoryRange> of_a = matrix_runs(
      operation.a, form.a_major, kWgmmaRows, container_bytes(form.a_format), kMmaKBytes, rank);
  reads.insert(reads.end(), of_a.begin(), of_a.end());
  return reads;
}

/// One of the four warps looks at what all of them multiply.
void check_contents(const Strand& strand, const Instruction& i, LaneMask active,
                    const WgmmaOperation& operation) {
  if (strand.warp->index % kWarpgroupWarps != 0) return;
  const WgmmaForm& form = *operation.form;
  const Site site{strand, i, active};
  constexpr const char* kUse = "this multiplies";
  if (!form.a_in_registers)
    require_rows_written(
        site, strand.cta->rank, 1,
        {"A", operation.a, form.a_major, kWgmmaRows, container_bytes(form.a_format), kMmaKBytes,
         /*may_follow=*/true},
        kUse);
  require_rows_written(
      site, strand.cta->rank, 1,
      {"B", operation.b, form.b_major, form.n, container_bytes(form.b_format), form.b_row_bytes()},
      kUse);
}

Flow execute_mma(Strand& strand, const Instruction& i, LaneMask active) {
  const WgmmaForm& form = *static_cast<const WgmmaForm*>(i.detail);
  require_warpgroup(strand, i, active);
  WgmmaOperation operation;
  operation.form = &form;
  operation.instruction = &i;
  const int lane = lowest_lane(active);
  if (form.a_in_registers) {
    read_registers(strand, i, form.a_operand, kFragmentRegisters, operation.fragments);
  } else {
    const Operand& a = i.operands[form.a_operand];
    require_uniform(strand, i, active, a, "the descriptor of A");
    operation.a_bits = strand.value(a, lane);
    operation.a = checked_descriptor(strand, i, active, operation.a_bits, form, true);
  }
  const Operand& b = i.operands[form.b_operand];
  require_uniform(strand, i, active, b, "the descriptor of B");
  operation.b_bits = strand.value(b, lane);
  operation.b = checked_descriptor(strand, i, active, operation.b_bits, form, false);
  if (form.sparse) read_registers(strand, i, form.metadata_operand, 1, operation.metadata);
  const LaneMask accumulate = strand.predicate(i.operands[form.scale_d_operand]) & active;
  if (accumulate != 0 && accumulate != active)
    require_uniform(strand, i, active, i.operands[form.scale_d_operand], "scale-d");
  operation.accumulate = accumulate != 0;
  check_contents(strand, i, active, operation);
  notify_order(strand, i, OrderEvent::Operation::wgmma_issue, shared_reads(strand, operation));
  units_of(strand).wgmma.issue(strand, i, active, std::move(operation));
  return Flow::next;
}

Flow execute_fence(Strand& strand, const Instruction& i, LaneMask active) {
  require_warpgroup(strand, i, active);
  notify_order(strand, i, OrderEvent::Operation::wgmma_fence);
  return Flow::next;
}

Flow execute_commit(Strand& strand, const Instruction& i, LaneMask active) {
  require_warpgroup(strand, i, active);
  units_of(strand).wgmma.commit(strand);
  notify_group_commit(strand, i, GroupEvent::Unit::wgmma);
  return Flow::next;
}

Flow execute_wait(Strand& strand, const Instruction& i, LaneMask active) {
  require_warpgroup(strand, i, active);
  const auto allowed = static_cast<uint32_t>(i.immediate);
  const Flow flow = units_of(strand).wgmma.wait(strand, allowed);
  return notify_group_wait(strand, i, GroupEvent::Unit::wgmma, allowed, AsyncGroups::Stage::write,
                           flow);
}

/// An instruction that may touch a register of an MMA under way: on hardware, as ptxas compiles it,
/// it waits.
Flow execute_early_touch(Strand& strand, const Instruction& i, LaneMask active) {
  const auto& late = *static_cast<const LateRead*>(i.detail);
  WgmmaUnit& unit = units_of(strand).wgmma;
  for (const LateRead::Register& reg : late.registers) {
    const Instruction* const mma = unit.in_flight(*strand.warp, reg.operand.offset_bytes);
    if (mma == nullptr) continue;
    if (strand.cluster->at_isa_level()) {
      std::vector<std::string> details = {"the MMA: " + place_of(strand, mma->source_index)};
      const bool is_open = unit.uncommitted(*strand.warp) == mma;
      if (is_open)
        details.emplace_back(
            "no wgmma.commit_group has come after it: a wait is for groups that were committed");
      Site{strand, i, active}.fault(
          {.code = is_open ? FaultCode::wgmma_not_committed : FaultCode::wgmma_not_awaited,
           .what = fmt::format(
               "register {} is touched before a wgmma.wait_group for the MMA that it belongs to",
               strand.cluster->kernel().function().registers[reg.index].name),
           .rule = "D and the fragments of A of an asynchronous MMA must not be accessed until "
                   "wgmma.wait_group has waited for its group",
           .fix = "commit the group and wait for it first, and tie the registers to the wait "
                  "(\"+f\" in an empty asm) so that the compiler moves nothing before it",
           .details = std::move(details),
           .section = "wgmma.wait_group",
           .hardware_accepts = true});
    }
    if (const Flow flow = unit.wait_for_all(strand); flow != Flow::next) return flow;
  }
  return late.original.execute(strand, late.original, active);
}

/// An MMA with registers that were written and not fenced.
Flow execute_unfenced(Strand& strand, const Instruction& i, LaneMask active) {
  const auto& late = *static_cast<const LateRead*>(i.detail);
  if (strand.cluster->at_isa_level()) {
    const ptx::Function& function = strand.cluster->kernel().function();
    const std::string& name = function.registers[late.registers.front().index].name;
    const std::vector<ptx::UnfencedUse> uses = ptx::wgmma_without_fence(function);
    const auto use = std::find_if(uses.begin(), uses.end(), [&](const ptx::UnfencedUse& u) {
      return u.instruction == i.source_index;
    });
    std::vector<std::string> details;
    if (use->writer) details.push_back("written by " + place_of(strand, *use->writer));
    Site{strand, i, active}.fault(
        {.code = FaultCode::wgmma_fence_missing,
         .what = use->writer ? fmt::format("register {} was written, and no wgmma.fence separates "
                                           "that from this MMA",
                                           name)
                             : "no wgmma.fence precedes this MMA",
         .rule = "wgmma.fence orders accesses to the registers of D and of fragments of A before "
                 "later MMAs; the first MMA needs one as well",
         .fix = "execute wgmma.fence.sync.aligned after the last write and before the first "
                "wgmma.mma_async",
         .details = std::move(details),
         .section = "wgmma.fence",
         .hardware_accepts = true});
  }
  return late.original.execute(strand, late.original, active);
}

/// Finds the places where the rules about registers may be broken; all others cost nothing.
void watch_registers(KernelBuilder& builder) {
  for (const ptx::UnfencedUse& use : ptx::wgmma_without_fence(builder.function()))
    builder.wrap(use.instruction, {use.reg}, execute_unfenced);
  for (const ptx::PrematureAccess& touch : ptx::premature_wgmma_accesses(builder.function()))
    builder.wrap(touch.instruction, touch.registers, execute_early_touch);
}

/// +1 or -1.
bool is_negative(Binder& binder, const ptx::Operand& operand, const char* name) {
  const int64_t value = binder.immediate(operand);
  if (value != 1 && value != -1)
    binder.refuse(fmt::format("has {} {}; allowed are 1 and -1", name, value), "");
  return value == -1;
}

Major major_of(Binder& binder, const ptx::Operand& operand, const char* name) {
  const int64_t value = binder.immediate(operand);
  if (value != 0 && value != 1)
    binder.refuse(fmt::format("has {} {}; allowed are 0 (K-major) and 1", name, value), "");
  return value == 1 ? Major::mn : Major::k;
}

void bind_mma(Binder& binder) {
  const Modifiers& modifiers = binder.modifiers;
  WgmmaForm form;
  form.sparse = binder.source.opcode.starts_with("wgmma.mma_async.sp");
  form.n = columns_of(modifiers.get("shape"));
  form.d_format = accumulator_of(modifiers.get("d"));
  form.a_format = format_of(modifiers.get("types", 0));
  form.b_format = format_of(modifiers.get("types", 1));
  form.is_binary = modifiers.get("types", 0) == "b1";
  form.saturate = modifiers.has("satfinite");
  const bool is_integer = form.d_format == AccumulatorFormat::s32;
  const bool has_transposes = form.a_format == MmaFormat::f16 || form.a_format == MmaFormat::bf16;

  size_t next = 0;
  const auto operand = [&]() -> const ptx::Operand& { return binder.ptx_operand(next++); };
  const uint32_t expected = form.n / 2 / (form.d_format == AccumulatorFormat::f16 ? 2u : 1u);
  form.d_registers = static_cast<uint32_t>(binder.destination_vector(operand(), 4));
  if (form.d_registers != expected)
    binder.refuse(
        fmt::format("has {} registers of D; N = {} takes {}", form.d_registers, form.n, expected),
        "");
  form.a_operand = form.d_registers;
  const ptx::Operand& a = operand();
  form.a_in_registers = a.kind == ptx::Operand::Kind::vector;
  if (form.a_in_registers) {
    if (binder.source_vector(a, ptx::ScalarType::b32) != kFragmentRegisters)
      binder.refuse("has a fragment of A that is not of four registers", "");
    form.b_operand = form.a_operand + kFragmentRegisters;
  } else {
    binder.source_value(a, ptx::ScalarType::b64);
    form.b_operand = form.a_operand + 1;
  }
  binder.source_value(operand(), ptx::ScalarType::b64);
  form.scale_d_operand = form.b_operand + 1;
  if (form.sparse) {
    form.metadata_operand = form.scale_d_operand++;
    binder.source_value(operand(), ptx::ScalarType::b32);
    const int64_t selector = binder.immediate(operand());
    const int64_t most = container_bytes(form.a_format) == 1 ? 0 : 1;
    if (selector < 0 || selector > most)
      binder.refuse(fmt::format("has sparsity selector {}; allowed are 0 to {}", selector, most),
                    "");
    form.selector = static_cast<uint32_t>(selector);
  }
  binder.source_predicate(operand());
  if (!is_integer) {
    const bool negates_a = is_negative(binder, operand(), "imm-scale-a");
    const bool negates_b = is_negative(binder, operand(), "imm-scale-b");
    form.negate = negates_a != negates_b;
  }
  if (has_transposes) {
    if (!form.a_in_registers) form.a_major = major_of(binder, operand(), "imm-trans-a");
    form.b_major = major_of(binder, operand(), "imm-trans-b");
  }
  if (next != binder.count()) binder.refuse("has operands that its form does not take", "");
  binder.detail(form);
  binder.out.execute = execute_mma;
  binder.builder().when_decoded(watch_registers);
}

void bind_fence(Binder& binder) {
  binder.expect_count(0, 0);
  binder.out.execute = execute_fence;
}

void bind_commit(Binder& binder) {
  binder.expect_count(0, 0);
  binder.out.execute = execute_commit;
}

void bind_wait(Binder& binder) {
  constexpr int64_t kMostPending = 7;
  binder.expect_count(1, 1);
  const int64_t pending = binder.immediate(binder.ptx_operand(0));
  if (pending < 0 || pending > kMostPending)
    binder.refuse(fmt::format("waits until {} groups are pending; allowed are 0 to {}", pending,
                              kMostPending),
                  "");
  binder.out.immediate = pending;
  binder.out.execute = execute_wait;
}

constexpr std::string_view kDense = "wgmma.mma_async", kSparse = "wgmma.mma_async.sp";

template <uint32_t k, bool integers = false>
constexpr Shapes<k, integers> kShapes;

constexpr std::string_view kHalf = " d=f16|f32 types*2=f16", kBfloat = " d=f32 types*2=bf16",
                           kTf32 = " d=f32 types*2=tf32", kFp8 = " d=f16|f32 types*2=e4m3|e5m2",
                           kInteger = " [satfinite] d=s32 types*2=s8|u8",
                           kBinary = " d=s32 types*2=b1 and popc";

template <uint32_t k, const std::string_view& rest, bool integers = false>
constexpr RowGrammar kGrammar{kShapes<k, integers>.text(), rest};

constexpr InstructionForm mma(std::string_view base, std::string_view modifiers) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind_mma,
          .effect = Effect::cluster,
          .cycles = costs::kMmaIssue,
          .section = base,
          .reads_destinations = true,
          .writes_later = true,
          .unit = Unit::wgmma,
          .machines = kOnHopper,
          .unit_name = kDense};
}

constexpr InstructionForm synchronisation(std::string_view base, BindFunction bind,
                                          Ordering ordering, CostOf cost = {}) {
  return {.base = base,
          .modifiers = "sync aligned",
          .bind = bind,
          .effect = Effect::cluster,
          .cycles = costs::kAlu,
          .cost = cost,
          .section = base,
          .destinations = 0,
          .unit = Unit::wgmma,
          .ordering = ordering,
          .crossing = Crossing::arithmetic,
          .machines = kOnHopper};
}

constexpr std::array kRows = {
    mma(kDense, kGrammar<16, kHalf>.text()),
    mma(kDense, kGrammar<16, kBfloat>.text()),
    mma(kDense, kGrammar<8, kTf32>.text()),
    mma(kDense, kGrammar<32, kFp8>.text()),
    mma(kDense, kGrammar<32, kInteger, true>.text()),
    mma(kDense, kGrammar<256, kBinary, true>.text()),
    mma(kSparse, kGrammar<32, kHalf>.text()),
    mma(kSparse, kGrammar<32, kBfloat>.text()),
    mma(kSparse, kGrammar<16, kTf32>.text()),
    mma(kSparse, kGrammar<64, kFp8>.text()),
    mma(kSparse, kGrammar<64, kInteger, true>.text()),
    synchronisation("wgmma.fence", bind_fence, Ordering::fence),
    // ptxas notes a commit at the last MMA before it.
    synchronisation("wgmma.commit_group", bind_commit, Ordering::commit, kNoCost),
    synchronisation("wgmma.wait_group", bind_wait, Ordering::wait),
};

}  // namespace

Rows rows() { return kRows; }

}  // namespace bw::sim::wgmma
