/// \file
/// Any bytes as PTX text: the lexer ends, with tokens in the order of the text, or
/// with a report.
#include <fmt/core.h>

#include "common/simulator/base/error.hpp"
#include "common/simulator/ptx/lexer.hpp"
#include "tests/fuzz/choices.hpp"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bw::sim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ptx::Source source(text, "fuzz.ptx");
  ptx::Lexer lexer(source);
  size_t end = 0;
  uint32_t line = 1;
  try {
    for (size_t tokens = 0; tokens <= size; ++tokens) {
      const ptx::Token token = lexer.next();
      if (token.position.offset_bytes < end || token.position.line < line)
        fuzz::found(fmt::format("a token at byte {} of line {} behind one that ends at {} of {}",
                                token.position.offset_bytes, token.position.line, end, line));
      if (token.kind == ptx::TokenKind::end) return 0;
      if (token.position.length_bytes == 0) fuzz::found("an empty token");
      end = token.position.offset_bytes + token.position.length_bytes;
      line = token.position.line;
      if (end > size) fuzz::found("a token that leaves the text");
      (void)ptx::looks_like_opcode(token.text);
      (void)ptx::is_special_register(token.text);
    }
    fuzz::found("more tokens than bytes");
  } catch (const SimulationError& error) {
    if (error.report().kind() != FaultKind::parse) fuzz::found(error.what());
  }
  return 0;
}
