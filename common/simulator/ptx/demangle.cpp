#include "common/simulator/ptx/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace bw::sim::ptx {

std::string demangle(const std::string& symbol) {
  // Without the prefix of a C++ symbol the library would read the text as a type ("b" as "bool").
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : symbol;
}

}  // namespace bw::sim::ptx
