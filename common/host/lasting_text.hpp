#pragma once
/// \file
/// Names that are put together when a program runs, for structures that hold literals otherwise.

#include <string>

namespace bw {

/// A copy of `text` that lasts as long as the program; the same one for equal texts. Any thread.
const char* lasting_text(const std::string& text);

}  // namespace bw
