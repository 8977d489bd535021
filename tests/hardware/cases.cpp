#include "tests/hardware/cases.hpp"

#include <algorithm>
#include <utility>

namespace bw::conformance {
namespace {

std::vector<Case>& registered() {
  static std::vector<Case> cases;
  return cases;
}

}  // namespace

Registration::Registration(std::string name, std::function<Result()> measure) {
  registered().push_back({std::move(name), std::move(measure)});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = registered();
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

}  // namespace bw::conformance
