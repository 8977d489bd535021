/// \file
/// Runs one of the programs of this folder: `global_races NAME`; without a name it
/// lists them, with what each needs in the environment.
#include <cstdio>
#include <cstring>

#include "common/host/error.hpp"
#include "tests/simulator/global_races/cases.hpp"

int main(int argc, char** argv) {
  using namespace bw::global_races;
  for (const auto& cases : {irregular_cases(), scoped_cases(), memory_cases(), ordered_cases()}) {
    for (const Case& one : cases) {
      if (argc < 2) {
        std::printf("%s %s\n", one.name, one.setting);
      } else if (std::strcmp(argv[1], one.name) == 0) {
        try {
          one.run();
        } catch (const bw::Error& error) {
          std::fprintf(stderr, "%s\n", error.what());
          return 1;
        }
        std::printf("%s: ended\n", one.name);
        return 0;
      }
    }
  }
  if (argc < 2) return 0;
  std::fprintf(stderr, "There is no program called %s.\n", argv[1]);
  return 2;
}
