#pragma once
/// \file
/// The machine's view of the units: objects that hold their state, made by a factory that the
/// device is given, and the functions through which the machine notifies them.

#include <memory>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

class Cluster;
struct Cta;
struct Warp;

/// What the units keep for one CTA. Opaque to the machine; handlers reach it through units_of
/// (units/units.hpp).
class CtaUnitState {
 public:
  CtaUnitState() = default;
  virtual ~CtaUnitState() = default;
  CtaUnitState(const CtaUnitState&) = delete;  // units keep a reference to their CTA
  CtaUnitState& operator=(const CtaUnitState&) = delete;
};

/// Cluster-wide state of the units, and the notifications that they get.
class ClusterUnitState {
 public:
  ClusterUnitState() = default;
  virtual ~ClusterUnitState() = default;
  ClusterUnitState(const ClusterUnitState&) = delete;
  ClusterUnitState& operator=(const ClusterUnitState&) = delete;

  /// Lanes of `warp` have exited (already removed from warp.live): strands that waited only for
  /// them resume.
  virtual void on_lanes_exit(Warp& warp, LaneMask lanes, Cycle now) = 0;
  /// The CTA's last thread has exited. Throws SimulationError{contract} for pending work.
  virtual void check_at_exit(Cta& cta) = 0;
};

/// State of the units for one SM, shared by the CTAs of several clusters on it.
class SmUnitState {
 public:
  SmUnitState() = default;
  virtual ~SmUnitState() = default;
  SmUnitState(const SmUnitState&) = delete;
  SmUnitState& operator=(const SmUnitState&) = delete;
};

/// Makes the units' state. One object serves all clusters, on any host thread.
class UnitFactory {
 public:
  UnitFactory() = default;
  virtual ~UnitFactory() = default;
  UnitFactory(const UnitFactory&) = delete;
  UnitFactory& operator=(const UnitFactory&) = delete;

  /// For a CTA whose cluster, rank and memory are set.
  [[nodiscard]] virtual std::unique_ptr<CtaUnitState> make_for(Cta& cta) const = 0;
  /// For an SM without CTAs yet.
  [[nodiscard]] virtual std::unique_ptr<SmUnitState> make_for_sm() const = 0;
  /// For a cluster without CTAs yet.
  [[nodiscard]] virtual std::unique_ptr<ClusterUnitState> make_for(Cluster& cluster) const = 0;
};

}  // namespace bw::sim
