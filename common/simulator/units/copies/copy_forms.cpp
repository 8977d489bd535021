#include "common/simulator/units/copies/copy_forms.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

std::string rank_text(const Cta& cta) { return fmt::format("CTA rank {}", cta.rank); }

/// The CTAs that a multicast mask names.
std::vector<Cta*> multicast_destinations(const Strand& strand, const Instruction& instruction,
                                         int lane, uint32_t mask) {
  Cluster& cluster = *strand.cluster;
  if (mask == 0)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::cta_mask,
         .what = "the multicast mask is 0: the copy has no destination",
         .rule = "bit i of ctaMask names the destination CTA of rank i",
         .fix = "set the bit of each CTA that receives the data"});
  if (mask >> cluster.size() != 0)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::cta_mask,
         .what = fmt::format("the multicast mask {} names CTAs beyond the cluster of {}", hex(mask),
                             cluster.size()),
         .rule = "bit i of ctaMask names the destination CTA of rank i",
         .fix = "clear the bits from the cluster's size up, or launch larger clusters"});
  std::vector<Cta*> destinations;
  for (const int rank : lanes_of(mask))
    destinations.push_back(&cluster.cta(static_cast<uint32_t>(rank)));
  return destinations;
}

void check_mbarrier_place(const Strand& strand, const Instruction& instruction, int lane,
                          const Cta& destination, const Cta& barrier, CtaGroup cta_group) {
  const uint32_t peer_bit = cta_group == CtaGroup::two ? 1 : 0;
  if ((destination.rank | peer_bit) == (barrier.rank | peer_bit)) return;
  Site{strand, instruction, lane_bit(lane)}.fault(
      {.code = FaultCode::copy_mbarrier_elsewhere,
       .what = "the data goes to " + rank_text(destination) + ", the mbarrier is in " +
               rank_text(barrier),
       .rule = (cta_group == CtaGroup::one
                    ? "without .cta_group::2 the mbarrier is in the destination's CTA"
                    : "with .cta_group::2 the mbarrier is in the destination's CTA or in "
                      "its peer (ranks that differ in bit 0)"),
       .fix = cta_group == CtaGroup::one ? "pass the mbarrier of the destination's CTA, or use "
                                           ".cta_group::2 for the pair's other CTA"
                                         : "pass the mbarrier of one of the pair's two CTAs"});
}

}  // namespace

AddressOperand CopyBinder::address(const ptx::Operand& operand) {
  binder_.out.immediate = 0;
  binder_.address(operand);
  const ptx::Operand& base = operand.elements[0];
  const bool names_shared =
      base.kind == ptx::Operand::Kind::variable && base.variable->space == ptx::StateSpace::shared;
  return {next_++, std::exchange(binder_.out.immediate, 0), names_shared};
}

ValueOperand CopyBinder::value(const ptx::Operand& operand, ptx::ScalarType type) {
  binder_.source_value(operand, type);
  return {next_++};
}

ValueOperand CopyBinder::predicate(const ptx::Operand& operand) {
  binder_.source_predicate(operand);
  return {next_++};
}

ValueOperand CopyBinder::vector(const ptx::Operand& operand, ptx::ScalarType type, size_t& count) {
  count = binder_.source_vector(operand, type);
  const ValueOperand first{next_};
  next_ = static_cast<uint16_t>(next_ + count);
  return first;
}

LaneMask lanes_with_same_operands(const Strand& strand, const Instruction& instruction,
                                  LaneMask active) {
  const int lowest = lowest_lane(active);
  LaneMask same = active;
  for (uint16_t i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = instruction.operands[i];
    const uint64_t value = strand.value(operand, lowest);
    for (const int lane : lanes_of(same & ~lane_bit(lowest)))
      if (strand.value(operand, lane) != value) same &= ~lane_bit(lane);
  }
  return same;
}

Reduction reduction_from_name(std::string_view name) {
  constexpr std::array kAll = {Reduction::add,    Reduction::min,    Reduction::max,
                               Reduction::inc,    Reduction::dec,    Reduction::bit_and,
                               Reduction::bit_or, Reduction::bit_xor};
  return *std::find_if(kAll.begin(), kAll.end() - 1,
                       [&](Reduction r) { return name == reduction_name(r); });
}

void describe_load(TmaLoad& load, CopyUnit unit, CopyDirection direction,
                   std::vector<MemoryRange> sources, uint32_t offset_bytes, uint32_t shared_bytes) {
  Cluster& cluster = *load.site.strand.cluster;
  if (!cluster.observed(EventKind::copy)) return;
  load.description = std::make_unique<CopyDescription>();
  CopyDescription& copy = *load.description;
  copy.id = cluster.next_operation();
  copy.unit = unit;
  copy.direction = direction;
  copy.bytes = load.bytes;
  copy.sources = std::move(sources);
  for (const Cta* const cta : load.destinations)
    copy.destinations.push_back(
        {AddressSpace::shared_cta, static_cast<uint16_t>(cta->rank), offset_bytes, shared_bytes});
  for (const TmaLoad::Signal& signal : load.signals)
    copy.signals.push_back(
        {static_cast<uint16_t>(signal.cta->rank), signal.offset_bytes, signal.bytes});
}

void describe_store(TmaStore& store, CopyUnit unit, CopyDirection direction, uint32_t offset_bytes,
                    uint32_t shared_bytes, std::vector<MemoryRange> destinations) {
  const Strand& strand = store.site.strand;
  if (!strand.cluster->observed(EventKind::copy)) return;
  store.description = std::make_unique<CopyDescription>();
  CopyDescription& copy = *store.description;
  copy.id = strand.cluster->next_operation();
  copy.unit = unit;
  copy.direction = direction;
  copy.bytes = store.bytes;
  copy.sources = {{AddressSpace::shared_cta, static_cast<uint16_t>(strand.cta->rank), offset_bytes,
                   shared_bytes}};
  copy.destinations = std::move(destinations);
}

uint32_t resolve_target(const SharedTarget& target, uint32_t shared_bytes, uint32_t alignment_bytes,
                        uint32_t transfer_bytes, TmaLoad& load) {
  const Site& site = load.site;
  const Strand& strand = site.strand;
  const Instruction& instruction = site.instruction;
  const int lane = lowest_lane(site.lanes);
  const AddressSpace destination_space =
      target.in_own_cta ? AddressSpace::shared_cta : AddressSpace::shared_cluster;
  const bool pair = target.cta_group == CtaGroup::two;
  const AddressSpace mbarrier_space = pair ? AddressSpace::shared_cluster : destination_space;
  const SharedPlace data =
      resolve_copy_target(site, destination_space, target.destination.of(strand, instruction, lane),
                          shared_bytes, alignment_bytes);
  const SharedPlace barrier =
      resolve_shared(site, mbarrier_space, target.mbarrier.of(strand, instruction, lane),
                     kMbarrierObjectBytes, kMbarrierObjectBytes);
  if (pair && strand.cluster->size() % 2 != 0)
    site.fault({.code = FaultCode::no_cta_pair,
                .what = fmt::format(".cta_group::2 in a cluster of {}, which has no pairs",
                                    counted(strand.cluster->size(), "CTA")),
                .rule = "a CTA pair is two CTAs whose ranks differ in bit 0 only",
                .fix = "launch with an even cluster size"});
  check_mbarrier_place(strand, instruction, lane, *data.cta, *barrier.cta, target.cta_group);

  if (target.multicast_mask.present()) {
    const auto mask = static_cast<uint16_t>(target.multicast_mask.of(strand, instruction, lane));
    load.destinations = multicast_destinations(strand, instruction, lane, mask);
  } else {
    load.destinations = {data.cta};
  }
  Cluster& cluster = *strand.cluster;
  for (Cta* const destination : load.destinations) {
    // The signal goes to the destination itself, or to the CTA of its pair with the mbarrier's
    // parity.
    Cta* signalled = target.multicast_mask.present() ? destination : barrier.cta;
    if (pair) signalled = &cluster.cta((destination->rank & ~1u) | (barrier.cta->rank & 1u));
    for (const Cta* const cta :
         {static_cast<const Cta*>(destination), static_cast<const Cta*>(signalled)})
      if (cta->exited && cluster.at_isa_level())
        site.fault({.code = FaultCode::copy_outlives_cta,
                    .what = rank_text(*cta) + " has exited",
                    .rule = "the destination and its mbarrier belong to a running CTA",
                    .fix = "keep all CTAs of the cluster alive until their last data has arrived",
                    .hardware_accepts = true});
    if (units_of(*signalled).mbarriers.find(barrier.offset_bytes) == nullptr)
      site.fault(
          {.code = FaultCode::mbarrier_not_initialised,
           .what = "no mbarrier is initialised at shared offset " + hex(barrier.offset_bytes) +
                   " of " + rank_text(*signalled),
           .rule = "the mbarrier operand names an initialised object",
           .fix = "mbarrier.init it, with fence.mbarrier_init and a barrier, before the copy is "
                  "issued"});
    load.signals.push_back({signalled, barrier.offset_bytes, transfer_bytes});
  }
  load.bytes = transfer_bytes;
  load.offset_bytes = data.offset_bytes;
  load.shared_bytes = shared_bytes;
  return data.offset_bytes;
}

TensorMap read_map(Strand& strand, const Instruction& instruction, int lane,
                   const AddressOperand& operand) {
  const uint64_t address = operand.of(strand, instruction, lane);
  const AddressSpace space = space_of_generic(address);
  if (space != AddressSpace::global)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_map_address,
         .what = "the tensor map's address is not in parameter, constant or global memory",
         .rule = "tensorMap is a generic address in .param, .const or .global",
         .fix = "pass the map as a __grid_constant__ const CUtensorMap parameter, not as a local "
                "copy"});
  const std::byte* const bytes =
      resolve({strand, instruction, lane_bit(lane)}, AddressSpace::generic, address,
              kTensorMapBytes, kTensorMapAlignmentBytes, Access::read);
  const std::optional<TensorMap> map = decode_tensor_map(bytes);
  if (!map)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_map_invalid,
         .what = "the 128 bytes at the tensor map's address aren't a tensor map",
         .rule = "tensorMap names an object that an encoding function has written",
         .fix =
             "encode the map on the host, check the result, and pass it to the kernel unchanged"});
  if (const std::string problem = tensor_map_problem(bytes); !problem.empty())
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::tensor_map_replaced,
         .what = "tensormap.replace has made an invalid map: " + problem,
         .rule = "a tensor map meets the conditions of its encoding function",
         .fix = "replace all fields that depend on each other before the map is used",
         .section = "tensormap.replace"});
  return *map;
}

}  // namespace bw::sim
