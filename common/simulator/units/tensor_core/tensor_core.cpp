#include "common/simulator/units/tensor_core/tensor_core.hpp"

#include <algorithm>
#include <cstring>

#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/footprint.hpp"
#include "common/simulator/units/tensor_core/mma_product.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

/// Longest joint K of one product: A and B in fp32 then stay in the second-level cache.
constexpr size_t kLongestK = 128;

/// Whether `next` adds to the accumulator of `first` and may run as one product with it. Scale ids
/// differ from one to the next: scales are applied one by one.
bool can_be_joined(const MmaOperation& next, const MmaOperation& first) {
  MmaShape shape = next.shape;
  shape.a_scale_id = first.shape.a_scale_id;
  shape.b_scale_id = first.shape.b_scale_id;
  return shape == first.shape && next.group == first.group &&
         next.weight_stationary == first.weight_stationary && next.scales == first.scales &&
         next.d.lane == first.d.lane && next.d.column == first.d.column && next.accumulate &&
         next.scale_d_exponent == 0;
}

bool overlap(uint32_t a, uint32_t a_count, uint32_t b, uint32_t b_count) {
  return a < b + b_count && b < a + a_count;
}
/// Whether an operation writes one of these columns of Tensor Memory.
bool writes_one_of(const MmaOperation& mma, uint32_t column, uint32_t columns) {
  return overlap(mma.d.column, mma.d_columns(), column, columns) ||
         (mma.shifts_a && overlap(mma.a_address.column, mma.a_columns(), column, columns));
}
bool writes_one_of(const CopyOperation& copy, uint32_t column, uint32_t columns) {
  return overlap(copy.destination.column, copy.columns(), column, columns);
}
bool writes_one_of(const ShiftOperation& shift, uint32_t column, uint32_t columns) {
  return overlap(shift.matrix.column, ShiftOperation::kColumns, column, columns);
}

void describe(const MmaOperation& mma, TensorCoreEvent& event) {
  event.operation = TensorCoreEvent::Operation::mma;
  event.group = mma.group;
  event.kind = kind_name(mma.shape.kind);
  event.m = mma.shape.m;
  event.n = mma.shape.n;
  event.k = mma.shape.k();
  event.accumulate = mma.accumulate;
  event.column = mma.d.column;
  event.columns = mma.d_columns();
}
void describe(const CopyOperation& copy, TensorCoreEvent& event) {
  event.operation = TensorCoreEvent::Operation::copy;
  event.group = copy.group;
  event.column = copy.destination.column;
  event.columns = copy.columns();
}
void describe(const ShiftOperation& shift, TensorCoreEvent& event) {
  event.operation = TensorCoreEvent::Operation::shift;
  event.group = shift.group;
  event.column = shift.matrix.column;
  event.columns = ShiftOperation::kColumns;
}

}  // namespace

TensorCore::TensorCore(Cta& cta) : cta_(cta) {}
TensorCore::~TensorCore() = default;

void TensorCore::enqueue(Cycle now, const Origin& origin, MmaOperation operation) {
  if (model_ == nullptr) model_ = &accumulation(cta_.cluster->settings().resolved_summation());
  const MmaCost cost{.group = operation.group,
                     .m = operation.shape.m,
                     .n = operation.shape.n,
                     .a_in_tensor_memory = operation.a_in_tensor_memory,
                     .a_row_bytes = operation.shape.a_k_bytes(),
                     .b_row_bytes = operation.shape.b_k_bytes(),
                     .block_scaled = operation.scales != 0};
  push(now, origin, cost.group, cost_of(cost), std::move(operation));
}

void TensorCore::enqueue(Cycle now, const Origin& origin, const CopyOperation& operation) {
  push(now, origin, operation.group, cost_of_copy(operation.rows * operation.row_bytes), operation);
}

void TensorCore::enqueue(Cycle now, const Origin& origin, const ShiftOperation& operation) {
  push(now, origin, operation.group, cost_of_copy(0), operation);
}

Cycle TensorCore::completion_of(Cycle now, int group, const TensorCoreCost& cost) const {
  Cluster& cluster = *cta_.cluster;
  std::array<CtaClock*, 2> sms{};
  for (uint32_t member = 0; member < static_cast<uint32_t>(group); ++member)
    sms[member] = cluster.cta(cta_.rank + member).clock.get();
  return cta_.clock->tensor_core.completion({sms.data(), static_cast<size_t>(group)}, now, cost,
                                            cluster.perturbation(cost.latency));
}

void TensorCore::push(Cycle now, const Origin& origin, int group, const TensorCoreCost& cost,
                      Operation operation) {
  const auto thread = origin.warp * static_cast<uint32_t>(kWarpLanes) +
                      static_cast<uint32_t>(lowest_lane(origin.lanes));
  const Cycle completion = completion_of(now, group, cost);
  queue_.push_back({completion, std::move(operation), origin, cta_.cluster->next_operation()});
  notify(queue_.back(), false, now);
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [&](const auto& entry) { return entry.thread == thread; });
  if (found == threads_.end())
    threads_.push_back({thread, completion});
  else
    found->time = completion;
  if (!drain_scheduled_) schedule_drain(completion);
}

Cycle TensorCore::completion(uint32_t thread) const {
  for (const ThreadCompletion& entry : threads_)
    if (entry.thread == thread) return entry.time;
  return 0;
}

const Origin* TensorCore::first_use(uint32_t cta_rank, uint32_t column, uint32_t columns) const {
  for (const Entry& entry : queue_) {
    const std::vector<TensorRange> ranges =
        std::visit([&](const auto& operation) { return tensor_ranges(operation, cta_.rank); },
                   entry.operation);
    for (const TensorRange& range : ranges)
      if (range.cta_rank == cta_rank && range.column < column + columns &&
          column < uint32_t{range.column} + range.columns)
        return &entry.origin;
  }
  return nullptr;
}

void TensorCore::schedule_drain(Cycle time) {
  drain_scheduled_ = true;
  cta_.cluster->at(time, [this](Cycle now) {
    drain_scheduled_ = false;
    if (queue_.empty()) return;
    // Nobody waits for these operations yet; with more to come they run later, together.
    if (queue_.back().completion > now)
      schedule_drain(queue_.back().completion);
    else
      execute_until(now);
  });
}

void TensorCore::notify(const Entry& entry, bool completes, Cycle now) const {
  const Cluster& cluster = *cta_.cluster;
  if (!cluster.observed(EventKind::tensor_core)) return;
  TensorCoreEvent event;
  event.completes = completes;
  event.origin = entry.origin;
  event.cycle = now;
  event.completion = entry.completion;
  event.id = entry.id;
  const bool exact = cluster.observed(EventKind::footprint);
  std::vector<TensorRange> tensor;
  std::vector<MemoryRange> reads, runs;
  std::visit(
      [&](const auto& operation) {
        describe(operation, event);
        if (completes) return;
        if (exact) tensor = tensor_ranges(operation, cta_.rank);
        for (const std::vector<MemoryRange>& operand : shared_operands(operation, cta_.rank)) {
          const uint64_t first = operand.front().address;
          reads.push_back({AddressSpace::shared_cta, operand.front().cta_rank, first,
                           operand.back().address + operand.back().size_bytes - first});
          if (exact) runs.insert(runs.end(), operand.begin(), operand.end());
        }
      },
      entry.operation);
  event.tensor_ranges = tensor;
  event.reads = reads;
  event.read_rows = runs;
  cluster.notify(&Observer::on_tensor_core, event);
}

size_t TensorCore::batch_length(Cycle now) const {
  // What more than the sum over a longer K an operation does, it does alone.
  const auto is_simple = [](const MmaOperation& mma) {
    return !mma.any_disabled && !mma.shifts_a && mma.zero_columns == nullptr && !mma.shape.sparse;
  };
  const auto& first = std::get<MmaOperation>(queue_.front().operation);
  if (first.shape.d_format != AccumulatorFormat::f32 || !is_simple(first)) return 1;
  size_t length = 1;
  while (length < queue_.size() && (length + 1) * first.shape.k() <= kLongestK) {
    const Entry& entry = queue_[length];
    const auto* const next = std::get_if<MmaOperation>(&entry.operation);
    if (entry.completion > now || next == nullptr || !can_be_joined(*next, first) ||
        !is_simple(*next))
      break;
    ++length;
  }
  return length;
}

void TensorCore::execute_until(Cycle now) {
  while (!queue_.empty() && queue_.front().completion <= now) {
    size_t count = 1;
    if (const auto* const copy = std::get_if<CopyOperation>(&queue_.front().operation)) {
      execute_copy(*copy);
    } else if (const auto* const shift = std::get_if<ShiftOperation>(&queue_.front().operation)) {
      execute_shift(*shift);
    } else {
      count = batch_length(now);
      execute_mmas(count);
    }
    for (size_t index = 0; index < count; ++index)
      notify(queue_[index], true, queue_[index].completion);
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  cta_.cluster->note_progress();
}

void TensorCore::complete_writes(Cycle now, uint32_t column, uint32_t columns) {
  std::optional<Cycle> last;
  for (const Entry& entry : queue_) {
    if (entry.completion > now) break;
    const bool writes =
        std::visit([&](const auto& operation) { return writes_one_of(operation, column, columns); },
                   entry.operation);
    if (writes) last = entry.completion;
  }
  if (last.has_value()) execute_until(*last);
}

void TensorCore::execute_mmas(size_t count) {
  QueuedMma batch[kLongestK];
  for (size_t index = 0; index < count; ++index)
    batch[index] = {&std::get<MmaOperation>(queue_[index].operation), &queue_[index].origin};
  execute_product({batch, count}, cta_, *model_);
  if (batch[0].operation->shifts_a) shift_a(*batch[0].operation);
}

void TensorCore::shift_a(const MmaOperation& mma) {
  for (uint32_t lane = 0; lane < TensorMemory::kLanes; lane += ShiftOperation::kRows)
    execute_shift({mma.group, {lane, mma.a_address.column}});
}

bool TensorCore::collect(const CollectorUse& use, const CollectedMatrix& matrix) {
  std::optional<CollectedMatrix>& buffer = collected_[use.buffer];
  const bool reads = use.operation == CollectorUse::Operation::use ||
                     use.operation == CollectorUse::Operation::last_use;
  const bool found = !reads || buffer == matrix;
  if (use.operation == CollectorUse::Operation::fill)
    buffer = matrix;
  else if (use.operation != CollectorUse::Operation::use)
    buffer.reset();
  return found;
}

void TensorCore::execute_copy(const CopyOperation& copy) {
  for (uint32_t member = 0; member < static_cast<uint32_t>(copy.group); ++member) {
    Cta& cta = cta_.cluster->cta(cta_.rank + member);
    const uint32_t chunks = copy.row_bytes / kChunkBytes;
    for (uint32_t row = 0; row < copy.rows; ++row)
      for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
        std::byte bytes[kChunkBytes];
        const std::byte* const source = cta.shared.data() + copy.source.k_major_chunk(row, chunk);
        if (copy.element_bits == 8) {
          std::memcpy(bytes, source, kChunkBytes);
        } else {
          unpack_packed_chunk(copy.element_bits, source, bytes);
          if (copy.element_bits == 4)  // 4-bit codes are in bits 2 to 5 of their byte
            for (std::byte& code : bytes) code <<= 2;
        }
        uint32_t words[kChunkBytes / sizeof(uint32_t)];
        std::memcpy(words, bytes, sizeof words);
        for (uint32_t quarter = 0; quarter < TensorMemory::kQuarters; ++quarter) {
          const bool goes = copy.one_row_a_quarter ? row == quarter
                                                   : (copy.quarters[row / 32] >> quarter & 1u) != 0;
          if (!goes) continue;
          const uint32_t lane =
              quarter * 32 + (copy.one_row_a_quarter ? copy.destination.lane % 32 : row % 32);
          for (uint32_t word = 0; word < std::size(words); ++word)
            units_of(cta).tensor_memory.column(copy.destination.column + chunk * 4 + word)[lane] =
                words[word];
        }
      }
  }
}

void TensorCore::execute_shift(const ShiftOperation& shift) {
  for (uint32_t member = 0; member < static_cast<uint32_t>(shift.group); ++member) {
    TensorMemory& memory = units_of(cta_.cluster->cta(cta_.rank + member)).tensor_memory;
    for (uint32_t column = 0; column < ShiftOperation::kColumns; ++column) {
      uint32_t* const lanes = memory.column(shift.matrix.column + column) + shift.matrix.lane;
      std::copy(lanes + 1, lanes + ShiftOperation::kRows, lanes);
    }
  }
}

namespace {

/// Calls `complete(core)` for the tensor cores that write this CTA's Tensor Memory.
template <class Complete>
void for_writers(Cta& cta, Complete&& complete) {
  complete(units_of(cta).tensor_core);
  const bool has_leader = (cta.rank & 1u) != 0;
  if (has_leader) complete(units_of(cta.cluster->cta(cta.rank ^ 1u)).tensor_core);
}

}  // namespace

void complete_tensor_work(Cta& cta, Cycle now) {
  for_writers(cta, [=](TensorCore& core) { core.complete_until(now); });
}

void complete_tensor_writes(Cta& cta, Cycle now, uint32_t column, uint32_t columns) {
  for_writers(cta, [=](TensorCore& core) { core.complete_writes(now, column, columns); });
}

}  // namespace bw::sim
