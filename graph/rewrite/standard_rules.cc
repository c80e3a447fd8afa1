#include "graph/rewrite/standard_rules.h"

#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace tilewright::graph {
namespace {

NDArray RandomArray(std::mt19937_64& random, std::vector<int64_t> shape) {
  const NDArray array(DataType::Float(32), std::move(shape));
  FillUniform(array, random());
  return array;
}

int64_t RandomExtent(std::mt19937_64& random) { return 1 + static_cast<int64_t>(random() % 6); }

absl::StatusOr<RuleExample> MultiplyAddExample(std::mt19937_64& random, const OpTable& ops) {
  BlockBuilder b(&ops);
  RuleExample example;
  const int64_t m = RandomExtent(random), n = RandomExtent(random);
  std::vector<Var> params;
  for (const char* name : {"a", "b", "c"}) {
    // Operands that are broadcast, too.
    const std::vector<int64_t> shape = random() % 3 == 0 ? std::vector<int64_t>{n} : std::vector<int64_t>{m, n};
    params.emplace_back(name, TensorType(DataType::Float(32), Extents(shape)));
    example.arguments.emplace_back(RandomArray(random, shape));
  }
  b.BeginFunction("main", params);
  b.BeginDataflow();
  const Value product = b.CallOp("multiply", {params[0], params[1]});
  const Value sum = random() % 2 == 0 ? b.CallOp("add", {product, params[2]}) : b.CallOp("add", {params[2], product});
  TW_RETURN_IF_ERROR(b.EndFunction(sum).status());
  example.module = b.module();
  return example;
}

absl::StatusOr<RuleExample> DenseAddExample(std::mt19937_64& random, const OpTable& ops) {
  BlockBuilder b(&ops);
  RuleExample example;
  const int64_t m = RandomExtent(random), k = RandomExtent(random), n = RandomExtent(random);
  const Symbol rows("rows", DataType::Int(64));
  const Var x("x", TensorType(DataType::Float(32), {random() % 2 == 0 ? Expr(rows) : Extent(m), Extent(k)}));
  b.BeginFunction("main", {x});
  b.BeginDataflow();
  const Value product = b.CallOp("matmul", {x, Constant(RandomArray(random, {k, n}))});
  const Value sum = b.CallOp("add", {product, Constant(RandomArray(random, {n}))});
  TW_RETURN_IF_ERROR(b.EndFunction(b.CallOp("nn.relu", {sum})).status());
  example.module = b.module();
  example.arguments.emplace_back(RandomArray(random, {m, k}));
  return example;
}

// Writes what a match computes into a function of its own.
class Outliner {
 public:
  explicit Outliner(RuleContext* context) : r_(*context) {}

  absl::StatusOr<Value> Run(const std::string& name) {
    const Match& match = r_.match();
    TW_CHECK(match.roots.size() == 1) << name << ": a pattern with several roots cannot be outlined";
    for (const VarNode* input : match.inputs) {
      const Value outside = r_.Replaced(Var(input));
      const auto* var = dyn_cast<VarNode>(outside);
      if (var == nullptr) {
        inside_[input] = outside;  // has become a constant
        continue;
      }
      params_.emplace_back(var->name, var->type);
      args_.push_back(outside);
      inside_[input] = params_.back();
    }
    BlockBuilder& b = r_.builder();
    b.BeginFunction(name, params_, {}, {{"Primitive", true}}, /*is_private=*/true);
    b.BeginDataflow();
    const absl::StatusOr<Value> result = Write(match.roots[0]);
    const absl::Status status = result.ok() ? b.EndFunction(*result).status() : result.status();
    if (!status.ok()) {
      b.AbandonFunction();
      return status;
    }
    return Value(CallFunction(name, args_));
  }

 private:
  absl::StatusOr<Value> Write(const VarNode* var) {
    const auto known = inside_.find(var);
    if (known != inside_.end()) return known->second;
    TW_ASSIGN_OR_RETURN(const Value value, Inside(r_.uses().BoundTo(var)));
    TW_ASSIGN_OR_RETURN(Var written, r_.builder().Emit(value, var->name));
    inside_[var] = written;
    return Value(written);
  }

  absl::StatusOr<std::vector<Value>> InsideAll(const std::vector<Value>& values) {
    std::vector<Value> all;
    for (const Value& value : values) {
      TW_ASSIGN_OR_RETURN(Value inside, Inside(value));
      all.push_back(std::move(inside));
    }
    return all;
  }

  // A value of the old function with what it reads written into the new one.
  absl::StatusOr<Value> Inside(const Value& value) {
    if (const auto* var = dyn_cast<VarNode>(value)) return Write(var);
    if (const auto* tuple = dyn_cast<TupleNode>(value)) {
      TW_ASSIGN_OR_RETURN(std::vector<Value> fields, InsideAll(tuple->fields));
      return Value(Tuple(std::move(fields)));
    }
    if (const auto* item = dyn_cast<TupleGetItemNode>(value)) {
      TW_ASSIGN_OR_RETURN(Value tuple, Inside(item->tuple));
      return Value(TupleGetItem(std::move(tuple), item->index));
    }
    if (const auto* call = dyn_cast<CallNode>(value)) {
      TW_ASSIGN_OR_RETURN(std::vector<Value> args, InsideAll(call->args));
      return Value(Call(call->op, std::move(args), call->attrs));
    }
    if (const auto* call = dyn_cast<CallTirNode>(value)) {
      TW_ASSIGN_OR_RETURN(std::vector<Value> args, InsideAll(call->args));
      return Value(CallTir(call->function, std::move(args), call->out, call->symbols));
    }
    return value;  // constants and shapes
  }

  RuleContext& r_;
  std::vector<Var> params_;
  std::vector<Value> args_;
  std::unordered_map<const VarNode*, Value> inside_;
};

}  // namespace

RewriteRule MultiplyAddRule() {
  const Pattern a = Wildcard(), b = Wildcard(), c = Wildcard();
  const Pattern product = IsOp("multiply", {a, b});
  return {.name = "MultiplyAdd",
          .pattern = IsOp("add", {product, c}) | IsOp("add", {c, product}),
          .replacement = [=](RuleContext& r) -> absl::StatusOr<std::vector<Value>> {
            return std::vector<Value>{r.builder().CallOp("ewise_fma", {r.Of(a), r.Of(b), r.Of(c)})};
          },
          .example = MultiplyAddExample};
}

RewriteRule OutlineRule(std::string name, PatternGraph pattern,
                        std::function<absl::StatusOr<RuleExample>(std::mt19937_64&, const OpTable&)> example) {
  return {.name = name,
          .pattern = std::move(pattern),
          .replacement = [name](RuleContext& r) -> absl::StatusOr<std::vector<Value>> {
            int number = 0;
            while (r.builder().module().Contains(absl::StrCat(name, number))) ++number;
            TW_ASSIGN_OR_RETURN(Value call, Outliner(&r).Run(absl::StrCat(name, number)));
            return std::vector<Value>{std::move(call)};
          },
          .example = std::move(example)};
}

RewriteRule FuseDenseAddRule() {
  return OutlineRule("fused_dense_add", IsOp("add", {IsOp("matmul", {Wildcard(), IsConst()}), IsConst()}),
                     DenseAddExample);
}

}  // namespace tilewright::graph
