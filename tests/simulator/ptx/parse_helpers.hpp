#pragma once
/// \file
/// What the tests of the PTX front end share.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/simulator/base/error.hpp"
#include "common/simulator/ptx/ast.hpp"
#include "tests/simulator/outcomes.hpp"

namespace bw::sim::ptx {

inline const std::string kHeader = ".version 9.0\n.target sm_100a\n.address_size 64\n";

/// A module with this text after its three header lines.
inline std::unique_ptr<Module> parse_text(const std::string& text) {
  return parse(kHeader + text, "test.ptx");
}

/// A module with one entry `k` of this body.
inline std::unique_ptr<Module> parse_body_text(const std::string& body) {
  return parse_text(".visible .entry k()\n{\n" + body + "\n}\n");
}

/// The entry's function of parse_body_text.
inline const Function& entry(const Module& module) {
  const Function* function = module.find_function("k");
  EXPECT_NE(function, nullptr);
  return *function;
}

/// The report of the error that parsing `text` (without header) ends in.
inline Report report_of(const std::string& text) {
  try {
    (void)parse_text(text);
  } catch (const SimulationError& error) {
    test::note_report(error.report());
    return error.report();
  }
  ADD_FAILURE() << "no error for:\n" << text;
  return {.code = FaultCode::deadlock};  // no parser gives it
}

}  // namespace bw::sim::ptx
