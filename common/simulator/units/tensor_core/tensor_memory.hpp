#pragma once
/// \file
/// Tensor Memory of one CTA: 128 lanes x 512 columns of 32 bits, its allocator, and the loads and
/// stores in flight (PTX ISA, "Tensor Memory").
///
/// The CTAs on one SM share its 512 columns: an allocation takes the lowest that none of them
/// holds, and blocks while there are none.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/simulator/base/bit_words.hpp"
#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// A Tensor Memory address: lane in bits 16 to 31, column in bits 0 to 15.
struct TensorAddress {
  uint32_t lane = 0;    ///< 0 to 127
  uint32_t column = 0;  ///< 0 to 511
  /// Takes the bits apart.
  [[nodiscard]] static constexpr TensorAddress decode(uint32_t address) {
    return {address >> 16, address & 0xffffu};
  }
};

struct SmTensorMemory;

/// A set of columns of Tensor Memory, which mostly follow each other.
class ColumnSet {
 public:
  static constexpr uint32_t kColumns = 512;  ///< of an SM

  /// Whether it has a column.
  [[nodiscard]] bool operator[](uint32_t column) const {
    return (words_[column / kWordBits] >> column % kWordBits & 1) != 0;
  }
  /// Whether it has all of `count` columns from `first` on.
  [[nodiscard]] bool has_all(uint32_t first, uint32_t count) const {
    return for_words(first, count,
                     [&](size_t word, uint64_t mask) { return (words_[word] & mask) == mask; });
  }
  /// Whether it has none of them.
  [[nodiscard]] bool has_none(uint32_t first, uint32_t count) const {
    return for_words(first, count,
                     [&](size_t word, uint64_t mask) { return (words_[word] & mask) == 0; });
  }
  /// Adds these columns.
  void add(uint32_t first, uint32_t count) {
    for_words(first, count, [&](size_t word, uint64_t mask) {
      words_[word] |= mask;
      return true;
    });
  }
  /// Takes these columns away.
  void remove(uint32_t first, uint32_t count) {
    for_words(first, count, [&](size_t word, uint64_t mask) {
      words_[word] &= ~mask;
      return true;
    });
  }
  /// Adds those of another set.
  ColumnSet& operator|=(const ColumnSet& other) {
    for (size_t word = 0; word < words_.size(); ++word) words_[word] |= other.words_[word];
    return *this;
  }

 private:
  std::array<uint64_t, words_for(kColumns)> words_{};
};

/// Tensor memory of a CTA.
class TensorMemory {
 public:
  static constexpr uint32_t kLanes = 128;                     ///< of all columns
  static constexpr uint32_t kColumns = ColumnSet::kColumns;   ///< of an SM
  static constexpr uint32_t kQuarters = kLanes / kWarpLanes;  ///< of the lanes

  explicit TensorMemory(Cta& cta);
  ~TensorMemory();
  TensorMemory(const TensorMemory&) = delete;  // the SM knows its place
  TensorMemory& operator=(const TensorMemory&) = delete;

  /// The 128 lanes of a column.
  [[nodiscard]] uint32_t* column(uint32_t index) { return &words_[index * kLanes]; }

  // Rules. All throw SimulationError{contract}.

  /// All tcgen05 instructions of a kernel use one cta_group; remembers the first.
  void require_group(const Strand& strand, const Instruction& instruction, LaneMask lanes,
                     int group);
  /// The columns must be allocated.
  void require_allocated(const Strand& strand, const Instruction& instruction, LaneMask lanes,
                         uint32_t first, uint32_t count) const;
  /// The columns must have been written in these lanes; at the level `hardware` a read of others is
  /// counted.
  void require_written(const Strand& strand, const Instruction& instruction, LaneMask lanes,
                       uint32_t first_lane, uint32_t lane_count, uint32_t first,
                       uint32_t count) const;
  /// Remembers that these places hold something.
  void mark_written(uint32_t first_lane, uint32_t lane_count, uint32_t first, uint32_t count);

  // Allocation. The address is written to shared memory when the allocation is granted.

  /// tcgen05.alloc's effect: grants at once (true), or queues the request and wakes the strand
  /// later.
  bool allocate(Strand& strand, const Instruction& instruction, LaneMask lanes, int group,
                uint32_t columns, uint32_t shared_offset);
  /// tcgen05.dealloc.
  void deallocate(Strand& strand, const Instruction& instruction, LaneMask lanes, uint32_t address,
                  uint32_t columns);
  /// tcgen05.relinquish_alloc_permit.
  void relinquish(const Strand& strand, const Instruction& instruction, LaneMask lanes);
  /// Called when the CTA's last thread exits. Throws for columns that are still allocated.
  void check_at_exit() const;
  /// Columns that some CTA on the SM holds, and their allocator.
  struct Holding {
    const Cta* cta = nullptr;                  ///< whose they are
    uint32_t first = 0;                        ///< the first column
    uint32_t count = 0;                        ///< how many columns
    const Instruction* instruction = nullptr;  ///< that allocated them
    uint32_t warp = 0;                         ///< that allocated them
  };
  /// Allocations of the CTAs on this SM, in the order in which these arrived: for reports.
  [[nodiscard]] std::vector<Holding> holdings() const;
  /// Whether an allocation of this CTA waits.
  [[nodiscard]] bool waits() const { return !requests_.empty(); }
  /// "0-31, 64-127" or "none": for reports.
  [[nodiscard]] std::string allocated_columns() const;

  /// Transfers of a warp in flight. A load captures its data when it issues and fills its
  /// destination registers with a pattern of its own; wait::ld replaces the pattern by the data. A
  /// register that no longer holds the pattern was reallocated by then (the load's destination was
  /// never read, and another register got its storage), so it is left alone. An instruction that
  /// reads the register before wait::ld is found when the kernel is decoded (LateRead): a fault, or
  /// at the level `hardware` the moment when the data arrive. A copy into another register is
  /// remembered: using that is a fault as well.
  struct WarpState {
    /// A load that is under way.
    struct Load {
      const Operand* destination = nullptr;  ///< its registers
      uint32_t pattern = 0;                  ///< its contents until then
      const Instruction* instruction = nullptr;
    };
    /// A copy of a register of a load that is under way.
    struct Copy {
      const Operand* destination = nullptr;      ///< the register that it has written
      std::array<uint32_t, kWarpLanes> words{};  ///< of its lanes
      const Instruction* instruction = nullptr;  ///< the load
    };
    /// A load or store that no wait has covered.
    struct Transfer {
      const Instruction* instruction = nullptr;
      uint32_t column = 0;  ///< the first column
      uint32_t columns = 0;
      bool is_load = false;  ///< or a store
      Cycle done = 0;        ///< when it is complete
    };
    /// Forgets the loads, or the stores: a wait has covered them.
    void waited(bool of_loads) {
      std::erase_if(transfers, [=](const Transfer& t) { return t.is_load == of_loads; });
    }
    std::vector<Load> loads;          ///< that are under way
    std::vector<Copy> copies;         ///< of their registers
    std::vector<Transfer> transfers;  ///< that no wait has covered
    std::vector<uint32_t> data;       ///< 32 words for each load
    Cycle loads_done = 0;             ///< when wait::ld may pass
    Cycle stores_done = 0;            ///< when wait::st may pass
  };
  /// Of a warp.
  [[nodiscard]] WarpState& warp_state(uint32_t warp);
  /// Another one each time.
  [[nodiscard]] uint32_t next_pattern();

  /// The CTA.
  [[nodiscard]] Cta& cta() { return cta_; }

 private:
  struct Range {
    uint32_t first = 0, count = 0;
    // The allocating instruction, for the fault of a CTA that does not free it.
    const Instruction* instruction = nullptr;
    uint32_t warp = 0;
  };
  struct Request {
    Strand* strand = nullptr;
    const Instruction* instruction = nullptr;
    int group = 1;
    uint32_t columns = 0;
    uint32_t shared_offset = 0;
  };

  [[nodiscard]] TensorMemory& peer();
  /// The columns that no allocation may take: this CTA's, and those of other clusters on its SM.
  [[nodiscard]] ColumnSet taken() const;
  /// Nothing under way uses the columns.
  void require_unused(const Strand& strand, const Instruction& instruction, LaneMask lanes,
                      const Range& range) const;
  /// Grants what can be granted now: here and in the peer, or on SMs that clusters share all that
  /// waits there, in the order that holds among clusters.
  void serve_all(Cycle now);
  /// Lowest first column of `count` free ones (here and, if given, in `other`), or kColumns.
  [[nodiscard]] uint32_t find_free(uint32_t count, const TensorMemory* other) const;
  void grant(const Request& request, uint32_t first, Cycle now);
  /// Grants what can be granted, oldest first; wakes granted strands other than `current`.
  /// Returns whether `current`'s request was granted.
  bool serve(Cycle now, const Strand* current);

  Cta& cta_;
  SmTensorMemory* sm_;           ///< null: no other CTA is on the SM
  PooledArray<uint32_t> words_;  ///< of columns that were allocated; of others nothing
  ColumnSet allocated_;
  std::array<ColumnSet, kQuarters> written_;
  std::vector<Range> ranges_;
  std::vector<Request> requests_;
  std::vector<WarpState> warps_;
  bool relinquished_ = false;
  uint32_t last_columns_ = 0;  ///< of the last allocation
  int group_ = 0;
  uint32_t patterns_ = 0;
};

/// The CTAs that share the tensor memory of one SM, in order of arrival.
struct SmTensorMemory final : SmUnitState {
  std::vector<TensorMemory*> members;  ///< of the CTAs currently there
};

/// Reports to observers a warp's operation on Tensor Memory of its CTA. `event` has all but origin
/// and cycle, which are the strand's.
void notify_tensor_memory(const Strand& strand, const Instruction& instruction,
                          TensorMemoryEvent event);

/// For operations that the tensor core executes: the kernel's one cta_group, and with cta_group::2
/// the CTA of even rank. Throws SimulationError{contract}.
void require_issuer(const Strand& strand, const Instruction& instruction, LaneMask active,
                    int group);

/// The value of an operand that all active lanes must agree on; throws when they do not.
[[nodiscard]] uint64_t uniform_value(const Strand& strand, const Instruction& instruction,
                                     const Operand& operand, LaneMask active,
                                     const char* operand_name);

}  // namespace bw::sim
