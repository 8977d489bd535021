/// \file
/// The functions of the WebAssembly module that JavaScript calls: plain numbers and texts. Device
/// addresses and sizes are doubles, which hold every one of them exactly. A function that can fail
/// returns JSON, valid until the next call: an object with `reports` if it failed.
#include <emscripten/emscripten.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "common/simulator/base/device_address.hpp"
#include "common/simulator/base/error.hpp"
#include "common/simulator/session/contents.hpp"
#include "common/simulator/session/session.hpp"
#include "common/simulator/trace/json.hpp"

namespace {

using namespace bw::sim;
using session::Session;

std::unique_ptr<Session> open_session;
std::string answer;

/// Calls `body`, which returns JSON.
template <class Body>
const char* answered(Body&& body) {
  try {
    answer = body();
  } catch (const SimulationError& error) {
    answer = session::failure_json(error.report());
  } catch (const std::bad_alloc&) {
    answer = session::failure_json(
        Report{.code = FaultCode::address_space_reservation,
               .what = "the page's memory is used up",
               .fix = "use smaller buffers, or run the program outside of the browser"});
  } catch (const std::exception& error) {
    answer = session::failure_json(Report{.code = FaultCode::call_argument, .what = error.what()});
  }
  return answer.c_str();
}

/// What callers do before bw_open is a mistake of the page's, not of the reader's.
Session& current() {
  if (open_session == nullptr) throw std::runtime_error("bw_open was not called");
  return *open_session;
}

/// Lines "name=number".
std::map<std::string, uint32_t> numbers_of(std::string_view lines) {
  std::map<std::string, uint32_t> numbers;
  while (!lines.empty()) {
    const std::string line(lines.substr(0, lines.find('\n')));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    const size_t equals = line.find('=');
    if (equals != std::string::npos)
      numbers[line.substr(0, equals)] =
          static_cast<uint32_t>(std::strtoul(line.c_str() + equals + 1, nullptr, 10));
  }
  return numbers;
}

/// Numbers of a launch, in the order in which bw_launch gets them.
struct LaunchNumbers {
  uint32_t module;
  uint32_t grid[3], block[3], cluster[3];
  uint32_t in_clusters, dynamic_shared_bytes, dynamic_shared_limit, non_portable_cluster,
      cooperative, is_dependent;
};

Dim3 extents(const uint32_t (&sizes)[3]) { return {sizes[0], sizes[1], sizes[2]}; }

/// The allocation that holds all of these bytes, or nullptr.
std::byte* bytes_at(double address, double bytes) {
  const auto first = static_cast<uint64_t>(address);
  const auto size = static_cast<uint64_t>(bytes);
  const Allocation* const allocation = current().device().memory().find(first);
  if (allocation == nullptr || size > allocation->address + allocation->size_bytes - first)
    return nullptr;
  return host_pointer(first);
}

}  // namespace

extern "C" {

/// Sets one of the variables BW_SIM_* for the sessions that are opened from now on; an empty value
/// removes it.
EMSCRIPTEN_KEEPALIVE void bw_set(const char* name, const char* value) {
  if (*value == '\0')
    unsetenv(name);
  else
    setenv(name, value, /*overwrite=*/1);
}

/// Begins a session: a machine by its name, or for an empty name the first one that runs `ptx`. The
/// last one ends; its files are complete then. {"machine": ...}
EMSCRIPTEN_KEEPALIVE const char* bw_open(const char* machine, const char* ptx) {
  return answered([&] {
    open_session.reset();
    open_session = std::make_unique<Session>(machine, ptx);
    const std::string_view name = open_session->device().settings().machine->name;
    return trace::Fields().add("machine", name).object();
  });
}

/// Ends the session.
EMSCRIPTEN_KEEPALIVE void bw_close() { open_session.reset(); }

/// Loads PTX; `registers` has lines "kernel=number". {"module": its number, "kernels": [...]}
EMSCRIPTEN_KEEPALIVE const char* bw_load(const char* ptx, const char* name, const char* registers) {
  return answered([&] {
    const size_t module = current().load(ptx, name, numbers_of(registers));
    return fmt::format("{{\"module\":{},\"kernels\":{}}}", module, current().kernels(module));
  });
}

/// Device memory. {"address": ...}; 0 if none is left.
EMSCRIPTEN_KEEPALIVE const char* bw_allocate(double bytes, const char* description) {
  return answered([&] {
    const uint64_t address = bytes > static_cast<double>(SIZE_MAX)
                                 ? 0
                                 : current().allocate(static_cast<size_t>(bytes), description);
    return fmt::format("{{\"address\":{}}}", address);
  });
}

/// Frees device memory; 0 if no allocation begins there.
EMSCRIPTEN_KEEPALIVE int bw_free(double address) {
  return open_session != nullptr && open_session->free(static_cast<uint64_t>(address)) ? 1 : 0;
}

/// Where the module's memory holds these bytes of the device's; 0 if they are not in one
/// allocation.
EMSCRIPTEN_KEEPALIVE void* bw_pointer(double address, double bytes) {
  return open_session == nullptr ? nullptr : bytes_at(address, bytes);
}

/// The page has written these bytes; `through_l2`: as a copy to the device does.
EMSCRIPTEN_KEEPALIVE void bw_note_write(double address, double bytes, int through_l2) {
  if (open_session != nullptr)
    open_session->note_write(static_cast<uint64_t>(address), static_cast<size_t>(bytes),
                             through_l2 != 0);
}

/// The host has waited for the device.
EMSCRIPTEN_KEEPALIVE void bw_idle() {
  if (open_session != nullptr) open_session->device().become_idle();
}

/// The device takes a timestamp.
EMSCRIPTEN_KEEPALIVE void bw_take_time() {
  if (open_session != nullptr) open_session->device().take_time();
}

/// {"hash": of these bytes}
EMSCRIPTEN_KEEPALIVE const char* bw_hash(double address, double bytes) {
  return answered([&]() -> std::string {
    const std::byte* const first = bytes_at(address, bytes);
    if (first == nullptr) return "{\"hash\":\"\"}";
    return trace::Fields()
        .add("hash", session::contents_hash({first, static_cast<size_t>(bytes)}))
        .object();
  });
}

/// Launches a kernel (Session::launch). `arguments`: the parameters as they are laid out in memory.
EMSCRIPTEN_KEEPALIVE const char* bw_launch(const char* kernel, const LaunchNumbers* numbers,
                                           const std::byte* arguments, uint32_t argument_bytes) {
  return answered([&] {
    session::LaunchRequest request;
    request.module = numbers->module;
    request.kernel = kernel;
    request.configuration.grid = extents(numbers->grid);
    request.configuration.block = extents(numbers->block);
    request.configuration.cluster = extents(numbers->cluster);
    request.configuration.in_clusters = numbers->in_clusters != 0;
    request.configuration.dynamic_shared_bytes = numbers->dynamic_shared_bytes;
    request.configuration.dynamic_shared_limit_bytes = numbers->dynamic_shared_limit;
    request.configuration.non_portable_cluster = numbers->non_portable_cluster != 0;
    request.configuration.cooperative = numbers->cooperative != 0;
    request.configuration.is_dependent = numbers->is_dependent != 0;
    request.configuration.may_wait = true;  // as a program's launches do
    request.arguments.assign(arguments, arguments + argument_bytes);
    return current().launch(request);
  });
}

}  // extern "C"
