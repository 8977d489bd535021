/// \file
/// Every function of the runtime that the simulator does not provide exists, so that programs link
/// and load; calling one says its name and returns cudaErrorNotSupported.
#include "common/simulator/cudart/api.hpp"

namespace bw::sim::cudart {
namespace {

cudaError_t not_supported(const char* name) {
  explain(name, "this function is not supported by the simulator");
  return record_error(cudaErrorNotSupported);
}

}  // namespace
}  // namespace bw::sim::cudart

// The parameters do not matter: nothing reads them.
#define BW_NOT_SUPPORTED(name) \
  BW_CUDART_API cudaError_t name() { return bw::sim::cudart::not_supported(#name); }
#include "common/simulator/cudart/not_supported.inc"
#undef BW_NOT_SUPPORTED
