#pragma once
/// \file
/// Values of an instruction form's properties: the words that every part of the simulator uses
/// instead of reading an opcode.

#include <cstdint>

namespace bw::sim {

/// Scope of an instruction's effects, and so the order that it must keep.
enum class Effect : uint8_t {
  lane,     ///< only its own warp, and it touches nothing but registers (LaneHandler): it runs
            ///< ahead of simulated time
  warp,     ///< only its own warp, but its handler needs the strand: for local memory, where or
            ///< when it runs, or the program counter. It runs ahead as well
  cluster,  ///< the CTA's units or the cluster (or it waits): it runs in order of simulated time
  grid,     ///< other clusters too: its kernel's clusters advance together, see
            ///< Cluster::in_global_order
};

/// Whether an instruction of this effect may run before earlier events of its cluster have.
[[nodiscard]] constexpr bool runs_ahead(Effect effect) {
  return effect == Effect::lane || effect == Effect::warp;
}

/// Where control goes after a form.
enum class Transfer : uint8_t {
  none,             ///< to the next instruction
  branch,           ///< to one label
  indexed_branch,   ///< to one label of a table
  call,             ///< into a function, and back to the next instruction
  function_return,  ///< out of the function; out of the kernel if it was not called
  thread_exit,      ///< the thread ends
  trap,             ///< the launch ends with an error
};

/// Whether control goes to labels.
[[nodiscard]] constexpr bool branches(Transfer transfer) {
  return transfer == Transfer::branch || transfer == Transfer::indexed_branch;
}
/// Whether control leaves the function.
[[nodiscard]] constexpr bool leaves(Transfer transfer) {
  return transfer == Transfer::function_return || transfer == Transfer::thread_exit ||
         transfer == Transfer::trap;
}
/// Whether the form ends a basic block.
[[nodiscard]] constexpr bool ends_block(Transfer transfer) {
  return branches(transfer) || leaves(transfer);
}

/// The unit that executes a form, or whose operations the form waits for or orders.
enum class Unit : uint8_t {
  core,            ///< the warp's own pipes and its path to memory
  mbarrier,        ///< barrier objects in shared memory
  async_copy,      ///< copies by threads: cp.async
  bulk_copy,       ///< the copy engine: bulk and tensor copies, reductions and prefetches
  bulk_fill,       ///< fills a range of shared memory
  async_store,     ///< stores and reductions that signal an mbarrier or release memory
  launch_control,  ///< requests for the next cluster's work
  wgmma,           ///< the tensor core as Hopper's warpgroups use it
  tensor_core,     ///< the tensor core with Tensor Memory, and its copies
  tensor_load,     ///< loads from Tensor Memory to registers
  tensor_store,    ///< stores from registers to Tensor Memory
};

/// How a form orders operations of threads and units.
enum class Ordering : uint8_t {
  none,
  wait,        ///< returns when operations of its unit have completed
  commit,      ///< makes a group of the operations of its unit
  wait_all,    ///< commits what is open and waits for all groups
  test,        ///< asks whether a phase of an mbarrier is complete
  fence,       ///< orders accesses or operations without waiting for another thread
  full_fence,  ///< the sequentially consistent fence of the older ISA
  meeting,     ///< lanes of a warp exchange values and order what they did before
  election,    ///< lanes of a warp act together, and memory is not ordered
};

/// A form's effect on an object with a lifetime: an mbarrier, columns of Tensor Memory.
enum class Lifetime : uint8_t {
  none,
  begins,  ///< initialises or allocates it
  ends,    ///< invalidates or frees it
};

/// A form's access to memory.
enum class Memory : uint8_t {
  none,
  load,          ///< each lane reads at its own address
  uniform_load,  ///< the lanes read at one address
  matrix_load,   ///< the lanes read a matrix together
  store,         ///< each lane writes at its own address
  matrix_store,  ///< the lanes write a matrix together
  fill,          ///< writes one value to a range
  copy,          ///< reads one location and writes another
  update,        ///< reads, computes and writes the same location
};

/// Whether a form reads memory without changing it.
[[nodiscard]] constexpr bool is_load(Memory memory) {
  return memory == Memory::load || memory == Memory::uniform_load || memory == Memory::matrix_load;
}
/// Whether a form writes memory without reading it.
[[nodiscard]] constexpr bool is_store(Memory memory) {
  return memory == Memory::store || memory == Memory::matrix_store || memory == Memory::fill;
}

inline constexpr uint8_t kSharedSpace = 1;  ///< shared memory
inline constexpr uint8_t kGlobalSpace = 2;  ///< device memory
inline constexpr uint8_t kLocalSpace = 4;   ///< the thread's own memory
inline constexpr uint8_t kAllSpaces = kSharedSpace | kGlobalSpace | kLocalSpace;  ///< any of them
/// State spaces that a form accesses.
enum class Spaces : uint8_t {
  as_written,  ///< given by the modifier; all of them without one
  shared,      ///< shared memory, whatever the modifiers say
};

/// Machines that have a form, a bit each.
using Machines = uint8_t;
inline constexpr Machines kOnHopper = 1;                              ///< sm_90a
inline constexpr Machines kOnBlackwell = 2;                           ///< sm_100a
inline constexpr Machines kOnAllMachines = kOnHopper | kOnBlackwell;  ///< both
inline constexpr Machines kOnBlackwellUltra = 4;     ///< sm_103a, in addition to sm_100f's forms
inline constexpr Machines kNotOnBlackwellUltra = 8;  ///< sm_100a, and no other of its family

/// Instructions that ptxas moves across a form, in its machine code.
enum class Crossing : uint8_t {
  free,        ///< whatever is independent of it
  arithmetic,  ///< arithmetic in registers only
  closed,      ///< none
};

/// The carry flag of the extended-precision forms.
enum class Carry : uint8_t {
  none,
  writes,  ///< where it has the modifier .cc
  reads,   ///< and writes it where it has the modifier .cc
};

/// A form's computation, as far as ptxas fuses it with its neighbours or follows its value.
enum class Operation : uint8_t {
  other,
  move,
  convert,  ///< between integers, or between addresses: the lowest bits stay
  add,
  subtract,
  multiply_low,
  multiply_wide,
  multiply_add_low,
  multiply_add_wide,
  minimum,
  maximum,
  change_sign,  ///< negation and absolute value of a float
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shift_left,
  select,
  compare,
  predicate_move,
  predicate_and,
  predicate_or,
  predicate_xor,
  predicate_not,
  elect,
};

}  // namespace bw::sim
