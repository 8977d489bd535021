#pragma once
/// \file
/// C++ names of mangled symbols.

#include <string>

namespace bw::sim::ptx {

/// "bw::kernel<128>(bw::Arguments)" of "_ZN2bw6kernel..."; other names as they are. nvcc's own
/// namespaces for static functions are left out.
[[nodiscard]] std::string demangle(const std::string& symbol);

/// A name for reports: demangled, without the list of parameters and the return type; if it is
/// still longer than a line, the innermost template arguments become "...":
/// "bw::kernel<bw::Config<...>, 128>".
[[nodiscard]] std::string readable_name(const std::string& symbol);

}  // namespace bw::sim::ptx
