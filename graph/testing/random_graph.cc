#include "graph/testing/random_graph.h"

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "graph/ir/block_builder.h"
#include "ir/builder.h"

namespace tilewright::graph {
namespace {

const DataType kF32 = DataType::Float(32);

class Generator {
 public:
  Generator(uint64_t seed, const OpTable& ops, const RandomGraphOptions& options)
      : random_(seed), options_(options), b_(&ops) {}

  GraphModule Run() {
    if (options_.programs) AddProgram();
    if (options_.functions) AddFunction();
    const Symbol n("n", DataType::Int(64)), m(Chance(3) ? "n" : "m", DataType::Int(64));
    const std::vector<Var> params = {Tensor("x", {n, Extent(4)}), Tensor(Chance(4) ? "T" : "y", {n, Extent(4)}),
                                     Tensor("z", {m, Extent(4)}), Tensor("w", {Extent(4), Extent(4)}),
                                     Var("flag", TypeOfFlag())};
    Attrs attrs;
    if (Chance(2)) attrs = {{"num_input", 4}, {"scales", FloatList{0.5, -1e-30, INFINITY}}, {"why", "\"quoted\"\n"}};
    b_.BeginFunction("main", params, {Extent(1) <= n}, std::move(attrs));
    for (size_t i = 0; i + 1 < params.size(); ++i) values_.push_back(params[i]);
    flag_ = params.back();
    Emit(options_.bindings);
    std::vector<Value> results;
    const int count = 1 + Pick(3);
    for (int i = 0; i < count; ++i) results.push_back(Any());
    const Value result = count == 1 && Chance(2) ? results[0] : Value(Tuple(results));
    TW_CHECK(b_.EndFunction(result).ok());
    return b_.module();
  }

 private:
  int Pick(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  bool Chance(int in) { return Pick(in) == 0; }
  static Var Tensor(const std::string& name, std::vector<Expr> shape) {
    return Var(name, TensorType(kF32, std::move(shape)));
  }
  static Type TypeOfFlag() { return TensorType(DataType::Bool(), {}); }
  Value Any() { return values_[static_cast<size_t>(Pick(static_cast<int>(values_.size())))]; }
  static const TensorTypeNode& TypeOfValue(const Value& value) { return *TensorTypeOf(value); }

  void AddProgram() {
    const Symbol k("k", DataType::Int(64));
    FunctionBuilder f("scale");
    const Buffer a = f.Input("A", {k, Extent(4)}, kF32);
    const Buffer out = f.Compute("B", {k, Extent(4)}, [&](const tilewright::Var& i, const tilewright::Var& j) {
      return a(i, j) * ConstFloat(kF32, 0.5);
    });
    b_.AddProgram(f.Build({out}), "scale");
  }

  void AddFunction() {
    const Symbol k("k", DataType::Int(64));
    const Var x = Tensor("x", {k, Extent(4)}), y = Tensor("y", {k, Extent(4)});
    b_.BeginFunction("block", {x, y}, {}, {{"Primitive", true}}, /*is_private=*/true);
    b_.BeginDataflow();
    const absl::StatusOr<Var> r = b_.Emit(b_.CallOp("nn.relu", {b_.CallOp("subtract", {x, y})}));
    TW_CHECK(b_.EndFunction(*r).ok());
  }

  Value RandomConstant() {
    switch (Pick(4)) {
      case 0:
        return Constant::Scalar(kF32, Pick(2) ? 0.1 : -Pick(9));
      case 1: {
        const NDArray array(kF32, {Chance(9) ? 3 : 1, 4});
        FillUniform(array, random_());
        if (Chance(5)) array.Set(0, Chance(2) ? std::nan("") : -INFINITY);
        return Constant(array);
      }
      case 2: {
        const NDArray array(kF32, {4});
        FillIntegers(array, random_());
        return Constant(array);
      }
      default: {
        const NDArray array(kF32, {4, 32, 4});  // stands beside the text
        FillIntegers(array, random_());
        Value constant = Constant(array);
        return b_.CallOp("sum", {constant}, {{"axis", IntList{0, 1}}});
      }
    }
  }

  // Keeps the value when it is a tensor, and what it gives when it is a tuple.
  void Keep(const absl::StatusOr<Var>& var) {
    if (!var.ok()) return;  // shapes did not fit
    const Type& type = (*var)->type;
    if (isa<TensorTypeNode>(type)) {
      if (TypeOfValue(*var).dtype == kF32 && TypeOfValue(*var).shape) values_.push_back(*var);
    } else if (const auto* tuple = dyn_cast<TupleTypeNode>(type)) {
      for (size_t i = 0; i < tuple->fields.size(); ++i) {
        if (Chance(3)) continue;
        Keep(b_.Emit(TupleGetItem(*var, static_cast<int>(i))));
      }
    }
  }

  Value RandomValue() {
    static const char* const kBinary[] = {"add", "subtract", "multiply", "maximum", "minimum"};
    static const char* const kUnary[] = {"negative", "abs", "nn.relu", "tanh", "sigmoid"};
    const Value a = Any(), b = Chance(3) ? RandomConstant() : Any();
    const int rank = TypeOfValue(a).rank();
    switch (Pick(12)) {
      case 0:
      case 1:
      case 2:
        return b_.CallOp(kBinary[Pick(5)], {a, b});
      case 3:
        return b_.CallOp(kUnary[Pick(5)], {a});
      case 4:
        return b_.CallOp("matmul", {a, b});
      case 5:
        return b_.CallOp("permute_dims", {a}, rank == 2 && Chance(2) ? Attrs{{"axes", IntList{1, -2}}} : Attrs{});
      case 6:
        return b_.CallOp("concat", {a, Any()}, {{"axis", rank == 0 ? 0 : Pick(2 * rank) - rank}});
      case 7:
        return b_.CallOp("split", {a}, {{"indices_or_sections", IntList{1, 3}}, {"axis", -1}});
      case 8:
        return b_.CallOp(Chance(2) ? "max" : "sum", {a},
                         rank > 0 ? Attrs{{"axis", IntList{Pick(rank)}}, {"keepdims", Chance(2)}} : Attrs{});
      case 9:
        return RandomReshape(a);
      case 10:
        return options_.programs ? RandomProgramCall(a) : b_.CallOp("ewise_fma", {a, b, Any()});
      default:
        return options_.functions ? Value(CallFunction("block", {a, Any()})) : b_.CallOp("ewise_fma", {a, a, b});
    }
  }

  Value RandomReshape(const Value& a) {
    const std::vector<Expr>& shape = *TypeOfValue(a).shape;
    if (Chance(2)) return b_.CallOp("reshape", {a, Constant::Int64s({-1, 2})});
    std::vector<Expr> target = {Extent(1)};
    target.insert(target.end(), shape.begin(), shape.end());
    if (Chance(2)) return b_.CallOp("broadcast_to", {a, ShapeExpr(target)});
    return b_.CallOp("reshape", {a, b_.CallOp("shape_to_tensor", {ShapeExpr(target)})});
  }

  Value RandomProgramCall(const Value& a) {
    const TensorTypeNode& type = TypeOfValue(a);
    if (type.rank() != 2 || !IsInt((*type.shape)[1], 4)) return b_.CallOp("ewise_fma", {a, a, a});
    return CallTir("scale", {a}, TensorType(kF32, *type.shape));
  }

  void Emit(int count) {
    for (int i = 0; i < count; ++i) {
      if (Chance(4)) {
        if (b_.in_dataflow()) {
          b_.EndDataflow();
        } else {
          b_.BeginDataflow();
        }
      }
      if (options_.branches && depth_ < 2 && Chance(9)) {
        EmitIf();
      } else if (Chance(12)) {
        Keep(b_.Emit(Tuple({Any(), Any(), Constant::Scalar(kF32, 2)})));
      } else {
        Keep(b_.Emit(RandomValue(), Chance(5) ? "a b" : ""));
      }
    }
  }

  Seq Branch(const Value& shape_of) {
    const std::vector<Value> outside = values_;
    b_.BeginBranch();
    ++depth_;
    if (Chance(2)) b_.BeginDataflow();
    Emit(3);
    --depth_;
    Value result = values_.back();
    if (Chance(2) || TypeOfValue(result).rank() != TypeOfValue(shape_of).rank()) result = shape_of;
    absl::StatusOr<Seq> seq = b_.EndBranch(result);
    TW_CHECK(seq.ok());
    values_ = outside;
    return *seq;
  }

  void EmitIf() {
    const Value shape_of = Any();
    const Seq then_branch = Branch(shape_of), else_branch = Branch(shape_of);
    const absl::StatusOr<Var> var = b_.Emit(If(flag_, then_branch, else_branch));
    TW_CHECK(var.ok());
    Keep(var);
  }

  std::mt19937_64 random_;
  const RandomGraphOptions options_;
  BlockBuilder b_;
  std::vector<Value> values_;  // float32 tensors of known rank that are visible
  Value flag_;
  int depth_ = 0;
};

}  // namespace

GraphModule RandomGraph(uint64_t seed, const OpTable& ops, const RandomGraphOptions& options) {
  return Generator(seed, ops, options).Run();
}

}  // namespace tilewright::graph
