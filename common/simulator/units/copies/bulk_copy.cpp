/// \file
/// cp.async.bulk and cp.reduce.async.bulk: copies of contiguous bytes; and the bulk groups.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/device_address.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/units/copies/bulk_groups.hpp"
#include "common/simulator/units/copies/copy_forms.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

/// A decoded bulk copy or reduction.
struct BulkForm {
  SharedTarget target;  ///< loads and copies between CTAs
  AddressOperand source;
  AddressOperand destination;  ///< of stores, in global memory
  ValueOperand size;
  ValueOperand byte_mask;  ///< present with .cp_mask
  /// Present with .ignore_oob: bytes at the beginning and at the end that need not exist.
  ValueOperand ignored_first, ignored_last;
  bool reduces = false;
  Reduction reduction = Reduction::add;
  ReductionType type = ReductionType::none;
};

const BulkForm& bulk_form_of(const Instruction& instruction) {
  return *static_cast<const BulkForm*>(instruction.detail);
}

uint32_t checked_size(const Strand& strand, const Instruction& instruction, int lane,
                      const BulkForm& form) {
  const auto size = static_cast<uint32_t>(form.size.of(strand, instruction, lane));
  if (size == 0 || size % kBulkAlignmentBytes != 0)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::bulk_size,
         .what = fmt::format("a bulk copy of {} bytes", size),
         .rule = "size is a positive multiple of 16 bytes",
         .fix = "round the size up and pad the buffers to 16 bytes"});
  return size;
}

MemoryRange global_range(const std::byte* first, uint32_t bytes) {
  return {AddressSpace::global, 0, device_address(first), bytes};
}

/// With a timing model: what the engine asks the L2 cache for.
CopyRows row_of(const Strand& strand, const std::byte* first, uint32_t bytes, L2Path path) {
  CopyRows row{.rows = 1, .row_bytes = 0};
  if (!strand.cluster->costs().has_model()) return row;
  const Cycle engine_free_at =
      path == L2Path::tma_load ? strand.cta->clock->copies.loads_moved_at() : 0;
  const L2Touch met = strand.cluster->l2().touch_rows({.first = device_address(first),
                                                       .row_bytes = bytes,
                                                       .pitch_bytes = bytes,
                                                       .engine_free_at = engine_free_at},
                                                      strand.time, path);
  row.extra = met.extra;
  row.queued = met.queued;
  return row;
}

void combine(const BulkForm& form, std::byte* destination, const std::byte* source,
             uint32_t bytes) {
  if (form.reduces)
    reduce_elements(form.reduction, form.type, destination, source, bytes);
  else
    std::memcpy(destination, source, bytes);
}

/// Bytes of the source that a load leaves out, of its `bytes`.
struct Ignored {
  uint32_t first = 0;  ///< at the beginning
  uint32_t last = 0;   ///< at the end
};

Ignored checked_ignored(const Strand& strand, const Instruction& instruction, int lane,
                        const BulkForm& form) {
  if (!form.ignored_first.present()) return {};
  const auto first = static_cast<uint32_t>(form.ignored_first.of(strand, instruction, lane));
  const auto last = static_cast<uint32_t>(form.ignored_last.of(strand, instruction, lane));
  if (first >= kBulkAlignmentBytes || last >= kBulkAlignmentBytes)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::bulk_size,
         .what = fmt::format("a bulk copy that ignores {} bytes at the beginning and {} at the end",
                             first, last),
         .rule = "ignoreBytesLeft and ignoreBytesRight are 0 to 15",
         .fix = "start at the 16-byte chunk that holds the first byte, and end with the one that "
                "holds the last"});
  return {first, last};
}

Flow load_from_global(Strand& strand, const Instruction& instruction, LaneMask active) {
  const BulkForm& form = bulk_form_of(instruction);
  issue_each_lane(strand, active, [&](int lane) {
    const Site site{strand, instruction, lane_bit(lane)};
    const uint32_t bytes = checked_size(strand, instruction, lane, form);
    const Ignored ignored = checked_ignored(strand, instruction, lane, form);
    const uint32_t copied = bytes - std::min(bytes, ignored.first + ignored.last);
    const uint64_t address = form.source.of(strand, instruction, lane);
    const bool is_aligned = address % kBulkAlignmentBytes == 0;
    const std::byte* source =
        resolve(site, AddressSpace::global, is_aligned ? address + ignored.first : address,
                copied == 0 ? 1 : copied, is_aligned ? 1 : kBulkAlignmentBytes, Access::read);
    TmaLoad load(site);
    const uint32_t offset = resolve_target(form.target, bytes, kBulkAlignmentBytes, bytes, load);
    load.rows = row_of(strand, source, bytes, L2Path::tma_load);
    load.move = [source, offset, bytes, copied, ignored](const std::vector<std::byte*>& windows) {
      // What a GPU writes in place of ignored bytes is not determined; here it differs from data.
      constexpr int kIndeterminate = 0xcd;
      for (std::byte* const window : windows) {
        if (copied != bytes) std::memset(window + offset, kIndeterminate, bytes);
        std::memcpy(window + offset + ignored.first, source, copied);
      }
    };
    describe_load(load, CopyUnit::bulk, CopyDirection::load, {global_range(source, copied)}, offset,
                  bytes);
    units_of(strand).tma.load(std::move(load), strand.time);
  });
  return Flow::next;
}

Flow copy_between_ctas(Strand& strand, const Instruction& instruction, LaneMask active) {
  const BulkForm& form = bulk_form_of(instruction);
  issue_each_lane(strand, active, [&](int lane) {
    const Site site{strand, instruction, lane_bit(lane)};
    const uint32_t bytes = checked_size(strand, instruction, lane, form);
    const SharedPlace source =
        resolve_shared(site, AddressSpace::shared_cta, form.source.of(strand, instruction, lane),
                       bytes, kBulkAlignmentBytes, Access::read);
    require_written(site, *source.cta, source.offset_bytes, bytes, "this copies");
    TmaLoad load(site);
    const uint32_t offset = resolve_target(form.target, bytes, kBulkAlignmentBytes, bytes, load);
    if (load.destinations.front() == strand.cta)
      site.fault({.code = FaultCode::bulk_to_own_cta,
                  .what = "the destination is in the executing CTA's own shared memory",
                  .rule = "from .shared::cta to .shared::cluster the destination is in another CTA",
                  .fix = "map the destination to another CTA with mapa, or copy with ld and st"});
    load.source = source.cta;
    load.apart_bytes = (offset - source.offset_bytes) % kSharedPassBytes;
    const std::byte* const data = source.cta->shared.data() + source.offset_bytes;
    load.move = [&form, data, offset, bytes](const std::vector<std::byte*>& windows) {
      combine(form, windows.front() + offset, data, bytes);
    };
    describe_load(load, CopyUnit::bulk, CopyDirection::shared_to_shared,
                  {{AddressSpace::shared_cta, static_cast<uint16_t>(source.cta->rank),
                    source.offset_bytes, bytes}},
                  offset, bytes);
    units_of(strand).tma.load(std::move(load), strand.time);
  });
  return Flow::next;
}

/// One store or reduction, issued by `lanes`, which give the same operands.
void store_by(Strand& strand, const Instruction& instruction, LaneMask lanes) {
  const BulkForm& form = bulk_form_of(instruction);
  const int lane = lowest_lane(lanes);
  const Site site{strand, instruction, lanes};
  const uint32_t bytes = checked_size(strand, instruction, lane, form);
  std::byte* const destination =
      resolve(site, AddressSpace::global, form.destination.of(strand, instruction, lane), bytes,
              kBulkAlignmentBytes, form.reduces ? Access::read_write : Access::write);
  units_of(*strand.cluster).tensor_maps.write(site, device_address(destination), bytes);
  const SharedPlace source =
      resolve_shared(site, AddressSpace::shared_cta, form.source.of(strand, instruction, lane),
                     bytes, kBulkAlignmentBytes, Access::read);
  if (!form.byte_mask.present())
    require_written(site, *source.cta, source.offset_bytes, bytes, "this copies");
  TmaStore store(site);
  store.bytes = bytes;
  store.rows = row_of(strand, destination, bytes, L2Path::tma_store);
  for (const int issuer : lanes_of(lanes))
    store.tickets.push_back(
        units_of(strand).bulk_groups.begin(strand.thread_index(issuer), &instruction));
  store.ordered = form.reduces;
  store.read = [offset = source.offset_bytes, bytes](const std::byte* window,
                                                     std::vector<std::byte>& staged) {
    staged.assign(window + offset, window + offset + bytes);
  };
  if (form.byte_mask.present()) {
    const auto mask = static_cast<uint32_t>(form.byte_mask.of(strand, instruction, lane));
    store.write = [mask, destination](const std::vector<std::byte>& staged) {
      for (size_t i = 0; i < staged.size(); ++i)
        if ((mask >> (i % kBulkAlignmentBytes) & 1u) != 0) destination[i] = staged[i];
    };
  } else {
    store.write = [&form, destination, bytes](const std::vector<std::byte>& staged) {
      combine(form, destination, staged.data(), bytes);
    };
  }
  describe_store(store, CopyUnit::bulk, form.reduces ? CopyDirection::reduce : CopyDirection::store,
                 source.offset_bytes, bytes, {global_range(destination, bytes)});
  if (form.byte_mask.present() && store.description != nullptr &&
      strand.cluster->observed(EventKind::footprint)) {
    const auto mask = static_cast<uint32_t>(form.byte_mask.of(strand, instruction, lane));
    for (uint32_t i = 0; i < bytes; ++i)
      if ((mask >> (i % kBulkAlignmentBytes) & 1u) != 0)
        store.description->destination_rows.push_back(global_range(destination + i, 1));
  }
  units_of(strand).tma.store(std::move(store), strand.time);
}

Flow store_to_global(Strand& strand, const Instruction& instruction, LaneMask active) {
  issue_each_operands(strand, instruction, active, bulk_form_of(instruction).reduces,
                      [&](LaneMask lanes) { store_by(strand, instruction, lanes); });
  return Flow::next;
}

/// A hint: its operands are checked, and it brings its bytes into the L2 cache.
Flow prefetch(Strand& strand, const Instruction& instruction, LaneMask active) {
  const BulkForm& form = bulk_form_of(instruction);
  issue_each_operands(strand, instruction, active, /*is_by_lane=*/false, [&](LaneMask lanes) {
    const int lane = lowest_lane(lanes);
    const Site site{strand, instruction, lanes};
    const uint32_t bytes = checked_size(strand, instruction, lane, form);
    const std::byte* const source =
        resolve(site, AddressSpace::global, form.source.of(strand, instruction, lane), bytes,
                kBulkAlignmentBytes, Access::read);
    static_cast<void>(row_of(strand, source, bytes, L2Path::tma_load));
  });
  return Flow::next;
}

Flow commit_bulk_group(Strand& strand, const Instruction& instruction, LaneMask active) {
  for (const int lane : lanes_of(active)) {
    units_of(strand).bulk_groups.commit(strand.thread_index(lane));
  }
  notify_group_commit(strand, instruction, GroupEvent::Unit::bulk);
  return Flow::next;
}

Flow wait_bulk_group(Strand& strand, const Instruction& instruction, LaneMask active) {
  const auto stage = waits_for_async_proxy(instruction)
                         ? AsyncGroups::Stage::write
                         : static_cast<AsyncGroups::Stage>(instruction.flags);
  const auto allowed = static_cast<uint32_t>(instruction.immediate);
  const Flow flow = units_of(strand).bulk_groups.wait(strand, active, allowed, stage);
  if (flow == Flow::next && allowed == 0)
    units_of(*strand.cluster).tensor_maps.end_reading(strand, active);
  return notify_group_wait(strand, instruction, GroupEvent::Unit::bulk, allowed, stage, flow);
}

// Binding.

void bind_bulk_policy(Binder& b, CopyBinder& copy, size_t& next) {
  if (b.modifiers.has("L2::cache_hint")) copy.value(b.ptx_operand(next++), ScalarType::b64);
}

void expect_all_used(const Binder& b, size_t used) { b.expect_count(used, used); }

void bind_reduction(Binder& b, BulkForm& form, bool to_global) {
  form.reduces = true;
  form.reduction = reduction_from_name(b.modifiers.get("op"));
  const ScalarType type = b.modifiers.type();
  switch (type) {
    case ScalarType::u32:
    case ScalarType::b32:
      form.type = ReductionType::u32;
      break;
    case ScalarType::s32:
      form.type = ReductionType::s32;
      break;
    case ScalarType::u64:
    case ScalarType::b64:
      form.type = ReductionType::u64;
      break;
    case ScalarType::s64:
      form.type = ReductionType::s64;
      break;
    case ScalarType::f16:
      form.type = ReductionType::f16;
      break;
    case ScalarType::bf16:
      form.type = ReductionType::bf16;
      break;
    case ScalarType::f32:
      form.type = ReductionType::f32;
      break;  // the ISA says that subnormals flush; a Hopper GPU keeps them (tests/hardware)
    default:
      form.type = ReductionType::f64;
      break;
  }
  const bool is_half = form.type == ReductionType::f16 || form.type == ReductionType::bf16;
  const bool needs_noftz = is_half && form.reduction == Reduction::add;
  if (b.modifiers.has("noftz") != needs_noftz)
    b.refuse(needs_noftz ? "needs .noftz" : "does not take .noftz",
             ".noftz belongs to .add of .f16 and .bf16");
  const bool allowed = to_global ? reduction_in_global(form.reduction, form.type)
                                 : reduction_in_shared(form.reduction, form.type);
  if (!allowed)
    b.refuse("has no ." + std::string(b.modifiers.get("op")) + " of ." +
                 std::string(b.modifiers.get("type")),
             "use a pair of its table of operations and types");
}

// [dst], [src], size {, ignoreBytesLeft, ignoreBytesRight}, [mbar] {, ctaMask} {, policy}
template <StrandHandler handler, bool is_reduction>
void bind_bulk_load(Binder& b) {
  BulkForm form;
  CopyBinder copy(b);
  form.target.destination = copy.address(b.ptx_operand(0));
  form.source = copy.address(b.ptx_operand(1));
  form.size = copy.value(b.ptx_operand(2), ScalarType::u32);
  size_t next = 3;
  if (b.modifiers.has("ignore_oob")) {
    form.ignored_first = copy.value(b.ptx_operand(next++), ScalarType::u32);
    form.ignored_last = copy.value(b.ptx_operand(next++), ScalarType::u32);
  }
  form.target.mbarrier = copy.address(b.ptx_operand(next++));
  if (b.modifiers.has("multicast::cluster"))
    form.target.multicast_mask = copy.value(b.ptx_operand(next++), ScalarType::b16);
  form.target.in_own_cta = b.modifiers.get("dst") == "shared::cta";
  bind_bulk_policy(b, copy, next);
  expect_all_used(b, next);
  if (form.target.in_own_cta && form.target.multicast_mask.present())
    b.refuse("has .multicast::cluster with .shared::cta",
             "use .shared::cluster as the destination");
  if constexpr (is_reduction) bind_reduction(b, form, false);
  b.detail(form);
  b.out.execute = handler;
}

// [dst], [src], size {, policy} {, byteMask}
template <bool is_reduction>
void bind_bulk_store(Binder& b) {
  BulkForm form;
  CopyBinder copy(b);
  form.destination = copy.address(b.ptx_operand(0));
  form.source = copy.address(b.ptx_operand(1));
  form.size = copy.value(b.ptx_operand(2), ScalarType::u32);
  size_t next = 3;
  bind_bulk_policy(b, copy, next);
  if (b.modifiers.has("cp_mask"))
    form.byte_mask = copy.value(b.ptx_operand(next++), ScalarType::b16);
  expect_all_used(b, next);
  if constexpr (is_reduction) bind_reduction(b, form, true);
  b.detail(form);
  b.out.execute = store_to_global;
}

void bind_bulk_prefetch(Binder& b) {
  BulkForm form;
  CopyBinder copy(b);
  form.source = copy.address(b.ptx_operand(0));
  form.size = copy.value(b.ptx_operand(1), ScalarType::u32);
  size_t next = 2;
  bind_bulk_policy(b, copy, next);
  expect_all_used(b, next);
  b.detail(form);
  b.out.execute = prefetch;
}

void bind_bulk_commit(Binder& b) {
  b.expect_count(0, 0);
  b.out.execute = commit_bulk_group;
}

void bind_bulk_wait(Binder& b) {
  b.expect_count(1, 1);
  const int64_t allowed = b.immediate(b.ptx_operand(0));
  if (allowed < 0)
    b.refuse("has a negative group count", "give 0 or more groups that may be pending");
  b.out.immediate = allowed;
  const std::string_view restricted = b.modifiers.get("restricted");
  b.out.flags = restricted == "sync_restrict::proxy::async"
                    ? kWaitsForAsyncProxy
                    : static_cast<uint8_t>(restricted == "read" ? AsyncGroups::Stage::read
                                                                : AsyncGroups::Stage::write);
  b.out.execute = wait_bulk_group;
}

constexpr InstructionForm copy_row(std::string_view modifiers, BindFunction bind) {
  return {.base = "cp.async.bulk",
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::cluster,
          .cycles = costs::kTmaIssue,
          .section = "cp.async.bulk",
          .destinations = 0,
          .unit = Unit::bulk_copy,
          .memory = Memory::copy};
}

constexpr InstructionForm reduction_row(std::string_view modifiers, BindFunction bind,
                                        Effect effect) {
  return {.base = "cp.reduce.async.bulk",
          .modifiers = modifiers,
          .bind = bind,
          .effect = effect,
          .cycles = costs::kTmaIssue,
          .section = "cp.reduce.async.bulk",
          .destinations = 0,
          .unit = Unit::bulk_copy,
          .memory = Memory::update};
}

constexpr InstructionForm kBulkCopyRows[] = {
    copy_row("[weak] dst=shared::cluster|shared::cta global mbarrier::complete_tx::bytes "
             "[multicast::cluster] [L2::cache_hint]",
             bind_bulk_load<load_from_global, false>),
    copy_row("[weak] dst=shared::cta global mbarrier::complete_tx::bytes ignore_oob "
             "[L2::cache_hint]",
             bind_bulk_load<load_from_global, false>),
    copy_row("[weak] dst=shared::cluster shared::cta mbarrier::complete_tx::bytes",
             bind_bulk_load<copy_between_ctas, false>),
    copy_row("[weak] global shared::cta bulk_group [L2::cache_hint] [cp_mask]",
             bind_bulk_store<false>),
    // Strong copies: each 16 bytes are accessed by one relaxed operation.
    copy_row("relaxed scope=cta|cluster|gpu|sys dst=shared::cluster|shared::cta global "
             "mbarrier::complete_tx::bytes [multicast::cluster] [L2::cache_hint] b128",
             bind_bulk_load<load_from_global, false>),
    copy_row("relaxed scope=cta|cluster|gpu|sys dst=shared::cta global "
             "mbarrier::complete_tx::bytes ignore_oob [L2::cache_hint] b128",
             bind_bulk_load<load_from_global, false>),
    copy_row("relaxed scope=cta|cluster dst=shared::cluster shared::cta "
             "mbarrier::complete_tx::bytes b128",
             bind_bulk_load<copy_between_ctas, false>),
    copy_row("relaxed scope=cta|cluster|gpu|sys global shared::cta bulk_group [L2::cache_hint] "
             "[cp_mask] b128",
             bind_bulk_store<false>),
    reduction_row("relaxed scope=cta|cluster|gpu|sys global shared::cta bulk_group "
                  "[L2::cache_hint] op=and|or|xor|add|inc|dec|min|max [noftz] "
                  "type=f16|bf16|b32|u32|s32|b64|u64|s64|f32|f64",
                  bind_bulk_store<true>, Effect::grid),
    reduction_row("dst=shared::cluster shared::cta mbarrier::complete_tx::bytes "
                  "op=and|or|xor|add|inc|dec|min|max type=b32|u32|s32|b64|u64 [noftz]",
                  bind_bulk_load<copy_between_ctas, true>, Effect::cluster),
    reduction_row("global shared::cta bulk_group [L2::cache_hint] "
                  "op=and|or|xor|add|inc|dec|min|max [noftz] "
                  "type=f16|bf16|b32|u32|s32|b64|u64|s64|f32|f64",
                  bind_bulk_store<true>, Effect::grid),
    {.base = "cp.async.bulk.prefetch",
     .modifiers = "L2 global [L2::cache_hint]",
     .bind = bind_bulk_prefetch,
     .effect = Effect::cluster,
     .cycles = costs::kTmaIssue,
     .section = "cp.async.bulk.prefetch",
     .destinations = 0,
     .unit = Unit::bulk_copy},
    {.base = "cp.async.bulk.commit_group",
     .modifiers = "",
     .bind = bind_bulk_commit,
     .effect = Effect::cluster,
     .cycles = costs::kAlu,
     .section = "cp.async.bulk.commit_group",
     .destinations = 0,
     .unit = Unit::bulk_copy,
     .ordering = Ordering::commit},
    {.base = "cp.async.bulk.wait_group",
     .modifiers = "[restricted=read|sync_restrict::proxy::async]",
     .bind = bind_bulk_wait,
     .effect = Effect::cluster,
     .cycles = costs::kAlu,
     .section = "cp.async.bulk.wait_group",
     .destinations = 0,
     .unit = Unit::bulk_copy,
     .ordering = Ordering::wait,
     .crossing = Crossing::arithmetic},
};

}  // namespace

Rows bulk_copy_rows() { return kBulkCopyRows; }

}  // namespace bw::sim
