/// \file
/// The requested observers of a shared simulator: a library that is loaded for the first device
/// that needs it, and stays.
#include <dlfcn.h>

#include <string>

#include "common/simulator/base/error.hpp"
#include "common/simulator/session/requested_observers.hpp"

namespace bw::sim::session {
namespace {

constexpr const char* kLibrary = "libsimulator_observers.so";

}  // namespace

decltype(&bw_add_requested_observers) find_requested_observers(const char* request) {
  // By name, so that a program may bring its own; the loader looks into this library's folder
  // first.
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : dlsym(library, "bw_add_requested_observers");
  if (found == nullptr) {
    const char* const reason = dlerror();
    throw SimulationError(Report{
        .code = FaultCode::setting_invalid,
        .what = std::string(request) + " needs the library " + kLibrary +
                ", which can't be loaded: " +
                (reason == nullptr ? "it is not the simulator's" : reason),
        .fix =
            std::string("put it into the folder of libcudart.so.13; in a checkout `cmake --build "
                        "build/sim --target simulator_observers` builds it there")});
  }
  return reinterpret_cast<decltype(&bw_add_requested_observers)>(found);
}

}  // namespace bw::sim::session
