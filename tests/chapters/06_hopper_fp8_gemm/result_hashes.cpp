/// \file
/// Hashes of D for every configuration on ragged shapes: what a Hopper GPU wrote is kept in
/// hopper_hashes.txt, and the simulator must write the same bits.
///
///   result_hashes --write FILE    measures and writes; the head says on what
///   result_hashes --compare FILE  measures and compares; exit status 1 when something differs
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/cuda_check.hpp"
#include "common/host/error.hpp"
#include "common/host/hopper_device.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"

namespace bw {
namespace {

struct Shape {
  int64_t m, n, k;
  float beta;
};

/// Rows around the edges of tiles, warps and cores; one to many K blocks, one that ends inside;
/// N that no slice divides; enough K for tiles that several clusters share.
constexpr Shape kShapes[] = {
    {1, 8, 16, 1},         {3, 24, 112, 0},     {7, 40, 144, 0.5f}, {8, 264, 128, 0},
    {9, 136, 272, 1},      {17, 72, 400, -2},   {33, 200, 528, 0},  {63, 120, 256, 0.5f},
    {65, 264, 384, 0},     {127, 136, 640, 1},  {129, 392, 208, 0}, {1, 8, 4000, 1},
    {64, 128, 2048, 0.5f}, {200, 136, 1040, 0}, {257, 520, 144, 1}, {300, 8, 2064, 0}};

/// FNV-1a over 64-bit words and bytes.
class Hash {
 public:
  void add(const void* data, size_t bytes) {
    constexpr uint64_t kPrime = 0x100000001b3;
    const auto* const values = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < bytes; ++i) state_ = (state_ ^ values[i]) * kPrime;
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(values.data(), values.size() * sizeof(T));
  }
  [[nodiscard]] std::string text() const {
    char buffer[sizeof("0123456789abcdef")];
    std::snprintf(buffer, sizeof(buffer), "%016llx", static_cast<unsigned long long>(state_));
    return buffer;
  }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

std::string hash_of(const BlockwiseProblem& problem) {
  Hash hash;
  hash.add(problem.a.values);
  hash.add(problem.a.scales);
  hash.add(problem.b.values);
  hash.add(problem.b.scales);
  hash.add(problem.c);
  return hash.text();
}

/// (configuration, "m n k beta") to "hash of the operands, hash of D".
using Results = std::map<std::pair<std::string, std::string>, std::string>;

Results measure() {
  constexpr cudaStream_t kDefaultStream = nullptr;
  Results results;
  for (const Shape& shape : kShapes) {
    const BlockwiseProblem problem = make_blockwise_problem(
        shape.m, shape.n, shape.k, shape.beta, /*seed=*/shape.m + shape.k, Fill::kNormal);
    DeviceProblem on_device(problem);
    std::ostringstream name;
    name << shape.m << " " << shape.n << " " << shape.k << " " << shape.beta;
    const std::string operands = hash_of(problem);
    for (const hopper::GemmKernel& kernel : hopper::gemm_kernels()) {
      on_device.poison_d();
      hopper::blockwise_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
      Hash hash;
      hash.add(on_device.download_d<Bf16>());
      results[{kernel.name, name.str()}] = operands + " " + hash.text();
    }
  }
  return results;
}

/// What was measured on.
std::string description(const std::string& note) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, 0), "describe device 0");
  char date[sizeof("2000-01-01")];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  return std::string(
             "# Chapter 6's D: m, n, k, beta, hash of the operands, hash of D: the "
             "configurations that wrote it.\n# Measured by result_hashes on ") +
         date + ": " + properties.name + (note.empty() ? "" : ", " + note) + "\n";
}

int write(const std::string& path, const std::string& note) {
  std::ofstream file(path);
  file << description(note);
  const Results results = measure();
  std::map<std::string, std::string> configurations;  // that wrote the same bits
  for (const auto& [name, hashes] : results) {
    configurations[name.second + " " + hashes] += " " + name.first;
  }
  for (const auto& [written, names] : configurations) file << written << ":" << names << "\n";
  require(file.flush().good(), "Could not write ", path, ".");
  std::printf("%zu results written to %s\n", results.size(), path.c_str());
  return 0;
}

int compare(const std::string& path) {
  std::ifstream file(path);
  require(file.good(), "Could not read ", path, ".");
  const Results results = measure();
  size_t compared = 0, different = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(':');
    require(colon != std::string::npos, path, ": this line names no configuration: ", line);
    // The two hashes are the last two words before the colon.
    const size_t hashes = line.rfind(' ', line.rfind(' ', colon) - 1);
    const std::string shape = line.substr(0, hashes);
    const std::string expected = line.substr(hashes + 1, colon - hashes - 1);
    std::istringstream names(line.substr(colon + 1));
    for (std::string name; names >> name;) {
      const auto found = results.find({name, shape});
      ++compared;
      if (found != results.end() && found->second == expected) continue;
      ++different;
      std::printf("%s %s: %s here, %s in the file\n", name.c_str(), shape.c_str(),
                  found == results.end() ? "not measured" : found->second.c_str(),
                  expected.c_str());
    }
  }
  if (compared != results.size()) {
    ++different;
    std::printf("The file has %zu results, this program %zu.\n", compared, results.size());
  }
  std::printf("%zu of %zu results differ from %s\n", different, compared, path.c_str());
  return different == 0 ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  const bool writes = arguments.size() >= 2 && arguments[0] == "--write";
  const bool compares = arguments.size() == 2 && arguments[0] == "--compare";
  require(writes || compares,
          "Usage: result_hashes --write FILE [NOTE] | result_hashes --compare FILE");
  require_hopper();
  return compares ? compare(arguments[1])
                  : write(arguments[1], arguments.size() > 2 ? arguments[2] : "");
}

}  // namespace
}  // namespace bw

int main(int count, char** arguments) {
  try {
    return bw::run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
