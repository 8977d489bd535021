#include "common/simulator/cudart/runtime/reporting.hpp"

#include <errno.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "common/simulator/session/report_json.hpp"
#include "common/simulator/trace/json.hpp"

namespace bw::sim::cudart {
namespace {

using session::report_json;
using trace::List;

/// Changes when a field goes away or means something else; a new field may come without that.
constexpr int kSchema = 1;
/// A program that goes on after errors may make them without end.
constexpr size_t kMostErrors = 1000;

std::string json_list(const std::vector<std::string>& objects) {
  List list;
  for (const std::string& object : objects) list.add("\n    " + object);
  return list.json();
}

}  // namespace

ReportFile* ReportFile::instance() {
  static ReportFile* const file = [] {
    const char* const path = std::getenv("BW_SIM_REPORT");
    return path == nullptr || *path == '\0' ? nullptr : new ReportFile(path);
  }();
  return file;
}

ReportFile::ReportFile(std::string path) : path_(std::move(path)) { write(); }

void ReportFile::add(const Report& report) {
  if (errors_.size() == kMostErrors) {
    if (is_complete_) {
      is_complete_ = false;
      write();
    }
    return;
  }
  errors_.push_back(report_json(report, 1));
  write();
}

void ReportFile::set_warnings(const std::vector<Warning>& warnings) {
  warnings_.clear();
  for (const Warning& warning : warnings)
    warnings_.push_back(report_json(warning.report, warning.count));
  write();
}

void ReportFile::write() {
  if (is_broken_) return;
  // A concurrent reader sees the old file or the new one. A pipe or a link is not replaced.
  struct stat status {};
  const bool replaces = lstat(path_.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  const std::string target = replaces ? path_ + ".part" : path_;
  errno = 0;
  std::ofstream out(target, std::ios::binary | std::ios::trunc);
  out << "{\n  \"schema\":" << kSchema
      << ",\n  \"program\":" << trace::json_string(program_invocation_short_name)
      << ",\n  \"complete\":" << (is_complete_ ? "true" : "false")
      << ",\n  \"errors\":" << json_list(errors_) << ",\n  \"warnings\":" << json_list(warnings_)
      << "\n}\n";
  out.close();
  if (out && (!replaces || std::rename(target.c_str(), path_.c_str()) == 0)) return;
  is_broken_ = true;
  problem_ = "the file " + path_ + ", which BW_SIM_REPORT names, can't be written: " +
             std::strerror(errno == 0 ? EIO : errno);
  if (replaces) std::remove(target.c_str());
}

}  // namespace bw::sim::cudart
