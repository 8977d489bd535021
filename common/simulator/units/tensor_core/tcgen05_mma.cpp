/// \file
/// tcgen05.mma in all its forms (.sp, .ws, .ws.sp, with block scaling): checks the operands and
/// hands them to the tensor core.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/tensor_core/block_scaling.hpp"
#include "common/simulator/units/tensor_core/operand_contents.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"
#include "common/simulator/units/tensor_core/sparse_metadata.hpp"
#include "common/simulator/units/tensor_core/tcgen05_forms.hpp"
#include "common/simulator/units/tensor_core/tensor_core.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::tcgen05 {
namespace {

constexpr uint32_t kLargestScaleExponent = 15;

/// An operand that is an address in Tensor Memory: its index and what is added to it.
struct AddressOperand {
  size_t index = 0;
  int64_t displacement = 0;
};

/// A decoded tcgen05.mma.
struct TensorMmaForm {
  MmaForm mma;
  CollectorUse collector;
  bool a_in_tensor_memory = false;
  bool shifts_a = false;
  uint32_t disable_words = 0;
  uint32_t scale_exponent = 0;
  bool has_zero_columns = false;
  // Operands.
  AddressOperand d, a, metadata, a_scales, b_scales;
  size_t a_descriptor = 0, b = 0, descriptor = 0, enable = 0, disable = 0, zero_columns = 0;
};

/// One thread's execution of a form.
class Issue {
 public:
  Issue(Strand& strand, const Instruction& instruction, const TensorMmaForm& form, int lane)
      : strand_(strand), i_(instruction), form_(form), lane_(lane) {}

  /// The operation, checked.
  [[nodiscard]] MmaOperation operation() {
    const auto idesc = static_cast<uint32_t>(value(form_.descriptor));
    MmaForm here = form_.mma;
    here.may_be_long = (strand_.cluster->settings().machine->instructions & kOnBlackwellUltra) != 0;
    if (const auto problem = check_instruction_descriptor(idesc, here)) {
      if (!problem->hardware_accepts) fault(*problem);
      Site{strand_, i_, lane_bit(lane_)}.fault_at_isa(problem->code, [&] { return *problem; });
    }
    mma_.shape = decode_instruction_descriptor(idesc, form_.mma.kind);
    mma_.group = form_.mma.group;
    mma_.weight_stationary = form_.mma.weight_stationary;
    mma_.scales = mma_.shape.scales_of_row(form_.mma.scales);
    mma_.accumulate = (strand_.predicate(i_.operands[form_.enable]) >> lane_ & 1u) != 0;
    mma_.scale_d_exponent = form_.scale_exponent;
    for (uint32_t word = 0; word < form_.disable_words; ++word) {
      mma_.disabled_lanes[word] = static_cast<uint32_t>(value(form_.disable + word));
      mma_.any_disabled |= mma_.disabled_lanes[word] != 0;
    }
    mma_.d = address(form_.d);
    mma_.d.lane = checked_lane(mma_.d.lane, "D");
    a_operand();
    b_operand();
    if (form_.mma.sparse) metadata();
    if (form_.mma.scales != 0) scales();
    collector();
    return mma_;
  }

 private:
  [[noreturn]] void fault(const Fault& fault) const {
    Site{strand_, i_, lane_bit(lane_)}.fault(fault);
  }
  [[nodiscard]] uint64_t value(size_t operand) const {
    return strand_.value(i_.operands[operand], lane_);
  }
  [[nodiscard]] TensorAddress address(const AddressOperand& operand) const {
    return TensorAddress::decode(
        static_cast<uint32_t>(value(operand.index) + static_cast<uint64_t>(operand.displacement)));
  }
  [[nodiscard]] bool at_isa_level() const { return strand_.cluster->at_isa_level(); }

  /// A lane that a matrix may start at: 0, and 16 too where half of the lanes are used.
  [[nodiscard]] uint32_t checked_lane(uint32_t matrix_lane, const char* matrix) const {
    const bool may_be_16 = mma_.path().uses_half_lanes();
    const auto is_valid = [=](uint32_t first) {
      return first == 0 || (may_be_16 && first == kRowBlock);
    };
    const uint32_t on_hardware = matrix_lane % TensorMemory::kLanes;
    if (!at_isa_level()) matrix_lane = on_hardware;
    if (is_valid(matrix_lane)) return matrix_lane;
    fault({.code = FaultCode::tmem_lane_alignment,
           .what = fmt::format("invalid datapath (lane) alignment: {} starts at lane {} with M = "
                               "{}",
                               matrix, matrix_lane, mma_.shape.m),
           .rule = "the layout says which lanes hold A and D",
           .fix = std::string("start at lane 0") + (may_be_16 ? " or 16" : ""),
           .section = "Data Path Layout Organization",
           .hardware_accepts = is_valid(on_hardware)});
  }

  /// Layouts that use half of the lanes need one alignment for all matrices.
  void require_lane_of_d(uint32_t matrix_lane, const char* matrix) const {
    if (matrix_lane == mma_.d.lane) return;
    fault({.code = FaultCode::tmem_lane_alignment,
           .what = fmt::format("{} starts at lane {} and D at lane {}", matrix, matrix_lane,
                               mma_.d.lane),
           .rule = "A, D and the sparsity metadata have the same lane alignment",
           .fix = "start them all at lane 0, or all at lane 16",
           .section = "Data Path Layout Organization"});
  }

  void a_operand() {
    const uint32_t rows = mma_.shape.m / static_cast<uint32_t>(mma_.group);
    if (form_.a_in_tensor_memory) {
      mma_.a_in_tensor_memory = true;
      mma_.a_address = address(form_.a);
      mma_.a_address.lane = checked_lane(mma_.a_address.lane, "A");
      require_lane_of_d(mma_.a_address.lane, "A");
      if (mma_.shape.a_major != Major::k)
        fault({.code = FaultCode::matrix_layout,
               .what = "the instruction descriptor says that A is MN-major, but A is in Tensor "
                       "Memory",
               .rule = "A in Tensor Memory is K-major",
               .fix = "clear bit 15"});
      mma_.shifts_a = form_.shifts_a;
      if (form_.shifts_a && mma_.shape.m != 128 && mma_.shape.m != 256)
        fault({.code = FaultCode::mma_shape,
               .what = fmt::format(".ashift with M = {}", mma_.shape.m),
               .rule = ".ashift is only allowed with M = 128 or M = 256",
               .fix = "use M = 128 or 256"});
      return;
    }
    const uint64_t bits = value(form_.a_descriptor);
    mma_.a = decode_matrix_descriptor(bits);
    shared_operand(bits, mma_.a, mma_.shape.a_major, mma_.shape.a_format, rows,
                   mma_.shape.a_k_bytes(), "A");
  }

  void b_operand() {
    uint32_t rows = mma_.shape.n / static_cast<uint32_t>(mma_.group);
    if (form_.has_zero_columns) {
      const uint64_t bits = value(form_.zero_columns);
      if (const auto problem = check_zero_columns(bits, mma_.shape)) fault(*problem);
      ZeroColumns zero = decode_zero_columns(bits, mma_.shape);
      rows += zero.shift;
      if (zero.shift != 0 || zero.mask.any())
        mma_.zero_columns = std::make_shared<const ZeroColumns>(zero);
    }
    const uint64_t bits = value(form_.b);
    mma_.b = decode_matrix_descriptor(bits);
    shared_operand(bits, mma_.b, mma_.shape.b_major, mma_.shape.b_format, rows,
                   mma_.shape.b_k_bytes(), "B");
  }

  void shared_operand(uint64_t bits, const MatrixDescriptor& descriptor, Major major,
                      MmaFormat format, uint32_t rows, uint32_t k_bytes, const char* matrix) const {
    if (auto problem = check_matrix_descriptor(bits, mma_.shape.is_long)) {
      problem->what = std::string(matrix) + ": " + problem->what;
      fault(*problem);
    }
    layout(descriptor, major, format, k_bytes, matrix);
    const uint32_t bytes = packs_pairs(mma_.shape.kind) ? 1 : container_bytes(format);
    if (matrix_in_bounds(descriptor, major, rows, k_bytes / bytes, bytes,
                         strand_.cta->shared.size(), kReservedSharedBytes))
      return;
    fault({.code = FaultCode::matrix_out_of_bounds,
           .what = fmt::format("out of bounds: {} of {} rows from shared address {} with leading "
                               "offset {} and stride offset {} reaches outside of the CTA's {} "
                               "bytes of shared memory (the first {} are reserved)",
                               matrix, rows, descriptor.start_bytes, descriptor.leading_bytes,
                               descriptor.stride_bytes, strand_.cta->shared.size(),
                               kReservedSharedBytes),
           .rule = "the matrix is in the CTA's shared memory",
           .fix = "check start address, offsets (in bytes >> 4) and the size of the tile",
           .section = "Shared memory descriptor"});
  }

  /// Swizzle modes that go with the element's width and the major index.
  void layout(const MatrixDescriptor& descriptor, Major major, MmaFormat format, uint32_t k_bytes,
              const char* matrix) const {
    constexpr std::string_view kCombinations =
        "Valid Combinations of Type-Size, Major-ness and Swizzling";
    const bool atom32 = descriptor.swizzle == SharedSwizzle::k128b_atom32;
    const bool is_32_bit = container_bytes(format) == sizeof(uint32_t);
    if (major == Major::mn && atom32 != is_32_bit)
      fault({.code = FaultCode::matrix_layout,
             .what = fmt::format("{}: transposed {}-bit elements {} 128-byte swizzle with 32-byte "
                                 "atoms",
                                 matrix, element_bits(format), atom32 ? "with" : "without"),
             .rule = "transposed 32-bit elements need the 128-byte swizzle with 32-byte atoms, and "
                     "no others take it",
             .fix = is_32_bit ? "use swizzle mode 1" : "use swizzle mode 0, 2, 4 or 6",
             .section = kCombinations});
    if (major == Major::k && descriptor.swizzle != SharedSwizzle::none &&
        descriptor.width_bytes() < k_bytes)
      fault({.code = FaultCode::matrix_layout,
             .what = fmt::format("{}: {} bytes along K in rows of a {}-byte swizzle", matrix,
                                 k_bytes, descriptor.width_bytes()),
             .rule = "the swizzled rows of a K-major matrix hold all of K",
             .fix = "use the 64-byte or the 128-byte swizzle, or none",
             .section = "Canonical Layouts"});
    const uint32_t in_row = descriptor.start_bytes % kLineBytes % descriptor.width_bytes();
    if (mma_.shape.is_long && descriptor.swizzle != SharedSwizzle::none &&
        !descriptor.leading_is_address && in_row + k_bytes > descriptor.width_bytes())
      fault(
          {.code = FaultCode::matrix_layout,
           .what = fmt::format("{}: the {} bytes along K from byte {} of a row of {} on", matrix,
                               k_bytes, in_row, descriptor.width_bytes()),
           .rule = "a row with K = 96 that goes on past its line continues at an absolute address",
           .fix = "set bit 52 of the shared-memory descriptor and give the address of the next "
                  "buffer as the leading offset",
           .section = "Absolute address mode for K dimension being 48B"});
  }

  void metadata() {
    mma_.metadata = address(form_.metadata);
    mma_.metadata.lane = checked_lane(mma_.metadata.lane, "the sparsity metadata");
    require_lane_of_d(mma_.metadata.lane, "the sparsity metadata");
    if (mma_.metadata.column % 2 != 0)
      fault({.code = FaultCode::sparsity_metadata,
             .what = fmt::format("the sparsity metadata starts at the odd column {}",
                                 mma_.metadata.column),
             .rule = "the metadata address names a pair of columns",
             .fix = "start at an even column and choose its half with the sparsity selector (bits "
                    "0 and 1 of the instruction descriptor)",
             .section = "Sparsity selector"});
    mma_.metadata.column += mma_.shape.sparsity_selector;
  }

  void scales() {
    mma_.a_scales = scale_address(form_.a_scales, "A");
    mma_.b_scales = scale_address(form_.b_scales, "B");
  }
  [[nodiscard]] TensorAddress scale_address(const AddressOperand& operand,
                                            const char* matrix) const {
    TensorAddress place = address(operand);
    // Published kernels leave the byte number in bits 30 and 31, and lane bits of a quarter.
    const bool starts_a_quarter = place.lane % kWarpLanes == 0;
    if (starts_a_quarter && !at_isa_level()) place.lane = 0;
    if (place.lane == 0) return place;
    fault({.code = FaultCode::scale_factors,
           .what = fmt::format("the scale factors of {} start at lane {}", matrix, place.lane),
           .rule = "scale factors are duplicated to all 32-lane partitions of Tensor Memory",
           .fix = "give the address of lane 0; the byte goes into the scale factor id of the "
                  "instruction descriptor",
           .section = "Block Scaling for tcgen05.mma.sync",
           .hardware_accepts = starts_a_quarter});
  }

  void collector() {
    const bool of_b = form_.mma.weight_stationary;
    CollectedMatrix matrix;
    matrix.format = of_b ? mma_.shape.b_format : mma_.shape.a_format;
    matrix.rows = of_b ? mma_.shape.n : mma_.shape.m;
    matrix.in_tensor_memory = !of_b && mma_.a_in_tensor_memory;
    if (matrix.in_tensor_memory)
      matrix.source = uint64_t{mma_.a_address.lane} << 32 | mma_.a_address.column;
    else
      matrix.source = value(of_b ? form_.b : form_.a_descriptor);
    const bool found = units_of(strand_).tensor_core.collect(form_.collector, matrix);
    if (found || !at_isa_level()) return;
    fault({.code = FaultCode::collector_buffer,
           .what = fmt::format("collector buffer {} is used, but it holds no {} that an MMA filled "
                               "from the same address",
                               of_b ? fmt::format("b{}", form_.collector.buffer - 1) : "a",
                               of_b ? "B" : "A"),
           .rule = "::use and ::lastuse need an earlier ::fill of the same matrix that is still "
                   "valid; ::discard, which is the default, and ::lastuse end it",
           .fix = "let the first MMA of the sequence say ::fill, and those between it and the last "
                  "one ::use",
           .hardware_accepts = true});
  }

  Strand& strand_;
  const Instruction& i_;
  const TensorMmaForm& form_;
  int lane_;
  MmaOperation mma_;
};

/// Tensor Memory of one CTA that the operation reads and writes.
void check_tensor_memory(Strand& strand, const Instruction& i, LaneMask thread,
                         const MmaOperation& mma, TensorMemory& memory) {
  const auto require = [&](uint32_t column, uint32_t columns) {
    memory.require_allocated(strand, i, thread, column, columns);
    memory.require_written(strand, i, thread, 0, TensorMemory::kLanes, column, columns);
  };
  const uint32_t columns = mma.d_columns();
  memory.require_allocated(strand, i, thread, mma.d.column, columns);
  if (mma.accumulate)
    memory.require_written(strand, i, thread, 0, TensorMemory::kLanes, mma.d.column, columns);
  if (mma.a_in_tensor_memory) require(mma.a_address.column, mma.a_columns());
  if (mma.shape.sparse) require(mma.metadata.column, sparse_chunks(mma.shape).columns);
  if (mma.scales != 0) {
    const auto require_scales = [&](uint32_t first, uint32_t id, uint32_t rows) {
      for (uint32_t word = 0; word < scale_words(id, mma.scales); ++word)
        require(first + word * scale_word_stride(rows), scale_columns(rows));
    };
    require_scales(mma.a_scales.column, mma.shape.a_scale_id,
                   mma.shape.m / static_cast<uint32_t>(mma.group));
    require_scales(mma.b_scales.column, mma.shape.b_scale_id, columns);
  }
  memory.mark_written(0, TensorMemory::kLanes, mma.d.column, columns);
}

/// Shared memory of all CTAs of the group that the operation reads.
void check_shared_memory(const Strand& strand, const Instruction& i, LaneMask thread,
                         const MmaOperation& mma) {
  const Site site{strand, i, thread};
  const auto group = static_cast<uint32_t>(mma.group);
  const MmaShape& shape = mma.shape;
  constexpr const char* kUse = "this multiplies";
  if (!mma.a_in_tensor_memory)
    require_rows_written(site, strand.cta->rank, group,
                         {"A", mma.a, shape.a_major, shape.m / group,
                          container_bytes(shape.a_format), shape.a_k_bytes()},
                         kUse);
  const uint32_t shift = mma.zero_columns != nullptr ? mma.zero_columns->shift : 0;
  require_rows_written(site, strand.cta->rank, group,
                       {"B", mma.b, shape.b_major, shape.n / group + shift,
                        container_bytes(shape.b_format), shape.b_k_bytes()},
                       kUse);
}

Flow execute_mma(Strand& strand, const Instruction& i, LaneMask active) {
  const TensorMmaForm& form = *static_cast<const TensorMmaForm*>(i.detail);
  Cta& cta = *strand.cta;
  require_issuer(strand, i, active, form.mma.group);
  for (const int lane : lanes_of(active)) {
    MmaOperation mma = Issue(strand, i, form, lane).operation();
    for (uint32_t member = 0; member < static_cast<uint32_t>(form.mma.group); ++member)
      check_tensor_memory(strand, i, lane_bit(lane), mma,
                          units_of(strand.cluster->cta(cta.rank + member)).tensor_memory);
    check_shared_memory(strand, i, lane_bit(lane), mma);
    units_of(cta).tensor_core.enqueue(strand.time, strand.origin(i, lane_bit(lane)),
                                      std::move(mma));
    strand.time += strand.cluster->costs().tensor_issue();
  }
  return Flow::next;
}

constexpr std::array kKinds = {
    std::pair{std::string_view("kind::f16"), MmaKind::f16},
    std::pair{std::string_view("kind::tf32"), MmaKind::tf32},
    std::pair{std::string_view("kind::f8f6f4"), MmaKind::f8f6f4},
    std::pair{std::string_view("kind::i8"), MmaKind::i8},
    std::pair{std::string_view("kind::mxf8f6f4"), MmaKind::mxf8f6f4},
    std::pair{std::string_view("kind::mxf4"), MmaKind::mxf4},
    std::pair{std::string_view("kind::mxf4nvf4"), MmaKind::mxf4nvf4},
};
MmaKind kind_of(std::string_view modifier) {
  return std::find_if(kKinds.begin(), kKinds.end(),
                      [&](const auto& kind) { return kind.first == modifier; })
      ->second;
}

/// Scale factors of a row along K from .scale_vec or .block (PTX ISA, "Valid combinations of
/// scale_vectorsize with types and MMA-Kind").
uint32_t scales_of(const Binder& binder, MmaKind kind) {
  const std::string_view size = binder.modifiers.get("size");
  const bool is_mxf8 = kind == MmaKind::mxf8f6f4;
  if (size.empty()) {
    if (kind == MmaKind::mxf4nvf4)
      binder.refuse("has no .scale_vec or .block", "kind::mxf4nvf4 needs one of them");
    return is_mxf8 ? 1 : 2;
  }
  const uint32_t scales = size == "block32"         ? (is_mxf8 ? 1 : 2)
                          : size == "scale_vec::1X" ? 1
                          : size == "scale_vec::2X" ? 2
                                                    : 4;
  const bool allowed =
      is_mxf8 ? scales == 1 : scales == 2 || (scales == 4 && kind == MmaKind::mxf4nvf4);
  if (!allowed)
    binder.refuse(fmt::format("combines kind::{} with .{}", kind_name(kind), size),
                  "kind::mxf8f6f4 takes .scale_vec::1X or .block32, kind::mxf4 .scale_vec::2X or "
                  ".block32, kind::mxf4nvf4 these and .scale_vec::4X or .block16");
  return scales;
}

/// "collector::a::fill", "collector::b2::use": buffer and operation.
CollectorUse collector_of(std::string_view modifier) {
  using Operation = CollectorUse::Operation;
  CollectorUse use;
  if (modifier.empty()) return use;
  constexpr std::string_view kPrefix = "collector::";
  const std::string_view rest = modifier.substr(kPrefix.size());
  if (rest[0] == 'b') use.buffer = 1 + static_cast<uint32_t>(rest[1] - '0');
  const std::string_view operation = rest.substr(rest.rfind(':') + 1);
  use.operation = operation == "fill"      ? Operation::fill
                  : operation == "use"     ? Operation::use
                  : operation == "lastuse" ? Operation::last_use
                                           : Operation::discard;
  return use;
}

/// Takes one PTX operand after the other and counts the decoded ones.
class OperandBinder {
 public:
  explicit OperandBinder(Binder& binder) : binder_(binder) {}

  [[nodiscard]] bool at_end() const { return next_ == binder_.count(); }
  [[nodiscard]] ptx::Operand::Kind next_kind() const { return binder_.ptx_operand(next_).kind; }

  AddressOperand address() {
    const int64_t before = binder_.out.immediate;
    binder_.address(take());
    return {index_++, binder_.out.immediate - before};
  }
  size_t value(ptx::ScalarType type) {
    binder_.source_value(take(), type);
    return index_++;
  }
  size_t predicate() {
    binder_.source_predicate(take());
    return index_++;
  }
  /// The first index; the number of elements is in `count`.
  size_t vector(ptx::ScalarType type, uint32_t& count) {
    const size_t first = index_;
    count = static_cast<uint32_t>(binder_.source_vector(take(), type));
    index_ += count;
    return first;
  }
  [[nodiscard]] int64_t immediate() { return binder_.immediate(take()); }

 private:
  const ptx::Operand& take() { return binder_.ptx_operand(next_++); }

  Binder& binder_;
  size_t next_ = 0;   ///< of the PTX operands
  size_t index_ = 0;  ///< of the decoded operands
};

template <bool sparse, bool weight_stationary>
void bind_mma(Binder& binder) {
  TensorMmaForm form;
  form.mma.kind = kind_of(binder.modifiers.get("kind"));
  form.mma.group = cta_group_of(binder);
  form.mma.sparse = sparse;
  form.mma.weight_stationary = weight_stationary;
  const bool scaled = is_block_scaled(form.mma.kind);
  if (scaled) form.mma.scales = scales_of(binder, form.mma.kind);
  form.collector = collector_of(binder.modifiers.get("collector"));
  if (weight_stationary && binder.modifiers.get("collector").empty())
    form.collector.buffer = 1;  // b0
  form.shifts_a = binder.modifiers.has("ashift");

  const size_t fewest = 5 + (sparse ? 1 : 0) + (scaled ? 2 : 0);
  binder.expect_count(fewest, scaled ? fewest : fewest + (weight_stationary ? 1 : 2));
  OperandBinder operands(binder);
  form.d = operands.address();
  form.a_in_tensor_memory = operands.next_kind() == ptx::Operand::Kind::address;
  if (form.a_in_tensor_memory)
    form.a = operands.address();
  else
    form.a_descriptor = operands.value(ptx::ScalarType::b64);
  form.b = operands.value(ptx::ScalarType::b64);
  if (sparse) form.metadata = operands.address();
  form.descriptor = operands.value(ptx::ScalarType::b32);
  if (scaled) {
    form.a_scales = operands.address();
    form.b_scales = operands.address();
  }
  if (!scaled && !weight_stationary && operands.next_kind() == ptx::Operand::Kind::vector) {
    form.disable = operands.vector(ptx::ScalarType::b32, form.disable_words);
    const uint32_t expected = form.mma.group == 1 ? 4 : 8;
    if (form.disable_words != expected)
      binder.refuse(fmt::format("has {} words of disable-output-lane; cta_group::{} takes {}",
                                form.disable_words, form.mma.group, expected),
                    "give one bit for each lane of Tensor Memory");
  }
  form.enable = operands.predicate();
  if (!operands.at_end() && weight_stationary) {
    form.has_zero_columns = true;
    form.zero_columns = operands.value(ptx::ScalarType::b64);
  } else if (!operands.at_end()) {
    if (form.mma.kind != MmaKind::f16 && form.mma.kind != MmaKind::tf32)
      binder.refuse("has scale-input-d, which only kind::f16 and kind::tf32 take", "leave it out");
    const int64_t exponent = operands.immediate();
    if (exponent < 0 || exponent > kLargestScaleExponent)
      binder.refuse(fmt::format("has scale-input-d {}; allowed are 0 to 15", exponent), "");
    form.scale_exponent = static_cast<uint32_t>(exponent);
  }
  if (!operands.at_end()) binder.refuse("has operands that its form does not take", "");
  if (form.shifts_a) {
    if (!form.a_in_tensor_memory)
      binder.refuse("has .ashift and A in shared memory", ".ashift shifts A in Tensor Memory");
    if (form.collector.operation == CollectorUse::Operation::fill ||
        form.collector.operation == CollectorUse::Operation::use)
      binder.refuse("combines .ashift with .collector::a::fill or ::use",
                    "use .collector::a::lastuse or ::discard");
  }
  binder.detail(form);
  binder.out.execute = execute_mma;
}

/// Integers are not multiplied by the newer members of the family.
Machines machines_of_kind(const Modifiers& modifiers) {
  return modifiers.get("kind") == "kind::i8" ? kNotOnBlackwellUltra : kOnBlackwell;
}

template <bool sparse>
constexpr InstructionForm plain_row(std::string_view base, std::string_view section) {
  return {.base = base,
          .modifiers =
              "group=cta_group::1|cta_group::2 "
              "kind=kind::f16|kind::tf32|kind::f8f6f4|kind::i8 [ashift] "
              "[collector=collector::a::fill|collector::a::use|collector::a::lastuse|"
              "collector::a::discard]",
          .bind = bind_mma<sparse, false>,
          .effect = Effect::cluster,
          .cycles = costs::kMmaIssue,
          .section = section,
          .destinations = 0,
          .unit = Unit::tensor_core,
          .machines = machines_of_kind,
          .unit_name = "tcgen05.mma"};
}

template <bool sparse>
constexpr InstructionForm scaled_row(std::string_view base, std::string_view section) {
  return {.base = base,
          .modifiers =
              "group=cta_group::1|cta_group::2 kind=kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4 "
              "block_scale [size=scale_vec::1X|scale_vec::2X|scale_vec::4X|block16|block32] "
              "[collector=collector::a::fill|collector::a::use|collector::a::lastuse|"
              "collector::a::discard]",
          .bind = bind_mma<sparse, false>,
          .effect = Effect::cluster,
          .cycles = costs::kMmaIssue,
          .section = section,
          .destinations = 0,
          .unit = Unit::tensor_core,
          .machines = kOnBlackwell,
          .unit_name = "tcgen05.mma"};
}

template <bool sparse>
constexpr InstructionForm weight_stationary_row(std::string_view base, std::string_view section) {
  return {
      .base = base,
      .modifiers =
          "group=cta_group::1 kind=kind::f16|kind::tf32|kind::f8f6f4|kind::i8 "
          "[collector="
          "collector::b0::fill|collector::b0::use|collector::b0::lastuse|collector::b0::discard|"
          "collector::b1::fill|collector::b1::use|collector::b1::lastuse|collector::b1::discard|"
          "collector::b2::fill|collector::b2::use|collector::b2::lastuse|collector::b2::discard|"
          "collector::b3::fill|collector::b3::use|collector::b3::lastuse|"
          "collector::b3::discard]",
      .bind = bind_mma<sparse, true>,
      .effect = Effect::cluster,
      .cycles = costs::kMmaIssue,
      .section = section,
      .destinations = 0,
      .unit = Unit::tensor_core,
      .machines = machines_of_kind,
      .unit_name = "tcgen05.mma"};
}

constexpr InstructionForm kMmaRows[] = {
    plain_row<false>("tcgen05.mma", "tcgen05.mma"),
    scaled_row<false>("tcgen05.mma", "tcgen05.mma"),
    plain_row<true>("tcgen05.mma.sp", "tcgen05.mma.sp"),
    scaled_row<true>("tcgen05.mma.sp", "tcgen05.mma.sp"),
    weight_stationary_row<false>("tcgen05.mma.ws", "tcgen05.mma.ws"),
    weight_stationary_row<true>("tcgen05.mma.ws.sp", "tcgen05.mma.ws.sp"),
};

}  // namespace

Rows mma_rows() { return kMmaRows; }

}  // namespace bw::sim::tcgen05
