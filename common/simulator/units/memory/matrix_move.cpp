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

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/memory/access_events.hpp"
#include "common/simulator/units/memory/timed_access.hpp"
#include "common/simulator/units/synchronisation/aligned.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"

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

/// Host memory of the row of 16 bytes whose address `lane` gives.
std::byte* row_memory(Strand& strand, const Instruction& instruction, const Operand& address,
                      int lane, Access access) {
  const uint64_t at = lane_address(strand, address, instruction.immediate, lane);
  const AddressSpace space = space_of(instruction);
  if (space == AddressSpace::generic && space_of_generic(at) != AddressSpace::shared_cluster)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::not_shared_address,
         .what = fmt::format("the generic row address of lane {} is not in shared memory", lane),
         .rule = "the address falls within the shared window",
         .fix = "pass an address of shared memory"});
  const Site site{strand, instruction, lane_bit(lane)};
  std::byte* const row = resolve(site, space, at, kRowBytes, kRowBytes, access);
  if (access == Access::read) warn_of_unwritten_row(site, row, kRowBytes);
  return row;
}

/// Tells observers of the rows; the first `lanes` lanes give their addresses.
void notify_rows(const Strand& strand, const Instruction& instruction, const Operand& address,
                 int lanes, Access access) {
  if (!strand.cluster->observed(EventKind::access)) return;
  LaneAddresses addresses{};
  for (int lane = 0; lane < lanes; ++lane)
    addresses[static_cast<size_t>(lane)] =
        lane_address(strand, address, instruction.immediate, lane);
  notify_access(strand, instruction, lanes == kWarpLanes ? kAllLanes : (1u << lanes) - 1,
                space_of(instruction), access, false, kRowBytes, addresses);
}

/// The rows of a load or store, for the timing model: by the lane that gives the address.
struct RowPointers {
  const std::byte* own[kWarpLanes];

  [[nodiscard]] timed_access::LanePlaces lanes(int rows) const {
    return {.active = rows == kWarpLanes ? kAllLanes : (LaneMask{1} << rows) - 1,
            .bytes = kRowBytes,
            .own = own};
  }
};

/// Operands: one register per matrix, then the address.
Flow load_matrices(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  const int count = instruction.operand_count - 1;
  const Operand& address = instruction.operands[count];
  std::array<Matrix, 4> matrices{};
  RowPointers places;
  for (int k = 0; k < count; ++k)
    for (int row = 0; row < kRows; ++row) {
      const int lane = kRows * k + row;
      places.own[lane] = row_memory(strand, instruction, address, lane, Access::read);
      std::memcpy(&matrices[static_cast<size_t>(k)][static_cast<size_t>(row)], places.own[lane],
                  kRowBytes);
    }
  timed_access::load_matrix(strand, places.lanes(kRows * count));
  notify_rows(strand, instruction, address, kRows * count, Access::read);
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
  const int count = instruction.operand_count - 1;
  RowPointers places;
  for (int k = 0; k < count; ++k) {
    const uint32_t* const a = strand.lanes<uint32_t>(instruction.operands[k + 1]);
    Matrix matrix{};
    for (int lane = 0; lane < kWarpLanes; ++lane) set_fragment(matrix, lane, transpose, a[lane]);
    for (int row = 0; row < kRows; ++row) {
      const int lane = kRows * k + row;
      std::byte* const memory =
          row_memory(strand, instruction, instruction.operands[0], lane, Access::write);
      places.own[lane] = memory;
      std::memcpy(memory, &matrix[static_cast<size_t>(row)], kRowBytes);
    }
  }
  timed_access::store_matrix(strand, places.lanes(kRows * count));
  notify_rows(strand, instruction, instruction.operands[0], kRows * count, Access::write);
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

// ---- The 8-bit shapes ----

constexpr int kBytesPerRegister = 4;
/// 16 elements of a row in memory, one a byte.
using ByteRow = std::array<uint8_t, kRowBytes>;

/// What a load of an 8-bit shape has beyond Instruction::flags.
struct ByteLoad {
  unsigned element_bits = 8;  ///< in memory: 8, or 6 or 4, packed in the row's first bytes
};

/// The row that `lane` addresses, as one element a byte: 6-bit elements are in the lower bits of
/// their byte, 4-bit ones in the middle (PTX ISA, "Optional Decompression").
ByteRow load_row(Strand& strand, const Instruction& instruction, const Operand& address, int lane,
                 unsigned element_bits, RowPointers& places) {
  const std::byte* const memory = row_memory(strand, instruction, address, lane, Access::read);
  places.own[lane] = memory;
  ByteRow row;
  if (element_bits == 8) {
    std::memcpy(row.data(), memory, kRowBytes);
    return row;
  }
  constexpr int kPaddingBelow4Bits = 2;
  unpack_packed_chunk(element_bits, memory, reinterpret_cast<std::byte*>(row.data()));
  if (element_bits == 4)
    for (uint8_t& element : row) element = static_cast<uint8_t>(element << kPaddingBelow4Bits);
  return row;
}

/// .m8n16 (a register a matrix) and .m16n16.trans (two). Operands: registers, then the address.
Flow load_bytes(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  const int registers = instruction.operand_count - 1;
  const bool transpose = (instruction.flags & kTranspose) != 0;
  // Eight rows in memory fill a register of each lane, also transposed: 16 rows fill two.
  const int rows = kRows * registers;
  const Operand& address = instruction.operands[registers];
  const unsigned element_bits = static_cast<const ByteLoad*>(instruction.detail)->element_bits;
  std::array<ByteRow, kWarpLanes> memory;
  RowPointers places;
  for (int row = 0; row < rows; ++row)
    memory[static_cast<size_t>(row)] =
        load_row(strand, instruction, address, row, element_bits, places);
  timed_access::load_matrix(strand, places.lanes(rows));
  notify_rows(strand, instruction, address, rows, Access::read);
  for (int r = 0; r < registers; ++r) {
    uint32_t* const d = strand.lanes<uint32_t>(instruction.operands[r]);
    for_lanes(active, [&](int lane) {
      const int row = lane / kLanesPerRow, column = kBytesPerRegister * (lane % kLanesPerRow);
      uint32_t value = 0;
      for (int byte = 0; byte < kBytesPerRegister; ++byte) {
        // Transposed, registers 2i and 2i + 1 belong to matrix i, whose rows in memory are columns.
        const int i = transpose ? r / 2 * 16 + column + byte : kRows * r + row;
        const int j = transpose ? row + kRows * (r % 2) : column + byte;
        value |= uint32_t{memory[static_cast<size_t>(i)][static_cast<size_t>(j)]} << (8 * byte);
      }
      d[lane] = value;
    });
  }
  return Flow::next;
}

/// .m16n8.trans. Operands: the address, then one register per matrix.
Flow store_bytes(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  const int count = instruction.operand_count - 1;
  RowPointers places;
  for (int k = 0; k < count; ++k) {
    const uint32_t* const a = strand.lanes<uint32_t>(instruction.operands[k + 1]);
    std::array<ByteRow, kRows> columns{};
    for (int lane = 0; lane < kWarpLanes; ++lane)
      for (int byte = 0; byte < kBytesPerRegister; ++byte) {
        const int row = lane / kLanesPerRow + kRows * (byte / 2);
        const int column = 2 * (lane % kLanesPerRow) + byte % 2;
        columns[static_cast<size_t>(column)][static_cast<size_t>(row)] =
            static_cast<uint8_t>(a[lane] >> (8 * byte));
      }
    for (int column = 0; column < kRows; ++column) {
      const int lane = kRows * k + column;
      std::byte* const memory =
          row_memory(strand, instruction, instruction.operands[0], lane, Access::write);
      places.own[lane] = memory;
      std::memcpy(memory, columns[static_cast<size_t>(column)].data(), kRowBytes);
    }
  }
  timed_access::store_matrix(strand, places.lanes(kRows * count));
  notify_rows(strand, instruction, instruction.operands[0], kRows * count, Access::write);
  strand.cluster->note_progress();
  return Flow::next;
}

uint8_t matrix_flags(const Modifiers& modifiers) {
  const std::string_view space = modifiers.get("space");
  return static_cast<uint8_t>((modifiers.has("trans") ? kTranspose : 0) |
                              (space.empty() ? kGeneric : 0));
}

void check_register_count(const Binder& binder, size_t registers, size_t per_matrix = 1) {
  const std::string_view count = binder.modifiers.get("count");
  if (registers != per_matrix * static_cast<size_t>(count[1] - '0'))
    binder.refuse(fmt::format("moves {} matrices with {} registers", count.substr(1), registers),
                  per_matrix == 1 ? "give one 32-bit register per matrix"
                                  : "give two 32-bit registers per matrix");
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

template <size_t registers_per_matrix>
void bind_load_bytes(Binder& binder) {
  binder.expect_count(2, 2);
  constexpr size_t kRegisterBytes = 4;
  check_register_count(binder, binder.destination_vector(binder.ptx_operand(0), kRegisterBytes),
                       registers_per_matrix);
  binder.address(binder.ptx_operand(1));
  const std::string_view source = binder.modifiers.get("source");
  binder.detail(ByteLoad{source.empty() ? 8u : source == "b6x16_p32" ? 6u : 4u});
  binder.out.flags = matrix_flags(binder.modifiers);
  binder.out.execute = load_bytes;
}

void bind_store_bytes(Binder& binder) {
  bind_stmatrix(binder);
  binder.out.execute = store_bytes;
}

void bind_movmatrix(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::b32, 1);
  binder.out.execute = transpose_matrix;
}

constexpr InstructionForm load_row(std::string_view modifiers, BindFunction bind) {
  return {.base = "ldmatrix",
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::cluster,
          .cycles = costs::kSharedAccess,
          .section = "ldmatrix",
          .memory = Memory::matrix_load,
          .spaces = Spaces::shared};
}

constexpr InstructionForm store_row(std::string_view modifiers, BindFunction bind) {
  return {.base = "stmatrix",
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::cluster,
          .cycles = costs::kSharedAccess,
          .awaits_loads = true,
          .section = "stmatrix",
          .destinations = 0,
          .memory = Memory::matrix_store,
          .spaces = Spaces::shared};
}

constexpr InstructionForm kForms[] = {
    load_row("sync aligned m8n8 count=x1|x2|x4 [trans] [space=shared|shared::cta] b16",
             bind_ldmatrix),
    store_row("sync aligned m8n8 count=x1|x2|x4 [trans] [space=shared|shared::cta] b16",
              bind_stmatrix),
    {.base = "movmatrix",
     .modifiers = "sync aligned m8n8 trans b16",
     .bind = bind_movmatrix,
     .effect = Effect::warp,
     .cycles = costs::kSharedAccess,
     .section = "movmatrix"},
    load_row("sync aligned m16n16 count=x1|x2 trans [space=shared|shared::cta] b8",
             bind_load_bytes<2>),
    load_row("sync aligned m16n16 count=x1|x2 trans [space=shared|shared::cta] b8x16 "
             "source=b6x16_p32|b4x16_p64",
             bind_load_bytes<2>),
    load_row("sync aligned m8n16 count=x1|x2|x4 [space=shared|shared::cta] b8x16 "
             "source=b6x16_p32|b4x16_p64",
             bind_load_bytes<1>),
    store_row("sync aligned m16n8 count=x1|x2|x4 trans [space=shared|shared::cta] b8",
              bind_store_bytes),
};

}  // namespace

Rows matrix_move_rows() { return kForms; }

}  // namespace bw::sim
