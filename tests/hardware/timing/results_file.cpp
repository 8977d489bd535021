#include "tests/hardware/timing/results_file.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "common/host/error.hpp"

namespace bw::timing {
namespace {

const std::string kHead = "# timing results, version ";
constexpr const char* kColumns = "name,parameter,unit,value";

}  // namespace

ResultsFile read_results(const std::string& path) {
  std::ifstream in(path);
  require(in.good(), "The file of recorded times ", path, " can't be read.");
  std::string line;
  std::getline(in, line);
  require(line == kHead + std::to_string(kFileVersion), path, " begins with \"", line,
          "\"; this program reads \"", kHead, kFileVersion,
          "\". Measure it again: ./workbook bench timing -- --write FILE on the machine.");
  ResultsFile file;
  std::getline(in, line);
  file.machine = line.starts_with("# ") ? line.substr(2) : line;
  std::getline(in, line);
  require(line == kColumns, path, ", line 3: \"", line, "\" where the columns ", kColumns,
          " are expected.");
  for (int number = 4; std::getline(in, line); ++number) {
    std::array<std::string, 4> fields;
    std::istringstream row(line);
    for (std::string& field : fields) std::getline(row, field, ',');
    char* end = nullptr;
    const double value = std::strtod(fields[3].c_str(), &end);
    require(!fields[3].empty() && *end == '\0' && !row.fail(), path, ", line ", number, ": \"",
            line, "\" isn't a row of ", kColumns, ".");
    file.rows.push_back({fields[0], fields[1], fields[2], value});
  }
  return file;
}

void write_results(const std::string& path, const ResultsFile& file) {
  std::ofstream out(path);
  out << kHead << kFileVersion << "\n# " << file.machine << "\n" << kColumns << "\n";
  for (const Measurement& row : file.rows) {
    out << row.name << ',' << row.parameter << ',' << row.unit << ',' << row.value << '\n';
  }
  require(out.flush().good(), "The file ", path, " can't be written.");
}

}  // namespace bw::timing
