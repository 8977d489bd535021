#pragma once
/// \file
/// The tensor core of one CTA (with cta_group::2: of a CTA pair, in the leader): a queue of
/// tcgen05.mma, tcgen05.cp and tcgen05.shift, executed in issue order, and the completions that
/// tcgen05.commit waits for.
///
/// Numbers. Products are exact. How they are summed, starting from D (or from 0 when enable-input-d
/// is false), is a model (accumulation.hpp). With an f16 D the sum runs in fp32 and is rounded
/// once, at the end of the instruction. kind::i8 sums exactly and wraps (or, with the saturate bit,
/// clamps) when it adds to D.
///
/// Time. An operation's completion time follows from the queue (clock/tensor_core_times.hpp).
/// Operands are read and D is written when the queue is brought up to date: at the completion that
/// a commit waits for, or before another access to Tensor Memory that could tell the difference: a
/// store, or a load of columns that an operation writes. So consecutive MMAs on one accumulator run
/// as one product over their joint K, even while an epilogue loads another accumulator.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/tensor_core/data_path.hpp"
#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"
#include "common/simulator/units/tensor_core/matrix_descriptor.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"
#include "common/simulator/units/tensor_core/zero_columns.hpp"

namespace bw::sim {

class Accumulation;

/// One tcgen05.mma with all its operands by value.
struct MmaOperation {
  MmaShape shape;                            ///< M, N, K and formats
  int group = 1;                             ///< CTAs that work together: 1 or 2
  TensorAddress d;                           ///< location of D
  bool a_in_tensor_memory = false;           ///< or in shared memory
  TensorAddress a_address;                   ///< in tensor memory
  MatrixDescriptor a;                        ///< the first operand
  MatrixDescriptor b;                        ///< the second operand
  bool accumulate = false;                   ///< whether it adds to D
  uint32_t scale_d_exponent = 0;             ///< D is multiplied by 2^-this first
  std::array<uint32_t, 8> disabled_lanes{};  ///< bit per lane, 4 words for each CTA
  bool any_disabled = false;                 ///< whether lanes of D are left alone
  bool weight_stationary = false;            ///< whether it is a .ws form
  /// A is in Tensor Memory, and its rows are shifted there when the product is done, as by
  /// tcgen05.shift in all lanes (.ashift). The ISA says only that the rows of A are shifted down by
  /// one; that the product itself takes the unshifted A is this project's reading: a collector
  /// buffer that was filled before may be used (lastuse) but not kept.
  bool shifts_a = false;
  std::shared_ptr<const ZeroColumns> zero_columns;  ///< of .ws; null: none
  TensorAddress metadata;                           ///< of a sparse A
  uint32_t scales = 0;                              ///< of a row along K; 0: no block scaling
  TensorAddress a_scales;                           ///< location of A's scales
  TensorAddress b_scales;                           ///< location of B's scales

  /// Which lanes and columns take part.
  [[nodiscard]] DataPath path() const { return data_path(shape, group, weight_stationary); }
  /// Columns of Tensor Memory that D takes.
  [[nodiscard]] uint32_t d_columns() const { return shape.n / path().groups; }
  /// Columns of Tensor Memory that an A there takes.
  [[nodiscard]] uint32_t a_columns() const {
    return shape.a_k_bytes() / static_cast<uint32_t>(sizeof(uint32_t));
  }
};

/// One tcgen05.cp.
struct CopyOperation {
  int group = 1;  ///< CTAs that work together: 1 or 2
  TensorAddress destination;
  MatrixDescriptor source;  ///< where it comes from
  uint32_t rows = 0;        ///< of the source
  uint32_t row_bytes = 0;   ///< 16 or 32, of the destination
  /// Row r of the source goes to lane r % 32 of each quarter in the mask of its block of 32 rows;
  /// with `one_row_a_quarter` (4x256b) row r goes to the address's lane of quarter r.
  std::array<uint8_t, 4> quarters{};
  bool one_row_a_quarter = false;  ///< whether each quarter gets a row
  unsigned element_bits = 8;       ///< 8: as it is; 6 or 4: unpacked to bytes
  /// Columns of Tensor Memory that the destination takes.
  [[nodiscard]] uint32_t columns() const {
    return row_bytes / static_cast<uint32_t>(sizeof(uint32_t));
  }
};

/// One tcgen05.shift: of the 32 lanes from `matrix.lane`, in 8 columns, each lane but the last gets
/// what the next lane held. (The PTX ISA says "downwards ... except the last, by one row"; that
/// down means towards lane 0 is this project's reading: the last row is the one that
/// tcgen05.cp.4x256b, which may follow without a wait, fills. It was not checked on hardware.)
struct ShiftOperation {
  static constexpr uint32_t kRows = 32;    ///< of a quarter
  static constexpr uint32_t kColumns = 8;  ///< 32 bytes
  int group = 1;                           ///< CTAs that work together: 1 or 2
  TensorAddress matrix;                    ///< its location
};

/// A matrix that an MMA may have put into a collector buffer.
struct CollectedMatrix {
  bool in_tensor_memory = false;      ///< or in shared memory
  uint64_t source = 0;                ///< descriptor bits, or the Tensor Memory address
  MmaFormat format = MmaFormat::f16;  ///< of the elements
  uint32_t rows = 0;                  ///< how many rows
  friend bool operator==(const CollectedMatrix&, const CollectedMatrix&) = default;
};

/// What an MMA does with a collector buffer (PTX ISA, ".collector_usage").
struct CollectorUse {
  static constexpr uint32_t kBuffers = 5;  ///< a, b0 to b3
  /// What can be done.
  enum class Operation : uint8_t { discard, fill, use, last_use };
  uint32_t buffer = 0;  ///< which collector buffer
  Operation operation = Operation::discard;
};

/// The tensor core of a CTA's SM.
class TensorCore {
 public:
  /// The tensor core of a CTA's SM.
  explicit TensorCore(Cta& cta);
  ~TensorCore();

  /// Queues an operation that a thread (the one lane of `origin`) issues at `now`. It has been
  /// checked.
  void enqueue(Cycle now, const Origin& origin, MmaOperation operation);
  /// Gives the unit work, which is done in order.
  void enqueue(Cycle now, const Origin& origin, const CopyOperation& operation);
  /// Gives the unit work, which is done in order.
  void enqueue(Cycle now, const Origin& origin, const ShiftOperation& operation);

  /// Tracks the contents of the collector buffers. False when a use finds a buffer that is not
  /// filled, or filled with another matrix.
  [[nodiscard]] bool collect(const CollectorUse& use, const CollectedMatrix& matrix);

  /// When everything that the thread has issued is complete; a time in the past when it is already.
  [[nodiscard]] Cycle completion(uint32_t thread) const;

  /// The issuer of the first operation still in the queue that touches these columns of a CTA, or
  /// nullptr.
  [[nodiscard]] const Origin* first_use(uint32_t cta_rank, uint32_t column, uint32_t columns) const;

  /// Executes what completes until `now`, in order.
  void complete_until(Cycle now) {
    if (!queue_.empty() && queue_.front().completion <= now) execute_until(now);
  }
  /// Of what completes until `now`, executes all up to the last operation that writes one of these
  /// columns.
  void complete_writes(Cycle now, uint32_t column, uint32_t columns);

 private:
  using Operation = std::variant<MmaOperation, CopyOperation, ShiftOperation>;
  struct Entry {
    Cycle completion = 0;
    Operation operation;
    Origin origin;
    uint64_t id = 0;
  };

  void push(Cycle now, const Origin& origin, int group, const TensorCoreCost& cost,
            Operation operation);
  /// When an operation that is issued now is complete; takes the unit for it.
  [[nodiscard]] Cycle completion_of(Cycle now, int group, const TensorCoreCost& cost) const;
  /// Reports to observers that an entry is issued (at `now`) or complete.
  void notify(const Entry& entry, bool completes, Cycle now) const;
  void schedule_drain(Cycle time);
  void execute_until(Cycle now);
  /// Number of entries from the front that run as one product.
  [[nodiscard]] size_t batch_length(Cycle now) const;
  void execute_mmas(size_t count);
  void shift_a(const MmaOperation& mma);
  void execute_copy(const CopyOperation& copy);
  void execute_shift(const ShiftOperation& shift);

  Cta& cta_;
  const Accumulation* model_ = nullptr;  ///< chosen when the first MMA is issued
  std::deque<Entry> queue_;
  bool drain_scheduled_ = false;
  std::array<std::optional<CollectedMatrix>, CollectorUse::kBuffers> collected_;
  struct ThreadCompletion {
    uint32_t thread;
    Cycle time;
  };
  std::vector<ThreadCompletion> threads_;
};

/// Brings the tensor cores that write this CTA's Tensor Memory up to date: its own and its pair
/// leader's.
void complete_tensor_work(Cta& cta, Cycle now);
/// As far as a load of these columns can tell.
void complete_tensor_writes(Cta& cta, Cycle now, uint32_t column, uint32_t columns);

}  // namespace bw::sim
