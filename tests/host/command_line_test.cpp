/// \file
/// Options: values, forms, and what can't be read.
#include "common/host/command_line.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "common/host/error.hpp"

namespace bw {
namespace {

struct Values {
  int64_t size = 5;
  double beta = 0.5;
  int fill = 0;
  const char* file = "none";
};

/// The command line of `values`.
struct Parser {
  CommandLine command_line{"A program."};

  explicit Parser(Values& values) {
    command_line.add("size", values.size, "the size");
    command_line.add("beta", values.beta, "the factor");
    command_line.add("fill", values.fill, {"normal", "zero"}, "the contents");
    command_line.add("file", values.file, "its name");
  }
};

bool parse(Values& values, std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "program");
  return Parser(values).command_line.parse(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommandLine, ReadsBothForms) {
  Values values;
  EXPECT_TRUE(parse(values, {"--size", "-12", "--beta=1.25", "--fill", "zero"}));
  EXPECT_EQ(values.size, -12);
  EXPECT_EQ(values.beta, 1.25);
  EXPECT_EQ(values.fill, 1);
}

TEST(CommandLine, GivesTextsAsTheyAreInTheArguments) {
  Values values;
  EXPECT_TRUE(parse(values, {}));
  EXPECT_STREQ(values.file, "none");
  EXPECT_TRUE(parse(values, {"--file=a=b"}));
  EXPECT_STREQ(values.file, "a=b");
  EXPECT_TRUE(parse(values, {"--file", ""}));
  EXPECT_STREQ(values.file, "");
}

TEST(CommandLine, KeepsDefaults) {
  Values values;
  EXPECT_TRUE(parse(values, {}));
  EXPECT_EQ(values.size, 5);
  EXPECT_EQ(values.beta, 0.5);
}

TEST(CommandLine, RefusesWhatItCannotRead) {
  Values values;
  EXPECT_THROW(parse(values, {"--size", "12x"}), Error);
  EXPECT_THROW(parse(values, {"--size", ""}), Error);
  EXPECT_THROW(parse(values, {"--size", "99999999999999999999"}), Error);
  EXPECT_THROW(parse(values, {"--size"}), Error);
  EXPECT_THROW(parse(values, {"--beta", "nan"}), Error);
  EXPECT_THROW(parse(values, {"--beta", "1e999"}), Error);
  EXPECT_THROW(parse(values, {"--fill", "ones"}), Error);
  EXPECT_THROW(parse(values, {"--colour", "red"}), Error);
  EXPECT_THROW(parse(values, {"12"}), Error);
}

TEST(CommandLine, HelpNamesEveryOption) {
  Values values;
  EXPECT_FALSE(parse(values, {"--help"}));
  std::ostringstream text;
  Parser(values).command_line.print_help(text, "program");
  for (const char* part :
       {"--size", "--beta", "normal|zero", "default 0.5", "default none", "--help"}) {
    EXPECT_NE(text.str().find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace bw
