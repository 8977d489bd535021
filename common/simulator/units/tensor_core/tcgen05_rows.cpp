/// \file
/// The opcode forms of tcgen05 that are executed. Refused ones are in unexecuted.cpp.
#include <array>

#include "common/simulator/machine/costs.hpp"
#include "common/simulator/units/tensor_core/tcgen05_forms.hpp"

namespace bw::sim {
namespace {

using namespace tcgen05;

constexpr uint16_t kTransferIssue = costs::kSharedAccess;

constexpr std::array kMemoryRows = {
    OpcodeRow{"tcgen05.alloc", "group=cta_group::1|cta_group::2 sync aligned [shared::cta] b32",
              bind_alloc, true, costs::kFence, "tcgen05.alloc"},
    OpcodeRow{"tcgen05.dealloc", "group=cta_group::1|cta_group::2 sync aligned b32", bind_dealloc,
              true, costs::kFence, "tcgen05.dealloc"},
    OpcodeRow{"tcgen05.relinquish_alloc_permit", "group=cta_group::1|cta_group::2 sync aligned",
              bind_relinquish, true, costs::kFence, "tcgen05.relinquish_alloc_permit"},
    OpcodeRow{"tcgen05.ld",
              "sync aligned shape=32x32b|16x64b|16x128b|16x256b|16x32bx2 "
              "num=x1|x2|x4|x8|x16|x32|x64|x128 [pack::16b] b32",
              bind_load, true, kTransferIssue, "tcgen05.ld"},
    OpcodeRow{"tcgen05.st",
              "sync aligned shape=32x32b|16x64b|16x128b|16x256b|16x32bx2 "
              "num=x1|x2|x4|x8|x16|x32|x64|x128 [unpack::16b] b32",
              bind_store, true, kTransferIssue, "tcgen05.st"},
    OpcodeRow{"tcgen05.wait::ld", "sync aligned", bind_wait_load, true, costs::kAlu,
              "tcgen05.wait"},
    OpcodeRow{"tcgen05.wait::st", "sync aligned", bind_wait_store, true, costs::kAlu,
              "tcgen05.wait"},
    OpcodeRow{"tcgen05.cp",
              "group=cta_group::1|cta_group::2 shape=128x256b|4x256b|128x128b|64x128b|32x128b "
              "[multicast=warpx2::02_13|warpx2::01_23|warpx4] [b8x16] [format=b6x16_p32|b4x16_p64]",
              bind_copy, true, costs::kMmaIssue, "tcgen05.cp"},
    OpcodeRow{"tcgen05.shift", "group=cta_group::1|cta_group::2 down", bind_shift, true,
              costs::kMmaIssue, "tcgen05.shift"},
};

constexpr std::array kMmaRows = {
    OpcodeRow{"tcgen05.mma",
              "group=cta_group::1|cta_group::2 "
              "kind=kind::f16|kind::tf32|kind::f8f6f4|kind::i8 "
              "[collector=collector::a::fill|collector::a::use|collector::a::lastuse|"
              "collector::a::discard]",
              bind_mma, true, costs::kMmaIssue, "tcgen05.mma"},
    OpcodeRow{"tcgen05.commit",
              "group=cta_group::1|cta_group::2 mbarrier::arrive::one [shared::cluster] "
              "[multicast::cluster] b64",
              bind_commit, true, costs::kMmaIssue, "tcgen05.commit"},
    OpcodeRow{"tcgen05.fence::before_thread_sync", "", bind_fence, false, costs::kFence,
              "tcgen05.fence"},
    OpcodeRow{"tcgen05.fence::after_thread_sync", "", bind_fence, false, costs::kFence,
              "tcgen05.fence"},
};

}  // namespace

std::span<const OpcodeRow> tcgen05_memory_rows() { return kMemoryRows; }
std::span<const OpcodeRow> tcgen05_mma_rows() { return kMmaRows; }

}  // namespace bw::sim
