#pragma once
/// \file
/// Contents of a cluster's recording: one short row for each event, and the tables the rows refer
/// to.
///
/// The table of kinds (kind_of) says which values a row has and in which order. The event log and
/// the file of a recording are both written from it, so neither names any event.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/simulator/machine/observer.hpp"

namespace bw::sim::trace {

/// The kind of a row's event; in the table's order.
enum class RowKind : uint8_t {
  cta_start,
  cta_end,
  run,
  wait,
  resume,
  mbarrier_init,
  mbarrier_inval,
  mbarrier_arrive,
  mbarrier_expect_tx,
  mbarrier_increment,
  mbarrier_complete_tx,
  mbarrier_complete,
  mbarrier_wait,
  copy_issue,
  copy_read,
  copy_land,
  mma_issue,
  mma_complete,
  tmem_copy_issue,
  tmem_copy_complete,
  tmem_shift_issue,
  tmem_shift_complete,
  tmem_alloc,
  tmem_dealloc,
  tmem_relinquish,
  tmem_load,
  tmem_store,
  tmem_wait,
  tmem_commit,
  fence,
  group_commit,
  group_wait,
  barrier_arrive,
  barrier_complete,
  access,
};
/// How many kinds there are.
inline constexpr size_t kRowKinds = static_cast<size_t>(RowKind::access) + 1;

/// How a row stores a field's values.
enum class FieldType : uint8_t {
  number,   ///< one value; kAbsent: the row has no such field
  boolean,  ///< one value, 0 or 1
  name,     ///< one value: the index of one of the field's names
  text,     ///< one value: an index into ClusterRecording::texts
  ranges,   ///< a count, then for each range: its AddressSpace, CTA rank, offset or address, bytes
  signals,  ///< a count, then CTA rank, offset and bytes of each; kAbsent as the count: no field
  numbers,  ///< a count and as many values
};
/// The field is absent.
inline constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();

/// A field of a row.
struct Field {
  const char* name = "";  ///< in the event log
  FieldType type = FieldType::number;
  std::span<const char* const> names;  ///< the values' names
};

/// A kind of row: the event's name, and its values in order.
struct Kind {
  const char* event = "";         ///< the name in the event log
  std::span<const Field> fields;  ///< its fields, in order
};
/// The description of a kind.
[[nodiscard]] const Kind& kind_of(RowKind kind);
/// The names of address spaces, in the order of AddressSpace.
[[nodiscard]] std::span<const char* const> space_names();

/// One event.
struct Row {
  static constexpr uint32_t kNone = ~uint32_t{0};  ///< no such entry
  Cycle cycle = 0;
  uint32_t instruction = kNone;  ///< index into the kernel's text
  LaneMask lanes = 0;            ///< the threads of the warp that take part
  uint32_t first_value = 0;      ///< index into ClusterRecording::values
  uint32_t barrier = kNone;      ///< index into ClusterRecording::barriers
  uint16_t cta_rank = 0;         ///< rank of the CTA in its cluster
  uint16_t warp = 0;             ///< number of the warp in its CTA
  RowKind kind = RowKind::run;   ///< which event
  uint8_t unused[3] = {};        ///< so that all bytes of a row are its own
};
static_assert(sizeof(Row) == 32, "readers of recordings know a row's size");

/// An mbarrier from its init on.
struct RecordedBarrier {
  uint16_t cta_rank = 0;                 ///< rank of the CTA in its cluster
  uint32_t offset_bytes = 0;             ///< from the beginning, in bytes
  uint32_t initialised_by = Row::kNone;  ///< index into the kernel's text
};

/// Events of one cluster, by cycle; those of one cycle in the order in which they happened.
struct ClusterRecording {
  uint64_t cluster = 0;  ///< the cluster
  RunStatus status = RunStatus::finished;
  std::vector<Dim3> ctas;                 ///< by rank
  std::vector<Row> rows;                  ///< in the order of events
  std::vector<int64_t> values;            ///< of all rows
  std::vector<RecordedBarrier> barriers;  ///< that occur
  std::vector<std::string> texts;         ///< that occur
  std::optional<Cycle> full_at;           ///< cycle of the first event that did not fit
};

/// The part of a launch that is recorded.
struct RecordingWindow {
  uint64_t first_cluster = 0;            ///< the first one that is kept
  uint64_t last_cluster = ~uint64_t{0};  ///< the last one that is kept
  Cycle first_cycle = 0;                 ///< the first one that is kept
  Cycle last_cycle = ~Cycle{0};          ///< the last one that is kept
  size_t most_rows = ~size_t{0};         ///< of a cluster
};

}  // namespace bw::sim::trace
