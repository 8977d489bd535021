#include "common/simulator/units/families.hpp"

#include <array>

namespace bw::sim {

std::span<const std::span<const OpcodeRow>> opcode_families() {
  // Forms that are refused by name stand last: theirs are the rows that take any modifier.
  static const std::array families = {
      integer::arithmetic_rows(),
      integer::carry_rows(),
      integer::bit_rows(),
      floating::arithmetic_rows(),
      floating::function_rows(),
      floating::minmax_rows(),
      half::rows(),
      comparison_rows(),
      conversion::move_rows(),
      conversion::packed_rows(),
      conversion::scalar_rows(),
      conversion::address_rows(),
      control_rows(),
      cluster_rows(),
      launch_control_rows(),
      bulk_zero_rows(),
      load_store_rows(),
      atomic_rows(),
      matrix_move_rows(),
      warp_rows(),
      barrier_rows(),
      fence_rows(),
      mbarrier_operations::arrive_rows(),
      mbarrier_operations::wait_rows(),
      cp_async_rows(),
      bulk_copy_rows(),
      tensor_copy_rows(),
      tensor_map_rows(),
      async_store_rows(),
      mma_sync_rows(),
      tcgen05::alloc_rows(),
      tcgen05::load_store_rows(),
      tcgen05::copy_rows(),
      tcgen05::shift_rows(),
      tcgen05::mma_rows(),
      tcgen05::commit_rows(),
      wgmma::rows(),
      wmma::rows(),
      unexecuted_rows(),
  };
  return families;
}

}  // namespace bw::sim
