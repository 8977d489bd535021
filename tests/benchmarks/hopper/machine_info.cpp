#include "tests/benchmarks/hopper/machine_info.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <sstream>
#include <vector>

#include "common/host/cuda_check.hpp"
#include "tests/gpu_reference/cublaslt_matmul.hpp"

namespace bw {
namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
  return text.data();
}

std::string version_text(int version) {  // 13000: 13.0
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The comma-separated fields that nvidia-smi prints for the device; empty where it doesn't run.
std::vector<std::string> query(int device, const std::string& fields) {
  const std::string command = "nvidia-smi --id=" + std::to_string(device) +
                              " --query-gpu=" + fields +
                              " --format=csv,noheader,nounits 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 256> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  if (pclose(pipe) != 0) return {};
  std::vector<std::string> values;
  std::istringstream line(text.substr(0, text.find('\n')));
  for (std::string value; std::getline(line, value, ',');) {
    const size_t first = value.find_first_not_of(' ');
    values.push_back(first == std::string::npos ? "" : value.substr(first));
  }
  return values;
}

}  // namespace

MachineInfo read_machine_info() {
  int device = 0, runtime = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  check_cuda(cudaRuntimeGetVersion(&runtime), "ask for the runtime's version");
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "read the device's properties");

  MachineInfo info;
  info.date = today();
  info.gpu = properties.name;
  info.multiprocessors = properties.multiProcessorCount;
  info.cuda_runtime = version_text(runtime);
  info.cublaslt = cublaslt_version();
  info.driver = info.clocks = "unknown";
  const std::vector<std::string> values = query(
      device, "driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit,temperature.gpu");
  constexpr size_t kFields = 6;
  if (values.size() == kFields) {
    info.driver = values[0];
    info.clocks = "SM " + values[1] + " of " + values[2] + " MHz, memory " + values[3] +
                  " MHz, power limit " + values[4] + " W, " + values[5] + " C";
  }
  return info;
}

}  // namespace bw
