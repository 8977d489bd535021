/// \file
/// cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and cp.async.bulk.prefetch.tensor.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/units/copies/bulk_groups.hpp"
#include "common/simulator/units/copies/copy_forms.hpp"
#include "common/simulator/units/copies/tensor_box.hpp"
#include "common/simulator/units/copies/tensor_map.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

enum class Direction : uint8_t { load, store, prefetch };

/// A decoded tensor copy, reduction or prefetch.
struct TensorForm {
  Direction direction = Direction::load;
  uint32_t rank = 1;
  bool gathered = false;
  Im2colMode im2col = Im2colMode::none;
  bool reduces = false;
  Reduction reduction = Reduction::add;
  AddressOperand map;
  ValueOperand coordinates;  ///< the first; the others follow
  uint32_t coordinate_count = 1;
  ValueOperand offsets;   ///< of an im2col load: the first, one a spatial dimension; of .im2col::w
                          ///< wHalo and wOffset
  SharedTarget target;    ///< of loads
  AddressOperand source;  ///< of stores, in shared memory
};

const TensorForm& form_of(const Instruction& instruction) {
  return *static_cast<const TensorForm*>(instruction.detail);
}

/// What the map and the instruction must agree on.
void check_map(const Strand& strand, const Instruction& instruction, int lane, const TensorMap& map,
               const TensorForm& form) {
  if (map.rank != form.rank)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_map_mismatch,
         .what = fmt::format("a .{}d instruction with {}", form.rank, map.describe()),
         .rule = "the instruction's dimension is the tensor map's",
         .fix = "use the instruction and coordinates of the map's rank"});
  const bool is_im2col = form.im2col != Im2colMode::none;
  if (map.im2col.mode != form.im2col) {
    constexpr const char* kModes[] = {" tiled", "n .im2col", "n .im2col::w", "n .im2col::w::128"};
    const bool is_wide = form.im2col > Im2colMode::all;
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_map_mismatch,
         .what = fmt::format("a{} instruction with {}", kModes[static_cast<size_t>(form.im2col)],
                             map.describe()),
         .rule = "the instruction's mode is the tensor map's",
         .fix = is_wide     ? "encode the map with cuTensorMapEncodeIm2colWide and this mode"
                : is_im2col ? "encode the map with cuTensorMapEncodeIm2col"
                            : "use the .im2col forms, or encode the map with "
                              "cuTensorMapEncodeTiled"});
  }
  if (tensor_map_type_is_padded(map.type) && (form.direction == Direction::store || is_im2col))
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_type_not_executed,
         .what =
             fmt::format("{} of the padded type {} are not simulated",
                         is_im2col ? "im2col copies" : "stores", tensor_map_type_name(map.type)),
         .rule = "elements of fewer than 8 bits are copied as the type says",
         .fix = "use u8 or 16U4_ALIGN8B",
         .section = "Sub-byte Types"});
  if (form.gathered && (map.box[1] != 1 || map.interleave != TensorMapInterleave::none))
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_map_mismatch,
         .what = "a gather4 or scatter4 of " + map.describe(),
         .rule = "the box has 1 row, no interleave",
         .fix = "encode the map with boxDim[1] = 1 and without interleave",
         .section = "Tensors, .tile::scatter4 and .tile::gather4 modes"});
  if (form.direction == Direction::store && map.swizzle == TensorMapSwizzle::bytes128_atom32_flip8)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_store_map,
         .what = "a store through a map with the 8-byte flip swizzle",
         .rule = "the 8-byte flip is for loads only",
         .fix = "encode another map without the flip for the store",
         .section = "Restriction on Tensor Copy instructions"});
  if (form.reduces && !reduction_in_global(form.reduction, reduction_type(map.type)))
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_reduction_type,
         .what = std::string("a reduction .") + reduction_name(form.reduction) +
                 " of elements of type " + tensor_map_type_name(map.type),
         .rule = "the instruction's table lists the operation with this element type",
         .fix = "encode the map with a type that has this reduction"});
}

/// The pixels of an .im2col::w or .im2col::w::128 instruction.
TensorBox wide_box(Strand& strand, const Instruction& instruction, int lane, const TensorMap& map,
                   const TensorForm& form,
                   const std::array<int32_t, kTensorMapMaxRank>& coordinates) {
  const auto operand = [&](uint32_t i) {
    return static_cast<uint16_t>(strand.value(instruction.operands[form.offsets.index + i], lane));
  };
  const Im2colWide wide{.halo = operand(0), .offset = operand(1)};
  if (form.im2col == Im2colMode::w128 && wide.halo != 0)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::form_not_executed,
         .what = fmt::format("the operand wHalo of .im2col::w::128 is {}", wide.halo),
         .rule =
             "the position in shared memory of the halo after each 32 pixels is given by a figure "
             "alone, and it was not measured for this simulator: only a wHalo of 0 is simulated",
         .fix = "use .im2col::w, whose halo follows all pixels",
         .section = "im2col::w and im2col::w::128 modes, wHalo"});
  constexpr uint32_t kHaloEnd = 512, kOffsetEnd = 32;
  if (wide.halo >= kHaloEnd || wide.offset >= kOffsetEnd)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_coordinates,
         .what =
             fmt::format("the operands {{wHalo, wOffset}} are {{{}, {}}}", wide.halo, wide.offset),
         .rule = "wHalo is 0 to 511, wOffset 0 to 31",
         .fix = "give the pixels that a filter's row reaches beyond the last one, and the filter's "
                "position in its row"});
  const int64_t last = static_cast<int64_t>(map.extents[1]) - 1 + map.im2col.upper[0];
  if (coordinates[1] > last)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_coordinates,
         .what = fmt::format("the first pixel has the coordinate {} in dimension 1, where the "
                             "bounding box of {} ends at {}",
                             coordinates[1], map.describe(), last),
         .rule = "the first pixel may be outside of the bounding box on its left side only",
         .fix = "begin at a position of the box or before it, and add the filter's position as "
                "wOffset",
         .section = "im2col::w and im2col::w::128 modes, Bounding Box"});
  return TensorBox(map, coordinates, wide);
}

TensorBox read_box(Strand& strand, const Instruction& instruction, int lane, const TensorMap& map,
                   const TensorForm& form) {
  std::array<int32_t, kTensorMapMaxRank> coordinates{};
  for (uint32_t i = 0; i < form.coordinate_count; ++i) {
    const Operand& operand = instruction.operands[form.coordinates.index + i];
    coordinates[i] = static_cast<int32_t>(strand.value(operand, lane));
  }
  constexpr int32_t kPaddedMultiple = 128;
  if (tensor_map_type_is_padded(map.type) && coordinates[0] % kPaddedMultiple != 0)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_coordinates,
         .what = fmt::format("the box starts at coordinate {} of dimension 0 of {}", coordinates[0],
                             map.describe()),
         .rule = "with a padded type the first coordinate is a multiple of 128",
         .fix = "start where 128 elements start",
         .section = "Sub-byte Types"});
  const int64_t start_bits = int64_t{coordinates[0]} * map.element_bits();
  constexpr int64_t kAlignmentBits = 8 * kBulkAlignmentBytes;
  if (start_bits % kAlignmentBits != 0)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_coordinates,
         .what = fmt::format(
             "the box starts at coordinate {} of dimension 0, {} bytes into the row, of {}",
             coordinates[0], start_bits / 8, map.describe()),
         .rule = "the box's address is a multiple of 16 bytes",
         .fix = "use a first coordinate that is a multiple of 16 bytes",
         .section = "Tensors, Bounding Box"});
  if (form.direction == Direction::store && form.im2col == Im2colMode::none)
    for (uint32_t i = 0; i < form.coordinate_count; ++i)
      if (coordinates[i] < 0)
        Site{strand, instruction, lane_bit(lane)}.fault(
            {.code = FaultCode::tensor_coordinates,
             .what = fmt::format("a store to coordinate {} (operand {}) of {}", coordinates[i], i,
                                 map.describe()),
             .rule = "the coordinates of a store are not negative",
             .fix = "start the box inside the tensor; only its end may be outside",
             .section = "Restriction on Tensor Copy instructions"});
  if (form.im2col == Im2colMode::none) return TensorBox(map, coordinates, form.gathered);
  if (form.im2col > Im2colMode::all)
    return wide_box(strand, instruction, lane, map, form, coordinates);
  const bool has_corners = map.im2col.lower != Im2col{}.lower || map.im2col.upper != Im2col{}.upper;
  if (form.direction == Direction::store && has_corners)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_store_map,
         .what = "an im2col store through " + map.describe() + ", whose corners are not 0",
         .rule = "a Hopper GPU calls such a store an illegal instruction (measured)",
         .fix = "encode another map, with corners of 0, for the store",
         .section = kNotFromPtxIsa});
  Im2colOffsets offsets{};
  for (uint32_t d = 0; d + 2 < form.rank; ++d) {
    if (form.offsets.present())
      offsets[d] =
          static_cast<uint16_t>(strand.value(instruction.operands[form.offsets.index + d], lane));
    const int64_t last = static_cast<int64_t>(map.extents[d + 1]) - 1 + map.im2col.upper[d];
    if (coordinates[d + 1] < map.im2col.lower[d] || coordinates[d + 1] > last)
      Site{strand, instruction, lane_bit(lane)}.fault(
          {.code = FaultCode::tensor_coordinates,
           .what =
               fmt::format("the first pixel has the coordinate {} in dimension {}, where the "
                           "bounding box of {} goes from {} to {}",
                           coordinates[d + 1], d + 1, map.describe(), map.im2col.lower[d], last),
           .rule = "the first pixel is in the bounding box",
           .fix = "begin at a position of the box, and add the filter's position as the offset",
           .section = "Tensors, Im2col mode"});
  }
  return TensorBox(map, coordinates, offsets);
}

/// The part of the box inside of the tensor must be in one allocation.
void check_global(Strand& strand, const Instruction& instruction, int lane, const TensorBox& box,
                  Access access) {
  const std::optional<TensorBox::Range> range = box.global_range();
  if (!range) return;
  const Allocation* const allocation = strand.cluster->memory().find(range->address);
  const bool inside =
      allocation != nullptr &&
      range->address - allocation->address + range->size_bytes <= allocation->size_bytes;
  if (inside && (access == Access::read || allocation->writable)) return;
  const std::string what =
      fmt::format("the box covers {} bytes from byte {} of {}, ", range->size_bytes,
                  range->address - box.map().address, box.map().describe());
  const Allocation* const freed = strand.cluster->memory().find_freed(range->address);
  if (allocation == nullptr)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_map_memory,
         .what = what + (freed != nullptr
                             ? "in memory that has been freed: it was " + freed->description
                             : "which are not in device memory"),
         .rule = "the tensor map describes existing memory",
         .fix =
             "check the address, extents and strides given to cuTensorMapEncodeTiled, and that the "
             "memory has not been freed",
         .section = "Tensors",
         .device_error = DeviceError::illegal_address});
  Site{strand, instruction, lane_bit(lane)}.fault(
      {.code = FaultCode::tensor_map_memory,
       .what = fmt::format(
           "{}{}{}, {} bytes", what,
           inside ? "which may not be written: " : "which is more than its allocation holds: ",
           allocation->description, allocation->size_bytes),
       .rule = "the tensor map describes existing memory",
       .fix = "check the extents and strides given to cuTensorMapEncodeTiled against the buffer's "
              "size",
       .section = "Tensors"});
}

/// The global memory that the box touches, for observers of copies: one range, or none where it is
/// outside of the tensor.
std::vector<MemoryRange> global_ranges(const Strand& strand, const TensorBox& box) {
  if (!strand.cluster->observed(EventKind::copy)) return {};
  const std::optional<TensorBox::Range> range = box.global_range();
  if (!range) return {};
  return {{AddressSpace::global, 0, range->address, range->size_bytes}};
}

/// What observers want to know of the box beyond the ranges.
void describe_box(CopyDescription* copy, const Strand& strand, const TensorBox& box, uint64_t map,
                  std::vector<MemoryRange> CopyDescription::*rows) {
  if (copy == nullptr) return;
  copy->tensor_map = map;
  if (!strand.cluster->observed(EventKind::footprint)) return;
  for (const TensorBox::Range& row : box.global_rows())
    (copy->*rows).push_back({AddressSpace::global, 0, row.address, row.size_bytes});
}

/// With a timing model: what the engine asks the L2 cache for.
CopyRows rows_of(const Strand& strand, const TensorBox& box, L2Path path) {
  CopyRows rows{.rows = box.rows(), .row_bytes = box.row_bytes()};
  if (!strand.cluster->costs().has_model()) return rows;
  const Cycle engine_free_at =
      path == L2Path::tma_load ? strand.cta->clock->copies.loads_moved_at() : 0;
  const auto touch = [&](const TensorBox::Run& run) {
    const L2Touch met =
        strand.cluster->l2().touch_rows({.first = run.address,
                                         .row_bytes = run.row_bytes,
                                         .pitch_bytes = run.pitch_bytes,
                                         .rows = run.rows,
                                         .promotion_bytes = box.map().promotion_bytes(),
                                         .engine_free_at = engine_free_at},
                                        strand.time, path);
    rows.extra = std::max(rows.extra, met.extra);
    rows.queued = std::max(rows.queued, met.queued);
  };
  if (const std::optional<TensorBox::Run> only = box.only_run())
    touch(*only);
  else
    for (const TensorBox::Run& run : box.global_runs()) touch(run);
  return rows;
}

Flow load_tensor(Strand& strand, const Instruction& instruction, LaneMask active) {
  const TensorForm& form = form_of(instruction);
  issue_each_lane(strand, active, [&](int lane) {
    const TensorMap map = read_map(strand, instruction, lane, form.map);
    check_map(strand, instruction, lane, map, form);
    auto box = std::make_shared<const TensorBox>(read_box(strand, instruction, lane, map, form));
    check_global(strand, instruction, lane, *box, Access::read);
    TmaLoad load({strand, instruction, lane_bit(lane)});
    load.tensor_map = form.map.of(strand, instruction, lane);
    units_of(*strand.cluster).tensor_maps.begin_copy(load.site, load.tensor_map);
    const uint32_t offset = resolve_target(
        form.target, box->shared_bytes(), kTensorSharedAlignmentBytes, box->transfer_bytes(), load);
    load.rows = rows_of(strand, *box, L2Path::tma_load);
    load.rows.extra += strand.cta->clock->wait_for_map(load.tensor_map, strand.time);
    load.move = [box, offset](const std::vector<std::byte*>& windows) {
      box->load(windows, offset);
    };
    describe_load(load, CopyUnit::tensor, CopyDirection::load, global_ranges(strand, *box), offset,
                  box->shared_bytes());
    describe_box(load.description.get(), strand, *box, load.tensor_map,
                 &CopyDescription::source_rows);
    units_of(strand).tma.load(std::move(load), strand.time);
  });
  return Flow::next;
}

/// One store or reduction, issued by `lanes`, which give the same operands.
void store_box_by(Strand& strand, const Instruction& instruction, LaneMask lanes) {
  const TensorForm& form = form_of(instruction);
  const int lane = lowest_lane(lanes);
  const Site site{strand, instruction, lanes};
  const TensorMap map = read_map(strand, instruction, lane, form.map);
  check_map(strand, instruction, lane, map, form);
  auto box = std::make_shared<const TensorBox>(read_box(strand, instruction, lane, map, form));
  check_global(strand, instruction, lane, *box, form.reduces ? Access::read_write : Access::write);
  const SharedPlace source =
      resolve_shared(site, AddressSpace::shared_cta, form.source.of(strand, instruction, lane),
                     box->shared_bytes(), kTensorSharedAlignmentBytes, Access::read);
  // Bytes outside of the tensor are not stored, and need not have been written.
  if (source.cta->contents.is_tracked() && box->is_inside())
    require_written(site, *source.cta, source.offset_bytes, box->shared_bytes(), "this copies");
  TmaStore store(site);
  store.tensor_map = form.map.of(strand, instruction, lane);
  units_of(*strand.cluster).tensor_maps.begin_copy(site, store.tensor_map);
  store.bytes = box->transfer_bytes();
  store.rows = rows_of(strand, *box, L2Path::tma_store);
  store.rows.extra += strand.cta->clock->wait_for_map(store.tensor_map, strand.time);
  for (const int issuer : lanes_of(lanes))
    store.tickets.push_back(
        units_of(strand).bulk_groups.begin(strand.thread_index(issuer), &instruction));
  store.ordered = form.reduces;
  store.read = [box, offset = source.offset_bytes](const std::byte* window,
                                                   std::vector<std::byte>& staged) {
    box->read_shared(window, offset, staged);
  };
  store.write = [box, &form](const std::vector<std::byte>& staged) {
    if (form.reduces)
      box->reduce(staged, form.reduction);
    else
      box->store(staged);
  };
  describe_store(store, CopyUnit::tensor,
                 form.reduces ? CopyDirection::reduce : CopyDirection::store, source.offset_bytes,
                 box->shared_bytes(), global_ranges(strand, *box));
  describe_box(store.description.get(), strand, *box, store.tensor_map,
               &CopyDescription::destination_rows);
  units_of(strand).tma.store(std::move(store), strand.time);
}

Flow store_tensor(Strand& strand, const Instruction& instruction, LaneMask active) {
  issue_each_operands(strand, instruction, active, form_of(instruction).reduces,
                      [&](LaneMask lanes) { store_box_by(strand, instruction, lanes); });
  return Flow::next;
}

/// A hint: its operands are checked, and it brings its box into the L2 cache.
Flow prefetch_tensor(Strand& strand, const Instruction& instruction, LaneMask active) {
  const TensorForm& form = form_of(instruction);
  issue_each_operands(strand, instruction, active, /*is_by_lane=*/false, [&](LaneMask lanes) {
    const int lane = lowest_lane(lanes);
    const TensorMap map = read_map(strand, instruction, lane, form.map);
    check_map(strand, instruction, lane, map, form);
    const TensorBox box = read_box(strand, instruction, lane, map, form);
    check_global(strand, instruction, lane, box, Access::read);
    static_cast<void>(rows_of(strand, box, L2Path::tma_load));
  });
  return Flow::next;
}

// Binding.

/// `[map, {coordinates}]`, the dimension and the mode.
void bind_tensor(Binder& b, CopyBinder& copy, const ptx::Operand& operand, TensorForm& form) {
  form.rank = static_cast<uint32_t>(b.modifiers.get("dim").front() - '0');
  const std::string_view mode = b.modifiers.get("mode");
  form.gathered = mode == "tile::gather4" || mode == "tile::scatter4";
  if (mode.starts_with("im2col"))
    form.im2col = mode == "im2col::w"        ? Im2colMode::w
                  : mode == "im2col::w::128" ? Im2colMode::w128
                                             : Im2colMode::all;
  if (form.im2col != Im2colMode::none && form.rank < 3)
    b.refuse("has .im2col with fewer than 3 dimensions", "im2col needs channels, space and batch");
  if (operand.kind != ptx::Operand::Kind::coordinates || operand.elements.size() != 2)
    b.refuse("needs [tensorMap, {coordinates}]",
             "write the map's address and a vector of coordinates");
  form.map = copy.address(operand.elements[0]);
  size_t count = 0;
  form.coordinates = copy.vector(operand.elements[1], ScalarType::s32, count);
  form.coordinate_count = static_cast<uint32_t>(count);
  if (form.gathered && form.rank != 2)
    b.refuse("has gather4 or scatter4 with a dimension other than .2d", "these modes are 2-D");
  const size_t needed = form.gathered ? 1 + kGatheredRows : form.rank;
  if (count != needed)
    b.refuse(fmt::format("has {} coordinates instead of {}", count, needed),
             form.gathered ? "give {column, row0, row1, row2, row3}" : "give one a dimension");
}

/// The offsets of an im2col load or prefetch.
void bind_offsets(Binder& b, CopyBinder& copy, TensorForm& form, size_t& next) {
  if (form.im2col == Im2colMode::none) return;
  size_t count = 0;
  form.offsets = copy.vector(b.ptx_operand(next++), ScalarType::u16, count);
  if (form.im2col > Im2colMode::all) {
    if (count != 2)
      b.refuse(fmt::format("has {} im2col operands instead of 2", count), "give {wHalo, wOffset}");
    return;
  }
  if (count != form.rank - 2)
    b.refuse(fmt::format("has {} im2col offsets instead of {}", count, form.rank - 2),
             "give one a spatial dimension");
}

void bind_policy(Binder& b, CopyBinder& copy, size_t& next) {
  if (b.modifiers.has("L2::cache_hint")) copy.value(b.ptx_operand(next++), ScalarType::b64);
}

// [dst], [map, {coordinates}], [mbar] {, ctaMask} {, policy}
void bind_tensor_load(Binder& b) {
  TensorForm form;
  CopyBinder copy(b);
  form.target.destination = copy.address(b.ptx_operand(0));
  bind_tensor(b, copy, b.ptx_operand(1), form);
  form.target.mbarrier = copy.address(b.ptx_operand(2));
  size_t next = 3;
  bind_offsets(b, copy, form, next);
  if (b.modifiers.has("multicast::cluster"))
    form.target.multicast_mask = copy.value(b.ptx_operand(next++), ScalarType::b16);
  bind_policy(b, copy, next);
  b.expect_count(next, next);
  form.target.in_own_cta = b.modifiers.get("dst") == "shared::cta";
  if (form.target.in_own_cta && form.target.multicast_mask.present())
    b.refuse("has .multicast::cluster with .shared::cta",
             "use .shared::cluster as the destination");
  if (b.modifiers.get("cta") == "cta_group::2") form.target.cta_group = CtaGroup::two;
  b.detail(form);
  b.out.execute = load_tensor;
}

// [map, {coordinates}], [src] {, policy}
template <bool is_reduction>
void bind_store(Binder& b) {
  TensorForm form;
  form.direction = Direction::store;
  CopyBinder copy(b);
  bind_tensor(b, copy, b.ptx_operand(0), form);
  form.source = copy.address(b.ptx_operand(1));
  size_t next = 2;
  bind_policy(b, copy, next);
  b.expect_count(next, next);
  if constexpr (is_reduction) {
    form.reduces = true;
    form.reduction = reduction_from_name(b.modifiers.get("op"));
  }
  b.detail(form);
  b.out.execute = store_tensor;
}

// [map, {coordinates}] {, policy}
void bind_prefetch(Binder& b) {
  TensorForm form;
  form.direction = Direction::prefetch;
  CopyBinder copy(b);
  bind_tensor(b, copy, b.ptx_operand(0), form);
  size_t next = 1;
  bind_offsets(b, copy, form, next);
  bind_policy(b, copy, next);
  b.expect_count(next, next);
  b.detail(form);
  b.out.execute = prefetch_tensor;
}

/// Blackwell's copy engine has im2col::w; Hopper's has the other modes too.
Machines machines_of_mode(const Modifiers& modifiers) {
  return modifiers.get("mode").starts_with("im2col::w") ? kOnBlackwell : kOnAllMachines;
}

constexpr InstructionForm kTensorCopyRows[] = {
    {.base = "cp.async.bulk.tensor",
     .modifiers =
         "dim=1d|2d|3d|4d|5d dst=shared::cluster|shared::cta global "
         "[mode=tile|tile::gather4|im2col|im2col::w|im2col::w::128] "
         "mbarrier::complete_tx::bytes [multicast::cluster] [cta=cta_group::1|cta_group::2] "
         "[L2::cache_hint]",
     .bind = bind_tensor_load,
     .effect = Effect::cluster,
     .cycles = costs::kTmaIssue,
     .section = "cp.async.bulk.tensor",
     .destinations = 0,
     .unit = Unit::bulk_copy,
     .memory = Memory::copy,
     .machines = machines_of_mode},
    {.base = "cp.async.bulk.tensor",
     .modifiers = "dim=1d|2d|3d|4d|5d global shared::cta [mode=tile|tile::scatter4|im2col_no_offs] "
                  "bulk_group "
                  "[L2::cache_hint]",
     .bind = bind_store<false>,
     .effect = Effect::cluster,
     .cycles = costs::kTmaIssue,
     .section = "cp.async.bulk.tensor",
     .destinations = 0,
     .unit = Unit::bulk_copy,
     .memory = Memory::copy,
     .machines = machines_of_mode},
    {.base = "cp.reduce.async.bulk.tensor",
     .modifiers = "dim=1d|2d|3d|4d|5d global shared::cta op=add|min|max|inc|dec|and|or|xor "
                  "[mode=tile|im2col_no_offs] "
                  "bulk_group [L2::cache_hint]",
     .bind = bind_store<true>,
     .effect = Effect::grid,
     .cycles = costs::kTmaIssue,
     .section = "cp.reduce.async.bulk.tensor",
     .destinations = 0,
     .unit = Unit::bulk_copy,
     .memory = Memory::update},
    {.base = "cp.async.bulk.prefetch.tensor",
     .modifiers = "dim=1d|2d|3d|4d|5d L2 global "
                  "[mode=tile|tile::gather4|im2col|im2col::w|im2col::w::128] [L2::cache_hint]",
     .bind = bind_prefetch,
     .effect = Effect::cluster,
     .cycles = costs::kTmaIssue,
     .section = "cp.async.bulk.prefetch.tensor",
     .destinations = 0,
     .unit = Unit::bulk_copy,
     .machines = machines_of_mode},
};

}  // namespace

Rows tensor_copy_rows() { return kTensorCopyRows; }

}  // namespace bw::sim
