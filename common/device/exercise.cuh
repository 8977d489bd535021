#pragma once
/// \file
/// The placeholder in a reader's file for an exercise that is still to be done.

#include <cstdint>
#include <cstdio>
#include <exception>

#include "common/device/host_device.cuh"

namespace bw {

#ifdef __CUDACC__
/// Prints `exercise <id> is not done yet: <title>` once for a module and stops the kernel. Any
/// threads, converged or not; each of them ends here.
[[noreturn]] inline __device__ void stop_at_exercise(const char* id, const char* title) {
  constexpr uint32_t kNobody = 0, kPrinting = 1, kPrinted = 2;
  static uint32_t state;  // of the module: the first thread prints for all
  if (atomicCAS(&state, kNobody, kPrinting) == kNobody) {
    printf("exercise %s is not done yet: %s\n", id, title);
    __threadfence();
    atomicExch(&state, kPrinted);
  }
  // The kernel ends with the first trap: it waits for the line.
  while (atomicAdd(&state, 0) != kPrinted) __nanosleep(32);
  __trap();
  __builtin_unreachable();
}
#endif

/// What the host's code throws at an exercise that is still to be done.
class ExerciseNotDone : public std::exception {
 public:
  ExerciseNotDone(const char* id, const char* title) {
    std::snprintf(message_, sizeof(message_), "exercise %s is not done yet: %s", id, title);
  }
  const char* what() const noexcept override { return message_; }

 private:
  char message_[160];
};

/// In device code stops the kernel; on the host throws ExerciseNotDone; a constant expression
/// has no value, which ends the compilation.
[[noreturn]] BW_HOST_DEVICE constexpr void exercise_not_done(const char* id, const char* title) {
#ifdef __CUDA_ARCH__
  stop_at_exercise(id, title);
#else
  // A constexpr function may not throw whatever it is given.
  if (id != nullptr) throw ExerciseNotDone(id, title);
  __builtin_unreachable();
#endif
}

}  // namespace bw

/// The starter's body of exercise `id` ("1.2"): valid in any device, host or constexpr function,
/// also a template's, and never returns.
#define BW_EXERCISE_NOT_DONE(id, title) ::bw::exercise_not_done(id, title)
