#include "common/simulator/clock/l2_launch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/timing_table.hpp"

namespace bw::sim {
namespace {

/// Clusters of a launch of several waves that see the same of those before them: not fewer, so that
/// host threads need not wait for each other.
constexpr uint64_t kSmallestBatch = 32;
/// In steps, cycles that a cluster's accesses may wait for bandwidth, all together, without regard
/// to what others have just done: a burst at the beginning. By how much it errs is a part of that.
constexpr Cycle kLittleWaiting = 4096;
/// The time in which it counts how much of the cache's bandwidth clusters read.
constexpr double kReadWindow = 2048;
/// Those that run ahead don't know yet what they read together: taken to be half of it.
constexpr double kUnlearnedPart = 0.5;
/// Clusters that begin together ask for their first data together, and none is ahead of its share;
/// as soon as each waits for its own they are apart.
constexpr double kApartAfter = 2048;
/// Where all together read more than this part of what the cache gives, none may be ahead of its
/// share; where less, by 1 - (part / this)^power of the credit (rings.warm: 1 and 2 slots, 132
/// SMs).
constexpr double kNoCreditAt = 0.87;
constexpr double kCreditPower = 4;
/// One in this many of the lines that threads read is a sample.
constexpr uint64_t kSampledLines = 16;

/// Of most clusters between two steps: room for them is made at once.
constexpr size_t kUsualCopies = 32, kUsualPages = 16;

/// Sectors of the cache's lines.
constexpr uint64_t kSectorBytes = 32;

/// What writing `pieces` pieces of memory costs, in bytes of whole sectors.
double written_bytes(const TimingTable& times, uint64_t bytes, uint64_t pieces) {
  const uint64_t piece = bytes / pieces;
  if (piece % kSectorBytes == 0) return static_cast<double>(bytes);
  return static_cast<double>((align_up(piece, kSectorBytes) + times.l2_partial_write_bytes) *
                             pieces);
}

/// Bits `first` to `last` of a word.
constexpr uint64_t bits(uint64_t first, uint64_t last) {
  return (~uint64_t{0} << first) & (~uint64_t{0} >> (63 - last));
}

uint64_t bytes_of(const L2Lines& lines) { return lines.count() * kL2LineBytes; }

/// Lines, and the others of their blocks of `block` lines, a power of two.
constexpr uint64_t with_neighbours(uint64_t lines, uint64_t block) {
  uint64_t all = lines;
  for (uint64_t distance = 1; distance < block; distance *= 2) {
    // Those whose neighbour at this distance is above: every second group of that size.
    const uint64_t lower = ~uint64_t{0} / ((uint64_t{1} << distance) + 1);
    all |= (all & lower) << distance | (all & ~lower) >> distance;
  }
  return all;
}

/// The slowest line of a box of this many lines has the greatest possible latency.
constexpr double kLinesOfSlowest = 128;

}  // namespace

void L2ClusterState::Pages::grow() {
  constexpr size_t kFirstSlots = 64;
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), nullptr);
  shift_ = 64 - std::countr_zero(slots_.size());
  for (size_t i = 0; i < count_; ++i) {
    Page& page = blocks_[i / kBlock][i % kBlock];
    slots_[slot_of(page.number)] = &page;
  }
}

L2ClusterState::Page& L2ClusterState::Pages::add(uint64_t number) {
  if (2 * (count_ + 1) > slots_.size()) grow();
  if (count_ % kBlock == 0) blocks_.emplace_back();
  Page& page = blocks_.back()[count_++ % kBlock];
  page.number = number;
  slots_[slot_of(number)] = &page;
  return page;
}

L2Launch::L2Launch(const TimingTable& times, L2Cache& cache, Shape shape)
    : times_(times),
      cache_(cache),
      shape_(std::move(shape)),
      batch_(std::max(shape_.resident / 2, kSmallestBatch)),
      shares_(shape_.in_steps || (shape_.clusters <= shape_.resident && !shape_.ctas_share_sms)),
      written_back_part_(shape_.in_steps ? cache.dirty_share() : 0),
      reads_(shape_.in_steps ? 0 : shape_.clusters, shape_.resident, shape_.ctas_share_sms),
      waves_(ceil_div(shape_.clusters, shape_.resident)),
      written_back_bytes_(shape_.in_steps ? 0 : shape_.clusters, 0),
      clock_(times) {
  read_credit_ = static_cast<double>(times.bandwidth_credit);
  has_ports_ = !shape_.places.empty();
  if (!has_ports_) shape_.places.emplace_back();
  cache_.take_written_back();  // it does not count what the host and its copies evicted
  std::vector<uint64_t> all(std::min(shape_.clusters, shape_.resident));
  std::iota(all.begin(), all.end(), 0);
  set_running(all);
  if (!shape_.in_steps) {
    const auto before = std::make_shared<const L2LineMap>(cache.lines());
    // The first batches start when none has ended.
    seen_.emplace(0, before);
    seen_.emplace(1, before);
  }
}

void L2Launch::find_credit(const std::vector<L2ClusterState*>& clusters, uint64_t running,
                           Cycle until) {
  double busy = 0;
  for (const L2ClusterState* const state : clusters)
    busy += std::min(1.0, state->l2_load.part(until, kReadWindow));
  const double part = std::min(1.0, busy / static_cast<double>(running) / kNoCreditAt);
  read_credit_ = static_cast<double>(times_.bandwidth_credit) * (1 - std::pow(part, kCreditPower));
}

std::vector<double> L2Launch::cycles_per_byte(const std::vector<uint64_t>& running) const {
  std::vector<double> on_port;
  for (const uint64_t place : running) {
    const uint32_t port = port_of(place);
    if (port >= on_port.size()) on_port.resize(port + 1);
    on_port[port] += copies_.part(port);
  }
  // What a full port leaves of the cache's bandwidth the others have: those through which the most
  // is read are full first.
  double left = slower_ * times_.l2_bytes_per_cycle;
  double all = 0;
  std::vector<uint32_t> order;
  for (uint32_t port = 0; port < on_port.size(); ++port) {
    all += on_port[port];
    if (on_port[port] != 0) order.push_back(port);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return on_port[a] > on_port[b]; });
  std::vector<double> result(on_port.size());
  for (const uint32_t port : order) {
    double asked = left / all;
    if (has_ports_)
      asked = std::min(asked, slower_ * times_.l2_port_bytes_per_cycle / on_port[port]);
    result[port] = 1 / (asked * copies_.part(port));
    left -= asked * on_port[port];
    all -= on_port[port];
  }
  return result;
}

void L2Launch::set_running(const std::vector<uint64_t>& places) {
  running_ = places.size();
  room_bytes_ = cache_.room_bytes() / running_;
  read_cycles_per_byte_.assign(1, 0);
  if (!shares_) return;
  const auto running = static_cast<double>(running_);
  read_cycles_per_byte_ = cycles_per_byte(places);
  write_cycles_per_byte_ = running / (slower_ * times_.l2_write_bytes_per_cycle);
  hbm_cycles_per_byte_ = running / (slower_ * times_.hbm_bytes_per_cycle);
}

std::unique_ptr<L2ClusterState> L2Launch::start(uint64_t cluster, uint64_t place, Cycle at,
                                                Demand& demand) {
  auto state = std::make_unique<L2ClusterState>();
  state->launch = this;
  state->demand = &demand;
  state->cluster = cluster;
  state->place = place;
  state->port = port_of(place);
  state->side = shape_.places[place % shape_.places.size()].side;
  state->start = at;
  state->copies.reserve(kUsualCopies);
  state->new_pages.reserve(kUsualPages);
  if (shape_.pauses && !is_pilot(place)) state->may_wait = kLittleWaiting;
  if (shape_.in_steps) return state;
  std::unique_lock lock(mutex_);
  const uint64_t batch = shares_ ? 0 : cluster / batch_;
  merged_.wait(lock, [&] { return gives_up_ || seen_.contains(batch); });
  const auto seen = seen_.find(batch);
  state->before = seen == seen_.end() ? seen_.rbegin()->second : seen->second;
  return state;
}

const L2SideLines& L2Launch::in_cache(L2ClusterState& state, L2ClusterState::Page& page) const {
  if (page.looked_up == step_) return page.in_cache;
  page.looked_up = step_;
  if (state.before == nullptr) return page.in_cache = cache_.find(page.number);
  const auto found = state.before->find(page.number);
  return page.in_cache = found == state.before->end() ? L2SideLines{} : found->second;
}

void L2Launch::note_read(L2ClusterState& state, const L2Rows& rows, Cycle at, L2Path path) const {
  // A lone cluster shares with no other.
  if (shape_.clusters == 1) return;
  const Cycle when = shape_.in_steps ? at : at - std::min(at, state.start);
  if (path == L2Path::tma_load) {
    // Boxes of one matrix that begin at the same place and have as many rows are the same.
    const uint64_t key = scatter(rows.first) + rows.bytes();
    state.copies.push_back({key, state.port, when, static_cast<double>(rows.bytes())});
    return;
  }
  const uint64_t key = scatter(rows.first / kL2LineBytes);
  if (key % kSampledLines == 0)
    state.loads.push_back(
        {key, state.port, when, static_cast<double>(kL2LineBytes * kSampledLines)});
}

void L2Launch::look_at(L2ClusterState& state, const LinesOfRows& lines, const L2Rows& rows,
                       L2Path path, Found& found) const {
  const bool writes = is_write(path);
  // A row is mostly in the page of the previous one.
  const uint64_t number = lines.word / L2Lines::kWords;
  if (found.page == nullptr || found.page->number != number) found.page = &state.pages.at(number);
  L2ClusterState::Page& page = *found.page;
  const uint64_t word = lines.word % L2Lines::kWords;
  const uint64_t wanted = lines.all;
  const uint64_t fresh = wanted & ~page.used.words[word];
  const uint64_t prefetched = page.prefetched.words[word];
  // What an access before has brought may be on its way still.
  if (!writes && ((wanted & ~fresh) | (wanted & prefetched)) != 0)
    found.arrives = std::max(found.arrives, page.arrives[word]);
  if (fresh == 0 && (!writes || (wanted & ~page.new_written.words[word]) == 0)) return;
  if (!page.is_new) {
    page.is_new = true;
    state.new_pages.push_back(&page);
  }
  page.used.words[word] |= fresh;
  state.touched_bytes += static_cast<uint64_t>(std::popcount(fresh)) * kL2LineBytes;
  if (writes) {
    page.new_used.words[word] |= wanted;
    page.new_written.words[word] |= wanted;
    return;
  }
  page.new_used.words[word] |= lines.of_rows_with(fresh);
  const L2SideLines& others = in_cache(state, page);
  const uint64_t of_second = l2_home_lines(page.number, word);
  const uint64_t far_home = state.side == 0 ? of_second : ~of_second;
  const uint64_t near = others[state.side].words[word] | (prefetched & ~far_home);
  const uint64_t far = others[1 - state.side].words[word] | (prefetched & far_home);
  const uint64_t missed = fresh & ~near & ~far;
  found.is_far = found.is_far || (fresh & ~near & far) != 0;
  if (missed == 0) return;
  found.misses_far = found.misses_far || (missed & far_home) != 0;
  uint64_t brought = missed;
  if (rows.promotion_bytes > kL2LineBytes) {
    brought |= with_neighbours(missed, rows.promotion_bytes / kL2LineBytes) &
               ~(near | far | page.used.words[word]);
    page.prefetched.words[word] |= brought & ~missed;
  }
  page.new_brought.words[word] |= brought;
  found.missed += static_cast<uint64_t>(std::popcount(brought));
  state.brought.push_back(&page.arrives[word]);
}

void L2Launch::look_at_rows(L2ClusterState& state, const L2Rows& rows, L2Path path,
                            Found& found) const {
  const uint64_t block_bytes = std::max<uint64_t>(rows.promotion_bytes, kL2LineBytes);
  const uint64_t pitch = rows.pitch_bytes / kL2LineBytes;
  // Rows in blocks of their own can be looked at together: none brings lines of another.
  const bool are_apart = rows.rows > 1 && rows.pitch_bytes % block_bytes == 0 &&
                         (rows.first + rows.row_bytes - 1) / block_bytes <
                             (rows.first + rows.pitch_bytes) / block_bytes;
  for (uint64_t row = 0; row < rows.rows;) {
    const uint64_t first = rows.first + row * rows.pitch_bytes;
    uint64_t line = first / kL2LineBytes;
    const uint64_t last = (first + rows.row_bytes - 1) / kL2LineBytes;
    for (; line / 64 != last / 64; line = (line | 63) + 1)
      look_at(state, {line / 64, bits(line % 64, 63)}, rows, path, found);
    LinesOfRows lines{line / 64, bits(line % 64, last % 64)};
    const bool is_whole = line == first / kL2LineBytes;
    ++row;
    if (is_whole && are_apart && pitch < 64) {
      lines.pitch = pitch;
      uint64_t mask = lines.first;
      for (uint64_t end = last % 64 + pitch; end < 64 && row < rows.rows; end += pitch, ++row)
        lines.all |= mask <<= pitch;
    }
    look_at(state, lines, rows, path, found);
  }
}

double L2Launch::read_bytes(const L2ClusterState& state, const L2Rows& rows, L2Path path) const {
  const MergedReads& merged = path == L2Path::thread_load ? loads_ : copies_;
  const double part = is_learning_ ? kUnlearnedPart : merged.part(state.port);
  return static_cast<double>(rows.bytes()) * part;
}

L2Touch L2Launch::touch_rows(L2ClusterState& state, const L2Rows& rows, Cycle at,
                             L2Path path) const {
  const bool writes = is_write(path);
  const uint64_t bytes = rows.bytes();
  if (bytes == 0) return {};
  const Cycle asked = std::max(at, rows.engine_free_at);
  if (!writes) note_read(state, rows, at, path);
  Found found;
  state.brought.clear();
  look_at_rows(state, rows, path, found);
  L2Touch touch;
  touch.miss_bytes = std::min(bytes, found.missed * kL2LineBytes);
  touch.hit_bytes = bytes - touch.miss_bytes;
  // A sector of which only a part is written is counted as a whole one.
  if (writes) touch.hit_bytes = align_up(rows.row_bytes, kSectorBytes) * rows.rows;
  state.traffic.hit_bytes[static_cast<size_t>(path)] += touch.hit_bytes;
  state.traffic.miss_bytes[static_cast<size_t>(path)] += touch.miss_bytes;
  const auto credit = static_cast<double>(times_.bandwidth_credit);
  if (writes) {
    const double l2_bytes = written_bytes(times_, bytes, rows.rows);
    state.demand->add(Resource::l2_written_bytes, 0, at, static_cast<float>(l2_bytes));
    double done = state.l2_writes.take(at, l2_bytes * write_cycles_per_byte_, path);
    if (written_back_part_ != 0)
      done = std::max(
          done,
          state.hbm.take(at, static_cast<double>(bytes) * written_back_part_ * hbm_cycles_per_byte_,
                         path));
    state.has_written = true;
    touch.extra = touch.waited = static_cast<Cycle>(std::max(0.0, done - credit));
    return touch;
  }
  const bool by_threads = path == L2Path::thread_load;
  const double l2_bytes = read_bytes(state, rows, path);
  state.demand->add(Resource::l2_read_bytes, 0, asked, static_cast<float>(l2_bytes));
  const double reading =
      l2_bytes *
      (state.port < read_cycles_per_byte_.size() ? read_cycles_per_byte_[state.port] : 0);
  if (shares_) state.l2_load.add(at, reading, kReadWindow);
  if (!by_threads && state.first_copy == kNever) state.first_copy = at;
  const double since =
      by_threads || at < state.first_copy ? 0 : static_cast<double>(at - state.first_copy);
  const double credit_now = read_credit_ * (by_threads ? 1 : std::min(1.0, since / kApartAfter));
  double done = state.l2_reads.take(at, reading, path);
  if (by_threads)
    done += times_.l2_load_copy_backlog_fraction * state.l2_reads.backlog(L2Path::tma_load);
  double extra = std::max(0.0, done - credit_now);
  touch.waited = touch.queued = static_cast<Cycle>(extra);
  // Writes are slower while there are reads.
  const double write_equivalent = static_cast<double>(bytes) * times_.l2_read_write_weight;
  state.demand->add(Resource::l2_written_bytes, 0, at, static_cast<float>(write_equivalent));
  if (state.has_written) state.l2_writes.take(at, write_equivalent * write_cycles_per_byte_, path);
  const auto far = static_cast<double>(times_.l2_far_cycles);
  if (found.is_far) extra = std::max(extra, far);
  if (found.missed != 0) {
    const auto missed_bytes = static_cast<double>(found.missed * kL2LineBytes);
    // What is brought in drives out what was written and has to be written back.
    const double moved = 1 + written_back_part_;
    state.demand->add(Resource::hbm_bytes, 0, asked, static_cast<float>(missed_bytes * moved));
    const double busy = missed_bytes * own_part_ * moved * hbm_cycles_per_byte_;
    const double load =
        std::min(state.hbm_load.add(at, busy, times_.hbm_load_window), times_.hbm_load_most);
    const double backlog = state.hbm.take(at, busy, path);
    const auto hbm_credit = static_cast<double>(times_.hbm_credit);
    const double queue = times_.hbm_load_delay * load / std::pow(1 - load, times_.hbm_load_power);
    const double slowest =
        by_threads ? 0
                   : static_cast<double>(times_.hbm_box_delay) *
                         std::min(1.0, static_cast<double>(found.missed) / kLinesOfSlowest);
    // hbm_load_latency is the mean of both sides.
    const double nearer =
        static_cast<double>(times_.hbm_load_latency - times_.l2_load_latency) - far / 2;
    const double waits = std::max(queue, backlog - hbm_credit);
    extra = std::max(extra, nearer + (found.misses_far ? far : 0) + slowest + waits);
    touch.queued =
        std::max(touch.queued, static_cast<Cycle>(std::max(0.0, std::min(extra, waits))));
    for (Cycle* const arrives : state.brought)
      *arrives = std::max(*arrives, at + static_cast<Cycle>(extra));
  }
  if (found.arrives > at) extra = std::max(extra, static_cast<double>(found.arrives - at));
  // What the SM has written and the cache has not taken is before it. Copies wait in their engine
  // for those that write.
  if (state.has_written) {
    double behind = state.l2_writes.take(at, 0, L2Path::thread_store);
    if (by_threads) behind = std::max(behind, state.l2_writes.take(at, 0, L2Path::tma_store));
    extra += std::min(behind, credit);
  }
  touch.extra = static_cast<Cycle>(extra);
  return touch;
}

uint64_t L2Launch::merge(L2ClusterState& state, Wave& wave) {
  uint64_t brought = 0;
  const bool is_too_full = cache_.is_too_full();
  for (L2ClusterState::Page* const page : state.new_pages) {
    if (const uint64_t asked = bytes_of(page->new_brought); asked != 0) {
      const L2SideLines held = cache_.find(page->number);
      L2Lines fresh = page->new_brought;
      for (const L2Lines& side : held) fresh.remove(side);
      wave.asked_bytes += asked;
      brought += bytes_of(fresh);
      cache_.use(page->number, page->new_brought);
    }
    L2Lines read = page->new_used;
    read.remove(page->new_written);
    cache_.use(page->number, read, state.side);
    if (const uint64_t written = bytes_of(page->new_written); written != 0) {
      wave.written_bytes += written;
      cache_.write_lines(page->number, page->new_written);
    }
    page->new_used = page->new_brought = page->new_written = {};
    // What it uses again it may have to bring again.
    if (shape_.in_steps && is_too_full) page->used = page->prefetched = {};
    page->is_new = false;
  }
  state.new_pages.clear();
  wave.brought_bytes += brought;
  const L2Traffic traffic = std::exchange(state.traffic, {});
  for (size_t path = 0; path < kL2Paths; ++path) {
    traffic_.hit_bytes[path] += traffic.hit_bytes[path];
    traffic_.miss_bytes[path] += traffic.miss_bytes[path];
  }
  const uint64_t written_back = cache_.take_written_back();
  memory_read_bytes_ += brought;
  memory_written_bytes_ += written_back;
  wave.written_back_bytes += written_back;
  return written_back;
}

void L2Launch::finish(uint64_t cluster, L2View& view) {
  std::unique_ptr<L2ClusterState> state = view.end();
  if (shape_.in_steps) {
    merge(*state, waves_.front());
    return;
  }
  const std::lock_guard lock(mutex_);
  ended_.emplace(cluster, std::move(state));
  merge_in_order();
}

void L2Launch::merge_in_order() {
  bool sees_more = false;
  for (auto first = ended_.begin(); first != ended_.end() && first->first == next_merged_;
       first = ended_.erase(first)) {
    written_back_bytes_[next_merged_] =
        merge(*first->second, waves_[next_merged_ / shape_.resident]);
    reads_.add(next_merged_, first->second->copies);
    reads_.add(next_merged_, first->second->loads);
    ++next_merged_;
    if (shares_ || next_merged_ % batch_ != 0) continue;
    // A batch that starts now sees all but the previous batch, which runs at the same time.
    seen_.emplace(next_merged_ / batch_ + 1, std::make_shared<const L2LineMap>(cache_.lines()));
    sees_more = true;
  }
  if (!sees_more) return;
  // Whoever has not started yet belongs to a later batch than those that have all ended.
  seen_.erase(seen_.begin(), seen_.lower_bound(next_merged_ / batch_));
  merged_.notify_all();
}

void L2Launch::cancel_waits() {
  {
    const std::lock_guard lock(mutex_);
    gives_up_ = true;
  }
  merged_.notify_all();
}

void L2Launch::step(const std::vector<L2View*>& running) {
  std::vector<L2ClusterState*> states;
  std::vector<uint64_t> places;
  for (L2View* const view : running) {
    states.push_back(view->state());
    places.push_back(states.back()->place);
  }
  step(states, kNever, places);
}

void L2Launch::step(const std::vector<L2ClusterState*>& advanced, Cycle until,
                    const std::vector<uint64_t>& running) {
  Wave wave;
  for (L2ClusterState* const state : advanced) merge(*state, wave);
  if (running.empty()) return;  // no cluster requests anything any more
  for (L2ClusterState* const state : advanced) {
    count_reads(*state);
    state->waited = state->touched_bytes = 0;
    state->may_wait = kLittleWaiting;
  }
  copies_.count(times_, until);
  loads_.count(times_, until);
  if (wave.asked_bytes != 0) {
    recently_asked_ = kCountedBefore * recently_asked_ + static_cast<double>(wave.asked_bytes);
    recently_brought_ =
        kCountedBefore * recently_brought_ + static_cast<double>(wave.brought_bytes);
    own_part_ = recently_brought_ / recently_asked_;
  }
  if (const uint64_t taken = wave.brought_bytes + wave.written_bytes; taken != 0) {
    recently_taken_ = kCountedBefore * recently_taken_ + static_cast<double>(taken);
    recently_written_back_ =
        kCountedBefore * recently_written_back_ + static_cast<double>(wave.written_back_bytes);
    written_back_part_ = recently_written_back_ / recently_taken_;
  }
  find_credit(advanced, running_, until == kNever ? 0 : until);
  set_running(running);
  ++step_;
}

bool L2Launch::is_pilot(uint64_t place) const {
  const Place& one = shape_.places[place % shape_.places.size()];
  // Pairs of SMs outside of the GPCs have other ports than GPCs.
  return one.gpc == shape_.places.front().gpc && one.port == one.gpc;
}

void L2Launch::learn(const std::vector<L2ClusterState*>& pilots, Cycle until) {
  for (L2ClusterState* const state : pilots) {
    count_reads(*state);
    // From now on they know what the others know.
    state->waited = 0;
    state->may_wait = kLittleWaiting;
  }
  if (!pilots.empty()) find_credit(pilots, pilots.size(), until);
  // All clusters are about equally far: their requests after `until` count as well.
  copies_.count(times_);
  loads_.count(times_);
  is_learning_ = false;
}

void L2Launch::count_reads(L2ClusterState& state) {
  copies_.add(state.copies);
  loads_.add(state.loads);
  state.copies.clear();
  state.loads.clear();
}

Cycle L2Launch::step_end(Cycle at) const {
  // Steps are short first, since nothing is known of the clusters' demand; later it changes little.
  constexpr Cycle kFirstStep = 128;
  constexpr Cycle kLongestStep = 4096;
  constexpr Cycle kAllShorter = kLongestStep - kFirstStep;  // 128 + 256 + ... + 2048
  if (!shape_.pauses) return kNever;
  if (at >= kAllShorter)
    return kAllShorter + ((at - kAllShorter) / kLongestStep + 1) * kLongestStep;
  return (std::bit_ceil(at / kFirstStep + 2) - 1) * kFirstStep;
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
