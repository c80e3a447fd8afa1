#include "schedule/script/trace_text.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/nearest_names.h"
#include "ir/script/printer.h"
#include "ir/script/python/parser.h"
#include "schedule/script/index_map_reader.h"

namespace tilewright {
namespace {

using Json = nlohmann::json;

std::vector<std::string> PrimitiveNames() {
  std::vector<std::string> names;
  for (const Primitive& primitive : AllPrimitives()) names.emplace_back(primitive.name);
  return names;
}

char Letter(ResultKind kind) {
  switch (kind) {
    case ResultKind::kBlock:
    case ResultKind::kBlocks:
      return 'b';
    case ResultKind::kLoop:
    case ResultKind::kLoops:
      return 'l';
    default:
      return 'v';
  }
}

// The names of a trace's random variables: "b0", "l1", ...
class Names {
 public:
  std::vector<std::string> Define(const Instruction& instruction) {
    std::vector<std::string> names;
    for (Rv rv : instruction.results) {
      names.push_back(Letter(instruction.primitive->result) + std::to_string(names_.size()));
      names_[rv.index] = names.back();
    }
    return names;
  }
  std::string Of(Rv rv) const {
    const auto name = names_.find(rv.index);
    return name == names_.end() ? "None" : name->second;
  }

 private:
  std::map<int, std::string> names_;
};

// ---- Text

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// With as many digits as it takes to read the same number, and never without a point or exponent. The same in every
// locale, where a program that this library is a part of may have chosen one with a decimal comma.
std::string Number(double value) {
  char text[40];
  char* end = text;
  for (int digits = 1; digits <= 17; ++digits) {
    end = std::to_chars(text, std::end(text), value, std::chars_format::general, digits).ptr;
    double read = 0;
    std::from_chars(text, end, read);
    if (read == value) break;
  }
  std::string number(text, end);
  return number.find_first_of(".en") == number.npos ? number + ".0" : number;
}

class TextWriter {
 public:
  explicit TextWriter(const Names& names) : names_(names) {}
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return Number(value); }
  std::string operator()(const std::string& value) const { return Quoted(value); }
  std::string operator()(Rv rv) const { return names_.Of(rv); }
  std::string operator()(const LoopRef&) const { return "None"; }  // only random variables stand in traces
  std::string operator()(const BlockRef&) const { return "None"; }
  std::string operator()(const IndexMap& map) const { return Print(map); }
  std::string operator()(const Value::List& list) const { return "[" + Items(list) + "]"; }
  std::string operator()(const Value::Dict& dict) const {
    std::string text;
    for (const auto& [key, value] : dict) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", Quoted(key), ": ", std::visit(*this, value.data));
    }
    return "{" + text + "}";
  }
  std::string Items(const Value::List& list) const {
    std::string text;
    for (const Value& value : list) absl::StrAppend(&text, text.empty() ? "" : ", ", std::visit(*this, value.data));
    return text;
  }

 private:
  const Names& names_;
};

std::string LineOf(const Instruction& instruction, Names& names) {
  const TextWriter write(names);
  std::string args;
  for (size_t i = 0; i < instruction.args.size(); ++i) {
    const ArgSpec& spec = instruction.primitive->args[i];
    const bool sampling = instruction.primitive->role == Primitive::Role::kSampling;
    if (sampling && spec.default_value && instruction.args[i].is_none()) continue;  // a choice without a name
    const auto* list = instruction.args[i].As<Value::List>();
    absl::StrAppend(&args, args.empty() ? "" : ", ",
                    spec.variadic && list != nullptr
                        ? write.Items(*list)
                        : absl::StrCat(spec.name, "=", std::visit(write, instruction.args[i].data)));
  }
  if (!instruction.decision.is_none()) {
    absl::StrAppend(&args, args.empty() ? "" : ", ", "decision=", std::visit(write, instruction.decision.data));
  }
  std::string results;
  for (const std::string& name : names.Define(instruction))
    absl::StrAppend(&results, results.empty() ? "" : ", ", name);
  const ResultKind kind = instruction.primitive->result;
  const bool list = kind == ResultKind::kLoops || kind == ResultKind::kBlocks || kind == ResultKind::kInts;
  if (list && instruction.results.size() == 1) results += ",";
  return absl::StrCat(results, results.empty() ? "" : " = ", "sch.", instruction.primitive->name, "(", args, ")\n");
}

// ---- JSON

class JsonWriter {
 public:
  explicit JsonWriter(const Names& names) : names_(names) {}
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(bool value) const { return value; }
  Json operator()(int64_t value) const { return value; }
  Json operator()(double value) const { return value; }
  Json operator()(const std::string& value) const { return value; }
  Json operator()(Rv rv) const { return {{"rv", names_.Of(rv)}}; }
  Json operator()(const LoopRef&) const { return nullptr; }
  Json operator()(const BlockRef&) const { return nullptr; }
  Json operator()(const IndexMap& map) const { return {{"index_map", Print(map)}}; }
  Json operator()(const Value::List& list) const {
    Json items = Json::array();
    for (const Value& value : list) items.push_back(std::visit(*this, value.data));
    return items;
  }
  Json operator()(const Value::Dict& dict) const {
    Json items = Json::object();
    for (const auto& [key, value] : dict) items[key] = std::visit(*this, value.data);
    return {{"dict", items}};
  }

 private:
  const Names& names_;
};

class JsonReader {
 public:
  absl::StatusOr<Trace> Read(const Json& json) {
    if (!json.is_object() || !json.contains("trace") || !json["trace"].is_array()) {
      return absl::InvalidArgumentError("a trace is an object with a list \"trace\"");
    }
    for (const Json& entry : json["trace"]) {
      if (!ReadInstruction(entry)) {
        return absl::InvalidArgumentError(absl::StrCat("instruction ", trace_.instructions.size(), ": ", error_));
      }
    }
    return std::move(trace_);
  }

 private:
  bool Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    return false;
  }

  bool ReadInstruction(const Json& entry) {
    if (!entry.is_object() || !entry.contains("primitive") || !entry["primitive"].is_string()) {
      return Fail("there is no \"primitive\"");
    }
    const std::string name = entry["primitive"].get<std::string>();
    Instruction instruction;
    instruction.primitive = FindPrimitive(name);
    if (instruction.primitive == nullptr)
      return Fail("there is no primitive " + name + DidYouMean(name, PrimitiveNames()));
    // Nothing is copied, which takes stack for each level of what may nest a million deep.
    static const Json* const none = new Json(Json::object());
    const Json& args = entry.contains("args") ? entry["args"] : *none;
    if (!args.is_object()) return Fail("\"args\" is not an object");
    for (const auto& [key, value] : args.items()) {
      bool known = false;
      for (const ArgSpec& spec : instruction.primitive->args) known |= key == spec.name;
      if (!known) return Fail(name + " has no argument " + key);
    }
    for (const ArgSpec& spec : instruction.primitive->args) {
      Value value;
      if (args.contains(spec.name)) {
        if (!ReadValue(args[spec.name], &value, 0)) return false;
      } else if (spec.default_value) {
        value = *spec.default_value;
      } else {
        return Fail(absl::StrCat(name, " wants the argument ", spec.name));
      }
      instruction.args.push_back(std::move(value));
    }
    if (entry.contains("decision") && !ReadValue(entry["decision"], &instruction.decision, 0)) return false;
    for (const Json& result : entry.contains("results") ? entry["results"] : *none) {
      if (!result.is_string()) return Fail("a result is not a name");
      const Rv rv{static_cast<int>(names_.size())};
      if (!names_.emplace(result.get<std::string>(), rv).second) return Fail("a result is defined twice");
      instruction.results.push_back(rv);
    }
    trace_.instructions.push_back(std::move(instruction));
    return true;
  }

  bool ReadValue(const Json& json, Value* value, int depth) {
    if (depth > 50) return Fail("values are nested too deeply");
    if (json.is_null()) return true;
    if (json.is_boolean()) return *value = json.get<bool>(), true;
    if (json.is_number_integer()) return *value = json.get<int64_t>(), true;
    if (json.is_number()) return *value = json.get<double>(), true;
    if (json.is_string()) return *value = json.get<std::string>(), true;
    if (json.is_array()) {
      Value::List list(json.size());
      for (size_t i = 0; i < json.size(); ++i) {
        if (!ReadValue(json[i], &list[i], depth + 1)) return false;
      }
      *value = std::move(list);
      return true;
    }
    if (json.size() != 1) return Fail("expected {\"rv\": ...}, {\"index_map\": ...} or {\"dict\": ...}");
    const auto& [key, content] = *json.items().begin();
    if (key == "dict" && content.is_object()) return ReadDict(content, value, depth);
    if (!content.is_string()) return Fail("expected {\"rv\": ...}, {\"index_map\": ...} or {\"dict\": ...}");
    const std::string text = content.get<std::string>();
    if (key == "index_map") return ReadMap(text, value);
    const auto rv = names_.find(text);
    if (key != "rv" || rv == names_.end()) return Fail(text + " is not defined");
    *value = rv->second;
    return true;
  }

  bool ReadDict(const Json& content, Value* value, int depth) {
    Value::Dict dict;
    for (const auto& [key, entry] : content.items()) {
      if (!ReadValue(entry, &dict[key], depth + 1)) return false;
    }
    *value = std::move(dict);
    return true;
  }

  bool ReadMap(const std::string& text, Value* value) {
    const script::PythonTree tree = script::ParsePython(text, "index_map");
    if (tree.error || tree.statements.size() != 1 || !tree.statements[0].value ||
        tree.statements[0].value->kind != script::PyExpr::Kind::kLambda) {
      return Fail(text + " is not a lambda");
    }
    IndexMapReading reading = ReadIndexMap(*tree.statements[0].value);
    if (!reading.map) return Fail(text + ": " + reading.error);
    *value = std::move(reading.map);
    return true;
  }

  Trace trace_;
  std::map<std::string, Rv> names_;
  std::string error_;
};

}  // namespace

std::string ToText(const Trace& trace) {
  std::string text;
  Names names;
  for (const Instruction& instruction : trace.instructions) text += LineOf(instruction, names);
  return text;
}

std::string ToJson(const Trace& trace) {
  Json list = Json::array();
  Names names;
  for (const Instruction& instruction : trace.instructions) {
    const JsonWriter write(names);
    Json args = Json::object();
    for (size_t i = 0; i < instruction.args.size(); ++i) {
      args[instruction.primitive->args[i].name] = std::visit(write, instruction.args[i].data);
    }
    Json entry = {{"primitive", instruction.primitive->name}, {"args", std::move(args)}};
    if (!instruction.decision.is_none()) entry["decision"] = std::visit(write, instruction.decision.data);
    entry["results"] = names.Define(instruction);
    list.push_back(std::move(entry));
  }
  return Json{{"trace", std::move(list)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<Trace> TraceFromJson(std::string_view json) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return absl::InvalidArgumentError("the text is not JSON");
  return JsonReader().Read(parsed);
}

}  // namespace tilewright
