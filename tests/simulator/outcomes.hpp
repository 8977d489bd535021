#pragma once
/// \file
/// What the unit tests' kernels do beyond what the tests ask: events, reports, memory. Written down
/// for tests/simulator/kept, where BW_TEST_OUTCOMES names a file; nothing else happens otherwise.

#include <cstddef>

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/device.hpp"

namespace bw::sim::test {

/// A test's settings, with the level of checks that BW_TEST_CHECKS names and the timing that
/// BW_TEST_TIMING names. The test may fail with them: what it does is written down all the same.
[[nodiscard]] Settings with_chosen(Settings settings);

/// Notes the events of a device's launches. To be called before the first.
void note_launches(Device& device);
/// Notes the words of a report.
void note_report(const Report& report);
/// Notes what a test leaves in memory.
void note_memory(const void* bytes, size_t size_bytes);

}  // namespace bw::sim::test
