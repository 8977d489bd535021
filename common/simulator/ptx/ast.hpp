#pragma once
/// \file
/// What the PTX parser produces: a module with resolved names.
///
/// The tree is flat where execution needs it flat: a function is a list of instructions, labels are
/// resolved to instruction indices, registers to dense indices into the function's register table
/// (nested `{}` scopes, repeated names and labels are gone), variables to pointers.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/simulator/base/error.hpp"
#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/isa/scalar_type.hpp"

namespace bw::sim::ptx {

/// State space of a variable (PTX ISA, "State Spaces").
enum class StateSpace : uint8_t { param, local, shared, global, constant };

/// The visibility of a name of the module (PTX ISA, "Linking Directives").
enum class Linkage : uint8_t {
  local,     ///< no directive: this module alone
  visible,   ///< `.visible`
  weak,      ///< `.weak`: one of several equal definitions
  common,    ///< `.common`: the largest of several
  external,  ///< `.extern`: defined in another module, or of unknown size
};

/// One `.loc`: the reader's source position of the instructions that follow it.
struct SourceLocation {
  uint32_t file = 0;        ///< index into Module::files, 0 is "unknown"
  uint32_t line = 0;        ///< line of the source
  uint32_t column = 0;      ///< column of the source
  int32_t inlined_at = -1;  ///< index into Module::locations of the call site, or -1
  std::string function;     ///< inlined function's name when the debug section gives it
};

/// A variable in any state space: global, shared, local, constant or parameter.
struct Variable {
  /// An initialiser that names another variable's (or function's) address: the `size_bytes` bytes
  /// at `offset_bytes` become (address of `symbol` + `addend`) >> `shift_bits`, lowest bytes.
  struct Relocation {
    size_t offset_bytes = 0;  ///< from the beginning, in bytes
    std::string symbol;       ///< the name of a variable or function
    int64_t addend = 0;       ///< is added to the symbol's address
    bool generic = false;     ///< written as generic(symbol)
    size_t size_bytes = 8;    ///< 1 for the bytes of a packed pointer, `0xFF00(generic(symbol))`
    uint32_t shift_bits = 0;  ///< from the mask: 0 for 0xFF, 8 for 0xFF00, ...
  };
  std::string name;                       ///< the name in the source
  StateSpace space = StateSpace::global;  ///< which memory
  ScalarType type = ScalarType::b8;
  size_t alignment_bytes = 1;           ///< least alignment
  size_t size_bytes = 0;                ///< 0 for `.extern .shared` arrays of unknown size
  bool is_extern = false;               ///< whether another module defines it
  Linkage linkage = Linkage::local;     ///< who else sees it
  std::vector<std::byte> initial;       ///< empty: zero-initialised; else size_bytes bytes
  std::vector<Relocation> relocations;  ///< addresses in its initial value
  uint32_t line = 0;                    ///< line of the source
};

/// A register and its type.
struct Register {
  std::string name;  ///< "%rd12"
  ScalarType type = ScalarType::b32;
};

struct Function;

/// One operand of an instruction.
struct Operand {
  /// What it can be.
  enum class Kind : uint8_t {
    reg,          ///< register `reg`; `negated` for `!%p`
    integer,      ///< immediate `value` (bit pattern of 64 bits, two's complement)
    f32_literal,  ///< 0fXXXXXXXX: bits in `value`
    f64_literal,  ///< 0dXXXXXXXXXXXXXXXX or decimal: bits of the double in `value`
    special,      ///< special register, `text` is its full name: "%tid.x", "%clock64" (the constant
                  ///< WARP_SZ is read as the integer 32)
    variable,     ///< address of `variable` + `value` (as in `mov.u64 %rd1, name;`)
    label,        ///< branch target, `value` is the instruction index in the function
    address,      ///< [base + value]: base is `elements[0]` (reg, variable or integer)
    vector,       ///< {a, b, ...} in `elements`
    pair,         ///< dual destination `a|b` in `elements`
    sink,         ///< `_`
    function,     ///< callee of call; `text` is its name
    coordinates,  ///< tensor operand [map, {c0, c1, ...}]: elements[0] is an `address` operand (the
                  ///< map), elements[1] a `vector` (or a single `reg`/`integer` as in `[a, b]`)
    text,  ///< a name that an instruction takes literally (the prototype of an indirect call)
  };
  Kind kind = Kind::sink;              ///< which one it is
  bool negated = false;                ///< whether it counts the other way
  uint32_t reg = 0;                    ///< number of the register
  uint64_t value = 0;                  ///< of an immediate
  const Variable* variable = nullptr;  ///< a variable by its name, or nullptr
  std::string text;                    ///< of a label or a string
  std::vector<Operand> elements;       ///< of a vector
};

/// One instruction. Operands are kept as written, but for two opcodes they are normalised:
///  - `call`: operands are always [vector of returns, callee, vector of arguments] and, for an
///    indirect call, [..., text naming the prototype or target list]. The callee is a `function`,
///    or a `reg` for an indirect call; vectors are empty where nothing was written; their elements
///    are `variable` operands (call .param variables), registers or immediates.
///  - `brx.idx`: operands are [index register, vector of `label` operands]: the table is resolved.
struct Instruction {
  /// Sets the opcode and what the table of instruction forms says about it.
  void set_opcode(std::string_view text);
  /// The record of its form.
  [[nodiscard]] const InstructionForm& form() const { return *match->form; }

  std::string opcode;  ///< full opcode with modifiers: "ld.global.v4.f32"; see set_opcode
  const FormMatch* match = &no_match();  ///< the opcode's form and modifiers
  bool has_guard = false;                ///< whether a predicate guards it
  bool guard_negated = false;            ///< whether the guard is negated
  uint32_t guard = 0;                    ///< register index of the guard predicate
  std::vector<Operand> operands;         ///< in the order of the text
  uint32_t line = 0;                     ///< line in the PTX text
  int32_t location = -1;                 ///< index into Module::locations, or -1
};

/// Launch bounds and cluster directives of an entry; 0 where not given.
struct EntryDirectives {
  uint32_t max_threads[3] = {0, 0, 0};       ///< .maxntid
  uint32_t required_threads[3] = {0, 0, 0};  ///< .reqntid
  uint32_t required_cluster[3] = {0, 0, 0};  ///< .reqnctapercluster
  uint32_t max_cluster_rank = 0;             ///< .maxclusterrank
  uint32_t min_ctas_per_sm = 0;              ///< .minnctapersm
  uint32_t max_registers = 0;                ///< .maxnreg
  bool explicit_cluster = false;             ///< .explicitcluster
  bool blocks_are_clusters = false;          ///< .blocksareclusters
};

/// A function or kernel.
struct Function {
  std::string name;                                   ///< the name in the source
  bool is_entry = false;                              ///< whether it is a kernel
  bool is_extern = false;                             ///< `.extern`, and not defined in this module
  Linkage linkage = Linkage::local;                   ///< of the definition, where there is one
  bool is_defined = false;                            ///< has a body; otherwise a prototype
  bool no_return = false;                             ///< `.noreturn`
  std::vector<std::unique_ptr<Variable>> parameters;  ///< input parameters in order
  std::vector<std::unique_ptr<Variable>> return_parameters;  ///< what it returns
  std::vector<std::unique_ptr<Variable>> variables;  ///< .local, .shared and call .param variables
  std::vector<Register> registers;                   ///< the registers
  std::vector<Instruction> instructions;             ///< its body
  EntryDirectives directives;                        ///< .maxntid and its relatives
  uint32_t machine_registers = 0;  ///< of a thread, in its machine code; 0 without machine code
  uint32_t line = 0;               ///< line of the source
};

/// A parsed PTX module.
struct Module {
  std::string name;                ///< for messages: "kernel.cu (embedded PTX 1)" or a file name
  std::string target;              ///< "sm_100a"
  uint32_t version_major = 0;      ///< of the PTX ISA
  uint32_t version_minor = 0;      ///< of the PTX ISA
  std::string focus;               ///< base names of files that places shall name, with colons
  std::vector<std::string> files;  ///< .file table, [0] = "<unknown>"
  std::vector<SourceLocation> locations;             ///< of the source, by number
  std::vector<std::unique_ptr<Variable>> variables;  ///< module-scope .global, .const, .shared
  std::vector<std::unique_ptr<Function>> functions;  ///< all of them

  /// A function by its name, or nullptr.
  [[nodiscard]] const Function* find_function(std::string_view function_name) const noexcept;
  /// "kernel.cuh:87 in Roles::load": the reader's place, which is the innermost call in the
  /// kernel's file (or else in its folder, or in one below that; of a library's kernel the
  /// innermost in no library). If a call of it is in a file of `focus`, the innermost such
  /// call follows: "kernel.cuh:87 in Roles::load, by ring.cuh:12 in Ring::step". "name.ptx:123"
  /// when there is no .loc.
  [[nodiscard]] std::string describe_place(const Instruction& instruction) const;
  /// The place, the innermost call inside of it that is in a file of the reader's own, and the
  /// line that the instruction comes from: "kernel.cuh:87 in Roles::load (mbarrier.cuh:76 in
  /// try_wait)", "kernel.cu:5 (functor.cuh:13 in scale, cuda_fp8.hpp:8 in convert)". A place in a
  /// folder below the kernel's is followed by up to three calls that lead to it.
  [[nodiscard]] std::string describe_location(const Instruction& instruction) const;

  /// What an instruction comes from: its `.loc` and the calls around it that were inlined,
  /// innermost first; empty without a .loc.
  [[nodiscard]] std::vector<const SourceLocation*> call_chain(const Instruction& instruction) const;
  /// The reader's place in a chain that is not empty: what describe_place names.
  [[nodiscard]] const SourceLocation& place_in(
      const std::vector<const SourceLocation*>& chain) const;
  /// The innermost place of a chain that is in the file in focus; nullptr without one.
  [[nodiscard]] const SourceLocation* focused(
      const std::vector<const SourceLocation*>& chain) const;
  /// A location's file without its folder.
  [[nodiscard]] std::string_view file_name(const SourceLocation& location) const;
  /// The function that contains a location, as the reader knows it: "Roles::load"; may be empty.
  [[nodiscard]] static std::string function_name(const SourceLocation& location);

  /// The line of the reader's that a report shows for an instruction: the place, or the line in the
  /// file that is in focus. Without a line of source, the instruction's own line in the PTX.
  [[nodiscard]] ReportPlace report_place(const Instruction& instruction) const;

 private:
  [[nodiscard]] std::string describe(const SourceLocation& location) const;
};

/// Parses PTX text. `name` is used in messages.
/// Throws SimulationError{parse} with name:line, the offending line and what was expected; a text
/// that ends in the middle says so.
[[nodiscard]] std::unique_ptr<Module> parse(std::string_view text, std::string name);

/// Links modules that were compiled apart (nvcc -rdc=true) into one named `name`, before calls are
/// inlined: what is `.extern` in one becomes the definition of another, of `.weak` definitions the
/// first stays, of `.common` ones the largest; what only one module sees and others name too is
/// renamed. Throws SimulationError{parse} for a name that two modules define and for a variable
/// that is used and defined nowhere.
[[nodiscard]] std::unique_ptr<Module> link(std::vector<std::unique_ptr<Module>> modules,
                                           std::string name);

/// Replaces calls of functions defined in the module by their bodies, so that an entry is one flat
/// instruction list. A callee's parameters become the caller's call .param variables (the body
/// reads and writes them with ld.param and st.param), its locals become variables of the caller,
/// its .shared variables variables of the module, its `ret` a branch past the body; source
/// locations say where the call is. Calls of extern functions (vprintf, __assertfail, ...)
/// stay. Throws SimulationError{unsupported} for recursion, indirect calls and undefined functions,
/// and SimulationError{parse} for arguments that don't fit the callee's parameters.
void inline_calls(Module& module);

}  // namespace bw::sim::ptx
