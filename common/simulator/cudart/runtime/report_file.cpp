#include "common/simulator/cudart/runtime/report_file.hpp"

#include <errno.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "common/simulator/trace/json.hpp"

namespace bw::sim::cudart {
namespace {

using trace::Fields;
using trace::List;

/// Changes when a field goes away or means something else; a new field may come without that.
constexpr int kSchema = 1;
/// A program that goes on after errors may make them without end.
constexpr size_t kMostErrors = 1000;

template <class Texts>
std::string list_of(const Texts& texts) {
  List list;
  for (const auto& text : texts) list.add(trace::json_string(text));
  return list.json();
}

std::string place_json(const ReportPlace& place) {
  Fields fields;
  fields.add("role", place.role).add("file", place.path).add("line", place.line);
  if (place.column != 0) fields.add("column", place.column);
  if (!place.function.empty()) fields.add("function", place.function);
  if (!place.opcode.empty()) fields.add("opcode", place.opcode);
  if (!place.kernel.empty()) fields.add("kernel", place.kernel);
  if (place.cta) {
    List cta;
    for (const uint32_t index : *place.cta) cta.add(std::to_string(index));
    fields.add_raw("cta", cta.json());
  }
  if (place.cta_rank) fields.add("rank", *place.cta_rank);
  if (place.warp) fields.add("warp", *place.warp);
  if (place.lanes != 0) fields.add("lanes", place.lanes);
  return fields.object();
}

std::string json_list(const std::vector<std::string>& objects) {
  List list;
  for (const std::string& object : objects) list.add("\n    " + object);
  return list.json();
}

}  // namespace

std::string report_json(const Report& report, uint64_t count) {
  const FaultCodeRow& row = row_of(report.code);
  List places;
  for (const ReportPlace& place : report.places) places.add(place_json(place));
  Fields fields;
  fields.add("code", row.id)
      .add("title", row.title)
      .add("severity", std::string_view(severity_name(report.severity())))
      .add("kind", std::string_view(fault_kind_name(row.kind)))
      .add("what", report.what)
      .add("where", report.where)
      .add_raw("details", list_of(report.details))
      .add("rule", report.rule)
      .add("fix", report.fix)
      .add("hardware_accepts", report.hardware_accepts)
      .add("count", count)
      .add_raw("places", places.json());
  if (report.event) fields.add("event", report.event->text());
  if (report.seed) fields.add("seed", *report.seed);
  return fields.add("text", report.format()).object();
}

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
