#include "graph/rewrite/pattern.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

using Kind = PatternNode::Kind;

Pattern Make(PatternNode node) { return Pattern(std::make_shared<const PatternNode>(std::move(node))); }

Pattern Condition(const Pattern& pattern, std::string what, std::function<bool(const Value&, const Type&)> condition) {
  return Make(
      {.kind = Kind::kCondition, .name = std::move(what), .args = {pattern}, .condition = std::move(condition)});
}

std::string ListText(const std::vector<Pattern>& patterns, const char* separator) {
  return absl::StrJoin(patterns, separator, [](std::string* out, const Pattern& p) { *out += ToString(p); });
}

}  // namespace

Pattern Pattern::HasAttr(std::string name, AttrValue value) const {
  std::string what = absl::StrCat(name, "=", graph::ToString(value));
  return Condition(*this, std::move(what), [name, value](const Value& bound, const Type&) {
    const auto* call = dyn_cast<CallNode>(bound);
    if (call == nullptr) return false;
    const auto it = call->attrs.find(name);
    return it != call->attrs.end() && SameAttr(it->second, value);
  });
}

Pattern Pattern::HasType(std::string what, std::function<bool(const Type&)> condition) const {
  return Condition(*this, std::move(what), [condition](const Value&, const Type& type) { return condition(type); });
}

Pattern Pattern::HasDtype(DataType dtype) const {
  return HasType(dtype.ToString(), [dtype](const Type& type) {
    const auto* tensor = dyn_cast<TensorTypeNode>(type);
    return tensor != nullptr && tensor->dtype == dtype;
  });
}

Pattern Pattern::HasRank(int rank) const {
  return HasType(absl::StrCat("rank ", rank), [rank](const Type& type) {
    const auto* tensor = dyn_cast<TensorTypeNode>(type);
    return tensor != nullptr && tensor->rank() == rank;
  });
}

Pattern Pattern::HasShape(std::vector<Expr> shape) const {
  return HasType("a shape", [shape](const Type& type) {
    const auto* tensor = dyn_cast<TensorTypeNode>(type);
    if (tensor == nullptr || !tensor->shape || tensor->shape->size() != shape.size()) return false;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] && !tilewright::StructuralEqual(AsExtent(shape[i]), (*tensor->shape)[i])) return false;
    }
    return true;
  });
}

Pattern Pattern::Shared() const {
  PatternNode node = *node_;
  node.shared = true;
  return Make(std::move(node));
}

Pattern Wildcard() { return Make({.kind = Kind::kWildcard}); }
Pattern IsVar() { return Make({.kind = Kind::kVar}); }
Pattern IsConst() { return Make({.kind = Kind::kConst}); }
Pattern IsSplat(double value) { return Make({.kind = Kind::kSplat, .number = value}); }
Pattern IsOp(std::string op) { return Make({.kind = Kind::kOp, .name = std::move(op), .any_args = true}); }
Pattern IsOp(std::string op, std::vector<Pattern> args) {
  return Make({.kind = Kind::kOp, .name = std::move(op), .args = std::move(args)});
}
Pattern IsTuple(std::vector<Pattern> fields) { return Make({.kind = Kind::kTuple, .args = std::move(fields)}); }
Pattern IsTupleGetItem(Pattern tuple, int index) {
  return Make({.kind = Kind::kTupleGetItem, .index = index, .args = {std::move(tuple)}});
}
Pattern operator|(const Pattern& a, const Pattern& b) { return Make({.kind = Kind::kOr, .args = {a, b}}); }
Pattern operator&(const Pattern& a, const Pattern& b) { return Make({.kind = Kind::kAnd, .args = {a, b}}); }
Pattern operator!(const Pattern& a) { return Make({.kind = Kind::kNot, .args = {a}}); }

std::string ToString(const Pattern& pattern) {
  switch (pattern->kind) {
    case Kind::kWildcard:
      return "*";
    case Kind::kVar:
      return "var";
    case Kind::kConst:
      return "const";
    case Kind::kSplat:
      return FloatText(pattern->number);
    case Kind::kOp:
      return absl::StrCat(pattern->name, "(", pattern->any_args ? "..." : ListText(pattern->args, ", "), ")");
    case Kind::kTuple:
      return absl::StrCat("(", ListText(pattern->args, ", "), ")");
    case Kind::kTupleGetItem:
      return absl::StrCat(ToString(pattern->args[0]), "[", pattern->index < 0 ? "*" : absl::StrCat(pattern->index),
                          "]");
    case Kind::kOr:
      return absl::StrCat("(", ListText(pattern->args, " | "), ")");
    case Kind::kAnd:
      return absl::StrCat("(", ListText(pattern->args, " & "), ")");
    case Kind::kNot:
      return absl::StrCat("!", ToString(pattern->args[0]));
    case Kind::kCondition:
      return absl::StrCat(ToString(pattern->args[0]), "{", pattern->name, "}");
  }
  return "";
}

PatternGraph PatternGraph::Sequence(const std::vector<Pattern>& patterns, bool only) {
  PatternGraph graph(patterns.back());
  graph.inner.assign(patterns.begin(), patterns.end() - 1);
  for (size_t i = 0; i + 1 < patterns.size(); ++i) graph.edges.push_back({patterns[i], patterns[i + 1], -1, only});
  return graph;
}

PatternGraph& PatternGraph::UsedBy(const Pattern& producer, const Pattern& consumer, int index) {
  edges.push_back({producer, consumer, index, /*only=*/false});
  return *this;
}

PatternGraph& PatternGraph::OnlyUsedBy(const Pattern& producer, const Pattern& consumer, int index) {
  edges.push_back({producer, consumer, index, /*only=*/true});
  return *this;
}

}  // namespace tilewright::graph
