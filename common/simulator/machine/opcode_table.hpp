#pragma once
/// \file
/// The table of opcode forms: one row per form, grouped by family.
///
/// A row's modifiers are written as a small grammar, groups separated by spaces:
///   x            the modifier .x is required
///   [x]          .x is optional
///   n=a|b|c      exactly one of .a .b .c is required; the match is called n
///   [n=a|b|c]    at most one of them
///   n*2=a|b|c    exactly two, in order (cvt's destination and source types)
///   *            alone: any modifiers (for forms that are refused by name)
///   {text}       the modifier may hold '::' and so on; '|' separates alternatives
/// Modifiers may come in any order (nvcc and inline PTX differ in it); every modifier must be
/// consumed, a group takes the first modifier not yet taken that it allows. The first row that fits
/// wins.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/simulator/machine/instruction.hpp"
#include "common/simulator/ptx/ast.hpp"

namespace bw::sim {

class KernelBuilder;

/// The modifiers of one instruction, matched against a row.
class Modifiers {
 public:
  /// Whether the (optional) group or literal was present.
  [[nodiscard]] bool has(std::string_view name) const;
  /// The modifier that group `name` took (its nth), "" when absent.
  [[nodiscard]] std::string_view get(std::string_view name, size_t nth = 0) const;
  /// The nth match of group "type" as a type.
  [[nodiscard]] ptx::ScalarType type(size_t nth = 0) const;

  std::vector<std::pair<std::string_view, std::string_view>> matches;  ///< group name, modifier
};

/// Hands an instruction's operands to a row's bind function, which fills `out`.
class Binder {
 public:
  Binder(KernelBuilder& builder, const ptx::Instruction& from, const Modifiers& matched,
         Instruction& into)
      : source(from), modifiers(matched), out(into), builder_(builder) {}

  const ptx::Instruction& source;
  const Modifiers& modifiers;
  Instruction& out;

  /// Number of PTX operands.
  [[nodiscard]] size_t count() const { return source.operands.size(); }
  [[nodiscard]] const ptx::Operand& ptx_operand(size_t index) const;
  /// Throws unless the number of PTX operands is in [least, most].
  void expect_count(size_t least, size_t most) const;

  // Each adds one decoded operand to out.operands, in call order.
  /// A destination register; `_` becomes scratch storage of `sink_bytes` per lane (0: predicate).
  void destination(const ptx::Operand& operand, size_t sink_bytes);
  /// A source register or an immediate of the type (converted to its width and representation).
  void source_value(const ptx::Operand& operand, ptx::ScalarType type);
  /// A predicate source, possibly negated; immediates 0 and 1 too.
  void source_predicate(const ptx::Operand& operand);
  /// An address operand: adds its base (register or constant; 4 or 8 bytes wide) and adds its
  /// displacement to out.immediate. Accepts `[reg+imm]`, `[symbol+imm]`, `[imm]` and a bare
  /// register.
  void address(const ptx::Operand& operand);
  /// All elements of a vector operand (or the single operand) as destinations / sources.
  size_t destination_vector(const ptx::Operand& operand, size_t sink_bytes);
  size_t source_vector(const ptx::Operand& operand, ptx::ScalarType type);
  /// An integer that must be an immediate.
  [[nodiscard]] int64_t immediate(const ptx::Operand& operand) const;

  /// Stores family-specific decoded data with the kernel and points out.detail to it.
  template <class T>
  T& detail(T value) {
    auto stored = std::make_shared<T>(std::move(value));
    T& reference = *stored;
    out.detail = stored.get();
    keep(std::move(stored));
    return reference;
  }

  /// Throws SimulationError{unsupported or parse} that names the instruction and its place.
  [[noreturn]] void refuse(std::string what, std::string fix) const;

  [[nodiscard]] KernelBuilder& builder() { return builder_; }

 private:
  void keep(std::shared_ptr<void> value);
  KernelBuilder& builder_;
};

struct OpcodeRow {
  std::string_view base;  ///< leading fixed part: "ld", "cp.async.bulk.tensor", "mbarrier.init"
  std::string_view modifiers;  ///< grammar above
  void (*bind)(Binder&);       ///< nullptr: recognised, refused by name at launch
  bool interacts;              ///< see Instruction::interacts
  uint16_t cycles;             ///< issue cost, from machine/costs.hpp
  std::string_view section;    ///< PTX ISA section
};

/// All families' rows, in order.
[[nodiscard]] std::span<const std::span<const OpcodeRow>> opcode_families();

struct RowMatch {
  const OpcodeRow* row = nullptr;
  Modifiers modifiers;
};

/// The row for an opcode, or nullopt. The views in the match point into `opcode` and the table.
[[nodiscard]] std::optional<RowMatch> find_row(std::string_view opcode);

// One function a family; each is defined in units/<name>.cpp (or a file beside it).
[[nodiscard]] std::span<const OpcodeRow> integer_rows();
[[nodiscard]] std::span<const OpcodeRow> float_rows();
[[nodiscard]] std::span<const OpcodeRow> half_rows();  ///< f16, bf16 and packed arithmetic
[[nodiscard]] std::span<const OpcodeRow>
comparison_rows();  ///< setp, set, selp, slct, min/max stay in their type's family
[[nodiscard]] std::span<const OpcodeRow> conversion_rows();  ///< cvt, cvta, mov, pack/unpack
[[nodiscard]] std::span<const OpcodeRow>
control_rows();  ///< bra, ret, exit, trap, call, nop, nanosleep
[[nodiscard]] std::span<const OpcodeRow> load_store_rows();  ///< ld, st, ldu, prefetch, ld.param
[[nodiscard]] std::span<const OpcodeRow> atomic_rows();      ///< atom, red
[[nodiscard]] std::span<const OpcodeRow>
warp_rows();  ///< shfl, vote, match, redux, elect, activemask, bar.warp.sync
[[nodiscard]] std::span<const OpcodeRow> matrix_move_rows();  ///< ldmatrix, stmatrix, movmatrix
[[nodiscard]] std::span<const OpcodeRow> barrier_rows();      ///< bar, barrier, barrier.cluster
[[nodiscard]] std::span<const OpcodeRow> mbarrier_rows();
[[nodiscard]] std::span<const OpcodeRow> fence_rows();  ///< fence, membar, fence.proxy.*
[[nodiscard]] std::span<const OpcodeRow>
cluster_rows();  ///< mapa, getctarank, clusterlaunchcontrol, griddepcontrol, setmaxnreg
[[nodiscard]] std::span<const OpcodeRow> cp_async_rows();  ///< non-bulk cp.async
[[nodiscard]] std::span<const OpcodeRow>
bulk_copy_rows();  ///< cp.async.bulk, cp.reduce.async.bulk, groups
[[nodiscard]] std::span<const OpcodeRow>
tensor_copy_rows();  ///< cp.async.bulk.tensor and its reductions, prefetch
[[nodiscard]] std::span<const OpcodeRow>
tcgen05_memory_rows();  ///< alloc, dealloc, ld, st, wait, cp, shift
[[nodiscard]] std::span<const OpcodeRow> tcgen05_mma_rows();  ///< mma, commit, fence
[[nodiscard]] std::span<const OpcodeRow>
unexecuted_rows();  ///< known forms that are refused by name

}  // namespace bw::sim
