#include "common/simulator/trace/recording.hpp"

#include <array>
#include <iterator>
#include <string_view>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim::trace {
namespace {

using enum FieldType;

// In the order of the enumerations.
constexpr const char* kWaits[] = {
    "none",          "mbarrier",     "named_barrier",  "cluster_barrier", "warp_sync",
    "reconvergence", "bulk_group",   "cp_async_group", "wgmma_group",     "register_pool",
    "tcgen05_alloc", "tcgen05_wait", "previous_grid",  "global_order",    "sleep"};
constexpr const char* kWakes[] = {"none", "event", "timeout"};
constexpr const char* kSpaces[] = {"generic", "global", "const", "param",
                                   "local",   "shared", "shared"};
constexpr const char* kAccesses[] = {"read", "write", "read_write", "atomic"};
constexpr const char* kCopyUnits[] = {"tensor", "bulk", "cp_async"};
constexpr const char* kDirections[] = {"load", "store", "reduce", "shared"};
constexpr const char* kTensorMemory[] = {"load", "store"};
constexpr const char* kGroups[] = {"bulk", "cp_async", "wgmma"};
constexpr const char* kBarriers[] = {"named_barrier", "cluster_barrier"};

// An enumerator that is added needs its name.
template <class Enumeration>
constexpr size_t count_up_to(Enumeration last) {
  return static_cast<size_t>(last) + 1;
}
static_assert(std::size(kWaits) == count_up_to(WaitKind::sleep));
static_assert(std::size(kWakes) == count_up_to(Wake::timeout));
static_assert(std::size(kSpaces) == count_up_to(AddressSpace::shared_cluster));
static_assert(std::size(kAccesses) == count_up_to(Access::read_write) + 1);
static_assert(std::size(kCopyUnits) == count_up_to(CopyUnit::cp_async));
static_assert(std::size(kDirections) == count_up_to(CopyDirection::shared_to_shared));
static_assert(std::size(kGroups) == count_up_to(GroupEvent::Unit::tensor_core) - 1);

constexpr Field kStart[] = {{"threads", number, {}}, {"sm", number, {}}};
constexpr Field kRun[] = {{"until", number, {}}, {"instructions", number, {}}};
constexpr Field kWait[] = {
    {"kind", name, kWaits}, {"phase", number, {}}, {"parity", number, {}}, {"object", number, {}}};
constexpr Field kResume[] = {{"kind", name, kWaits}, {"phase", number, {}}, {"parity", number, {}},
                             {"object", number, {}}, {"why", name, kWakes}, {"waited", number, {}}};
constexpr Field kState[] = {{"phase", number, {}},
                            {"parity", number, {}},
                            {"pending", number, {}},
                            {"expected", number, {}},
                            {"tx", number, {}}};
constexpr Field kCounted[] = {{"count", number, {}},    {"phase", number, {}},
                              {"parity", number, {}},   {"pending", number, {}},
                              {"expected", number, {}}, {"tx", number, {}}};
constexpr Field kArrive[] = {{"count", number, {}},   {"drop", boolean, {}},
                             {"phase", number, {}},   {"parity", number, {}},
                             {"pending", number, {}}, {"expected", number, {}},
                             {"tx", number, {}}};
constexpr Field kBytes[] = {{"bytes", number, {}},    {"phase", number, {}},
                            {"parity", number, {}},   {"pending", number, {}},
                            {"expected", number, {}}, {"tx", number, {}}};
constexpr Field kTest[] = {{"waited_phase", number, {}}, {"done", boolean, {}},
                           {"try", boolean, {}},         {"phase", number, {}},
                           {"parity", number, {}},       {"pending", number, {}},
                           {"expected", number, {}},     {"tx", number, {}}};
constexpr Field kCopy[] = {
    {"id", number, {}},      {"unit", name, kCopyUnits}, {"direction", name, kDirections},
    {"bytes", number, {}},   {"source", ranges, {}},     {"destination", ranges, {}},
    {"signals", signals, {}}};
constexpr Field kMmaIssue[] = {
    {"id", number, {}},          {"group", number, {}},  {"kind", text, {}},
    {"m", number, {}},           {"n", number, {}},      {"k", number, {}},
    {"accumulate", boolean, {}}, {"column", number, {}}, {"columns", number, {}},
    {"completes", number, {}},   {"reads", ranges, {}}};
constexpr std::span<const Field> kMmaComplete{kMmaIssue, 9};
constexpr Field kMoveIssue[] = {{"id", number, {}},        {"group", number, {}},
                                {"column", number, {}},    {"columns", number, {}},
                                {"completes", number, {}}, {"reads", ranges, {}}};
constexpr std::span<const Field> kMoveComplete{kMoveIssue, 4};
constexpr Field kColumns[] = {{"column", number, {}}, {"columns", number, {}}};
constexpr Field kTransfer[] = {{"column", number, {}},
                               {"columns", number, {}},
                               {"lane", number, {}},
                               {"lane_count", number, {}},
                               {"done", number, {}}};
constexpr Field kTensorMemoryWait[] = {{"of", name, kTensorMemory}};
constexpr Field kCommit[] = {{"targets", number, {}}, {"completes", number, {}}};
constexpr Field kGroupCommit[] = {{"unit", name, kGroups}};
constexpr Field kGroupWait[] = {
    {"unit", name, kGroups}, {"allowed", number, {}}, {"read", boolean, {}}};
constexpr Field kArriveAtBarrier[] = {{"kind", name, kBarriers},
                                      {"id", number, {}},
                                      {"threads", number, {}},
                                      {"phase", number, {}},
                                      {"waits", boolean, {}}};
constexpr std::span<const Field> kBarrierComplete{kArriveAtBarrier, 4};
constexpr Field kAccess[] = {{"space", name, kSpaces},
                             {"access", name, kAccesses},
                             {"bytes", number, {}},
                             {"addresses", numbers, {}}};

// In the order of RowKind.
constexpr std::array<Kind, kRowKinds> kKinds{{
    {"cta_start", kStart},
    {"cta_end", {}},
    {"run", kRun},
    {"wait", kWait},
    {"resume", kResume},
    {"mbarrier_init", kCounted},
    {"mbarrier_inval", kState},
    {"mbarrier_arrive", kArrive},
    {"mbarrier_expect_tx", kBytes},
    {"mbarrier_increment", kCounted},
    {"mbarrier_complete_tx", kBytes},
    {"mbarrier_complete", kState},
    {"mbarrier_wait", kTest},
    {"copy_issue", kCopy},
    {"copy_read", kCopy},
    {"copy_land", kCopy},
    {"mma_issue", kMmaIssue},
    {"mma_complete", kMmaComplete},
    {"tmem_copy_issue", kMoveIssue},
    {"tmem_copy_complete", kMoveComplete},
    {"tmem_shift_issue", kMoveIssue},
    {"tmem_shift_complete", kMoveComplete},
    {"tmem_alloc", kColumns},
    {"tmem_dealloc", kColumns},
    {"tmem_relinquish", {}},
    {"tmem_load", kTransfer},
    {"tmem_store", kTransfer},
    {"tmem_wait", kTensorMemoryWait},
    {"tmem_commit", kCommit},
    {"fence", {}},
    {"group_commit", kGroupCommit},
    {"group_wait", kGroupWait},
    {"barrier_arrive", kArriveAtBarrier},
    {"barrier_complete", kBarrierComplete},
    {"access", kAccess},
}};
static_assert(std::string_view(kKinds.back().event) == "access", "one entry for each kind of row");

}  // namespace

const Kind& kind_of(RowKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::span<const char* const> space_names() { return kSpaces; }

}  // namespace bw::sim::trace
