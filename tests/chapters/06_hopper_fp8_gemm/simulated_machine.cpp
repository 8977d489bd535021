/// \file
/// The simulated GPU of these tests: so few multiprocessors that small problems are several rounds
/// of tiles, and a last round that is divided. Their results don't depend on the timing model,
/// which is half of a simulation's work. Settings of the environment come first.
#include <cstdlib>

namespace {

// Before main(), hence before the simulator asks: it does so at the first call that needs a device.
[[maybe_unused]] const int kIsSet =
    setenv("BW_SIM_SMS", "8", /*overwrite=*/0) + setenv("BW_SIM_TIMING", "simple", /*overwrite=*/0);

}  // namespace
