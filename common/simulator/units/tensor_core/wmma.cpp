/// \file
/// wmma.load, wmma.mma and wmma.store: a warp's product of matrices, from memory to memory (PTX
/// ISA, "Matrix multiply-accumulate operation using wmma instructions").
///
/// Which element a register holds is not specified. Here the elements of a matrix go row by
/// row over the lanes, as many in each as there are; fragments of f16 for A and B have room for 512
/// elements whatever the shape, and hold smaller matrices several times.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/memory/access_events.hpp"
#include "common/simulator/units/synchronisation/aligned.hpp"
#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"

namespace bw::sim::wmma {
namespace {

enum class Type : uint8_t { f16, bf16, tf32, f32, f64, s8, u8, s4, u4, b1, s32 };

struct TypeName {
  std::string_view name;
  Type type;
  uint32_t bits;
};
constexpr std::array kTypes = {TypeName{"f16", Type::f16, 16},   TypeName{"bf16", Type::bf16, 16},
                               TypeName{"tf32", Type::tf32, 32}, TypeName{"f32", Type::f32, 32},
                               TypeName{"f64", Type::f64, 64},   TypeName{"s8", Type::s8, 8},
                               TypeName{"u8", Type::u8, 8},      TypeName{"s4", Type::s4, 4},
                               TypeName{"u4", Type::u4, 4},      TypeName{"b1", Type::b1, 1},
                               TypeName{"s32", Type::s32, 32}};

Type type_of(std::string_view name) {
  return std::find_if(kTypes.begin(), kTypes.end(),
                      [&](const TypeName& t) { return t.name == name; })
      ->type;
}
uint32_t field_bits_of(Type type) {
  return std::find_if(kTypes.begin(), kTypes.end(),
                      [&](const TypeName& t) { return t.type == type; })
      ->bits;
}

struct Shape {
  uint32_t m = 0, n = 0, k = 0;
};

/// Of "m16n16k16".
Shape shape_of(std::string_view text) {
  Shape shape;
  const char* const end = text.data() + text.size();
  const char* at = std::from_chars(text.data() + 1, end, shape.m).ptr;
  at = std::from_chars(at + 1, end, shape.n).ptr;
  std::from_chars(at + 1, end, shape.k);
  return shape;
}

/// A matrix spread over a warp's registers.
struct Fragment {
  Type type = Type::f32;
  uint32_t rows = 0, columns = 0;
  uint32_t first_operand = 0, registers = 0;

  [[nodiscard]] uint32_t elements() const { return rows * columns; }
  [[nodiscard]] uint32_t per_register() const {
    return std::max(32u, field_bits_of(type)) / field_bits_of(type);
  }
  [[nodiscard]] uint32_t per_lane() const { return elements() / kWarpLanes; }
  /// How often each element is stored.
  [[nodiscard]] uint32_t copies() const { return registers * per_register() / per_lane(); }

  /// Calls visit(element, register's operand, lane, bit) for each place.
  template <class Visit>
  void for_each_place(Visit&& visit) const {
    for (uint32_t copy = 0; copy < copies(); ++copy)
      for (uint32_t element = 0; element < elements(); ++element) {
        const uint32_t slot = copy * per_lane() + element % per_lane();
        visit(element, first_operand + slot / per_register(),
              static_cast<int>(element / per_lane()), slot % per_register() * field_bits_of(type));
      }
  }
};

/// Registers of a fragment of A or B, C or D; 0: the shape does not have the type.
uint32_t registers_of(Type type, uint32_t elements, bool is_factor) {
  constexpr uint32_t kHalfFactorRegisters = 8;
  if (type == Type::f16 && is_factor) return kHalfFactorRegisters;
  const uint32_t bits = field_bits_of(type);
  return elements * bits / kWarpLanes / std::max(32u, bits);
}

/// The register that holds elements of a type: 64 bits for f64, else 32.
ptx::ScalarType register_type(Type type) {
  return type == Type::f64 ? ptx::ScalarType::b64 : ptx::ScalarType::b32;
}
size_t register_bytes(Type type) { return ptx::size_bytes(register_type(type)); }

using Matrix = std::vector<uint64_t>;  ///< bits of the elements, row by row

Matrix read_fragment(const Strand& strand, const Instruction& i, const Fragment& fragment) {
  Matrix matrix(fragment.elements());
  const uint32_t bits = field_bits_of(fragment.type);
  const uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  fragment.for_each_place([&](uint32_t element, uint32_t operand, int lane, uint32_t bit) {
    matrix[element] = strand.value(i.operands[operand], lane) >> bit & mask;
  });
  return matrix;
}

void write_fragment(const Strand& strand, const Instruction& i, const Fragment& fragment,
                    const Matrix& matrix) {
  for (uint32_t r = 0; r < fragment.registers; ++r) {
    const Operand& operand = i.operands[fragment.first_operand + r];
    for (int lane = 0; lane < kWarpLanes; ++lane) strand.set_value(operand, lane, 0);
  }
  fragment.for_each_place([&](uint32_t element, uint32_t operand, int lane, uint32_t bit) {
    const Operand& target = i.operands[operand];
    strand.set_value(target, lane, strand.value(target, lane) | matrix[element] << bit);
  });
}

// Loads and stores.

struct Transfer {
  Fragment fragment;
  bool column_major = false;
  AddressSpace space = AddressSpace::generic;
  bool has_stride = false;
  uint32_t address_operand = 0, stride_operand = 0;
};

/// Tells observers of the lines, in pieces that go to the lanes in turn: which thread accesses
/// which element is not specified.
void notify_lines(const Strand& strand, const Instruction& i, AddressSpace space, Access access,
                  const std::vector<uint64_t>& lines, size_t line_bytes) {
  constexpr size_t kPieceBytes = 16;  // a line has 8, or a multiple of 16
  const size_t piece = std::min(kPieceBytes, line_bytes);
  LaneAddresses addresses{};
  size_t lanes = 0;
  const auto notify = [&] {
    if (lanes == 0) return;
    notify_access(strand, i, kAllLanes >> (kWarpLanes - lanes), space, access, false, piece,
                  addresses);
    lanes = 0;
  };
  for (const uint64_t line : lines)
    for (size_t offset = 0; offset < line_bytes; offset += piece) {
      addresses[lanes++] = line + offset;
      if (lanes == kWarpLanes) notify();
    }
  notify();
}

/// Calls visit(element of the fragment, host memory, bit in its first byte) for every element.
template <class Visit>
void for_each_element(Strand& strand, const Instruction& i, LaneMask active,
                      const Transfer& transfer, Access access, Visit&& visit) {
  constexpr uint32_t kBitsPerByte = 8;
  const int lane = lowest_lane(active);
  const Fragment& fragment = transfer.fragment;
  const uint64_t base =
      lane_address(strand, i.operands[transfer.address_operand], i.immediate, lane);
  const uint32_t inner = transfer.column_major ? fragment.rows : fragment.columns;
  const uint32_t outer = transfer.column_major ? fragment.columns : fragment.rows;
  const uint64_t stride =
      transfer.has_stride ? strand.value(i.operands[transfer.stride_operand], lane) : inner;
  const uint32_t bits = field_bits_of(fragment.type);
  const size_t bytes = ceil_div(inner * bits, kBitsPerByte);
  const size_t alignment = std::max(1u, bits / kBitsPerByte);
  const bool is_observed = strand.cluster->observed(EventKind::access);
  std::vector<uint64_t> lines;
  for (uint32_t line = 0; line < outer; ++line) {
    const uint64_t address = base + line * stride * bits / kBitsPerByte;
    if (is_observed) lines.push_back(address);
    std::byte* const memory =
        resolve({strand, i, active}, transfer.space, address, bytes, alignment, access);
    if (access == Access::read) warn_of_unwritten_row({strand, i, active}, memory, bytes);
    for (uint32_t place = 0; place < inner; ++place) {
      const uint32_t element =
          transfer.column_major ? place * fragment.columns + line : line * fragment.columns + place;
      visit(element, memory + place * bits / kBitsPerByte, place * bits % kBitsPerByte);
    }
  }
  if (is_observed) notify_lines(strand, i, transfer.space, access, lines, bytes);
}

void require_uniform_address(const Strand& strand, const Instruction& i, LaneMask active,
                             const Transfer& transfer) {
  LaneMask different = strand.lanes_that_differ(i.operands[transfer.address_operand], active);
  if (transfer.has_stride)
    different |= strand.lanes_that_differ(i.operands[transfer.stride_operand], active);
  if (different == 0) return;
  Site{strand, i, different}.fault(
      {.code = FaultCode::operand_differs,
       .what = "address or stride differ between the threads of the warp",
       .rule = "all threads of the warp give the same address and stride",
       .fix = "compute them from values that the warp shares"});
}

Flow execute_load(Strand& strand, const Instruction& i, LaneMask active) {
  const Transfer& transfer = *static_cast<const Transfer*>(i.detail);
  require_converged(strand, i, active);
  require_uniform_address(strand, i, active, transfer);
  const uint32_t bits = field_bits_of(transfer.fragment.type);
  Matrix matrix(transfer.fragment.elements());
  for_each_element(strand, i, active, transfer, Access::read,
                   [&](uint32_t element, const std::byte* memory, uint32_t bit) {
                     uint64_t value = 0;
                     std::memcpy(&value, memory, std::max(1u, bits / 8));
                     matrix[element] = bits < 8 ? value >> bit & ((1u << bits) - 1) : value;
                   });
  write_fragment(strand, i, transfer.fragment, matrix);
  return Flow::next;
}

Flow execute_store(Strand& strand, const Instruction& i, LaneMask active) {
  const Transfer& transfer = *static_cast<const Transfer*>(i.detail);
  require_converged(strand, i, active);
  require_uniform_address(strand, i, active, transfer);
  const Matrix matrix = read_fragment(strand, i, transfer.fragment);
  const size_t bytes = field_bits_of(transfer.fragment.type) / 8;
  for_each_element(strand, i, active, transfer, Access::write,
                   [&](uint32_t element, std::byte* memory, uint32_t) {
                     std::memcpy(memory, &matrix[element], bytes);
                   });
  strand.cluster->note_progress();
  return Flow::next;
}

void set_extents(Fragment& fragment, std::string_view which, const Shape& shape) {
  fragment.rows = which == "b" ? shape.k : shape.m;
  fragment.columns = which == "a" ? shape.k : shape.n;
}

void bind_transfer(Binder& binder, bool is_load) {
  binder.expect_count(2, 3);
  const Modifiers& modifiers = binder.modifiers;
  Transfer transfer;
  Fragment& fragment = transfer.fragment;
  fragment.type = type_of(modifiers.get("type"));
  const std::string_view which = modifiers.get("matrix");
  const bool is_factor = which == "a" || which == "b";
  set_extents(fragment, which, shape_of(modifiers.get("shape")));
  transfer.column_major = modifiers.get("layout") == "col";
  if (modifiers.has("space"))
    transfer.space =
        modifiers.get("space") == "global" ? AddressSpace::global : AddressSpace::shared_cta;
  const ptx::Operand& registers = binder.ptx_operand(is_load ? 0 : 1);
  fragment.registers = static_cast<uint32_t>(
      is_load ? binder.destination_vector(registers, register_bytes(fragment.type))
              : binder.source_vector(registers, register_type(fragment.type)));
  if (fragment.registers != registers_of(fragment.type, fragment.elements(), is_factor))
    binder.refuse("has a fragment of a size that its shape and type do not have", "");
  transfer.address_operand = fragment.registers;
  binder.address(binder.ptx_operand(is_load ? 1 : 0));
  transfer.has_stride = binder.count() == 3;
  transfer.stride_operand = transfer.address_operand + 1;
  if (transfer.has_stride) binder.source_value(binder.ptx_operand(2), ptx::ScalarType::u32);
  binder.detail(transfer);
  if (is_load)
    binder.out.execute = execute_load;
  else
    binder.out.execute = execute_store;
}
void bind_load(Binder& binder) { bind_transfer(binder, true); }
void bind_store(Binder& binder) { bind_transfer(binder, false); }

// Products.

enum class BitOperation : uint8_t { conjunction, exclusive };

struct Product {
  Fragment a, b, c, d;
  BitOperation operation = BitOperation::conjunction;
  bool saturate = false;
};

std::optional<MmaFormat> format_of(Type type) {
  switch (type) {
    case Type::f16:
      return MmaFormat::f16;
    case Type::bf16:
      return MmaFormat::bf16;
    case Type::tf32:
      return MmaFormat::tf32;
    default:
      return std::nullopt;
  }
}

int64_t integer_of(Type type, uint64_t bits) {
  constexpr uint64_t kSignOfNibble = 8;
  switch (type) {
    case Type::s8:
      return static_cast<int8_t>(bits);
    case Type::s4:
      return static_cast<int64_t>(bits ^ kSignOfNibble) - static_cast<int64_t>(kSignOfNibble);
    case Type::s32:
      return static_cast<int32_t>(bits);
    default:
      return static_cast<int64_t>(bits);
  }
}

Matrix multiply_integers(const Product& product, const Matrix& a, const Matrix& b,
                         const Matrix& c) {
  const uint32_t n = product.b.columns, depth = product.a.columns;
  Matrix d(c.size());
  for (uint32_t row = 0; row < product.a.rows; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      int64_t sum = integer_of(Type::s32, c[row * n + column]);
      for (uint32_t k = 0; k < depth; ++k) {
        const uint64_t x = a[row * depth + k], y = b[k * n + column];
        const bool exclusive = product.operation == BitOperation::exclusive;
        sum += exclusive ? static_cast<int64_t>(x ^ y)
                         : integer_of(product.a.type, x) * integer_of(product.b.type, y);
      }
      if (product.saturate)
        sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                                  std::numeric_limits<int32_t>::max());
      d[row * n + column] = static_cast<uint32_t>(sum);
    }
  return d;
}

/// A chain of fused multiply-adds in ascending order of k.
Matrix multiply_doubles(const Product& product, const Matrix& a, const Matrix& b, const Matrix& c) {
  const uint32_t n = product.b.columns, depth = product.a.columns;
  Matrix d(c.size());
  for (uint32_t row = 0; row < product.a.rows; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      double sum = std::bit_cast<double>(c[row * n + column]);
      for (uint32_t k = 0; k < depth; ++k)
        sum = std::fma(std::bit_cast<double>(a[row * depth + k]),
                       std::bit_cast<double>(b[k * n + column]), sum);
      d[row * n + column] = std::bit_cast<uint64_t>(sum);
    }
  return d;
}

/// Products that an H100 sums at once where a warp multiplies tf32: half of K.
constexpr uint32_t kTf32Step = 4;

std::vector<float> decode(Type type, const Matrix& matrix) {
  std::vector<std::byte> raw(matrix.size() * sizeof(uint32_t));
  const size_t bytes = field_bits_of(type) / 8;
  for (size_t i = 0; i < matrix.size(); ++i) std::memcpy(raw.data() + i * bytes, &matrix[i], bytes);
  std::vector<float> values(matrix.size());
  decode_elements(*format_of(type), raw.data(), values.data(), values.size());
  return values;
}

Matrix multiply_floats(const Product& product, const Accumulation& model, const Matrix& a,
                       const Matrix& b, const Matrix& c) {
  const uint32_t m = product.a.rows, n = product.b.columns, depth = product.a.columns;
  const std::vector<float> a_values = decode(product.a.type, a),
                           b_values = decode(product.b.type, b);
  std::vector<float> b_columns(size_t{n} * depth);
  for (uint32_t k = 0; k < depth; ++k)
    for (uint32_t column = 0; column < n; ++column)
      b_columns[column * depth + k] = b_values[k * n + column];
  const bool to_half = product.d.type == Type::f16;
  const TileFormats formats{.a = *format_of(product.a.type),
                            .b = *format_of(product.b.type),
                            .step = product.a.type == Type::tf32 ? kTf32Step : depth,
                            .d = to_half ? AccumulatorFormat::f16 : AccumulatorFormat::f32};
  Matrix d(c.size());
  for (uint32_t first = 0; first < m; first += kRowBlock) {
    const auto rows = std::min<uint32_t>(kRowBlock, m - first);
    std::vector<float> a_block(depth * kRowBlock), tile(n * kRowBlock);
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t k = 0; k < depth; ++k)
        a_block[k * kRowBlock + row] = a_values[(first + row) * depth + k];
      for (uint32_t column = 0; column < n; ++column) {
        const uint64_t bits = c[(first + row) * n + column];
        tile[column * kRowBlock + row] = product.c.type == Type::f16
                                             ? float_from_half(static_cast<uint16_t>(bits))
                                             : std::bit_cast<float>(static_cast<uint32_t>(bits));
      }
    }
    model.multiply({.a = a_block.data(),
                    .b = b_columns.data(),
                    .b_stride = depth,
                    .d = tile.data(),
                    .d_stride = kRowBlock,
                    .n = n,
                    .k = depth,
                    .accumulate = true},
                   formats);
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t column = 0; column < n; ++column) {
        const float value = tile[column * kRowBlock + row];
        d[(first + row) * n + column] =
            to_half ? tensor_core_half(value) : std::bit_cast<uint32_t>(value);
      }
  }
  return d;
}

Flow execute_mma(Strand& strand, const Instruction& i, LaneMask active) {
  const Product& product = *static_cast<const Product*>(i.detail);
  require_converged(strand, i, active);
  const Matrix a = read_fragment(strand, i, product.a), b = read_fragment(strand, i, product.b),
               c = read_fragment(strand, i, product.c);
  if (product.d.type == Type::s32) {
    write_fragment(strand, i, product.d, multiply_integers(product, a, b, c));
  } else if (product.d.type == Type::f64) {
    write_fragment(strand, i, product.d, multiply_doubles(product, a, b, c));
  } else {
    const Accumulation& model = accumulation(strand.cluster->settings().resolved_summation());
    write_fragment(strand, i, product.d, multiply_floats(product, model, a, b, c));
  }
  return Flow::next;
}

/// The types of A and B are named, but where both are f16.
void bind_mma(Binder& binder) {
  binder.expect_count(4, 4);
  const Modifiers& modifiers = binder.modifiers;
  const Shape shape = shape_of(modifiers.get("shape"));
  Product product;
  const bool names_factors = modifiers.has("factors");
  product.d.type = type_of(modifiers.get("d"));
  product.c.type = type_of(modifiers.get("c"));
  product.a.type = names_factors ? type_of(modifiers.get("factors", 0)) : Type::f16;
  product.b.type = names_factors ? type_of(modifiers.get("factors", 1)) : Type::f16;
  product.saturate = modifiers.has("satfinite");
  if (modifiers.get("operation") == "xor") product.operation = BitOperation::exclusive;
  const struct {
    Fragment& fragment;
    std::string_view which;
  } parts[] = {{product.d, "d"}, {product.a, "a"}, {product.b, "b"}, {product.c, "c"}};
  uint32_t first = 0;
  for (size_t index = 0; index < std::size(parts); ++index) {
    Fragment& fragment = parts[index].fragment;
    set_extents(fragment, parts[index].which, shape);
    const ptx::Operand& operand = binder.ptx_operand(index);
    fragment.first_operand = first;
    fragment.registers = static_cast<uint32_t>(
        index == 0 ? binder.destination_vector(operand, register_bytes(fragment.type))
                   : binder.source_vector(operand, register_type(fragment.type)));
    const bool is_factor = parts[index].which == "a" || parts[index].which == "b";
    if (fragment.registers != registers_of(fragment.type, fragment.elements(), is_factor))
      binder.refuse("has a fragment of a size that its shape and types do not have", "");
    first += fragment.registers;
  }
  binder.detail(product);
  binder.out.execute = execute_mma;
}

constexpr std::string_view kLoad =
    "matrix=a|b|c sync aligned layout=row|col "
    "shape=m16n16k16|m8n32k16|m32n8k16|m16n16k8|m8n8k32|m8n8k128|m8n8k4 "
    "[space=global|shared|shared::cta] type=f16|bf16|tf32|f32|f64|s8|u8|s4|u4|b1|s32";
constexpr std::string_view kStore =
    "matrix=d sync aligned layout=row|col "
    "shape=m16n16k16|m8n32k16|m32n8k16|m16n16k8|m8n8k32|m8n8k128|m8n8k4 "
    "[space=global|shared|shared::cta] type=f16|f32|f64|s32";

constexpr InstructionForm row(std::string_view base, std::string_view modifiers, BindFunction bind,
                              Memory memory = Memory::none) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::cluster,
          .cycles = memory == Memory::none ? costs::kMmaIssue : costs::kGlobalAccess,
          .section = base,
          .destinations = is_store(memory) ? uint8_t{0} : uint8_t{1},
          .memory = memory};
}

constexpr std::array kRows = {
    row("wmma.load", kLoad, bind_load, Memory::matrix_load),
    row("wmma.store", kStore, bind_store, Memory::matrix_store),
    row("wmma.mma",
        "sync aligned layouts*2=row|col shape=m16n16k16|m8n32k16|m32n8k16 d=f16|f32 c=f16|f32",
        bind_mma),
    row("wmma.mma",
        "sync aligned layouts*2=row|col shape=m16n16k16|m8n32k16|m32n8k16|m16n16k8 "
        "d=f32 factors*2=bf16|tf32 c=f32",
        bind_mma),
    row("wmma.mma",
        "sync aligned layouts*2=row|col shape=m16n16k16|m8n32k16|m32n8k16|m8n8k32 "
        "d=s32 factors*2=s8|u8|s4|u4 c=s32 [satfinite]",
        bind_mma),
    row("wmma.mma", "sync aligned layouts*2=row|col shape=m8n8k4 d=f64 factors*2=f64 c=f64 [rn]",
        bind_mma),
    row("wmma.mma",
        "operation=and|xor popc sync aligned layouts*2=row|col shape=m8n8k128 d=s32 factors*2=b1 "
        "c=s32",
        bind_mma),
};

}  // namespace

Rows rows() { return kRows; }

}  // namespace bw::sim::wmma
