#include "common/simulator/ptx/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace bw::sim::ptx {

std::string demangle(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : symbol;
}

}  // namespace bw::sim::ptx
