#pragma once
/// \file
/// A simulated GEMM in a process of its own: a process has one simulated machine, and its settings
/// are those of its environment.

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bw::bench {

/// A child process that runs a GEMM on request. To be made before this process uses the
/// CUDA runtime. Throws std::runtime_error where the child can't be started or has failed.
class GemmProcess {
 public:
  /// Names and values of environment variables.
  using Variables = std::vector<std::pair<std::string, std::string>>;
  /// In the child `variables` are set, then `prepare` is called once, and what it returns for each
  /// run.
  GemmProcess(const Variables& variables, const std::function<std::function<void()>()>& prepare);
  ~GemmProcess();
  GemmProcess(const GemmProcess&) = delete;
  GemmProcess& operator=(const GemmProcess&) = delete;

  /// Runs it once; returns when it has ended.
  void run() const;

 private:
  pid_t child_ = -1;
  int requests_ = -1, answers_ = -1;  ///< pipes to and from the child
};

}  // namespace bw::bench
