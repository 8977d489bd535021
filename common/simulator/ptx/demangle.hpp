#pragma once
/// \file
/// C++ names of mangled symbols.

#include <string>

namespace bw::sim::ptx {

/// "bw::kernel<128>(bw::Arguments)" of "_ZN2bw6kernel..."; other names as they are.
[[nodiscard]] std::string demangle(const std::string& symbol);

}  // namespace bw::sim::ptx
