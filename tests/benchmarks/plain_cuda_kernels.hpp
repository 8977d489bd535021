#pragma once
/// \file
/// Kernels without tensor cores or asynchronous copies, as most CUDA programs have them.

namespace bw::bench {

/// d = a b, row-major matrices of `size` x `size`, a multiple of 64; tiles in shared memory, 4 x 4
/// results a thread.
void plain_sgemm(const float* a, const float* b, float* d, int size);
/// Copies `count` floats, a multiple of 4; a thread copies 16 bytes at a time.
void plain_copy(const float* from, float* to, int count);
/// to = transposed from, `size` x `size`, a multiple of 32; through a tile in shared memory.
void plain_transpose(const float* from, float* to, int size);

}  // namespace bw::bench
