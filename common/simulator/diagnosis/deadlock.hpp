#pragma once
/// \file
/// Why a cluster cannot go on: the reports of deadlock and livelock.

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// The report for a cluster in which no thread can run and nothing is in flight. For each waiting
/// role (warps that wait at the same place for the same thing): warps, source line, what they wait
/// for, the state of the barrier by phase, who arrived, and who could still complete it. `cluster`
/// belongs to a device that is watched.
[[nodiscard]] Report deadlock_report(Cluster& cluster);

/// The report for a cluster whose threads run without any change of state that another thread could
/// see. `spinning` is one of the strands that run.
[[nodiscard]] Report livelock_report(Cluster& cluster, const Strand& spinning);

/// The report for a launch that goes on after Settings::cycle_limit. `running` is one of the
/// strands that run.
[[nodiscard]] Report cycle_limit_report(Cluster& cluster, const Strand& running);

/// The report for a launch that has stopped before Settings::until_event: what every role does.
[[nodiscard]] Report stopped_report(Cluster& cluster);

}  // namespace bw::sim
