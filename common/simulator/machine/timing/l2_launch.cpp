#include "common/simulator/machine/timing/l2_launch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/timing/timing_table.hpp"

namespace bw::sim {
namespace {

/// How often the cache holds what SMs read: each of its halves what the SMs beside it use (NVIDIA,
/// A100 whitepaper, 2020; taken to be so since).
constexpr uint32_t kReadCopies = 2;
/// The time of which BandwidthShare::load speaks.
constexpr double kLoadCycles = 4096;
/// A higher load is not told: the backlog then says how long to wait.
constexpr double kHighestLoad = 0.7;
/// Clusters of a launch of several waves that see the same of those before them: not fewer, so that
/// host threads need not wait for each other.
constexpr uint64_t kSmallestBatch = 32;
/// Lockstep: how fast the part of what clusters miss that is brought in only once is learnt.
constexpr double kLearning = 0.25;

/// Sectors of the cache's lines: what is written of one in part is read, changed and written.
constexpr uint64_t kSectorBytes = 32;

/// An access to `pieces` pieces of memory in bytes that TMA reads.
double read_bytes(const TimingTable& times, L2Path path, uint64_t bytes, uint64_t pieces) {
  const auto moved = static_cast<double>(bytes);
  switch (path) {
    case L2Path::tma_load:
      return moved;
    case L2Path::thread_load:
      return moved * times.l2_thread_read_weight;
    default:
      break;
  }
  if (bytes / pieces % kSectorBytes == 0) return moved * times.l2_write_weight;
  return static_cast<double>(align_up(bytes / pieces, kSectorBytes) * pieces) *
         (times.l2_write_weight + times.l2_thread_read_weight);
}

/// Bits `first` to `last` of a word.
constexpr uint64_t bits(uint64_t first, uint64_t last) {
  return (~uint64_t{0} << first) & (~uint64_t{0} >> (63 - last));
}

uint64_t bytes_of(const L2Lines& lines) { return lines.count() * kL2LineBytes; }

}  // namespace

void BandwidthShare::advance(Cycle at) {
  if (at <= last_) return;
  const auto passed = static_cast<double>(at - last_);
  double left = passed;
  // Paths with something to do have equal parts, until the shortest has none.
  while (left > 0) {
    double least = 0;
    int waiting = 0;
    for (const double one : backlogs_) {
      if (one <= 0) continue;
      least = waiting == 0 ? one : std::min(least, one);
      ++waiting;
    }
    if (waiting == 0) break;
    const double each = std::min(least, left / waiting);
    for (double& one : backlogs_) one = one <= each ? 0 : one - each;
    left -= each * waiting;
  }
  recent_ *= std::max(0.0, 1 - passed / kLoadCycles);
  last_ = at;
}

double BandwidthShare::take(Cycle at, double busy, L2Path path) {
  advance(at);
  double& own = backlogs_[static_cast<size_t>(path)];
  own += busy;
  recent_ += busy;
  double done = 0;  // of each other path no more is served until then
  for (const double one : backlogs_) done += std::min(one, own);
  return done;
}

double BandwidthShare::load(Cycle at) {
  advance(at);
  return std::min(recent_ / kLoadCycles, kHighestLoad);
}

L2Launch::L2Launch(const TimingTable& times, L2Cache& cache, const DeviceMemory& memory,
                   Shape shape)
    : times_(times),
      cache_(cache),
      memory_(memory),
      shape_(shape),
      batch_(std::max(shape.resident / 2, kSmallestBatch)),
      shares_(shape.lockstep || shape.clusters <= shape.resident),
      dirty_share_(cache.dirty_share()),
      waves_(ceil_div(shape.clusters, shape.resident)),
      written_back_bytes_(shape.lockstep ? 0 : shape.clusters, 0) {
  set_running(std::min(shape.clusters, shape.resident));
  if (!shape.lockstep) {
    const auto before = std::make_shared<const L2LineMap>(cache.lines());
    // The first batches start when none has ended.
    seen_.emplace(0, before);
    seen_.emplace(1, before);
  }
}

void L2Launch::set_running(uint64_t clusters) {
  if (!shares_) return;
  const auto running = static_cast<double>(clusters);
  l2_cycles_per_byte_ = running / times_.l2_bytes_per_cycle;
  hbm_cycles_per_byte_ = running / times_.hbm_bytes_per_cycle;
}

std::unique_ptr<L2ClusterState> L2Launch::start(uint64_t cluster, Demand& demand) {
  auto state = std::make_unique<L2ClusterState>();
  state->launch = this;
  state->demand = &demand;
  state->cluster = cluster;
  if (shape_.lockstep) return state;
  std::unique_lock lock(mutex_);
  const uint64_t batch = shares_ ? 0 : cluster / batch_;
  merged_.wait(lock, [&] { return gives_up_ || seen_.contains(batch); });
  const auto seen = seen_.find(batch);
  state->before = seen == seen_.end() ? seen_.rbegin()->second : seen->second;
  return state;
}

const L2Lines* L2Launch::in_cache(L2ClusterState& state, L2ClusterState::Page& page) const {
  if (page.looked_up == step_) return page.in_cache;
  page.looked_up = step_;
  if (state.before == nullptr) return page.in_cache = cache_.find(page.number);
  const auto found = state.before->find(page.number);
  return page.in_cache = found == state.before->end() ? nullptr : &found->second;
}

L2ClusterState::Page& L2Launch::page_of(L2ClusterState& state, uint64_t number) const {
  L2ClusterState::Page*& recent = state.recent[number % state.recent.size()];
  if (recent != nullptr && recent->number == number) return *recent;
  L2ClusterState::Page*& page = state.by_number[number];
  if (page == nullptr) {
    page = &state.pages.emplace_back();
    page->number = number;
    const Allocation* allocation = memory_.find((number + 1) * kL2PageBytes - 1);
    if (allocation == nullptr) allocation = memory_.nearest_below((number + 1) * kL2PageBytes - 1);
    const uint64_t address = allocation == nullptr ? 0 : allocation->address;
    const auto known =
        std::find_if(state.allocations.begin(), state.allocations.end(),
                     [&](const L2ClusterState::Brought& one) { return one.address == address; });
    page->allocation = static_cast<size_t>(known - state.allocations.begin());
    if (known == state.allocations.end()) {
      // The pilot waits for nothing: what the others bring in of what it needs is not known yet.
      const bool is_pilot = wants_a_pilot() && state.cluster == 0;
      const auto own = own_parts_.find(address);
      state.allocations.push_back({address, allocation == nullptr ? 0 : allocation->size_bytes, 0,
                                   own != own_parts_.end() ? own->second
                                   : is_pilot              ? 0.0
                                                           : 1.0});
    }
  }
  return *(recent = page);
}

L2Touch L2Launch::touch_rows(L2ClusterState& state, uint64_t first, uint64_t row_bytes,
                             uint64_t pitch_bytes, uint64_t rows, Cycle at, L2Path path) const {
  const bool writes = path == L2Path::tma_store || path == L2Path::thread_store;
  const uint64_t bytes = row_bytes * rows;
  if (bytes == 0) return {};
  uint64_t missed_lines = 0;
  double own_bytes = 0;  // that the cluster has to bring in itself
  for (uint64_t row = 0; row < rows; ++row, first += pitch_bytes) {
    uint64_t line = first / kL2LineBytes;
    const uint64_t last_line = (first + row_bytes - 1) / kL2LineBytes;
    while (line <= last_line) {
      L2ClusterState::Page& page = page_of(state, line / kL2PageLines);
      const uint64_t word = line % kL2PageLines / 64;
      const uint64_t end = std::min(last_line, line | 63);
      const uint64_t wanted = bits(line % 64, end % 64);
      line = end + 1;
      const uint64_t fresh = wanted & ~page.used.words[word];
      if (fresh == 0 && (!writes || (wanted & ~page.new_written.words[word]) == 0)) continue;
      if (!page.is_new) {
        page.is_new = true;
        state.new_pages.push_back(&page);
      }
      page.used.words[word] |= fresh;
      page.new_used.words[word] |= wanted;
      if (writes) {
        page.new_written.words[word] |= wanted;
        continue;
      }
      const L2Lines* const others = in_cache(state, page);
      const uint64_t missed = fresh & ~(others == nullptr ? 0 : others->words[word]);
      if (missed == 0) continue;
      page.new_brought.words[word] |= missed;
      const auto lines = static_cast<uint64_t>(std::popcount(missed));
      missed_lines += lines;
      L2ClusterState::Brought& allocation = state.allocations[page.allocation];
      allocation.brought_bytes += lines * kL2LineBytes;
      own_bytes += static_cast<double>(lines * kL2LineBytes) * allocation.own_part;
    }
  }
  L2Touch touch;
  touch.miss_bytes = std::min(bytes, missed_lines * kL2LineBytes);
  touch.hit_bytes = bytes - touch.miss_bytes;
  state.traffic.hit_bytes[static_cast<size_t>(path)] += touch.hit_bytes;
  state.traffic.miss_bytes[static_cast<size_t>(path)] += touch.miss_bytes;
  const double l2_bytes = read_bytes(times_, path, bytes, rows);
  state.demand->add(Resource::l2_bytes, 0, at, static_cast<float>(l2_bytes));
  const auto credit = static_cast<double>(times_.bandwidth_credit);
  double extra = std::max(0.0, state.l2.take(at, l2_bytes * l2_cycles_per_byte_, path) - credit);
  if (missed_lines != 0) {
    // What is brought in drives out what was written and has to be written back.
    const double moved = 1 + dirty_share_;
    state.demand->add(Resource::hbm_bytes, 0, at,
                      static_cast<float>(static_cast<double>(missed_lines * kL2LineBytes) * moved));
    const double load = state.hbm.load(at);
    const double backlog =
        state.hbm.take(at, own_bytes * own_part_ * moved * hbm_cycles_per_byte_, path);
    const double queue = times_.hbm_load_delay * load / std::pow(1 - load, times_.hbm_load_power);
    extra = std::max(extra, static_cast<double>(times_.hbm_load_latency - times_.l2_load_latency) +
                                std::max(queue, backlog - credit));
  }
  touch.extra = static_cast<Cycle>(extra);
  return touch;
}

uint64_t L2Launch::merge(L2ClusterState& state, Wave& wave) {
  uint64_t written = 0;
  uint64_t brought = 0;
  for (L2ClusterState::Page* const page : state.new_pages) {
    const L2Lines* const held = cache_.find(page->number);
    L2Lines fresh = page->new_brought;
    for (size_t i = 0; held != nullptr && i < L2Lines::kWords; ++i)
      fresh.words[i] &= ~held->words[i];
    wave.asked_bytes += bytes_of(page->new_brought);
    brought += bytes_of(fresh);
    written += bytes_of(page->new_written);
    // What SMs only write lies in the half of the cache that its memory belongs to.
    const bool is_read = page->new_used.count() != page->new_written.count();
    cache_.use(page->number, page->new_used, is_read ? kReadCopies : 1);
    page->new_used = page->new_brought = page->new_written = {};
    page->is_new = false;
  }
  state.new_pages.clear();
  wave.brought_bytes += brought;
  const L2Traffic traffic = std::exchange(state.traffic, {});
  for (size_t path = 0; path < kL2Paths; ++path) {
    traffic_.hit_bytes[path] += traffic.hit_bytes[path];
    traffic_.miss_bytes[path] += traffic.miss_bytes[path];
  }
  const uint64_t written_back = cache_.change_dirty(written, brought);
  memory_read_bytes_ += brought;
  memory_written_bytes_ += written_back;
  return written_back;
}

void L2Launch::learn_from_pilot(const L2ClusterState& state) {
  // Clusters of one program bring in alike: more than the whole of an allocation they cannot.
  for (const L2ClusterState::Brought& one : state.allocations) {
    if (one.brought_bytes == 0) continue;
    const double all = static_cast<double>(one.brought_bytes) *
                       static_cast<double>(std::min(shape_.clusters, shape_.resident));
    own_parts_.emplace(one.address, std::min(1.0, static_cast<double>(one.size_bytes) / all));
  }
}

void L2Launch::finish(uint64_t cluster, L2View& view) {
  std::unique_ptr<L2ClusterState> state = view.end();
  if (shape_.lockstep) {
    merge(*state, waves_.front());
    return;
  }
  const std::lock_guard lock(mutex_);
  if (cluster == 0 && wants_a_pilot()) learn_from_pilot(*state);
  ended_.emplace(cluster, std::move(state));
  merge_in_order();
}

void L2Launch::merge_in_order() {
  bool sees_more = false;
  for (auto first = ended_.begin(); first != ended_.end() && first->first == next_merged_;
       first = ended_.erase(first)) {
    written_back_bytes_[next_merged_] =
        merge(*first->second, waves_[next_merged_ / shape_.resident]);
    ++next_merged_;
    if (shares_ || next_merged_ % batch_ != 0) continue;
    // A batch that starts now sees all but the batch before it, which runs beside it.
    seen_.emplace(next_merged_ / batch_ + 1, std::make_shared<const L2LineMap>(cache_.lines()));
    sees_more = true;
  }
  if (!sees_more) return;
  // Whoever has not started yet belongs to a later batch than those that have all ended.
  seen_.erase(seen_.begin(), seen_.lower_bound(next_merged_ / batch_));
  merged_.notify_all();
}

void L2Launch::give_up() {
  {
    const std::lock_guard lock(mutex_);
    gives_up_ = true;
  }
  merged_.notify_all();
}

void L2Launch::step(const std::vector<L2View*>& running) {
  Wave wave;
  for (L2View* const view : running) merge(*view->state(), wave);
  if (wave.asked_bytes != 0) {
    const double part =
        static_cast<double>(wave.brought_bytes) / static_cast<double>(wave.asked_bytes);
    own_part_ += kLearning * (part - own_part_);
  }
  if (!running.empty()) set_running(running.size());
  ++step_;
}

void L2Launch::correct(uint64_t cluster, DemandProfile& profile) const {
  const Wave& wave = waves_[cluster / shape_.resident];
  const float part = wave.asked_bytes == 0 ? 1
                                           : static_cast<float>(wave.brought_bytes) /
                                                 static_cast<float>(wave.asked_bytes);
  std::vector<Amounts>& intervals = profile.intervals.front();
  const uint64_t written_back = written_back_bytes_[cluster];
  const auto each =
      static_cast<float>(written_back) / static_cast<float>(std::max<size_t>(1, intervals.size()));
  for (Amounts& amounts : intervals) {
    float& bytes = amounts[static_cast<size_t>(Resource::hbm_bytes)];
    bytes = bytes * part + each;
  }
}

}  // namespace bw::sim
