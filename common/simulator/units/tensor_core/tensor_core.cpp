#include "common/simulator/units/tensor_core/tensor_core.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>

#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"
#include "common/simulator/units/tensor_core/tensor_core_timing.hpp"
#include "common/simulator/units/tensor_core/tensor_operands.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

constexpr uint32_t kLanes = TensorMemory::kLanes;
/// Longest joint K of one product: A and B in fp32 then stay in the second-level cache.
constexpr size_t kLongestK = 128;

/// Scratch memory for one product; holds nothing between two products.
struct Workspace {
  std::vector<std::byte> rows, raw;
  std::vector<float> a, b, tile;
};
thread_local Workspace workspace;

/// Rows of A and D that one CTA holds.
uint32_t rows_per_cta(const MmaOperation& mma) {
  return mma.shape.m / static_cast<uint32_t>(mma.group);
}

/// M = 128 of a pair: each CTA's 64 rows stand twice, lanes 64 and up with the upper half of N.
bool has_two_halves(const MmaOperation& mma) { return mma.group == 2 && mma.shape.m == 128; }

/// Lane of the first of 16 rows (PTX ISA, "Data path layout organization").
uint32_t lane_of_block(const MmaOperation& mma, uint32_t base, uint32_t block, uint32_t half) {
  constexpr uint32_t kRows = kRowBlock;
  const bool scattered = mma.group == 1 && mma.shape.m == 64;
  return base + half * kLanes / 2 + block * (scattered ? kWarpLanes : kRows);
}

/// A of all operations in `mmas` for one CTA as [block of 16 rows][k][16].
void decode_a(std::span<const MmaOperation* const> mmas, Cta& cta, uint32_t half) {
  const MmaOperation& first = *mmas[0];
  const uint32_t rows = rows_per_cta(first), step = first.shape.k();
  const size_t element = container_bytes(first.shape.a_format), k = mmas.size() * step;
  workspace.rows.resize(size_t{rows} * kMmaKBytes);
  workspace.raw.resize(rows * k * element);
  workspace.a.resize(rows * k);
  for (size_t index = 0; index < mmas.size(); ++index) {
    const MmaOperation& mma = *mmas[index];
    if (!mma.a_in_tensor_memory)
      fetch_shared_rows(cta.shared.data(), mma.a, mma.shape.a_major, mma.shape.a_format, rows,
                        workspace.rows.data(), kMmaKBytes);
    for (uint32_t block = 0; block < rows / kRowBlock; ++block) {
      std::byte* const block_rows = workspace.rows.data() + block * kRowBlock * kMmaKBytes;
      if (mma.a_in_tensor_memory)
        fetch_tensor_memory_rows(units_of(cta).tensor_memory,
                                 lane_of_block(mma, mma.a_address.lane, block, half),
                                 mma.a_address.column, mma.shape.a_format, block_rows, kMmaKBytes);
      std::byte* const out =
          workspace.raw.data() + (block * k + index * step) * kRowBlock * element;
      transpose_row_block(block_rows, kMmaKBytes, out, step, element);
    }
  }
  decode_elements(first.shape.a_format, workspace.raw.data(), workspace.a.data(), rows * k);
}

/// B of all operations as [n][k]; of a pair, each CTA holds half of N.
void decode_b(std::span<const MmaOperation* const> mmas, Cta& leader) {
  const MmaOperation& first = *mmas[0];
  const auto group = static_cast<uint32_t>(first.group);
  const uint32_t rows = first.shape.n / group;
  const size_t k = mmas.size() * first.shape.k();
  const size_t row_bytes = k * container_bytes(first.shape.b_format);
  workspace.raw.resize(first.shape.n * row_bytes);
  workspace.b.resize(first.shape.n * k);
  for (uint32_t member = 0; member < group; ++member) {
    const Cta& cta = leader.cluster->cta(leader.rank + member);
    for (size_t index = 0; index < mmas.size(); ++index)
      fetch_shared_rows(
          cta.shared.data(), mmas[index]->b, first.shape.b_major, first.shape.b_format, rows,
          workspace.raw.data() + member * rows * row_bytes + index * kMmaKBytes, row_bytes);
  }
  decode_elements(first.shape.b_format, workspace.raw.data(), workspace.b.data(),
                  first.shape.n * k);
  if (first.shape.negate)
    for (float& value : workspace.b) value = -value;
}

uint32_t add_integers(uint32_t d, float product, bool saturate) {
  const int64_t sum = int64_t{static_cast<int32_t>(d)} + static_cast<int64_t>(product);
  if (!saturate) return static_cast<uint32_t>(sum);
  return static_cast<uint32_t>(static_cast<int32_t>(std::clamp<int64_t>(
      sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())));
}

TileFormats formats_of(const MmaOperation& mma) {
  return {mma.shape.a_format, mma.shape.b_format, mma.shape.k()};
}

/// 16 rows of D by way of a tile in fp32: every case but the plain fp32 accumulator.
void multiply_through_tile(const Accumulation& model, const MmaOperation& mma, const float* a,
                           const float* b, size_t k, uint32_t* d, uint32_t n,
                           uint32_t disabled_rows) {
  const AccumulatorFormat format = mma.shape.d_format;
  const float scale = std::bit_cast<float>((127u - mma.scale_d_exponent) << 23);
  std::vector<float>& tile = workspace.tile;
  tile.resize(n * kRowBlock);
  const bool from_d = mma.accumulate && format != AccumulatorFormat::s32;
  for (uint32_t column = 0; from_d && column < n; ++column)
    for (size_t row = 0; row < kRowBlock; ++row) {
      const uint32_t word = d[column * kLanes + row];
      tile[column * kRowBlock + row] =
          scale * (format == AccumulatorFormat::f16 ? float_from_half(static_cast<uint16_t>(word))
                                                    : std::bit_cast<float>(word));
    }
  // Integers are summed exactly: K of one instruction stays far below 2^24.
  const bool exact = format == AccumulatorFormat::s32;
  (exact ? accumulation(SummationModel::sequential) : model)
      .multiply({a, b, k, tile.data(), kRowBlock, n, k, from_d}, formats_of(mma));
  for (uint32_t column = 0; column < n; ++column)
    for (size_t row = 0; row < kRowBlock; ++row) {
      if ((disabled_rows >> row & 1u) != 0) continue;
      uint32_t& word = d[column * kLanes + row];
      const float value = tile[column * kRowBlock + row];
      switch (format) {
        case AccumulatorFormat::f16:
          word = half_from_float(value);
          break;
        case AccumulatorFormat::f32:
          word = std::bit_cast<uint32_t>(value);
          break;
        case AccumulatorFormat::s32:
          word = add_integers(mma.accumulate ? word : 0, value, mma.shape.saturate);
          break;
      }
    }
}

bool is_plain(const MmaOperation& mma) {
  return mma.shape.d_format == AccumulatorFormat::f32 && !mma.any_disabled &&
         (!mma.accumulate || mma.scale_d_exponent == 0);
}

/// D of one CTA (`member` of the pair) in one half of the lanes.
void multiply(const Accumulation& model, const MmaOperation& mma, size_t k, Cta& cta,
              uint32_t member, uint32_t half) {
  const bool halves = has_two_halves(mma);
  const uint32_t n = halves ? mma.shape.n / 2 : mma.shape.n;
  const float* const b = workspace.b.data() + half * n * k;
  for (uint32_t block = 0; block < rows_per_cta(mma) / kRowBlock; ++block) {
    const uint32_t lane = lane_of_block(mma, mma.d.lane, block, half);
    uint32_t* const d = units_of(cta).tensor_memory.column(mma.d.column) + lane;
    const float* const a = workspace.a.data() + block * k * kRowBlock;
    if (is_plain(mma)) {
      model.multiply({a, b, k, reinterpret_cast<float*>(d), kLanes, n, k, mma.accumulate},
                     formats_of(mma));
    } else {
      constexpr uint32_t kWordsPerCta = kLanes / 32;
      const uint32_t word = mma.disabled_lanes[member * kWordsPerCta + lane / 32];
      multiply_through_tile(model, mma, a, b, k, d, n, word >> lane % 32);
    }
  }
}

/// Shared memory from the first to the last byte of an operand.
struct Footprint {
  uint32_t first = ~0u, end = 0;
  void add_chunk(uint32_t address) {
    first = std::min(first, address);
    end = std::max(end, address + kChunkBytes);
  }
};

/// Of one MMA's `rows` of A or B.
Footprint footprint_of(const MatrixDescriptor& matrix, Major major, uint32_t rows,
                       MmaFormat format) {
  Footprint footprint;
  const uint32_t bytes = container_bytes(format);
  if (major == Major::k) {
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t chunk = 0; chunk < kMmaKBytes / kChunkBytes; ++chunk)
        footprint.add_chunk(matrix.k_major_chunk(row, chunk));
  } else {
    for (uint32_t k = 0; k < kMmaKBytes / bytes; ++k)
      for (uint32_t chunk = 0; chunk < rows * bytes / kChunkBytes; ++chunk)
        footprint.add_chunk(matrix.mn_major_chunk(chunk, k));
  }
  return footprint;
}

/// Of a copy's source.
Footprint footprint_of(const CopyOperation& copy) {
  Footprint footprint;
  for (uint32_t row = 0; row < copy.rows; ++row)
    for (uint32_t chunk = 0; chunk < copy.row_bytes / kChunkBytes; ++chunk)
      footprint.add_chunk(copy.source.k_major_chunk(row, chunk));
  return footprint;
}

}  // namespace

TensorCore::TensorCore(Cta& cta) : cta_(cta) {}
TensorCore::~TensorCore() = default;

void TensorCore::enqueue(Cycle now, const Origin& origin, const MmaOperation& operation) {
  if (model_ == nullptr)
    model_ = &accumulation(resolved(cta_.cluster->settings().summation, kTcgen05Summation));
  push(now, origin, tensor_core_timing::interval(operation), tensor_core_timing::latency(operation),
       operation);
}

void TensorCore::enqueue(Cycle now, const Origin& origin, const CopyOperation& operation) {
  push(now, origin, tensor_core_timing::kCopyInterval, tensor_core_timing::kCopyLatency, operation);
}

void TensorCore::enqueue(Cycle now, const Origin& origin, const ShiftOperation& operation) {
  push(now, origin, tensor_core_timing::kCopyInterval, tensor_core_timing::kCopyLatency, operation);
}

void TensorCore::push(Cycle now, const Origin& origin, Cycle interval, Cycle latency,
                      Operation operation) {
  const auto thread = origin.warp * static_cast<uint32_t>(kWarpLanes) +
                      static_cast<uint32_t>(lowest_lane(origin.lanes));
  const Cycle alone = now + latency + cta_.cluster->perturbation(latency);
  last_completion_ = std::max(alone, last_completion_ + interval);
  queue_.push_back({last_completion_, std::move(operation), origin, operations_++});
  tell(queue_.back(), false, now);
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [&](const auto& entry) { return entry.thread == thread; });
  if (found == threads_.end())
    threads_.push_back({thread, last_completion_});
  else
    found->time = last_completion_;
  if (!drain_scheduled_) schedule_drain(last_completion_);
}

Cycle TensorCore::completion(uint32_t thread) const {
  for (const ThreadCompletion& entry : threads_)
    if (entry.thread == thread) return entry.time;
  return 0;
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

void TensorCore::tell(const Entry& entry, bool completes, Cycle now) const {
  const Cluster& cluster = *cta_.cluster;
  if (!cluster.observed(EventKind::tensor_core)) return;
  TensorCoreEvent event;
  event.completes = completes;
  event.origin = entry.origin;
  event.cycle = now;
  event.completion = entry.completion;
  event.id = entry.id;
  std::vector<MemoryRange> reads;
  const auto add_reads = [&](int group, Footprint footprint) {
    for (uint32_t member = 0; member < static_cast<uint32_t>(group); ++member)
      reads.push_back({AddressSpace::shared_cta, static_cast<uint16_t>(cta_.rank + member),
                       footprint.first, footprint.end - footprint.first});
  };
  if (const auto* const mma = std::get_if<MmaOperation>(&entry.operation)) {
    event.operation = TensorCoreEvent::Operation::mma;
    event.group = mma->group;
    event.kind = kind_name(mma->shape.kind);
    event.m = mma->shape.m;
    event.n = mma->shape.n;
    event.k = mma->shape.k();
    event.accumulate = mma->accumulate;
    event.column = mma->d.column;
    event.columns = has_two_halves(*mma) ? mma->shape.n / 2 : mma->shape.n;
    if (!completes) {
      const auto group = static_cast<uint32_t>(mma->group);
      if (!mma->a_in_tensor_memory)
        add_reads(mma->group,
                  footprint_of(mma->a, mma->shape.a_major, event.m / group, mma->shape.a_format));
      add_reads(mma->group,
                footprint_of(mma->b, mma->shape.b_major, event.n / group, mma->shape.b_format));
    }
  } else if (const auto* const copy = std::get_if<CopyOperation>(&entry.operation)) {
    event.operation = TensorCoreEvent::Operation::copy;
    event.group = copy->group;
    event.column = copy->destination.column;
    event.columns = copy->row_bytes / static_cast<uint32_t>(sizeof(uint32_t));
    if (!completes) add_reads(copy->group, footprint_of(*copy));
  } else {
    const auto& shift = std::get<ShiftOperation>(entry.operation);
    event.operation = TensorCoreEvent::Operation::shift;
    event.group = shift.group;
    event.column = shift.matrix.column;
    event.columns = ShiftOperation::kColumns;
  }
  event.reads = reads;
  cluster.tell(&Observer::on_tensor_core, event);
}

size_t TensorCore::batch_length(Cycle now) const {
  const auto& first = std::get<MmaOperation>(queue_.front().operation);
  if (first.shape.d_format != AccumulatorFormat::f32 || first.any_disabled) return 1;
  size_t length = 1;
  while (length < queue_.size() && (length + 1) * first.shape.k() <= kLongestK) {
    const Entry& entry = queue_[length];
    const auto* const next = std::get_if<MmaOperation>(&entry.operation);
    if (entry.completion > now || next == nullptr || next->shape != first.shape ||
        next->group != first.group || next->d.lane != first.d.lane ||
        next->d.column != first.d.column || !next->accumulate || next->any_disabled ||
        next->scale_d_exponent != 0)
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
      tell(queue_[index], true, queue_[index].completion);
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  cta_.cluster->note_progress();
}

void TensorCore::execute_mmas(size_t count) {
  const MmaOperation* mmas[kLongestK];
  for (size_t index = 0; index < count; ++index)
    mmas[index] = &std::get<MmaOperation>(queue_[index].operation);
  const MmaOperation& first = *mmas[0];
  const std::span<const MmaOperation* const> batch(mmas, count);
  const size_t k = count * first.shape.k();
  decode_b(batch, cta_);
  for (uint32_t member = 0; member < static_cast<uint32_t>(first.group); ++member) {
    Cta& cta = cta_.cluster->cta(cta_.rank + member);
    const uint32_t halves = has_two_halves(first) ? 2 : 1;
    for (uint32_t half = 0; half < halves; ++half) {
      if (half == 0 || first.a_in_tensor_memory) decode_a(batch, cta, half);
      multiply(*model_, first, k, cta, member, half);
    }
  }
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
          if (copy.element_bits == 4)  // 4-bit codes stand in bits 2 to 5 of their byte
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

void complete_tensor_work(Cta& cta, Cycle now) {
  units_of(cta).tensor_core.complete_until(now);
  const bool has_leader = (cta.rank & 1u) != 0;
  if (has_leader) units_of(cta.cluster->cta(cta.rank ^ 1u)).tensor_core.complete_until(now);
}

}  // namespace bw::sim
