/// \file
/// Linux: mmap and the scheduler's masks of cores.
#include <sched.h>
#include <sys/mman.h>

#include <new>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/base/system.hpp"

namespace bw::sim::system {
namespace {

constexpr pid_t kCallingThread = 0;

/// The cores that were available when the set was first asked for.
struct Cores {
  cpu_set_t set{};
  bool known = sched_getaffinity(kCallingThread, sizeof set, &set) == 0;

  [[nodiscard]] int core(uint32_t index) const {
    auto left = static_cast<int>(index % static_cast<uint32_t>(CPU_COUNT(&set)));
    int core = 0;
    while (!CPU_ISSET(core, &set) || left-- > 0) ++core;
    return core;
  }
};

const Cores& cores() {
  static const Cores cores;
  return cores;
}

std::byte* map(void* hint, size_t bytes) {
  void* const range =
      mmap(hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return range == MAP_FAILED ? nullptr : static_cast<std::byte*>(range);
}

}  // namespace

std::byte* reserve(size_t bytes, uint64_t preferred) {
  return map(reinterpret_cast<void*>(preferred), bytes);
}

void release(std::byte* memory, size_t bytes) { munmap(memory, bytes); }

void discard(std::byte* memory, size_t bytes) { madvise(memory, bytes, MADV_DONTNEED); }

std::byte* take_large_pages(size_t bytes, size_t alignment_bytes) {
  std::byte* const mapped = map(nullptr, bytes + alignment_bytes);
  if (mapped == nullptr) throw std::bad_alloc();
  auto* const aligned =
      reinterpret_cast<std::byte*>(align_up(reinterpret_cast<uintptr_t>(mapped), alignment_bytes));
  madvise(aligned, bytes, MADV_HUGEPAGE);  // may fail: a host need not have them
  return aligned;
}

CorePin::CorePin(uint32_t index) {
  if (!cores().known) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cores().core(index), &one);
  sched_setaffinity(kCallingThread, sizeof one, &one);
}

CorePin::~CorePin() {
  if (cores().known) sched_setaffinity(kCallingThread, sizeof cores().set, &cores().set);
}

}  // namespace bw::sim::system
