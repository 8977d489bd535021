/// \file
/// The forms of the mbarrier family (PTX ISA 9.0, "mbarrier").
#include <array>

#include "common/simulator/machine/costs.hpp"
#include "common/simulator/units/synchronisation/mbarrier_operations.hpp"

namespace bw::sim {

std::span<const OpcodeRow> mbarrier_rows() {
  using namespace mbarrier_operations;
  using costs::kMbarrierArrive;
  using costs::kMbarrierWait;
  using costs::kSharedAccess;
  constexpr std::string_view kOwn = "[space=shared|shared::cta] b64";
  constexpr std::string_view kTx =
      "[sem=relaxed] [scope=cta|cluster] [space=shared|shared::cta|shared::cluster] b64";
  constexpr std::string_view kArrive =
      "[sem=release|relaxed] [scope=cta|cluster] [space=shared|shared::cta|shared::cluster] b64";
  constexpr std::string_view kArriveExpectTx =
      "expect_tx [sem=release|relaxed] [scope=cta|cluster] "
      "[space=shared|shared::cta|shared::cluster] b64";
  constexpr std::string_view kArriveNoComplete =
      "noComplete [sem=release] [scope=cta] [space=shared|shared::cta] b64";
  constexpr std::string_view kWait =
      "[parity] [sem=acquire|relaxed] [scope=cta|cluster] [space=shared|shared::cta] b64";
  static constexpr std::array rows = {
      OpcodeRow{"mbarrier.init", kOwn, bind_init, true, kSharedAccess, "mbarrier.init"},
      OpcodeRow{"mbarrier.inval", kOwn, bind_inval, true, kSharedAccess, "mbarrier.inval"},
      OpcodeRow{"mbarrier.expect_tx", kTx, bind_expect_tx, true, kMbarrierArrive,
                "mbarrier.expect_tx"},
      OpcodeRow{"mbarrier.complete_tx", kTx, bind_complete_tx, true, kMbarrierArrive,
                "mbarrier.complete_tx"},
      OpcodeRow{"mbarrier.arrive", kArrive, bind_arrive<0>, true, kMbarrierArrive,
                "mbarrier.arrive"},
      OpcodeRow{"mbarrier.arrive", kArriveExpectTx, bind_arrive<kExpectTx>, true, kMbarrierArrive,
                "mbarrier.arrive"},
      OpcodeRow{"mbarrier.arrive", kArriveNoComplete, bind_arrive<kNoComplete>, true,
                kMbarrierArrive, "mbarrier.arrive"},
      OpcodeRow{"mbarrier.arrive_drop", kArrive, bind_arrive<kDrop>, true, kMbarrierArrive,
                "mbarrier.arrive_drop"},
      OpcodeRow{"mbarrier.arrive_drop", kArriveExpectTx, bind_arrive<kDrop | kExpectTx>, true,
                kMbarrierArrive, "mbarrier.arrive_drop"},
      OpcodeRow{"mbarrier.arrive_drop", kArriveNoComplete, bind_arrive<kDrop | kNoComplete>, true,
                kMbarrierArrive, "mbarrier.arrive_drop"},
      OpcodeRow{"mbarrier.test_wait", kWait, bind_test_wait, true, kMbarrierWait,
                "mbarrier.test_wait, mbarrier.try_wait"},
      OpcodeRow{"mbarrier.try_wait", kWait, bind_try_wait, true, kMbarrierWait,
                "mbarrier.test_wait, mbarrier.try_wait"},
      OpcodeRow{"mbarrier.pending_count", "b64", bind_pending_count, false, costs::kAlu,
                "mbarrier.pending_count"},
  };
  return rows;
}

}  // namespace bw::sim
