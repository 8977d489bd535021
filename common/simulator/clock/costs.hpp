#pragma once
/// \file
/// Costs in simulated cycles without a timing model (TimingModel::simple): issue cost of an
/// instruction in its warp, and latencies of asynchronous operations. No number here was measured
/// by this project on a B200; each names its source (SemiAnalysis microbench-blackwell and Meta's
/// NVLatencyModel.cpp, both of May 2026).

#include "common/simulator/base/types.hpp"

namespace bw::sim::costs {

// Issue costs.
inline constexpr uint16_t kAlu = 1;           ///< arithmetic
inline constexpr uint16_t kBranch = 2;        ///< branches
inline constexpr uint16_t kSharedAccess = 4;  ///< loads and stores, which are pipelined
inline constexpr uint16_t kGlobalAccess = 8;  ///< atomics and copies by threads, likewise
inline constexpr uint16_t kBarrier = 22;     ///< named barrier, about 22 + kBarrierPerWarp per warp
inline constexpr Cycle kBarrierPerWarp = 2;  ///< for each warp that takes part
inline constexpr uint16_t kMbarrierArrive = 20;  ///< an arrival
inline constexpr uint16_t kMbarrierWait = 30;    ///< a try_wait that succeeds
inline constexpr uint16_t kTmaIssue = 30;        ///< each lane's copy
inline constexpr uint16_t kMmaIssue = 11;        ///< an MMA
inline constexpr uint16_t kFence = 10;           ///< a fence

// Latencies.
inline constexpr Cycle kSharedLoad = 24;              ///< see Strand::arrives
inline constexpr Cycle kGlobalLoad = 301;             ///< L2 hit; likewise
inline constexpr Cycle kGlobalAtomic = 700;           ///< until the old value is there
inline constexpr Cycle kRemoteArrive = 200;           ///< shared::cluster round trip, estimate
inline constexpr Cycle kClusterBarrier = 200;         ///< estimate
inline constexpr Cycle kTmaLoadBase = 460;            ///< + 6 per KB
inline constexpr Cycle kTmaLoadPerKb = 6;             ///< for each KiB
inline constexpr Cycle kTmaStoreBase = 130;           ///< + 52 per KB
inline constexpr Cycle kTmaStorePerKb = 52;           ///< for each KiB
inline constexpr Cycle kTmemLoadPerColumn = 3;        ///< 128x64 fp32: 179 cycles
inline constexpr Cycle kTryWaitLimit = 2'000;         ///< when try_wait has no time hint
inline constexpr Cycle kLaunchControlResponse = 700;  ///< estimate
/// Clusters of one grid that can see each other's global memory operations advance in steps of this
/// length; not longer than the shortest latency between clusters.
inline constexpr Cycle kLockstepQuantum = 500;

}  // namespace bw::sim::costs
