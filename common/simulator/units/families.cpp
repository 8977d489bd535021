#include "common/simulator/units/families.hpp"

#include <array>

namespace bw::sim {

namespace {

// The pages of the site's instruction tables.
constexpr std::string_view kArithmetic = "Arithmetic";
constexpr std::string_view kComparison = "Comparison and selection";
constexpr std::string_view kConversion = "Moves and conversions";
constexpr std::string_view kControl = "Control, clusters, launches";
constexpr std::string_view kCopies = "Asynchronous copies";
constexpr std::string_view kMemory = "Loads, stores, atomics";
constexpr std::string_view kWarps = "Warps, barriers, fences";
constexpr std::string_view kMbarrier = "mbarrier";
constexpr std::string_view kTensorCore = "Tensor core and tensor memory";
constexpr std::string_view kRefused = "Known and refused";

}  // namespace

std::span<const FormFamily> instruction_forms() {
  // Forms that are refused by name are last: theirs are the rows that take any modifier.
  static const std::array families = {
      FormFamily{kArithmetic, integer::arithmetic_rows()},
      FormFamily{kArithmetic, integer::carry_rows()},
      FormFamily{kArithmetic, integer::bit_rows()},
      FormFamily{kArithmetic, floating::arithmetic_rows()},
      FormFamily{kArithmetic, floating::function_rows()},
      FormFamily{kArithmetic, floating::minmax_rows()},
      FormFamily{kArithmetic, half::rows()},
      FormFamily{kComparison, comparison_rows()},
      FormFamily{kConversion, conversion::move_rows()},
      FormFamily{kConversion, conversion::packed_rows()},
      FormFamily{kConversion, conversion::scaled_rows()},
      FormFamily{kConversion, conversion::scalar_rows()},
      FormFamily{kConversion, conversion::address_rows()},
      FormFamily{kControl, control_rows()},
      FormFamily{kControl, cluster_rows()},
      FormFamily{kControl, launch_control_rows()},
      FormFamily{kCopies, bulk_zero_rows()},
      FormFamily{kMemory, load_store_rows()},
      FormFamily{kMemory, cache_hint_rows()},
      FormFamily{kMemory, atomic_rows()},
      FormFamily{kMemory, matrix_move_rows()},
      FormFamily{kWarps, warp_rows()},
      FormFamily{kWarps, barrier_rows()},
      FormFamily{kWarps, fence_rows()},
      FormFamily{kMbarrier, mbarrier_operations::arrive_rows()},
      FormFamily{kMbarrier, mbarrier_operations::wait_rows()},
      FormFamily{kCopies, cp_async_rows()},
      FormFamily{kCopies, bulk_copy_rows()},
      FormFamily{kCopies, tensor_copy_rows()},
      FormFamily{kCopies, tensor_map_rows()},
      FormFamily{kCopies, async_store_rows()},
      FormFamily{kTensorCore, mma_sync_rows()},
      FormFamily{kTensorCore, tcgen05::alloc_rows()},
      FormFamily{kTensorCore, tcgen05::load_store_rows()},
      FormFamily{kTensorCore, tcgen05::copy_rows()},
      FormFamily{kTensorCore, tcgen05::shift_rows()},
      FormFamily{kTensorCore, tcgen05::mma_rows()},
      FormFamily{kTensorCore, tcgen05::commit_rows()},
      FormFamily{kTensorCore, wgmma::rows()},
      FormFamily{kTensorCore, wmma::rows()},
      FormFamily{kRefused, unexecuted_rows()},
  };
  return families;
}

}  // namespace bw::sim
