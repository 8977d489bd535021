#pragma once
/// \file
/// Addresses in tensor memory, and the copies between it and registers (contract, chapter 2).

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/exercise.cuh"
#include "common/device/tcgen05_load_store.cuh"

namespace bw {

/// A place in tensor memory: column in bits 0 to 15, lane in bits 16 to 31.
///
/// Copies are made by whole warps, asynchronously, and each warp reaches only the 32 lanes of its
/// quarter, (warp % 4) · 32: the copies here add the quarter, so that an address names a tile,
/// not a warp's part of it. `Word` is uint32_t or float. `load` registers are undefined until
/// `wait_load`.
struct TmemAddress {
  static constexpr int kLaneShift = 16;          ///< the lane is the upper half of an address
  static constexpr uint32_t kLanesPerHalf = 16;  ///< lanes of the upper and of the lower half
  static constexpr uint32_t kLanesPerWarp = 32;  ///< lanes that a warp reaches
  static constexpr uint32_t kWarpsPerTmem = 4;   ///< warps that reach all lanes

  uint32_t addr;  ///< the lane in the upper 16 bits, the column in the lower

  /// `columns` further.
  __device__ __forceinline__ TmemAddress operator+(uint32_t columns) const {
    return TmemAddress{addr + columns};
  }
  /// The first 16 lanes of each quarter.
  __device__ __forceinline__ TmemAddress upper() const { return *this; }
  /// The second 16 lanes of each quarter.
  __device__ __forceinline__ TmemAddress lower() const {
    return TmemAddress{addr + (kLanesPerHalf << kLaneShift)};
  }

  /// Thread t gets lane t of the warp's quarter; register i is column i.
  template <class Word, int registers>
  __device__ __forceinline__ void load_32x32b(Word (&values)[registers]) const {
    ptx::tcgen05_ld_32x32b(values, of_this_warp());
  }
  /// 16 lanes × 8 columns for every 4 registers: thread t gets columns 2·(t % 4) and + 1 of lane
  /// t / 4 (registers 0, 1) and of lane t / 4 + 8 (registers 2, 3).
  template <class Word, int registers>
  __device__ __forceinline__ void load_16x256b(Word (&values)[registers]) const {
    ptx::tcgen05_ld_16x256b(values, of_this_warp());
  }
  /// Loads in the shape 16x128b; wait_load() comes before the values are used.
  template <class Word, int registers>
  __device__ __forceinline__ void load_16x128b(Word (&values)[registers]) const {
    ptx::tcgen05_ld_16x128b(values, of_this_warp());
  }
  /// Loads in the shape 16x64b; wait_load() comes before the values are used.
  template <class Word, int registers>
  __device__ __forceinline__ void load_16x64b(Word (&values)[registers]) const {
    ptx::tcgen05_ld_16x64b(values, of_this_warp());
  }
  /// 16 lanes, registers as many columns: threads 0 … 15 start at this address, threads 16 … 31,
  /// on the same lanes, `split_columns` further.
  template <int split_columns, class Word, int registers>
  __device__ __forceinline__ void load_16x32bx2(Word (&values)[registers]) const {
    ptx::tcgen05_ld_16x32bx2<split_columns>(values, of_this_warp());
  }

  /// Stores in the shape 32x32b; wait_store() comes before they are there.
  template <class Word, int registers>
  __device__ __forceinline__ void store_32x32b(const Word (&values)[registers]) const {
    ptx::tcgen05_st_32x32b(of_this_warp(), values);
  }
  /// Stores in the shape 16x256b; wait_store() comes before they are there.
  template <class Word, int registers>
  __device__ __forceinline__ void store_16x256b(const Word (&values)[registers]) const {
    ptx::tcgen05_st_16x256b(of_this_warp(), values);
  }
  /// Stores in the shape 16x128b; wait_store() comes before they are there.
  template <class Word, int registers>
  __device__ __forceinline__ void store_16x128b(const Word (&values)[registers]) const {
    ptx::tcgen05_st_16x128b(of_this_warp(), values);
  }
  /// Stores in the shape 16x64b; wait_store() comes before they are there.
  template <class Word, int registers>
  __device__ __forceinline__ void store_16x64b(const Word (&values)[registers]) const {
    ptx::tcgen05_st_16x64b(of_this_warp(), values);
  }
  /// Stores in the shape 16x32bx2; wait_store() comes before they are there.
  template <int split_columns, class Word, int registers>
  __device__ __forceinline__ void store_16x32bx2(const Word (&values)[registers]) const {
    ptx::tcgen05_st_16x32bx2<split_columns>(of_this_warp(), values);
  }

  /// Waits for all loads of this thread; `values` are those of the last one.
  template <class Word, int registers>
  static __device__ __forceinline__ void wait_load(Word (&values)[registers]) {
    ptx::tcgen05_wait_ld(values);
  }
  /// The same where every loaded value is multiplied by `factor`, whose uses it orders after the
  /// wait: cheaper than naming all values.
  static __device__ __forceinline__ void wait_load_before_uses_of(float& factor) {
    ptx::tcgen05_wait_ld_ordering(factor);
  }
  /// Waits for all stores of this thread.
  static __device__ __forceinline__ void wait_store() { ptx::tcgen05_wait_st(); }

 private:
  __device__ __forceinline__ uint32_t of_this_warp() const {
    // >>> exercise 2.2 "A quarter for each warp"
    // This address in the lanes that the calling warp may reach.
    BW_EXERCISE_NOT_DONE("2.2", "A quarter for each warp");
    // <<< exercise 2.2
  }
};

}  // namespace bw
