#include "graph/ir/block_builder.h"

#include <gtest/gtest.h>

#include "graph/ir/basic_ops.h"
#include "graph/ir/structural.h"
#include "graph/ir/symbols.h"
#include "graph/ir/well_formed.h"
#include "ir/builder.h"

namespace tilewright::graph {
namespace {

const DataType kF32 = DataType::Float(32);
const DataType kI64 = DataType::Int(64);

class BlockBuilderTest : public testing::Test {
 protected:
  BlockBuilderTest() { AddBasicOps(&ops_); }

  static Var Tensor(const std::string& name, std::vector<Expr> shape, DataType dtype = kF32) {
    return Var(name, TensorType(dtype, std::move(shape)));
  }
  static Constant Zeros(std::vector<int64_t> shape) { return Constant(NDArray(kF32, std::move(shape))); }
  static std::string TypeText(const Var& var) { return ToString(var->type); }
  static void ExpectWellFormed(const GraphModule& module) {
    for (const std::string& violation : FindViolations(module)) ADD_FAILURE() << violation;
  }

  OpTable ops_;
  const Symbol n_ = Symbol("n", kI64), m_ = Symbol("m", kI64);
};

TEST_F(BlockBuilderTest, NestedCallsAreBoundAndTyped) {
  BlockBuilder b(&ops_);
  const Var x = Tensor("x", {n_, 784});
  b.BeginFunction("main", {x});
  b.BeginDataflow();
  const Var y =
      *b.Emit(b.CallOp("nn.relu", {b.CallOp("add", {b.CallOp("matmul", {x, Zeros({784, 128})}), Zeros({128})})}));
  EXPECT_EQ(TypeText(y), "R.Tensor((n, 128), dtype=\"float32\")");
  const Function f = *b.EndFunction(y);
  ASSERT_EQ(f->body->blocks.size(), 1u);
  const BindingBlock& block = f->body->blocks[0];
  EXPECT_TRUE(block.dataflow);
  ASSERT_EQ(block.bindings.size(), 3u);
  EXPECT_EQ(block.bindings[1].var->name, "lv1");
  ASSERT_EQ(block.outputs.size(), 1u);
  EXPECT_TRUE(block.outputs[0].same_as(y));
  ExpectWellFormed(b.module());
}

TEST_F(BlockBuilderTest, CseFindsWhatIsVisible) {
  BlockBuilder b(&ops_, {}, {.cse = true});
  const Var x = Tensor("x", {n_, 4}), c = Var("c", TensorType(DataType::Bool(), {}));
  b.BeginFunction("main", {x, c});
  b.BeginDataflow();
  const Var e = *b.Emit(b.CallOp("exp", {x}));
  EXPECT_TRUE(b.Emit(b.CallOp("exp", {x}))->same_as(e));
  EXPECT_FALSE(b.Emit(b.CallOp("sum", {x}, {{"axis", IntList{0}}}))
                   ->same_as(*b.Emit(b.CallOp("sum", {x}, {{"axis", IntList{1}}}))));
  // Constants are compared by their bytes.
  const Var p = *b.Emit(b.CallOp("add", {x, Zeros({4})}));
  EXPECT_TRUE(b.Emit(b.CallOp("add", {x, Zeros({4})}))->same_as(p));
  b.BeginBranch();
  EXPECT_TRUE(b.Emit(b.CallOp("exp", {x}))->same_as(e));
  const Var inner = *b.Emit(b.CallOp("tanh", {x}));
  const Seq then_branch = *b.EndBranch(inner);
  b.BeginBranch();
  EXPECT_FALSE(b.Emit(b.CallOp("tanh", {x}))->same_as(inner));
  const Seq else_branch = *b.EndBranch(e);
  const Var r = *b.Emit(If(c, then_branch, else_branch));
  ASSERT_TRUE(b.EndFunction(r).ok());
  ExpectWellFormed(b.module());
}

TEST_F(BlockBuilderTest, BranchSplitsDataflowAndOutputsFollowUses) {
  BlockBuilder b(&ops_);
  const Var x = Tensor("x", {n_, 4}), c = Var("c", TensorType(DataType::Bool(), {}));
  b.BeginFunction("main", {x, c});
  b.BeginDataflow();
  const Var e = *b.Emit(b.CallOp("exp", {x})), unused = *b.Emit(b.CallOp("tanh", {x}));
  b.BeginBranch();
  const Seq then_branch = *b.EndBranch(*b.Emit(b.CallOp("negative", {e})));
  b.BeginBranch();
  const Seq else_branch = *b.EndBranch(*b.Emit(b.CallOp("concat", {x, x})));
  const Var r = *b.Emit(If(c, then_branch, else_branch));
  EXPECT_EQ(TypeText(r), "R.Tensor((d, 4), dtype=\"float32\")");
  EXPECT_TRUE(b.in_dataflow());
  const Var s = *b.Emit(b.CallOp("exp", {r}));
  const Function f = *b.EndFunction(s);
  ASSERT_EQ(f->body->blocks.size(), 3u);
  ASSERT_EQ(f->body->blocks[0].outputs.size(), 1u);
  EXPECT_TRUE(f->body->blocks[0].outputs[0].same_as(e));
  EXPECT_FALSE(f->body->blocks[1].dataflow);
  ExpectWellFormed(b.module());
}

TEST_F(BlockBuilderTest, UseOutsideOfABranchIsRefused) {
  BlockBuilder b(&ops_);
  const Var x = Tensor("x", {4});
  b.BeginFunction("main", {x});
  b.BeginBranch();
  const Var inner = *b.Emit(b.CallOp("exp", {x}));
  ASSERT_TRUE(b.EndBranch(inner).ok());
  EXPECT_EQ(b.Emit(b.CallOp("exp", {inner})).status().message(), "variable lv is used outside of its branch");
  const Var other = Tensor("other", {4});
  EXPECT_EQ(b.Emit(b.CallOp("exp", {other})).status().message(), "variable other is not bound in this function");
}

TEST_F(BlockBuilderTest, UnequalSymbolsAreGuarded) {
  BlockBuilder b(&ops_);
  const Var x = Tensor("x", {n_, 4}), y = Tensor("y", {m_, 4});
  b.BeginFunction("main", {x, y});
  const Var s = *b.Emit(b.CallOp("add", {x, y}));
  // The second use relies on the same guard.
  const Var t = *b.Emit(b.CallOp("multiply", {s, y}));
  const Function f = *b.EndFunction(t);
  ASSERT_EQ(f->body->guards.size(), 1u);
  ExpectWellFormed(b.module());

  SymbolValues good;
  ASSERT_TRUE(good.Match(*TensorTypeOf(x), {3, 4}, "x").ok());
  ASSERT_TRUE(good.Match(*TensorTypeOf(y), {3, 4}, "y").ok());
  EXPECT_TRUE(good.CheckGuards(f->body->guards).ok());
  SymbolValues bad;
  ASSERT_TRUE(bad.Match(*TensorTypeOf(x), {3, 4}, "x").ok());
  ASSERT_TRUE(bad.Match(*TensorTypeOf(y), {5, 4}, "y").ok());
  EXPECT_EQ(bad.CheckGuards(f->body->guards).message(), "the model needs m == n, but m = 5, n = 3");
}

TEST_F(BlockBuilderTest, ExtentsAreCheckedOnceTheirSymbolsAreKnown) {
  const TensorType product(kF32, {n_ * Extent(2)}), plain(kF32, {n_});
  SymbolValues good;
  EXPECT_TRUE(good.Match(*product, {8}, "y").ok());
  EXPECT_TRUE(good.Match(*plain, {4}, "x").ok());
  EXPECT_EQ(*good.Evaluate(n_ * n_ - Extent(1)), 15);
  SymbolValues bad;
  EXPECT_TRUE(bad.Match(*product, {8}, "y").ok());
  EXPECT_EQ(bad.Match(*plain, {3}, "x").message(), "an extent of y is 8, expected 6 (n * 2)");
  EXPECT_EQ(bad.Match(*plain, {3, 1}, "x").message(), "x has 2 dimensions, expected 1");
  EXPECT_EQ(bad.Evaluate(FloorDiv(n_, n_ - Extent(3))).status().message(), "n // (n - 3) divides by zero or overflows");
  EXPECT_EQ(bad.Evaluate(m_).status().message(), "symbol m has no value");
}

TEST_F(BlockBuilderTest, ShapeArithmeticIsKnown) {
  BlockBuilder b(&ops_);
  const Var x = Tensor("x", {n_, 6});
  b.BeginFunction("main", {x});
  const Value shape = b.CallOp("shape_to_tensor", {ShapeExpr({n_, 2})});
  const Value target =
      b.CallOp("concat", {b.CallOp("multiply", {shape, Constant::Int64s({1, 2})}), Constant::Int64s({-1})});
  const Var y = *b.Emit(b.CallOp("reshape", {x, target}));
  EXPECT_EQ(TypeText(y), "R.Tensor((n, 4, n * 6 // (n * 4)), dtype=\"float32\")");
  b.AbandonFunction();
}

TEST_F(BlockBuilderTest, CallsOfProgramsAreChecked) {
  FunctionBuilder f("relu");
  const Buffer a = f.Input("A", {n_, Extent(4)}, kF32);
  const Buffer out = f.Compute("B", {n_, Extent(4)}, [&](const tilewright::Var& i, const tilewright::Var& j) {
    return Max(a(i, j), ConstFloat(kF32, 0));
  });
  const PrimFunc program = f.Build({out});
  BlockBuilder b(&ops_);
  EXPECT_EQ(b.AddProgram(program, "relu"), "relu");
  EXPECT_EQ(b.AddProgram(program, "other"), "relu");
  const Var x = Tensor("x", {m_, 4});
  b.BeginFunction("main", {x});
  const Type out_type = TensorType(kF32, {m_, 4});
  const Var y = *b.Emit(CallTir("relu", {x}, out_type));
  EXPECT_EQ(b.Emit(CallTir("relu", {x, x}, out_type)).status().message(),
            "call of relu with 2 arguments, 1 results and 0 scalars, but it has 2 parameters");
  EXPECT_EQ(b.Emit(CallTir("relu", {x}, TensorType(DataType::Int(8), {m_, 4}))).status().message(),
            "result 0 of relu is R.Tensor((m, 4), dtype=\"int8\"), the parameter B has type float32 and 2 dimensions");
  EXPECT_EQ(b.Emit(CallTir("gone", {x}, out_type)).status().message(), "the module does not have a program gone");
  ASSERT_TRUE(b.EndFunction(y).ok());
  ExpectWellFormed(b.module());
}

TEST_F(BlockBuilderTest, CallsOfFunctionsSubstituteSymbols) {
  BlockBuilder b(&ops_);
  const Var x = Tensor("x", {n_, m_});
  b.BeginFunction("inner", {x}, {}, {{"Primitive", true}}, /*is_private=*/true);
  ASSERT_TRUE(b.EndFunction(*b.Emit(b.CallOp("concat", {x, x}))).ok());
  const Symbol k("k", kI64);
  const Var y = Tensor("y", {k, 3});
  b.BeginFunction("main", {y});
  const Var r = *b.Emit(CallFunction("inner", {y}));
  EXPECT_EQ(TypeText(r), "R.Tensor((k * 2, 3), dtype=\"float32\")");
  EXPECT_EQ(b.Emit(CallFunction("inner", {})).status().message(),
            "call of inner with 0 arguments, but it has 1 parameters");
  ASSERT_TRUE(b.EndFunction(r).ok());
  ExpectWellFormed(b.module());
}

TEST_F(BlockBuilderTest, NamesOfFunctionsBeingBuiltAreTaken) {
  BlockBuilder b(&ops_);
  EXPECT_EQ(b.UniqueName("body"), "body");
  b.BeginFunction("body", {});
  b.BeginFunction(b.UniqueName("body"), {});
  ASSERT_TRUE(b.EndFunction(Tuple({})).ok());
  EXPECT_TRUE(b.module().Contains("body_1"));
  EXPECT_EQ(b.UniqueName("body"), "body_2");
  ASSERT_TRUE(b.EndFunction(Tuple({})).ok());
  ExpectWellFormed(b.module());
}

TEST_F(BlockBuilderTest, WrongCallsNameTheirOperator) {
  BlockBuilder b(&ops_);
  const Var x = Tensor("x", {3, 4});
  b.BeginFunction("main", {x});
  const auto error = [&](const Value& value) { return std::string(b.Emit(value).status().message()); };
  EXPECT_EQ(error(b.CallOp("add", {x, Zeros({5})})), "add: cannot broadcast extents 4 and 5");
  EXPECT_EQ(error(b.CallOp("add", {x})), "add: argument b is missing");
  EXPECT_EQ(error(b.CallOp("exp", {x, x})), "exp takes 1 arguments, got 2");
  EXPECT_EQ(error(b.CallOp("sum", {x}, {{"axes", IntList{0}}})), "sum does not have an attribute axes");
  EXPECT_EQ(error(b.CallOp("sum", {x}, {{"axis", "rows"}})),
            "attribute axis of sum must be a list of integers, got a string");
  EXPECT_EQ(error(b.CallOp("sum", {x}, {{"axis", IntList{2}}})), "sum: axis 2 is out of range for rank 2");
  EXPECT_EQ(error(b.CallOp("astype", {x})), "attribute dtype of astype is missing");
  EXPECT_EQ(error(b.CallOp("matmul", {x, Zeros({3, 4})})),
            "matmul: the reduced extent is 4 in one operand and 3 in the other");
  EXPECT_EQ(error(TupleGetItem(x, 0)), "a field of a value that is not a tuple");
}

TEST_F(BlockBuilderTest, StructuralEqualityIsUpToNames) {
  const auto build = [&](const std::string& var, const std::string& op, const Symbol& symbol) {
    BlockBuilder b(&ops_);
    const Var x = Tensor("x", {symbol, 4});
    b.BeginFunction("main", {x});
    return *b.EndFunction(*b.Emit(b.CallOp(op, {b.CallOp("exp", {x})}), var));
  };
  const Function a = build("a", "exp", n_), same = build("b", "exp", m_), other = build("a", "tanh", n_);
  EXPECT_TRUE(StructuralEqual(a, same));
  EXPECT_EQ(StructuralHash(a), StructuralHash(same));
  std::string why;
  EXPECT_FALSE(StructuralEqual(a, other, &why));
  EXPECT_EQ(why, "different operators exp and tanh");
  EXPECT_NE(StructuralHash(a), StructuralHash(other));
}

}  // namespace
}  // namespace tilewright::graph
