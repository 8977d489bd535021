#include "common/simulator/schedule/code_motion.hpp"

namespace bw::sim {

Motion motion_of(const FormMatch& match) {
  const InstructionForm& form = *match.form;
  Motion motion;
  motion.is_fixed = form.transfer != Transfer::none || form.crossing != Crossing::free;
  motion.lets_pass = form.crossing == Crossing::arithmetic;
  motion.is_long_wait = form.unit == Unit::wgmma && form.ordering == Ordering::wait;
  // Uses of the answer wait for it as for a loaded value.
  if (form.ordering == Ordering::test) motion.loads_from = LoadSource::shared_memory;
  if (motion.is_fixed) return motion;
  const bool meets = form.ordering == Ordering::meeting;
  motion.is_collective = meets || form.ordering == Ordering::election;
  if (form.unit == Unit::core && form.memory != Memory::none) {
    const MemoryOrder order = match.modifiers.order();
    motion.is_fixed =
        is_strong(order) && order != MemoryOrder::relaxed && order != MemoryOrder::is_volatile;
    const bool loads = is_load(form.memory), stores = is_store(form.memory);
    const uint8_t spaces = match.accessed_spaces();
    if (!stores && !match.reads_constants()) motion.reads = spaces;
    if (!loads || is_strong(order)) motion.writes = spaces;
    motion.is_plain_access = form.memory == Memory::load || form.memory == Memory::store;
    if (!stores && (spaces & kSharedSpace) != 0 && spaces != kAllSpaces)
      motion.loads_from = LoadSource::shared_memory;
    else if (!stores && (spaces & kGlobalSpace) != 0)
      motion.loads_from = LoadSource::device_memory;
    return motion;
  }
  if (meets || !runs_ahead(form.effect(match.modifiers))) motion.reads = motion.writes = kAllSpaces;
  motion.uses_carry = match.uses_carry();
  return motion;
}

}  // namespace bw::sim
