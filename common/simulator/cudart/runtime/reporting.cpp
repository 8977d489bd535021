#include "common/simulator/cudart/runtime/reporting.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/simulator/base/report_text.hpp"
#include "common/simulator/cudart/runtime/launch_file.hpp"
#include "common/simulator/machine/ignored_codes.hpp"

namespace bw::sim::cudart {
namespace {

/// Logs keep whole lines and no colours.
Presentation presentation() {
  Presentation how{.shows_code = true};
  if (isatty(STDERR_FILENO) == 0) return how;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) how.columns = size.ws_col;
  const char* const off = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  how.colours = (off == nullptr || *off == '\0') && terminal != nullptr &&
                std::string_view(terminal) != "dumb";
  return how;
}

/// The text with its code as a link to the code's page. `./workbook` names the folder of the pages,
/// as the beginning of an address, where the site was made and the terminal has links (OSC 8).
std::string with_link(std::string text, std::string_view code) {
  const char* const pages = std::getenv("BW_CODE_PAGES");
  const size_t place = text.find(code);
  if (pages == nullptr || place == std::string::npos || isatty(STDERR_FILENO) == 0) return text;
  const std::string address = std::string(pages) + std::string(code) + ".html";
  text.insert(place + code.size(), "\x1b]8;;\x1b\\");
  return text.insert(place, "\x1b]8;;" + address + "\x1b\\");
}

void print(const Report& report) {
  std::fflush(stdout);
  const std::string text = present(report, presentation());
  std::fprintf(stderr, "%s\n", with_link(text, row_of(report.code).id).c_str());
  std::fflush(stderr);
}

/// Lets `action` change the file of reports, if there is one, and says when it can't be written.
template <class Action>
void in_file(Action&& action) {
  ReportFile* const file = ReportFile::instance();
  if (file == nullptr) return;
  action(*file);
  if (const std::string problem = file->take_problem(); !problem.empty())
    print({.code = FaultCode::output_file,
           .what = problem,
           .fix = "name a file in a folder that exists and may be written to",
           .is_tolerated = true});
}

}  // namespace

void begin_reports() {
  in_file([](ReportFile&) {});
}

void show(const Report& report) {
  print(report);
  if (LaunchFile* const file = LaunchFile::instance()) file->note_report(report);
  in_file([&](ReportFile& file) { file.add(report); });
}

void show_warnings(std::vector<Warning>& warnings) {
  if (warnings.empty()) return;
  static auto* const told = new std::vector<Warning>;  // lives to the end of the process
  for (const Warning& warning : warnings) {
    if (IgnoredCodes& ignored = IgnoredCodes::of_process(); ignored.contains(warning.report.code)) {
      ignored.left_out(warning.report.code, warning.count);
      continue;
    }
    const size_t before = told->size();
    merge(*told, {warning});
    if (told->size() == before) continue;
    print(warning.report);
    if (LaunchFile* const file = LaunchFile::instance()) file->note_report(warning.report);
  }
  warnings.clear();
  in_file([&](ReportFile& file) { file.set_warnings(*told); });
}

}  // namespace bw::sim::cudart
