#include "runtime/registry/declaration.h"

namespace krt {

std::string_view status_name(StatusTable table, std::int64_t code, std::string_view unknown) {
  for (const StatusEntry& entry : table)
    if (entry.code == code) return entry.name;
  return unknown;
}

std::string_view name_of(Determinism d) { return d == Determinism::kBitExact ? "bit_exact" : "bit_exact_per_variant"; }

std::string_view name_of(Seed s) {
  switch (s) {
    case Seed::kNone: return "none";
    case Seed::kOptional: return "optional";
    case Seed::kRequired: return "required";
  }
  return "none";
}

std::string_view name_of(SideEffects s) {
  switch (s) {
    case SideEffects::kNone: return "none";
    case SideEffects::kChangesArguments: return "changes_arguments";
    case SideEffects::kChangesHandles: return "changes_handles";
    case SideEffects::kReadsFiles: return "reads_files";
  }
  return "none";
}

namespace {

std::string literal(const Value& value) {
  if (const auto* s = value.get_if<std::string>()) return quoted(*s);
  if (const auto* b = value.get_if<bool>()) return *b ? "true" : "false";
  if (const auto* i = value.get_if<std::int64_t>()) return std::to_string(*i);
  if (const auto* d = value.get_if<double>()) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", *d);
    return buffer;
  }
  return value.is_null() ? "null" : type_text(value);
}

List describe_params(const std::vector<Param>& params) {
  List out;
  for (const Param& p : params) {
    Dict d{{"name", p.name}, {"type", p.type}, {"doc", p.doc}};
    if (p.fallback) d.emplace_back("default", *p.fallback);
    out.emplace_back(std::move(d));
  }
  return out;
}

List describe_statuses(StatusTable table) {
  List out;
  for (const StatusEntry& s : table) out.emplace_back(Dict{{"code", s.code}, {"name", s.name}, {"meaning", s.meaning}});
  return out;
}

}  // namespace

std::string FunctionInfo::signature() const {
  std::string out = name + "(";
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (i != 0) out += ", ";
    out += params[i].name + ": " + params[i].type;
    if (params[i].fallback) out += " = " + literal(*params[i].fallback);
  }
  out += ") -> ";
  if (result_struct.empty()) return out + fields.front().type;
  out += result_struct + "{";
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i != 0 ? ", " : "") + fields[i].name + ": " + fields[i].type;
  return out + "}";
}

Dict FunctionInfo::describe() const {
  List in_place;
  for (const Param& p : params)
    if (p.in_place) in_place.emplace_back(p.name);
  List results;
  for (const ResultField& f : fields) results.emplace_back(Dict{{"name", f.name}, {"type", f.type}});
  List variant_list;
  for (const VariantInfo& v : variants) {
    const std::string_view refusal = v.refusal({});
    variant_list.emplace_back(Dict{{"name", v.name}, {"refused_by", refusal.empty() ? Value() : Value(refusal)}});
  }
  return {{"module", module},
          {"name", name},
          {"signature", signature()},
          {"summary", summary},
          {"details", details},
          {"params", describe_params(params)},
          {"result_struct", result_struct},
          {"result_fields", std::move(results)},
          {"capabilities", Dict{{"deterministic", true},
                                {"determinism", name_of(caps.determinism)},
                                {"seed_requirements", name_of(caps.seed)},
                                {"in_place", std::move(in_place)},
                                {"side_effects", name_of(caps.side_effects)}}},
          {"statuses", describe_statuses(statuses)},
          {"variants", std::move(variant_list)},
          {"variant_shape", variant_shape},
          {"example", example}};
}

}  // namespace krt
