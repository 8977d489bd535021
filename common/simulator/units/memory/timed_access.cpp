#include "common/simulator/units/memory/timed_access.hpp"

#include "common/simulator/base/device_address.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::timed_access {
namespace {

using access_times::Accessor;
using access_times::SharedWindow;

bool has_model(const Strand& strand) { return strand.cluster->costs().has_model(); }

Accessor accessor(Strand& strand) {
  return {.sm = *strand.cta->clock,
          .warp = strand.warp->index,
          .counted = strand.warp->times,
          .time = strand.time};
}

SharedWindow window_of(const Cta& cta) { return {*cta.clock, cta.shared.data()}; }

/// The shared memory of the lanes' addresses: mostly their own CTA's.
SharedWindow window_of(const Strand& strand, const LanePlaces& lanes) {
  const std::byte* const place = lanes.at(lowest_lane(lanes.active));
  const auto holds = [&](const Cta& cta) {
    return place >= cta.shared.data() && place < cta.shared.data() + cta.shared.size();
  };
  if (!holds(*strand.cta))
    for (const Cta& cta : strand.cluster->ctas())
      if (holds(cta)) return window_of(cta);
  return window_of(*strand.cta);
}

const Instruction& instruction_of(const Strand& strand) {
  return strand.cluster->kernel().code()[strand.pc];
}

/// The current instruction's loaded value arrives at `at`.
void value_arrives(Strand& strand, LoadSource from, Cycle at) {
  strand.value_arrives(from, instruction_of(strand).scoreboard, at);
}

void load_without_model(Strand& strand, Place place) {
  const auto arrives_after = [&](LoadSource from, Cycle latency) {
    strand.value_arrives(from, plain_scoreboard(from), strand.time + latency);
  };
  if (place == Place::shared) arrives_after(LoadSource::shared_memory, costs::kSharedLoad);
  if (place == Place::global || place == Place::global_l2)
    arrives_after(LoadSource::device_memory, costs::kGlobalLoad);
}

}  // namespace

void load(Strand& strand, Place place, const LanePlaces& lanes) {
  if (!has_model(strand)) return load_without_model(strand, place);
  const Accessor by = accessor(strand);
  switch (place) {
    case Place::shared:
      if (const uint8_t merged = instruction_of(strand).merged; merged != 0)
        value_arrives(strand, LoadSource::shared_memory,
                      load_shared(by, window_of(strand, lanes), lanes, merged));
      return;
    case Place::global:
    case Place::global_l2:
      value_arrives(strand, LoadSource::device_memory,
                    load_device(by, lanes, place == Place::global));
      return;
    case Place::parameters:
      load_parameters(by,
                      device_address(lanes.at(lowest_lane(lanes.active))) -
                          strand.cluster->grid().parameters_address(),
                      lanes.bytes);
      return;
    case Place::thread_own:
      return;
  }
}

void store(Strand& strand, Place place, const LanePlaces& lanes) {
  if (!has_model(strand)) return;
  if (place == Place::shared)
    store_shared(accessor(strand), window_of(strand, lanes), lanes);
  else if (place == Place::global || place == Place::global_l2)
    store_device(accessor(strand), lanes);
}

void load_matrix(Strand& strand, const LanePlaces& rows) {
  if (!has_model(strand)) return;
  value_arrives(strand, LoadSource::shared_memory,
                access_times::load_matrix(accessor(strand), window_of(*strand.cta), rows));
}

void store_matrix(Strand& strand, const LanePlaces& rows) {
  if (has_model(strand)) access_times::store_matrix(accessor(strand), window_of(*strand.cta), rows);
}

void atomic(Strand& strand, Place place, const LanePlaces& lanes, bool has_result) {
  if (!has_model(strand)) return;
  const bool is_shared = place == Place::shared;
  const Accessor by = accessor(strand);
  const Cycle arrives =
      is_shared ? atomic_shared(by, window_of(strand, lanes), lanes) : atomic_device(by, lanes);
  if (has_result)
    value_arrives(strand, is_shared ? LoadSource::shared_memory : LoadSource::device_memory,
                  arrives);
}

Cycle copy(Strand& strand, Place place, const LanePlaces& sources, const LanePlaces& destinations) {
  return access_times::copy(accessor(strand), window_of(*strand.cta), sources, destinations,
                            place == Place::global);
}

}  // namespace bw::sim::timed_access
