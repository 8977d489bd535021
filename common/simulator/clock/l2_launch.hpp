#pragma once
/// \file
/// The L2 cache and the memory during one launch: what each cluster finds there, and its share of
/// the chip's bandwidth.
///
/// Clusters run on any host thread in any order, so none may depend on the current state of
/// another. Those of a launch of one wave advance together, in steps: each waits for its share of
/// the bandwidth, and the shares are recomputed between two steps. A cluster that never waits for
/// bandwidth runs to completion; any other pauses whenever it is still waiting at the end of a
/// step. In a launch of several waves a cluster finds in the cache what was there before the
/// launch, what it has used itself and what clusters long before it have used; the demand of all of
/// them is added up after the run (launch_time.hpp).
///
/// Reads of one line by SMs of one port (a GPC's) that come at about the same time reach the cache
/// once.

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "common/simulator/base/buffer_pool.hpp"
#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/bandwidth_share.hpp"
#include "common/simulator/clock/demand.hpp"
#include "common/simulator/clock/l2_cache.hpp"
#include "common/simulator/clock/l2_view.hpp"
#include "common/simulator/clock/launch_reads.hpp"
#include "common/simulator/clock/merged_reads.hpp"
#include "common/simulator/clock/tensor_clock.hpp"
#include "common/simulator/isa/machine_description.hpp"

namespace bw::sim {

struct TimingTable;

/// What one cluster has used and still waits for.
struct L2ClusterState {
  /// A page of the device's memory.
  struct Page {
    uint64_t number = 0;   ///< address / kL2PageBytes
    L2Lines used;          ///< by this cluster
    L2Lines new_used;      ///< of them, not told to the launch yet
    L2Lines new_brought;   ///< not found in the cache, with neighbours that came along
    L2Lines new_written;   ///< of those used, written
    L2Lines prefetched;    ///< that came along: they are at home only
    L2SideLines in_cache;  ///< what others have left there
    std::array<Cycle, L2Lines::kWords> arrives{};  ///< by word: when the last line brought is there
    uint64_t looked_up = 0;                        ///< in which step `in_cache` was looked up
    bool is_new = false;                           ///< whether it is in `new_pages`
  };

  /// Pages by their numbers. They do not move.
  class Pages {
   public:
    /// That number's page, a new one where it is not there yet.
    Page& at(uint64_t number) {
      Page* const page = slots_.empty() ? nullptr : slots_[slot_of(number)];
      return page != nullptr ? *page : add(number);
    }

   private:
    static constexpr size_t kBlock = 8;  ///< pages that are allocated together

    /// The slot that holds it, or that it may take: the first free one after that of its hash.
    [[nodiscard]] size_t slot_of(uint64_t number) const {
      constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
      uint64_t slot = number * kGoldenRatio >> shift_;
      while (slots_[slot] != nullptr && slots_[slot]->number != number)
        slot = (slot + 1) & (slots_.size() - 1);
      return slot;
    }
    Page& add(uint64_t number);
    void grow();

    std::vector<Page*> slots_;  ///< a power of two; at least half of them are empty
    int shift_ = 64;            ///< leaves of a hash the number of a slot
    using Block = std::array<Page, kBlock>;
    std::deque<Block, PoolAllocator<Block>> blocks_;
    size_t count_ = 0;
  };

  L2Launch* launch = nullptr;  ///< whose cluster it is
  Demand* demand = nullptr;    ///< what it asks for
  uint64_t cluster = 0;
  uint64_t place = 0;
  uint32_t port = 0;                        ///< through which it reads the cache
  uint32_t side = 0;                        ///< of the L2 cache, that is near
  Cycle start = 0;                          ///< when it has started
  std::shared_ptr<const L2LineMap> before;  ///< the cache's lines; null in steps
  Pages pages;                              ///< that it has used
  std::vector<Page*> new_pages;             ///< with something not merged into the launch yet
  std::vector<Cycle*> brought;              ///< `arrives` of what the current access brings
  std::vector<L2Read> copies;               ///< that it has read, not told to the launch yet
  std::vector<L2Read> loads;                ///< of its threads, likewise: samples
  BandwidthShare l2_reads;                  ///< its share of the cache's bandwidth
  BandwidthShare l2_writes;                 ///< likewise
  BandwidthShare hbm;                       ///< its share of the memory's bandwidth
  L2Traffic traffic;                        ///< of all its accesses
  RecentLoad hbm_load;                      ///< of that
  Cycle first_copy = kNever;                ///< when it has asked for one
  Cycle waited = 0;                         ///< for bandwidth, since the last step
  Cycle may_wait = 0;                       ///< the longest wait for that without a step
  uint64_t touched_bytes = 0;               ///< for the first time, since the last step
  bool has_written = false;                 ///< anything
  RecentLoad l2_load;                       ///< of its share of what the cache gives
};

/// The cache and the memory as the clusters of one launch share them.
class L2Launch {
 public:
  /// What is known of the launch before it starts.
  struct Shape {
    uint64_t clusters = 1;        ///< in all
    uint64_t resident = 1;        ///< at once
    bool in_steps = false;        ///< they advance together and are told to `step`
    bool pauses = false;          ///< in steps: only who waits pauses
    bool ctas_share_sms = false;  ///< several are on an SM at one time
    /// That clusters take in turn; none: all in one GPC, whose port gives as much as is there.
    std::vector<Place> places = {};
  };

  /// `cache` is what the device's cache holds; the launch changes it. Both outlive it.
  L2Launch(const TimingTable& times, L2Cache& cache, Shape shape);

  /// Whether clusters wait for their shares of the bandwidth while they run (a launch of one wave,
  /// or one in steps); else their demand is added up after the run.
  [[nodiscard]] bool shares() const { return shares_; }

  /// A cluster starts in that place. Waits, where there are several waves, for clusters long before
  /// it to end. Any host thread.
  std::unique_ptr<L2ClusterState> start(uint64_t cluster, uint64_t place, Cycle at, Demand& demand);
  /// It has ended, in whatever way. Any host thread.
  void finish(uint64_t cluster, L2View& view);
  /// The launch has failed: no cluster waits any more.
  void cancel_waits();
  /// In steps: between two of them, with the views of all clusters that run, in their order.
  void step(const std::vector<L2View*>& running);
  /// Where clusters pause: whether the one in that place is of those that run ahead of the others
  /// for a while, so that it is known what clusters read together. They read through one port.
  [[nodiscard]] bool is_pilot(uint64_t place) const;
  /// They begin to run ahead: until `learn` nothing is known of what they read together.
  void begin_pilots() { is_learning_ = true; }
  /// Behind their run ahead, with those that have run: takes note of what they have read.
  void learn(const std::vector<L2ClusterState*>& pilots, Cycle until);
  /// Where clusters pause: after a round of those `advanced`, in their order. All clusters have run
  /// up to `until` at least; those in the places `running` are still running.
  void step(const std::vector<L2ClusterState*>& advanced, Cycle until,
            const std::vector<uint64_t>& running);
  /// In steps: what the SMs have done in `cycles` before the next step. Their clock falls while
  /// they
  /// multiply, but those of the cache and the memory don't, so these deliver more in a cycle.
  void follow_clock(double cycles, const TensorLoad& load) {
    slower_ = 1 + clock_.more_cycles(cycles, load) / cycles;
  }
  /// So much each cluster can touch between two steps and nothing is driven out of the cache, which
  /// happens in the order of times.
  [[nodiscard]] uint64_t room_bytes() const { return room_bytes_; }
  /// Where clusters pause: the end of the step that contains `at`. kNever elsewhere.
  [[nodiscard]] Cycle step_end(Cycle at) const;

  /// An access of a cluster; see L2View::touch_rows.
  L2Touch touch_rows(L2ClusterState& state, const L2Rows& rows, Cycle at, L2Path path) const;

  /// Behind the run: a cluster's demand becomes what it has brought in and written back itself, as
  /// far as others of its wave have not.
  void correct(uint64_t cluster, DemandProfile& profile) const;

  /// Behind the run of clusters that do not advance in steps: what they have read.
  [[nodiscard]] const LaunchReads& reads() const { return reads_; }
  /// What accesses have met.
  [[nodiscard]] const L2Traffic& traffic() const { return traffic_; }
  /// Bytes that came from the memory, those that several clusters missed at a time counted once.
  [[nodiscard]] uint64_t memory_read_bytes() const { return memory_read_bytes_; }
  /// Bytes that were written back to it.
  [[nodiscard]] uint64_t memory_written_bytes() const { return memory_written_bytes_; }

 private:
  struct Wave {
    uint64_t asked_bytes = 0;         ///< that its clusters did not find
    uint64_t brought_bytes = 0;       ///< of them, counted once
    uint64_t written_bytes = 0;       ///< into the cache
    uint64_t written_back_bytes = 0;  ///< to the memory
  };

  /// Lines of an access that were not requested before.
  struct Found {
    uint64_t missed = 0;      ///< that the memory gives
    bool is_far = false;      ///< some of those that are there are on the other side only
    bool misses_far = false;  ///< some of those that the memory gives come from the other side
    Cycle arrives = 0;        ///< when the last line is there that an access before has brought
    L2ClusterState::Page* page = nullptr;  ///< that was looked at last
  };
  /// Lines of one word of a page that rows of an access touch.
  struct LinesOfRows {
    uint64_t word = 0;   ///< address / kL2LineBytes / 64
    uint64_t first = 0;  ///< of the first row, a bit a line
    uint64_t all = first;
    uint64_t pitch = 0;  ///< lines from one row to the next

    /// All lines of those rows that touch some of these.
    [[nodiscard]] uint64_t of_rows_with(uint64_t some) const {
      if (some == all || first == all) return all;
      uint64_t lines = 0;
      for (uint64_t row = first; (row & all) == row && row != 0; row <<= pitch)
        lines |= (row & some) != 0 ? row : 0;
      return lines;
    }
  };
  void look_at_rows(L2ClusterState& state, const L2Rows& rows, L2Path path, Found& found) const;
  void look_at(L2ClusterState& state, const LinesOfRows& lines, const L2Rows& rows, L2Path path,
               Found& found) const;
  [[nodiscard]] const L2SideLines& in_cache(L2ClusterState& state,
                                            L2ClusterState::Page& page) const;
  /// Tells the cache what a cluster has used since the last time. Bytes to be written back.
  uint64_t merge(L2ClusterState& state, Wave& wave);
  void merge_in_order();
  void count_reads(L2ClusterState& state);
  [[nodiscard]] uint32_t port_of(uint64_t place) const {
    return shape_.places[place % shape_.places.size()].port;
  }
  void set_running(const std::vector<uint64_t>& places);
  /// A cluster's part of the cache's bandwidth and of its port's, in cycles a byte, by port. Who
  /// asks for as much waits as long, whether others read the same or not.
  [[nodiscard]] std::vector<double> cycles_per_byte(const std::vector<uint64_t>& running) const;
  /// Finds `read_credit_` by what these have read of late, of all that run.
  void find_credit(const std::vector<L2ClusterState*>& clusters, uint64_t running, Cycle until);
  /// What of bytes that a cluster reads reaches the cache, in bytes of copies to one CTA.
  [[nodiscard]] double read_bytes(const L2ClusterState& state, const L2Rows& rows,
                                  L2Path path) const;
  void note_read(L2ClusterState& state, const L2Rows& rows, Cycle at, L2Path path) const;

  const TimingTable& times_;
  L2Cache& cache_;
  Shape shape_;
  uint64_t batch_ = 0;      ///< clusters that see the same of those before them
  bool has_ports_ = false;  ///< whether it is known who reads through which
  bool shares_ = false;     ///< whether clusters wait for their share of the bandwidth
  /// In steps: of what comes into the cache or is written there, the part for which it has to write
  /// something back.
  double written_back_part_ = 0;
  std::vector<double>
      read_cycles_per_byte_;          ///< of a cluster's share, by port; 0: it does not wait
  double write_cycles_per_byte_ = 0;  ///< likewise
  double hbm_cycles_per_byte_ = 0;    ///< likewise
  uint64_t step_ = 1;
  uint64_t room_bytes_ = 0;
  // In steps: of what clusters miss and what they read, the part that is brought in and read.
  double own_part_ = 1;
  double recently_asked_ = 0;
  double recently_brought_ = 0;
  /// So many cycles a cluster may be ahead of its share of what the cache gives: the less the more
  /// all read.
  double read_credit_ = 0;
  uint64_t running_ = 1;
  double recently_taken_ = 0;
  double recently_written_back_ = 0;
  MergedReads copies_, loads_;
  bool is_learning_ = false;  ///< what clusters read together

  std::mutex mutex_;
  std::condition_variable merged_;
  bool gives_up_ = false;
  std::map<uint64_t, std::unique_ptr<L2ClusterState>> ended_;  ///< not merged yet
  uint64_t next_merged_ = 0;                                   ///< the first that has not ended
  std::map<uint64_t, std::shared_ptr<const L2LineMap>> seen_;  ///< by the batch that may see it
  LaunchReads reads_;  ///< of clusters that do not advance in steps
  std::vector<Wave> waves_;
  std::vector<uint64_t> written_back_bytes_;  ///< by cluster
  L2Traffic traffic_;
  uint64_t memory_read_bytes_ = 0;
  uint64_t memory_written_bytes_ = 0;
  TensorClock clock_;  ///< in steps
  double slower_ = 1;  ///< the SMs' highest clock, as a multiple of what it is now
};

}  // namespace bw::sim
