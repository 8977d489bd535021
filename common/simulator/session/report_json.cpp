#include "common/simulator/session/report_json.hpp"

#include "common/simulator/trace/json.hpp"

namespace bw::sim::session {
namespace {

using trace::Fields;
using trace::List;

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

}  // namespace bw::sim::session
