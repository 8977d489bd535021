#pragma once
/// \file
/// How much memory the host has.

#include <unistd.h>

namespace bw {

/// Bytes of physical memory; 0 when the system doesn't say.
inline double physical_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<double>(pages) * page_bytes : 0.0;
}

}  // namespace bw
