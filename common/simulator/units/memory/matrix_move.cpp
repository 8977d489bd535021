/// \file
/// ldmatrix, stmatrix and movmatrix (PTX ISA, "Warp Level Matrix Instructions").
///
/// An 8x8 matrix of 16-bit elements is spread over a warp: lane t holds elements (t/4, 2(t%4)) and
/// (t/4, 2(t%4)+1) in the halves of one register, or the same places of the transposed matrix with
/// .trans. In shared memory a matrix is eight rows of 16 bytes; lane 8k+r gives the address of row
/// r of matrix k.
#include <array>
#include <cstring>
#include <string_view>

#include <fmt/core.h>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/costs.hpp"
#include "common/simulator/machine/opcode_table.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/memory/access_events.hpp"
#include "common/simulator/units/synchronisation/aligned.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

constexpr int kRows = 8;
constexpr int kColumns = 8;
constexpr size_t kRowBytes = 16;
constexpr int kLanesPerRow = 4;
static_assert(kRows * kColumns == 2 * kWarpLanes, "each lane holds two elements of a matrix");

using Matrix = std::array<std::array<uint16_t, kColumns>, kRows>;

/// Instruction::flags.
enum MatrixFlag : uint8_t { kTranspose = 1, kGeneric = 2 };

/// The two elements of a lane, the one of the lower column in the lower half.
uint32_t fragment(const Matrix& matrix, int lane, bool transpose) {
  const auto row = static_cast<size_t>(lane / kLanesPerRow);
  const auto column = static_cast<size_t>(2 * (lane % kLanesPerRow));
  const uint32_t low = transpose ? matrix[column][row] : matrix[row][column];
  const uint32_t high = transpose ? matrix[column + 1][row] : matrix[row][column + 1];
  return high << 16 | low;
}

void set_fragment(Matrix& matrix, int lane, bool transpose, uint32_t value) {
  const auto row = static_cast<size_t>(lane / kLanesPerRow);
  const auto column = static_cast<size_t>(2 * (lane % kLanesPerRow));
  (transpose ? matrix[column][row] : matrix[row][column]) = static_cast<uint16_t>(value);
  (transpose ? matrix[column + 1][row] : matrix[row][column + 1]) =
      static_cast<uint16_t>(value >> 16);
}

AddressSpace space_of(const Instruction& instruction) {
  return instruction.flags & kGeneric ? AddressSpace::generic : AddressSpace::shared_cta;
}

/// Host memory of row `row` of matrix `index`.
std::byte* row_memory(Strand& strand, const Instruction& instruction, const Operand& address,
                      int index, int row, Access access) {
  const int lane = kRows * index + row;
  const uint64_t at = lane_address(strand, address, instruction.immediate, lane);
  const AddressSpace space = space_of(instruction);
  if (space == AddressSpace::generic && space_of_generic(at) != AddressSpace::shared_cluster)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.what =
             fmt::format("the generic row address of lane {} does not lie in shared memory", lane),
         .rule = "the address falls within the shared window",
         .fix = "pass an address of shared memory"});
  return resolve({strand, instruction, lane_bit(lane)}, space, at, kRowBytes, kRowBytes, access);
}

/// Tells observers of the rows of `count` matrices; the lanes are those that give the addresses.
void tell_rows(const Strand& strand, const Instruction& instruction, const Operand& address,
               int count, Access access) {
  if (!strand.cluster->observed(EventKind::access)) return;
  const int lanes = kRows * count;
  LaneAddresses addresses{};
  for (int lane = 0; lane < lanes; ++lane)
    addresses[static_cast<size_t>(lane)] =
        lane_address(strand, address, instruction.immediate, lane);
  tell_access(strand, instruction, lanes == kWarpLanes ? kAllLanes : (1u << lanes) - 1,
              space_of(instruction), access, false, kRowBytes, addresses);
}

/// Operands: one register per matrix, then the address.
Flow load_matrices(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  const int count = instruction.operand_count - 1;
  const Operand& address = instruction.operands[count];
  std::array<Matrix, 4> matrices{};
  for (int k = 0; k < count; ++k)
    for (int row = 0; row < kRows; ++row)
      std::memcpy(&matrices[static_cast<size_t>(k)][static_cast<size_t>(row)],
                  row_memory(strand, instruction, address, k, row, Access::read), kRowBytes);
  tell_rows(strand, instruction, address, count, Access::read);
  const bool transpose = (instruction.flags & kTranspose) != 0;
  for (int k = 0; k < count; ++k) {
    uint32_t* const d = strand.lanes<uint32_t>(instruction.operands[k]);
    const Matrix& matrix = matrices[static_cast<size_t>(k)];
    for_lanes(active, [&](int lane) { d[lane] = fragment(matrix, lane, transpose); });
  }
  return Flow::next;
}

/// Operands: the address, then one register per matrix.
Flow store_matrices(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  const bool transpose = (instruction.flags & kTranspose) != 0;
  for (int k = 0; k < instruction.operand_count - 1; ++k) {
    const uint32_t* const a = strand.lanes<uint32_t>(instruction.operands[k + 1]);
    Matrix matrix{};
    for (int lane = 0; lane < kWarpLanes; ++lane) set_fragment(matrix, lane, transpose, a[lane]);
    for (int row = 0; row < kRows; ++row)
      std::memcpy(row_memory(strand, instruction, instruction.operands[0], k, row, Access::write),
                  &matrix[static_cast<size_t>(row)], kRowBytes);
  }
  tell_rows(strand, instruction, instruction.operands[0], instruction.operand_count - 1,
            Access::write);
  strand.cluster->note_progress();
  return Flow::next;
}

Flow transpose_matrix(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  const uint32_t* const a = strand.lanes<uint32_t>(instruction.operands[1]);
  uint32_t* const d = strand.lanes<uint32_t>(instruction.operands[0]);
  Matrix matrix{};
  for (int lane = 0; lane < kWarpLanes; ++lane) set_fragment(matrix, lane, false, a[lane]);
  for_lanes(active, [&](int lane) { d[lane] = fragment(matrix, lane, true); });
  return Flow::next;
}

uint8_t matrix_flags(const Modifiers& modifiers) {
  const std::string_view space = modifiers.get("space");
  return static_cast<uint8_t>((modifiers.has("trans") ? kTranspose : 0) |
                              (space.empty() ? kGeneric : 0));
}

void check_register_count(const Binder& binder, size_t registers) {
  const std::string_view count = binder.modifiers.get("count");
  if (registers != static_cast<size_t>(count[1] - '0'))
    binder.refuse(fmt::format("moves {} matrices with {} registers", count.substr(1), registers),
                  "give one 32-bit register per matrix");
}

void bind_ldmatrix(Binder& binder) {
  binder.expect_count(2, 2);
  constexpr size_t kRegisterBytes = 4;
  check_register_count(binder, binder.destination_vector(binder.ptx_operand(0), kRegisterBytes));
  binder.address(binder.ptx_operand(1));
  binder.out.flags = matrix_flags(binder.modifiers);
  binder.out.execute = load_matrices;
}

void bind_stmatrix(Binder& binder) {
  binder.expect_count(2, 2);
  binder.address(binder.ptx_operand(0));
  check_register_count(binder, binder.source_vector(binder.ptx_operand(1), ScalarType::b32));
  binder.out.flags = matrix_flags(binder.modifiers);
  binder.out.execute = store_matrices;
}

void bind_movmatrix(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::b32, 1);
  binder.out.execute = transpose_matrix;
}

constexpr OpcodeRow move_row(std::string_view base, std::string_view modifiers, BindFunction bind) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = base == "movmatrix" ? Effect::warp : Effect::cluster,
          .cycles = costs::kSharedAccess,
          .awaits_loads = base == "stmatrix",
          .section = base};
}

constexpr OpcodeRow kForms[] = {
    move_row("ldmatrix", "sync aligned m8n8 count=x1|x2|x4 [trans] [space=shared|shared::cta] b16",
             bind_ldmatrix),
    move_row("stmatrix", "sync aligned m8n8 count=x1|x2|x4 [trans] [space=shared|shared::cta] b16",
             bind_stmatrix),
    move_row("movmatrix", "sync aligned m8n8 trans b16", bind_movmatrix),
    // The 8-bit shapes: recognised, refused by name.
    move_row("ldmatrix",
             "sync aligned shape=m16n16 count=x1|x2 trans [space=shared|shared::cta] b8", nullptr),
    move_row("ldmatrix",
             "sync aligned shape=m16n16 count=x1|x2 trans [space=shared|shared::cta] b8x16 "
             "source=b6x16_p32|b4x16_p64",
             nullptr),
    move_row("ldmatrix",
             "sync aligned shape=m8n16 count=x1|x2|x4 [space=shared|shared::cta] b8x16 "
             "source=b6x16_p32|b4x16_p64",
             nullptr),
    move_row("stmatrix", "sync aligned m16n8 count=x1|x2|x4 trans [space=shared|shared::cta] b8",
             nullptr),
};

}  // namespace

Rows matrix_move_rows() { return kForms; }

}  // namespace bw::sim
