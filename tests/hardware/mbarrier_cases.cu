/// \file
/// Scripts of mbarrier operations by one thread (PTX ISA, "mbarrier"): after every step, whether
/// the phases of both parities have completed, and what the step returned.
#include <array>

#include "tests/hardware/cases.hpp"
#include "tests/hardware/inputs.hpp"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::mbarrier {

enum Operation : uint32_t {
  kInit,             ///< init(argument), ending the life of an earlier object first
  kArrive,           ///< arrive, by one
  kArriveCount,      ///< arrive by `argument`
  kArriveExpectTx,   ///< arrive.expect_tx of `argument` bytes
  kArriveDrop,       ///< arrive_drop, by one
  kArriveDropCount,  ///< arrive_drop by `argument`
  kArriveDropExpectTx,
  kArriveNoComplete,  ///< arrive.noComplete by `argument`
  kExpectTx,
  kCompleteTx,
  kOperations
};

constexpr const char* kNames[kOperations] = {"init",
                                             "arrive",
                                             "arrive.count",
                                             "arrive.expect_tx",
                                             "arrive_drop",
                                             "arrive_drop.count",
                                             "arrive_drop.expect_tx",
                                             "arrive.noComplete",
                                             "expect_tx",
                                             "complete_tx"};

struct Step {
  uint32_t operation;
  uint32_t argument;
};

/// Result of a step: bits 0 and 1 test_wait.parity 0 and 1, bits 2 and 3 the same by try_wait, bit
/// 4 test_wait with the state of the last arrival, from bit 8 on the pending count of that state.
constexpr unsigned kStateBit = 4;
constexpr unsigned kPendingBit = 8;

__device__ uint64_t wait_results(uint32_t barrier) {
  uint32_t result;
  asm volatile(
      "{.reg .pred p; .reg .b32 t;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 1; selp.b32 t, 2, 0, p; or.b32 %0, %0, "
      "t;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0, 0; selp.b32 t, 4, 0, p;"
      " or.b32 %0, %0, t;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 1, 0; selp.b32 t, 8, 0, p;"
      " or.b32 %0, %0, t;}"
      : "=r"(result)
      : "r"(barrier)
      : "memory");
  return result;
}

__device__ uint64_t state_results(uint32_t barrier, uint64_t state) {
  uint32_t complete;
  uint32_t pending;
  asm volatile(
      "{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%2], %3; selp.b32 %0, 1, 0, p;\n"
      "mbarrier.pending_count.b64 %1, %3;}"
      : "=r"(complete), "=r"(pending)
      : "r"(barrier), "l"(state)
      : "memory");
  return uint64_t{complete} << kStateBit | uint64_t{pending} << kPendingBit;
}

#define BW_STATE(TEXT) asm volatile(TEXT : "=l"(state) : "r"(barrier), "r"(n) : "memory")

__global__ void run_script(const Step* steps, unsigned count, uint64_t* results) {
  __shared__ alignas(8) uint64_t object;
  const auto barrier = static_cast<uint32_t>(__cvta_generic_to_shared(&object));
  uint64_t state = 0;
  bool has_state = false;
  for (unsigned i = 0; i < count; ++i) {
    const uint32_t n = steps[i].argument;
    const uint32_t operation = steps[i].operation;
    switch (operation) {
      case kInit:
        if (i != 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(n) : "memory");
        has_state = false;
        break;
      case kArrive:
        BW_STATE("mbarrier.arrive.shared::cta.b64 %0, [%1];");
        break;
      case kArriveCount:
        BW_STATE("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;");
        break;
      case kArriveExpectTx:
        BW_STATE("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;");
        break;
      case kArriveDrop:
        BW_STATE("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];");
        break;
      case kArriveDropCount:
        BW_STATE("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], %2;");
        break;
      case kArriveDropExpectTx:
        BW_STATE("mbarrier.arrive_drop.expect_tx.shared::cta.b64 %0, [%1], %2;");
        break;
      case kArriveNoComplete:
        BW_STATE("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;");
        break;
      case kExpectTx:
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier),
                     "r"(n)
                     : "memory");
        break;
      default:
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier),
                     "r"(n)
                     : "memory");
    }
    const bool arrives = operation >= kArrive && operation <= kArriveNoComplete;
    has_state = has_state || arrives;
    uint64_t result = wait_results(barrier);
    // An older state than this step's may be more than one phase old: not a valid wait.
    if (arrives) result |= state_results(barrier, state);
    results[i] = result;
  }
}

Result measure(const std::vector<Step>& steps) {
  DeviceBuffer<Step> script(steps);
  DeviceBuffer<uint8_t> results(steps.size() * 8);
  launch(reinterpret_cast<const void*>(&run_script), 1, 1, static_cast<const Step*>(script.data()),
         static_cast<unsigned>(steps.size()), results.data());
  return {from_device(results, 8), [steps](size_t i) {
            return std::string(kNames[steps[i].operation]) + "(" +
                   std::to_string(steps[i].argument) + ")";
          }};
}

/// A script of `length` steps, each allowed by the ISA in the state that the steps before it led
/// to.
std::vector<Step> random_script(uint64_t seed, size_t length) {
  constexpr int64_t kBytes = 4096;
  RandomBits random(seed);
  uint32_t expected = 1 + static_cast<uint32_t>(random.below(5));
  uint32_t pending = expected;
  int64_t tx = 0;
  std::vector<Step> steps = {{kInit, expected}};
  while (steps.size() < length) {
    if (expected == 0) {  // everyone has dropped out
      expected = pending = 1 + static_cast<uint32_t>(random.below(5));
      tx = 0;
      steps.push_back({kInit, expected});
      continue;
    }
    const auto operation = static_cast<uint32_t>(1 + random.below(kOperations - 1));
    auto argument = static_cast<uint32_t>(random.below(kBytes));
    const bool expects =
        operation == kExpectTx || operation == kArriveExpectTx || operation == kArriveDropExpectTx;
    uint32_t arrivals = 0;
    if (operation == kArriveCount || operation == kArriveDropCount ||
        operation == kArriveNoComplete) {
      if (pending == 0) continue;
      arrivals = argument = 1 + static_cast<uint32_t>(random.below(pending));
      if (operation == kArriveNoComplete && argument == pending) continue;
    } else if (operation != kExpectTx && operation != kCompleteTx) {
      if (pending == 0) continue;
      arrivals = 1;
      if (!expects) argument = 0;
    } else if (operation == kCompleteTx && tx > 0 && random.below(2) == 0) {
      argument = static_cast<uint32_t>(tx);
    } else if (operation == kExpectTx && tx < 0 && random.below(2) == 0) {
      argument = static_cast<uint32_t>(-tx);
    }
    if (expects) tx += argument;
    if (operation == kCompleteTx) tx -= argument;
    if (operation == kArriveDrop || operation == kArriveDropCount ||
        operation == kArriveDropExpectTx)
      expected -= arrivals;
    pending -= arrivals;
    steps.push_back({operation, argument});
    if (pending == 0 && tx == 0) pending = expected;
  }
  return steps;
}

Registration script(const std::string& name, const std::vector<Step>& steps) {
  return {"mbarrier." + name, [steps] { return measure(steps); }};
}

Registration random_case(unsigned number) {
  constexpr size_t kLength = 60;
  return script("random" + std::to_string(number), random_script(1000 + number, kLength));
}

constexpr uint32_t kMaxCount = (1u << 20) - 1;

const Registration kScripts[] = {
    script("phases", {{kInit, 1}, {kArrive, 0}, {kArrive, 0}, {kArrive, 0}}),
    script("two_arrivals", {{kInit, 2}, {kArrive, 0}, {kArrive, 0}, {kArrive, 0}, {kArrive, 0}}),
    script("counts", {{kInit, 7}, {kArriveCount, 3}, {kArriveCount, 4}, {kArriveCount, 7}}),
    script("largest_count", {{kInit, kMaxCount}, {kArriveCount, kMaxCount - 1}, {kArrive, 0}}),
    script("bytes", {{kInit, 1},
                     {kArriveExpectTx, 4096},
                     {kCompleteTx, 1024},
                     {kCompleteTx, 3072},
                     {kArriveExpectTx, 16},
                     {kCompleteTx, 16}}),
    script("bytes_before", {{kInit, 1},
                            {kCompleteTx, 512},
                            {kArriveExpectTx, 512},
                            {kCompleteTx, 64},
                            {kExpectTx, 64},
                            {kArrive, 0}}),
    script("negative_bytes", {{kInit, 2},
                              {kCompleteTx, 512},
                              {kArrive, 0},
                              {kArrive, 0},
                              {kExpectTx, 500},
                              {kExpectTx, 12}}),
    script("zero_bytes", {{kInit, 1}, {kArriveExpectTx, 0}, {kExpectTx, 0}, {kArrive, 0}}),
    script("largest_bytes", {{kInit, 1},
                             {kArriveExpectTx, kMaxCount},
                             {kCompleteTx, kMaxCount},
                             {kCompleteTx, kMaxCount},
                             {kArriveExpectTx, kMaxCount}}),
    script("drop", {{kInit, 3},
                    {kArriveDrop, 0},
                    {kArrive, 0},
                    {kArrive, 0},
                    {kArriveCount, 2},
                    {kArriveDrop, 0},
                    {kArrive, 0},
                    {kArrive, 0}}),
    script("drop_to_none", {{kInit, 2}, {kArriveDropCount, 2}}),
    script("drop_bytes",
           {{kInit, 2}, {kArriveDropExpectTx, 32}, {kArrive, 0}, {kCompleteTx, 32}, {kArrive, 0}}),
    script("no_complete", {{kInit, 4}, {kArriveNoComplete, 3}, {kArrive, 0}}),
    script("again", {{kInit, 1}, {kArrive, 0}, {kInit, 2}, {kArrive, 0}, {kArrive, 0}}),
    random_case(0),
    random_case(1),
    random_case(2),
    random_case(3),
    random_case(4),
    random_case(5),
    random_case(6),
    random_case(7),
    random_case(8),
    random_case(9),
    random_case(10),
    random_case(11),
    random_case(12),
    random_case(13),
    random_case(14),
    random_case(15),
};

}  // namespace bw::conformance::mbarrier
