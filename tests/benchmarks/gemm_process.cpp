#include "tests/benchmarks/gemm_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

namespace bw::bench {
namespace {

/// The child's life: a byte for each run, both ways.
void serve(const GemmProcess::Variables& variables,
           const std::function<std::function<void()>()>& prepare, int requests, int answers) {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const std::function<void()> run = prepare();
  for (char byte = 0; read(requests, &byte, 1) == 1;) {
    run();
    if (write(answers, &byte, 1) != 1) return;
  }
}

}  // namespace

GemmProcess::GemmProcess(const Variables& variables,
                         const std::function<std::function<void()>()>& prepare) {
  int to_child[2] = {}, from_child[2] = {};
  if (pipe(to_child) != 0 || pipe(from_child) != 0)
    throw std::runtime_error("Could not make pipes to a process for another simulated machine.");
  child_ = fork();
  if (child_ < 0)
    throw std::runtime_error("Could not start a process for another simulated machine.");
  if (child_ == 0) {
    close(to_child[1]);
    close(from_child[0]);
    int status = 0;
    try {
      serve(variables, prepare, to_child[0], from_child[1]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      status = 1;
    }
    _exit(status);
  }
  close(to_child[0]);
  close(from_child[1]);
  requests_ = to_child[1];
  answers_ = from_child[0];
}

GemmProcess::~GemmProcess() {
  close(requests_);
  close(answers_);
  waitpid(child_, nullptr, 0);
}

void GemmProcess::run() const {
  char byte = 0;
  if (write(requests_, &byte, 1) != 1 || read(answers_, &byte, 1) != 1)
    throw std::runtime_error("A GEMM has failed in its process.");
}

}  // namespace bw::bench
