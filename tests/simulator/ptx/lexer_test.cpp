#include "common/simulator/ptx/lexer.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "tests/simulator/ptx/parse_helpers.hpp"

namespace bw::sim::ptx::lexer_test {
namespace {

std::vector<Token> tokens_of(const Source& source) {
  Lexer lexer(source);
  std::vector<Token> tokens;
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next()) {
    tokens.push_back(token);
  }
  return tokens;
}

Token only_token(const std::string& text) {
  // The token's text is a view: keep every text alive for the test's duration.
  static std::vector<std::unique_ptr<std::string>> texts;
  texts.push_back(std::make_unique<std::string>(text));
  const Source source(*texts.back(), "test");
  const std::vector<Token> tokens = tokens_of(source);
  EXPECT_EQ(tokens.size(), 1u) << text;
  return tokens.empty() ? Token{} : tokens[0];
}

TEST(Lexer, ReadsIntegers) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"0", 0},      {"42", 42},    {"0x1F", 31},
      {"0XfF", 255}, {"017", 15},   {"0b101", 5},
      {"7U", 7},     {"0x10U", 16}, {"18446744073709551615", ~0ull},
      {"00", 0},     {"0B11", 3},   {"9223372036854775808", 1ull << 63}};
  for (const auto& [text, value] : cases) {
    const Token token = only_token(text);
    EXPECT_EQ(token.kind, TokenKind::integer) << text;
    EXPECT_EQ(token.value, value) << text;
  }
  EXPECT_FALSE(only_token("9223372036854775807").is_unsigned);
  EXPECT_TRUE(only_token("9223372036854775808").is_unsigned);
  EXPECT_TRUE(only_token("1U").is_unsigned);
}

TEST(Lexer, ReadsFloatingPointLiterals) {
  EXPECT_EQ(only_token("0f3F800000").kind, TokenKind::f32_literal);
  EXPECT_EQ(only_token("0f3F800000").value, 0x3F800000u);
  EXPECT_EQ(only_token("0Fff800000").value, 0xFF800000u);
  EXPECT_EQ(only_token("0d3FF0000000000000").kind, TokenKind::f64_literal);
  EXPECT_EQ(only_token("0d3FF0000000000000").value, std::bit_cast<uint64_t>(1.0));
  EXPECT_EQ(only_token("1.5").value, std::bit_cast<uint64_t>(1.5));
  EXPECT_EQ(only_token("25e-2").value, std::bit_cast<uint64_t>(0.25));
  EXPECT_EQ(only_token("2.").value, std::bit_cast<uint64_t>(2.0));
}

TEST(Lexer, RefusesMalformedLiterals) {
  for (const char* text :
       {"12abc;", "0x;", "0b2;", "089;", "08;", "09;", "0f3F80;", "0f3F8000000;", "0d12;",
        "0fGG800000;", "18446744073709551616;", "1e999;", "1.5x;", "0x1G;"}) {
    const Source source(text, "test");
    Lexer lexer(source);
    EXPECT_THROW((void)lexer.next(), SimulationError) << text;
  }
}

TEST(Lexer, KeepsModifiersInTheWordAndColonsOut) {
  const Source source("LAB: ld.global.L2::128B.v4.f32 %tid.x, {$a,_};a|%p1[%r1+4]", "test");
  const std::vector<Token> tokens = tokens_of(source);
  std::vector<std::string> texts;
  texts.reserve(tokens.size());
  for (const Token& token : tokens) texts.emplace_back(token.text);
  const std::vector<std::string> expected = {"LAB",    ":",   "ld.global.L2::128B.v4.f32",
                                             "%tid.x", ",",   "{",
                                             "$a",     ",",   "_",
                                             "}",      ";",   "a",
                                             "|",      "%p1", "[",
                                             "%r1",    "+",   "4",
                                             "]"};
  EXPECT_EQ(texts, expected);
}

TEST(Lexer, SplitsDirectivesAtDots) {
  const Source source(".reg.pred .shared::cta .b32", "test");
  const std::vector<Token> tokens = tokens_of(source);
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[0].text, ".reg");
  EXPECT_EQ(tokens[1].text, ".pred");
  EXPECT_EQ(tokens[2].text, ".shared::cta");
  EXPECT_EQ(tokens[3].text, ".b32");
  for (const Token& token : tokens) EXPECT_EQ(token.kind, TokenKind::directive);
}

TEST(Lexer, TellsTheRemainderFromARegister) {
  const Source source("7 % 4 %r1", "test");
  const std::vector<Token> tokens = tokens_of(source);
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[1].kind, TokenKind::punctuation);
  EXPECT_EQ(tokens[3].text, "%r1");
}

TEST(Lexer, CountsLinesThroughComments) {
  const Source source("a // b\n/* c\nd */ e\r\n\t\"f\"", "test");
  const std::vector<Token> tokens = tokens_of(source);
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[0].position.line, 1u);
  EXPECT_EQ(tokens[1].position.line, 3u);
  EXPECT_EQ(tokens[2].position.line, 4u);
  EXPECT_EQ(tokens[2].kind, TokenKind::string);
  EXPECT_EQ(tokens[2].text, "f");
}

TEST(Lexer, EndsAtThePaddingOfAFatBinary) {
  const Source source(std::string_view("a\0\0\0", 4), "test");
  EXPECT_EQ(tokens_of(source).size(), 1u);
}

TEST(Lexer, RefusesForeignBytes) {
  for (const std::string& text : {std::string("\x01"), std::string("\xff"), std::string("#"),
                                  std::string("a\0b", 3), std::string("\\"), std::string(". ")}) {
    const Source source(text, "test");
    EXPECT_THROW((void)tokens_of(source), SimulationError);
  }
}

TEST(Source, ShowsPrintableBytesAlone) {
  for (int byte = 1; byte < 256; ++byte) {
    if (byte == '\n') continue;
    const std::string text = {'a', static_cast<char>(byte), 'b'};
    const bool is_printable = byte >= ' ' && byte <= '~';
    const std::string shown = is_printable ? text : byte == '\t' ? "a b" : "a?b";
    try {
      Source(text, "test").fail({}, "no PTX", "");
    } catch (const SimulationError& error) {
      EXPECT_EQ(error.report().where, "test:1: `" + shown + "`") << byte;
    }
  }
}

TEST(Lexer, KnowsSpecialRegisters) {
  for (const char* name :
       {"%tid.x", "%tid", "%ntid.y", "%ctaid.z", "%nctaid.x", "%laneid", "%clock64", "%globaltimer",
        "%cluster_ctarank", "%cluster_ctaid.x", "%smid", "%envreg0", "%envreg31", "%pm7", "%pm0_64",
        "%dynamic_smem_size", "%lanemask_lt", "%is_explicit_cluster"}) {
    EXPECT_TRUE(is_special_register(name)) << name;
  }
  for (const char* name : {"%r1", "%tid.q", "%laneid.x", "%envreg32", "%envreg", "%pm8", "%pm8_64",
                           "%pm_64", "%envreg01", "tid.x", "%SP", "%tidx"}) {
    EXPECT_FALSE(is_special_register(name)) << name;
  }
}

TEST(Lexer, TellsOpcodesBySpelling) {
  for (const char* word :
       {"ret", "tcgen05.fence::after_thread_sync", "tcgen05.wait::ld.sync.aligned",
        "cp.async.cg.shared.global", "mbarrier.try_wait.parity.shared::cta.b64"}) {
    EXPECT_TRUE(looks_like_opcode(word)) << word;
  }
  for (const char* word : {"", "%r1", "$L__BB0_1", "_", "Add.s32", "add..s32", "add.", "add:x",
                           "1a", "add::", "add::x:", "add:::x"}) {
    EXPECT_FALSE(looks_like_opcode(word)) << word;
  }
}

// Every form that production kernels hold is one word, looks like an opcode, and is kept whole.
TEST(Lexer, ReadsEveryKnownInstructionForm) {
  std::ifstream file(std::string(BW_TEST_DATA) + "/ptx/instruction_forms.txt");
  ASSERT_TRUE(file.is_open());
  size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    ++count;
    EXPECT_EQ(only_token(line).text, line);
    EXPECT_TRUE(looks_like_opcode(line)) << line;
    if (line.starts_with("bra") || line.starts_with("call")) continue;
    const auto module = parse_body_text("  " + line + ";");
    ASSERT_EQ(entry(*module).instructions.size(), 1u);
    EXPECT_EQ(entry(*module).instructions[0].opcode, line);
  }
  EXPECT_EQ(count, 281u);
}

TEST(Lexer, ABackslashTakesTheNextCharacterOfAString) {
  for (const std::string inside : {"", "a", "\\\\", "\\\"", "a\\\\", "\\\"a", "\\\\\\\"", "a\\n"}) {
    const Token token = only_token("\"" + inside + "\"");
    EXPECT_EQ(token.kind, TokenKind::string) << inside;
    EXPECT_EQ(token.text, inside);
  }
}

}  // namespace
}  // namespace bw::sim::ptx::lexer_test
