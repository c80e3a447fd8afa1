// Operators and the table that holds them.
//
//   OpTable ops;
//   ops.Add({.name = "nn.relu", .params = {"x"}, .infer = [](InferContext& c) { return c.TypeOfArg(0); }});
//   ops.Add({.name = "concat", .params = {"tensors*"}, .attrs = {{"axis", AttrKind::kInt, 0}}, .infer = InferConcat});
//   ops.Add({.name = "clip", .params = {"x", "low?", "high?"}, ...});
//
// An operator is a name, a signature and a rule for the type of its result. How it is computed is registered elsewhere
// (graph/rewrite/legalize.h), so that the IR does not depend on it. A table is an object: what a graph may hold is said
// by the table that its builder was given. Operators outlive their table.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/attrs.h"
#include "graph/ir/kinds.h"
#include "graph/ir/type.h"

namespace tilewright::graph {

class InferContext;  // graph/ir/infer.h

struct AttrSpec {
  std::string name;
  AttrKind kind = AttrKind::kInt;
  // What the builder fills in when the attribute is not given; without one the attribute is optional, unless
  // `required`.
  std::optional<AttrValue> default_value = {};
  bool required = false;
};

class OpNode : public Node {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kOp);
  struct Fields {
    std::string name;  // "add", "nn.relu": R.add, R.nn.relu in the text
    // Names of the arguments. "x?" may be absent; "xs*", only as the last one, stands for any number of them.
    std::vector<std::string> params;
    std::vector<AttrSpec> attrs;
    std::function<absl::StatusOr<Type>(InferContext&)> infer;
    bool pure = true;             // the result depends on the arguments and attributes only, and there is no effect
    bool data_dependent = false;  // extents of the result may be new symbols, whose values are known after the call
  };
  explicit OpNode(Fields fields);
  const std::string name;
  const std::vector<std::string> params;
  const std::vector<AttrSpec> attrs;
  const std::function<absl::StatusOr<Type>(InferContext&)> infer;
  const bool pure;
  const bool data_dependent;

  bool is_variadic() const { return !params.empty() && params.back().ends_with('*'); }
  bool is_optional(size_t arg) const { return arg < params.size() && params[arg].ends_with('?'); }
  const AttrSpec* FindAttr(std::string_view attr) const;  // null when there is none
};

class Op : public Ref<OpNode> {
 public:
  Op() = default;
  explicit Op(const OpNode* node) : Ref<OpNode>(node) {}
};

class OpTable {
 public:
  // CHECKs that no operator has that name.
  Op Add(OpNode::Fields fields);
  // Null when there is none.
  Op Find(std::string_view name) const;
  // CHECKs that there is one.
  Op Get(std::string_view name) const;
  const std::map<std::string, Op, std::less<>>& ops() const { return ops_; }

 private:
  std::map<std::string, Op, std::less<>> ops_;
};

// The attributes with defaults filled in. Errors name the operator and the attribute: unknown, missing, of another
// kind. An integer stands for a float too, and a string that names a data type for it.
absl::StatusOr<Attrs> CompleteAttrs(const OpNode& op, Attrs attrs);

}  // namespace tilewright::graph
