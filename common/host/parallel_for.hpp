#pragma once
/// \file
/// A loop over the host's cores.

#include <cstdint>

namespace bw {
namespace detail {

/// Calls `call(body, i)` for i in [0, count): parallel_for() of any body.
void run_on_all_cores(int64_t count, const void* body, void (*call)(const void* body, int64_t i));

}  // namespace detail

/// Calls `body(i)` for i in [0, count), on as many threads as the machine has. The calls must not
/// depend on each other, and must not throw.
template <class Body>
void parallel_for(int64_t count, const Body& body) {
  detail::run_on_all_cores(count, &body,
                           [](const void* any, int64_t i) { (*static_cast<const Body*>(any))(i); });
}

}  // namespace bw
