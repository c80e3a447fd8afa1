#include "schedule/script/peer_index_map.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"

namespace tilewright {
namespace {

using Json = nlohmann::json;

class Reader {
 public:
  explicit Reader(bool typed_constants) : typed_constants_(typed_constants) {}

  absl::StatusOr<std::string> Read(const Json& graph) {
    if (!graph.is_object() || !graph.contains("nodes") || !graph["nodes"].is_array() || !graph.contains("root_index")) {
      return absl::InvalidArgumentError("the index map is not a graph of nodes");
    }
    nodes_ = &graph["nodes"];
    std::string text = Map(Node(graph["root_index"]));
    if (!error_.empty()) return absl::InvalidArgumentError(absl::StrCat("the index map ", error_));
    return text;
  }

 private:
  static constexpr int kMaxDepth = 100;
  static constexpr size_t kMaxLength = 1 << 16;

  std::string Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    return "";
  }

  const Json& Node(const Json& number) {
    static const Json kNone = Json::object();
    if (!number.is_number_unsigned() || number.get<size_t>() >= nodes_->size()) {
      Fail("names a node that it does not have");
      return kNone;
    }
    const Json& node = (*nodes_)[number.get<size_t>()];
    return node.is_object() ? node : kNone;
  }
  // A field of a node: as it stands, the node that it names, and what that holds.
  static Json Raw(const Json& node, const char* name) {
    const auto data = node.find("data");
    return data != node.end() && data->is_object() ? data->value(name, Json()) : Json();
  }
  const Json& Field(const Json& node, const char* name) { return Node(Raw(node, name)); }
  Json Content(const Json& node, const char* name) { return Field(node, name).value("data", Json()); }
  // FloorDiv of "prim.FloorDiv", whatever module the peer keeps it in.
  static std::string Kind(const Json& node) {
    const auto found = node.find("type");
    if (found == node.end() || !found->is_string()) return "";
    const std::string type = found->get<std::string>();
    return type.substr(type.rfind('.') + 1);
  }

  std::string Map(const Json& node) {
    if (Kind(node) != "IndexMap") return Fail("is none");
    const std::string inputs = Items(Field(node, "initial_indices"), "");
    return absl::StrCat("lambda", inputs.empty() ? "" : " ", inputs, ": (", Items(Field(node, "final_indices"), ","),
                        ")");
  }
  std::string Items(const Json& array, const char* after) {
    const Json items = array.value("data", Json());
    if (Kind(array) != "Array" || !items.is_array()) return Fail("has no list of indices");
    std::string text;
    for (const Json& item : items) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", Index(Node(item), 0));
      if (text.size() > kMaxLength || !error_.empty()) return Fail("is too long");
    }
    return text + (items.size() == 1 ? after : "");
  }

  std::string Index(const Json& node, int depth) {
    if (depth > kMaxDepth) return Fail("is too deep");
    const std::string kind = Kind(node);
    if (kind == "Var") {
      const Json name = Content(node, "name");
      return name.is_string() ? name.get<std::string>() : Fail("has a variable without a name");
    }
    if (kind == "IntImm" || kind == "FloatImm") {
      // The value of a FloatImm stands in it, that of an IntImm in a node of its own.
      const Json raw = Raw(node, "value"), value = raw.is_number_float() ? raw : Content(node, "value");
      if (!value.is_number()) return Fail("has a constant without a value");
      const Json type = Raw(Field(node, "ty"), "dtype");
      const bool plain = kind == "IntImm" && (!typed_constants_ || !type.is_string() || type == "int32");
      return plain || !type.is_string() ? value.dump()
                                        : absl::StrCat("T.", type.get<std::string>(), "(", value.dump(), ")");
    }
    static constexpr std::pair<const char*, const char*> kOperators[] = {
        {"Add", " + "}, {"Sub", " - "}, {"Mul", " * "}, {"FloorDiv", " // "}, {"FloorMod", " % "}};
    for (const auto& [name, symbol] : kOperators) {
      if (kind != name) continue;
      const std::string a = Index(Field(node, "a"), depth + 1);
      return Bounded(absl::StrCat("(", a, symbol, Index(Field(node, "b"), depth + 1), ")"));
    }
    if (kind == "Min" || kind == "Max") {
      const std::string a = Index(Field(node, "a"), depth + 1);
      return Bounded(
          absl::StrCat(kind == "Min" ? "T.min(" : "T.max(", a, ", ", Index(Field(node, "b"), depth + 1), ")"));
    }
    if (kind == "Cast") return Index(Field(node, "value"), depth + 1);  // of an index
    return Fail(absl::StrCat("uses ", kind.empty() ? "a node without a type" : kind));
  }
  std::string Bounded(std::string text) { return text.size() > kMaxLength ? Fail("is too long") : text; }

  const bool typed_constants_;
  const Json* nodes_ = nullptr;
  std::string error_;
};

}  // namespace

absl::StatusOr<std::string> LambdaOfPeerIndexMap(std::string_view json, bool typed_constants) {
  const Json graph = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  return Reader(typed_constants).Read(graph);
}

}  // namespace tilewright
