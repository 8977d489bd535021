#pragma once
/// \file
/// Marks `constexpr` helpers that host tests and device code share.

#ifdef __CUDACC__
#define BW_HOST_DEVICE __host__ __device__
#else
#define BW_HOST_DEVICE
#endif
