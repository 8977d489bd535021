/// \file
/// Every form of tcgen05.mma, .cp, .shift in inline assembly: ptxas accepts them when this is
/// compiled, and the simulator decodes them when the kernels are launched. None is executed.
#include <cstdint>
#include <cstdio>

#include "common/host/cuda_check.hpp"

namespace bw::forms {

#define BW_COLLECTORS_A(FORM) \
  FORM("")                    \
  FORM(".collector::a::fill") \
  FORM(".collector::a::use") FORM(".collector::a::lastuse") FORM(".collector::a::discard")
#define BW_COLLECTORS_OF(FORM, BUFFER) \
  FORM(".collector::" BUFFER "::fill") \
  FORM(".collector::" BUFFER "::use")  \
  FORM(".collector::" BUFFER "::lastuse") FORM(".collector::" BUFFER "::discard")
#define BW_COLLECTORS_B(FORM)  \
  FORM("")                     \
  BW_COLLECTORS_OF(FORM, "b0") \
  BW_COLLECTORS_OF(FORM, "b1") BW_COLLECTORS_OF(FORM, "b2") BW_COLLECTORS_OF(FORM, "b3")

// Operands: %0 a Tensor Memory address, %1 a descriptor, %2 a 32-bit word, p a predicate.
#define BW_FORM(TEXT)                                                                            \
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t" TEXT ";\n\t}" ::"r"(t), "l"(x), \
               "r"(w)                                                                            \
               : "memory");

// Plain kinds: with and without lanes to leave out and scale-input-d, A in both memories.
#define BW_LANES_1 "{%2, %2, %2, %2}"
#define BW_LANES_2 "{%2, %2, %2, %2, %2, %2, %2, %2}"
#define BW_PLAIN(SP, META, GROUP, LANES, KIND, COLLECTOR)                                         \
  BW_FORM("tcgen05.mma" SP ".cta_group::" GROUP ".kind::" KIND COLLECTOR " [%0], %1, %1, " META   \
          "%2, p")                                                                                \
  BW_FORM("tcgen05.mma" SP ".cta_group::" GROUP ".kind::" KIND COLLECTOR " [%0], [%0], %1, " META \
          "%2, p")                                                                                \
  BW_FORM("tcgen05.mma" SP ".cta_group::" GROUP ".kind::" KIND COLLECTOR " [%0], %1, %1, " META   \
          "%2, " LANES ", p")
#define BW_PLAIN_KINDS(SP, META, GROUP, LANES, COLLECTOR)                                        \
  BW_PLAIN(SP, META, GROUP, LANES, "f16", COLLECTOR)                                             \
  BW_PLAIN(SP, META, GROUP, LANES, "tf32", COLLECTOR)                                            \
  BW_PLAIN(SP, META, GROUP, LANES, "f8f6f4", COLLECTOR)                                          \
  BW_PLAIN(SP, META, GROUP, LANES, "i8", COLLECTOR)                                              \
  BW_FORM("tcgen05.mma" SP ".cta_group::" GROUP ".kind::f16" COLLECTOR " [%0], %1, %1, " META    \
          "%2, p, 3")                                                                            \
  BW_FORM("tcgen05.mma" SP ".cta_group::" GROUP ".kind::tf32" COLLECTOR " [%0], [%0], %1, " META \
          "%2, " LANES ", p, 15")

// .ashift: A in Tensor Memory.
#define BW_ASHIFT(SP, META, GROUP, KIND, COLLECTOR)                                \
  BW_FORM("tcgen05.mma" SP ".cta_group::" GROUP ".kind::" KIND ".ashift" COLLECTOR \
          " [%0], [%0], %1, " META "%2, p")
#define BW_ASHIFT_KINDS(SP, META, GROUP, COLLECTOR) \
  BW_ASHIFT(SP, META, GROUP, "f16", COLLECTOR)      \
  BW_ASHIFT(SP, META, GROUP, "tf32", COLLECTOR)     \
  BW_ASHIFT(SP, META, GROUP, "f8f6f4", COLLECTOR) BW_ASHIFT(SP, META, GROUP, "i8", COLLECTOR)

// Block scaling.
#define BW_SCALED(SP, META, GROUP, KIND, COLLECTOR)                                               \
  BW_FORM("tcgen05.mma" SP ".cta_group::" GROUP ".kind::" KIND COLLECTOR " [%0], %1, %1, " META   \
          "%2, [%0], [%0], p")                                                                    \
  BW_FORM("tcgen05.mma" SP ".cta_group::" GROUP ".kind::" KIND COLLECTOR " [%0], [%0], %1, " META \
          "%2, [%0], [%0], p")
#define BW_SCALED_KINDS(SP, META, GROUP, COLLECTOR)                           \
  BW_SCALED(SP, META, GROUP, "mxf8f6f4.block_scale", COLLECTOR)               \
  BW_SCALED(SP, META, GROUP, "mxf8f6f4.block_scale.scale_vec::1X", COLLECTOR) \
  BW_SCALED(SP, META, GROUP, "mxf8f6f4.block_scale.block32", COLLECTOR)       \
  BW_SCALED(SP, META, GROUP, "mxf4.block_scale", COLLECTOR)                   \
  BW_SCALED(SP, META, GROUP, "mxf4.block_scale.scale_vec::2X", COLLECTOR)     \
  BW_SCALED(SP, META, GROUP, "mxf4.block_scale.block32", COLLECTOR)           \
  BW_SCALED(SP, META, GROUP, "mxf4nvf4.block_scale.scale_vec::2X", COLLECTOR) \
  BW_SCALED(SP, META, GROUP, "mxf4nvf4.block_scale.scale_vec::4X", COLLECTOR) \
  BW_SCALED(SP, META, GROUP, "mxf4nvf4.block_scale.block16", COLLECTOR)       \
  BW_SCALED(SP, META, GROUP, "mxf4nvf4.block_scale.block32", COLLECTOR)

// Weight-stationary: with and without a zero-column mask.
#define BW_WS(SP, META, KIND, COLLECTOR)                                                     \
  BW_FORM("tcgen05.mma.ws" SP ".cta_group::1.kind::" KIND COLLECTOR " [%0], %1, %1, " META   \
          "%2, p")                                                                           \
  BW_FORM("tcgen05.mma.ws" SP ".cta_group::1.kind::" KIND COLLECTOR " [%0], [%0], %1, " META \
          "%2, p, %1")
#define BW_WS_KINDS(SP, META, COLLECTOR) \
  BW_WS(SP, META, "f16", COLLECTOR)      \
  BW_WS(SP, META, "tf32", COLLECTOR)     \
  BW_WS(SP, META, "f8f6f4", COLLECTOR) BW_WS(SP, META, "i8", COLLECTOR)

#define BW_COPY(GROUP, SHAPE)                                                   \
  BW_FORM("tcgen05.cp.cta_group::" GROUP "." SHAPE " [%0], %1")                 \
  BW_FORM("tcgen05.cp.cta_group::" GROUP "." SHAPE ".b8x16.b6x16_p32 [%0], %1") \
  BW_FORM("tcgen05.cp.cta_group::" GROUP "." SHAPE ".b8x16.b4x16_p64 [%0], %1")
#define BW_COPIES(GROUP)                  \
  BW_COPY(GROUP, "128x256b")              \
  BW_COPY(GROUP, "4x256b")                \
  BW_COPY(GROUP, "128x128b")              \
  BW_COPY(GROUP, "64x128b.warpx2::02_13") \
  BW_COPY(GROUP, "64x128b.warpx2::01_23") \
  BW_COPY(GROUP, "32x128b.warpx4") BW_FORM("tcgen05.shift.cta_group::" GROUP ".down [%0]")

#define BW_MATRIX_FORMS(GROUP, LANES)  \
  {                                    \
    BW_COLLECTORS_A(BW_DENSE_##GROUP)  \
    BW_COLLECTORS_A(BW_SPARSE_##GROUP) \
  }
#define BW_DENSE_1(COLLECTOR)                        \
  BW_PLAIN_KINDS("", "", "1", BW_LANES_1, COLLECTOR) \
  BW_SCALED_KINDS("", "", "1", COLLECTOR)
#define BW_SPARSE_1(COLLECTOR)                                \
  BW_PLAIN_KINDS(".sp", "[%0], ", "1", BW_LANES_1, COLLECTOR) \
  BW_SCALED_KINDS(".sp", "[%0], ", "1", COLLECTOR)
#define BW_DENSE_2(COLLECTOR)                        \
  BW_PLAIN_KINDS("", "", "2", BW_LANES_2, COLLECTOR) \
  BW_SCALED_KINDS("", "", "2", COLLECTOR)
#define BW_SPARSE_2(COLLECTOR)                                \
  BW_PLAIN_KINDS(".sp", "[%0], ", "2", BW_LANES_2, COLLECTOR) \
  BW_SCALED_KINDS(".sp", "[%0], ", "2", COLLECTOR)
#define BW_SHIFTS(GROUP)                                   \
  BW_ASHIFT_KINDS("", "", GROUP, "")                       \
  BW_ASHIFT_KINDS("", "", GROUP, ".collector::a::lastuse") \
  BW_ASHIFT_KINDS(".sp", "[%0], ", GROUP, "")              \
  BW_ASHIFT_KINDS(".sp", "[%0], ", GROUP, ".collector::a::discard")

__global__ void one_cta(uint32_t t, uint64_t x, uint32_t w) {
  if (w == 0) return;
  BW_MATRIX_FORMS(1, BW_LANES_1)
  BW_SHIFTS("1")
  BW_COPIES("1")
}

__global__ void cta_pair(uint32_t t, uint64_t x, uint32_t w) {
  if (w == 0) return;
  BW_MATRIX_FORMS(2, BW_LANES_2)
  BW_SHIFTS("2")
  BW_COPIES("2")
}

#define BW_WS_DENSE(COLLECTOR) BW_WS_KINDS("", "", COLLECTOR)
#define BW_WS_SPARSE(COLLECTOR) BW_WS_KINDS(".sp", "[%0], ", COLLECTOR)
__global__ void weight_stationary(uint32_t t, uint64_t x, uint32_t w) {
  if (w == 0) return;
  BW_COLLECTORS_B(BW_WS_DENSE)
  BW_COLLECTORS_B(BW_WS_SPARSE)
}

}  // namespace bw::forms

int main() {
  using namespace bw::forms;
  try {
    one_cta<<<1, 32>>>(0, 0, 0);
    cta_pair<<<2, 32>>>(0, 0, 0);
    weight_stationary<<<1, 32>>>(0, 0, 0);
    bw::check_cuda(cudaDeviceSynchronize(), "decode the forms");
    std::printf("every form is known\n");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
