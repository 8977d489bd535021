#pragma once
/// \file
/// The PTX parser.
///
/// The life of a module:
///   1. parse() reads the text into a Module: names become register numbers, Variable pointers and
///      instruction indices; `{}` scopes are gone. The text itself is not needed any more.
///   2. inline_calls() makes each entry one flat list of instructions. Afterwards the module is
///   constant.
///   3. For each entry, once: reconvergence_points() and allocate_registers() (control_flow.hpp).
///   4. The machine places variables (module-wide ones when the module is loaded, shared ones per
///   CTA,
///      .local and call .param ones per thread), applies the relocations of initial values, and
///      decodes the instructions. Operands point to Variables, so the Module outlives all of that.
///
/// One class, whose members are implemented by subject:
///   parser.cpp              tokens, errors, the entry `parse`
///   parse_module.cpp        directives of the module
///   parse_debug.cpp         .file, .loc, .section
///   parse_functions.cpp     .func and .entry: headers, directives, bodies with their scopes
///   parse_variables.cpp     declarations in every state space
///   parse_initialisers.cpp  { ... } of .global and .const
///   parse_instructions.cpp  guards, opcodes, branches and calls
///   parse_operands.cpp      operands
///   constant_expression.cpp integer expressions

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/lexer.hpp"
#include "common/simulator/ptx/scopes.hpp"
#include "common/simulator/ptx/source.hpp"

namespace bw::sim::ptx {

/// An integer constant with PTX's two types, .s64 and .u64.
struct Constant {
  uint64_t value = 0;        ///< of the expression
  bool is_unsigned = false;  ///< whether it is unsigned
};

/// Parses one text into one module; used once.
class Parser {
 public:
  /// `text` must outlive the parser; nothing of the module refers to it.
  Parser(std::string_view text, std::string name);
  /// Parses the module.
  [[nodiscard]] std::unique_ptr<Module> run();

 private:
  // --- tokens
  // -------------------------------------------------------------------------------------
  const Token& advance();  ///< steps to the next token and returns it
  [[nodiscard]] bool is(std::string_view spelling) const noexcept { return current_.is(spelling); }
  /// Steps over the token if it is this one.
  bool accept(std::string_view spelling) {
    if (!is(spelling)) return false;
    advance();
    return true;
  }
  void expect(std::string_view spelling, const char* purpose);
  [[nodiscard]] std::string_view expect_name(const char* expected);
  [[nodiscard]] uint32_t expect_number(const char* expected);
  [[nodiscard]] std::string_view expect_string(const char* expected);
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const;
  [[noreturn]] void fail_at(const Token& token, const std::string& what,
                            const std::string& expected) const;
  [[noreturn]] void fail_unexpected(const std::string& expected) const;
  [[nodiscard]] std::string quote_current() const;

  /// Names the construct being read, for "ends in the middle of ...", during its lifetime.
  class Construct {
   public:
    Construct(Parser& parser, const char* kind, std::string_view name = {})
        : parser_(parser), kind_(parser.construct_kind_), name_(parser.construct_name_) {
      parser.construct_kind_ = kind;
      parser.construct_name_ = name;
    }
    ~Construct() {
      parser_.construct_kind_ = kind_;
      parser_.construct_name_ = name_;
    }
    Construct(const Construct&) = delete;
    Construct& operator=(const Construct&) = delete;

   private:
    Parser& parser_;
    const char* kind_;
    std::string_view name_;
  };

  // --- module
  // -------------------------------------------------------------------------------------
  void parse_version();
  void parse_target();
  void parse_module_directive();
  void parse_file();
  void parse_location();
  void parse_pragma();
  void parse_section();
  void parse_debug_strings();
  void finish_module();
  void name_inlined_functions();
  void check_initialiser_symbols() const;

  // --- functions
  // ----------------------------------------------------------------------------------
  void parse_function(Linkage linkage);
  void parse_parameters(std::vector<std::unique_ptr<Variable>>& parameters, bool is_entry);
  void parse_function_directives(Function& function);
  void parse_dimensions(uint32_t (&extents)[3]);
  void skip_directive_arguments();
  [[nodiscard]] Function& add_function(std::unique_ptr<Function> header);
  void parse_body(Function& function);
  void parse_statement();
  void parse_body_directive();
  void end_scope();
  void parse_label(const Token& label);
  void parse_branch_table(const Token& label);

  // --- variables
  // ----------------------------------------------------------------------------------
  /// Attributes of a declaration, for each of its names.
  struct Declaration {
    StateSpace space = StateSpace::global;
    ScalarType type = ScalarType::b8;
    size_t vector_length = 1;
    size_t alignment_bytes = 0;  ///< 0: the natural one
    Linkage linkage = Linkage::local;
  };
  [[nodiscard]] Declaration parse_declaration(StateSpace space);
  [[nodiscard]] ScalarType expect_type();
  [[nodiscard]] size_t expect_alignment();
  void parse_pointer_attribute();
  void parse_variables(StateSpace space, Linkage linkage);
  [[nodiscard]] std::unique_ptr<Variable> parse_declarator(const Declaration& declaration);
  /// Array extents, outermost first; 0 for `[]`. A vector type is a last extent.
  [[nodiscard]] std::vector<size_t> parse_extents(const Declaration& declaration,
                                                  std::string_view name);
  [[nodiscard]] size_t byte_size(const std::vector<size_t>& extents, ScalarType type) const;
  void keep_variable(std::string_view name, std::unique_ptr<Variable> variable);
  void parse_registers();

  // --- initialisers
  // -------------------------------------------------------------------------------
  void parse_initialiser(Variable& variable, std::vector<size_t>& extents);
  void parse_initialiser_list(Variable& variable, const std::vector<size_t>& extents, size_t level,
                              size_t first_element);
  void parse_element(Variable& variable, size_t element);
  void parse_address_element(Variable& variable, size_t offset_bytes, uint64_t mask, bool has_mask);
  void store_bits(Variable& variable, size_t offset_bytes, uint64_t bits, size_t size) const;

  // --- instructions
  // -------------------------------------------------------------------------------
  void parse_instruction();
  void parse_operands(Instruction& instruction);
  void parse_guard(Instruction& instruction);
  void parse_branch(Instruction& instruction);
  void parse_indexed_branch(Instruction& instruction);
  void parse_call(Instruction& instruction);
  [[nodiscard]] Operand parse_call_list();

  // --- operands
  // -----------------------------------------------------------------------------------
  [[nodiscard]] Operand parse_operand();
  [[nodiscard]] Operand parse_single();
  [[nodiscard]] Operand parse_word();
  [[nodiscard]] Operand parse_literal();
  [[nodiscard]] Operand parse_vector();
  /// Takes the operands that were added to `operands_` after the first `count`.
  [[nodiscard]] std::vector<Operand> take_operands(size_t count);
  [[nodiscard]] Operand parse_address();
  [[nodiscard]] Operand parse_symbol(const Token& token) const;
  [[nodiscard]] uint32_t expect_predicate(const char* expected);
  [[nodiscard]] uint64_t parse_offset();  ///< the `+16` or `-16` after a name, else 0

  // --- constant expressions
  // -----------------------------------------------------------------------
  [[nodiscard]] Constant parse_constant();
  [[nodiscard]] Constant parse_binary(unsigned weakest);
  [[nodiscard]] Constant parse_unary();

  [[nodiscard]] Variable* find_module_variable(std::string_view name) const;
  [[nodiscard]] Function* find_declared_function(std::string_view name) const;

  Source source_;
  Lexer lexer_;
  Token current_, next_;
  const char* construct_kind_ = "the module";
  std::string_view construct_name_;
  unsigned expression_depth_ = 0;

  std::unique_ptr<Module> module_;
  std::unordered_map<std::string_view, Variable*> variables_;
  std::unordered_map<std::string_view, Function*> functions_;
  bool has_version_ = false, has_target_ = false;

  /// Relocations wait for the end of the module: initialisers may name later declarations.
  struct InitialiserSymbol {
    std::string_view symbol;
    TextPosition position;
  };
  std::vector<InitialiserSymbol> initialiser_symbols_;

  struct LocationKey {
    uint32_t file, line, column;
    int32_t inlined_at;
    std::string_view function_label;
    bool operator==(const LocationKey&) const = default;
  };
  struct LocationKeyHash {
    size_t operator()(const LocationKey& key) const noexcept;
  };
  [[nodiscard]] int32_t intern_location(const LocationKey& key, uint64_t label_offset);
  std::unordered_map<LocationKey, int32_t, LocationKeyHash> location_index_;
  /// The newest location with this position in the current function, to chain call sites.
  std::unordered_map<uint64_t, int32_t> newest_location_;
  struct FunctionLabel {
    size_t location;
    std::string_view label;
    uint64_t offset;
  };
  std::vector<FunctionLabel> function_labels_;
  std::string debug_strings_;  ///< bytes of .debug_str
  std::unordered_map<std::string_view, size_t> debug_string_labels_;
  TextPosition first_location_with_file_;
  uint32_t greatest_file_used_ = 0;

  // The function being parsed.
  Function* function_ = nullptr;
  ScopeStack scopes_;
  std::vector<std::vector<Token>> branch_tables_;
  int32_t location_ = -1;
  /// Operands of the lists that are being read, so that each list is stored in its final size.
  std::vector<Operand> operands_;
};

}  // namespace bw::sim::ptx
