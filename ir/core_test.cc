#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// for i in range(extent): B[i] = A[i] + 1, in a block
Function AddOne(int extent, const char* block_name = "add") {
  Buffer a("A", {extent}, DataType::Float(32)), b("B", {extent}, DataType::Float(32));
  Var i("i"), vi("vi");
  BlockNode::Fields block;
  block.name = block_name;
  block.iter_vars = {{vi, {Expr(0), Expr(extent)}, IterKind::kSpatial}};
  block.reads = {BufferRegion::Point(a, {vi})};
  block.writes = {BufferRegion::Point(b, {vi})};
  block.body = Store(b, a(vi) + Const(DataType::Float(32), 1), {vi});
  ForNode::Fields loop;
  loop.var = i;
  loop.extent = Expr(extent);
  loop.body = Realize({i}, True(), Block(std::move(block)));
  BlockNode::Fields root;
  root.name = "root";
  root.body = For(std::move(loop));
  FunctionNode::Fields function;
  function.name = "main";
  function.params = {{a->data, a}, {b->data, b}};
  function.body = Realize({}, True(), Block(std::move(root)));
  return Function(std::move(function));
}

TEST(Node, SmallConstantsAreSharedAndOutliveTheirUses) {
  const ExprNode* one = Expr(1).get();
  EXPECT_EQ(Const(DataType::Int(32), 1).get(), one);
  EXPECT_NE(Const(DataType::Int(64), 1).get(), one);
  EXPECT_EQ(True().get(), Const(DataType::Bool(), 1).get());
  EXPECT_NE(Expr(1 << 20).get(), Expr(1 << 20).get());
  EXPECT_TRUE(IsInt(Expr(one), 1));
}

TEST(Node, MemoryMayEndOnAnotherThread) {
  std::vector<Expr> made;
  std::thread([&] {
    Var i("i");
    for (int n = 0; n < 10000; ++n) made.push_back(i + n);
  }).join();
  std::thread([&] { made.erase(made.begin() + 5000, made.end()); }).join();
  EXPECT_TRUE(IsInt(cast<BinaryNode>(made[4999])->b, 4999));
}

TEST(Expr, OperatorsUnifyTypes) {
  Var i("i", DataType::Int(64)), j("j");
  EXPECT_EQ((i + 1).dtype(), DataType::Int(64));
  EXPECT_EQ((i + j).dtype(), DataType::Int(64));
  EXPECT_EQ((Ramp(j, 1, 4) + 1).dtype(), DataType::Int(32, 4));
  EXPECT_EQ((j < 3).dtype(), DataType::Bool());
}

TEST(Function, AssignsIdsAndFindsPaths) {
  Function f = AddOne(16);
  EXPECT_EQ(f->next_id, 4u);
  EXPECT_EQ(FindPath(f, 1).size(), 1u);  // the root block
  EXPECT_NE(FindLoop(f, 2), nullptr);
  EXPECT_EQ(FindBlock(f, 3)->block->name, "add");
  EXPECT_EQ(FindPath(f, 3).size(), 3u);
  EXPECT_TRUE(FindPath(f, 9).empty());
}

TEST(Structural, EqualUpToRenaming) {
  Function a = AddOne(16), b = AddOne(16);
  EXPECT_TRUE(StructuralEqual(a, b));
  EXPECT_EQ(StructuralHash(a), StructuralHash(b));
  uint32_t next_id = a->next_id;
  Stmt copy = CopyWithFreshNames(a->body, &next_id);
  EXPECT_FALSE(copy.same_as(a->body));
  EXPECT_TRUE(StructuralEqual(a, a.WithBody(copy, next_id)));
}

TEST(Structural, AHandleMayBeTheDataPointerOrNot) {
  const Function a = AddOne(16);
  FunctionNode::Fields fields = a->fields();
  for (Param& param : fields.params) param.var = param.buffer->data;
  const Function data(fields);
  for (Param& param : fields.params) param.var = Var("handle", DataType::Handle());
  const Function handle(fields);
  EXPECT_TRUE(StructuralEqual(data, handle));
  EXPECT_EQ(StructuralHash(data), StructuralHash(handle));
}

TEST(Structural, NamesTheFirstDifference) {
  Mismatch mismatch;
  EXPECT_FALSE(StructuralEqual(AddOne(16), AddOne(32), &mismatch));
  EXPECT_EQ(mismatch.path, "main.params[0]");
  EXPECT_EQ(mismatch.reason, "16 and 32");
  EXPECT_FALSE(StructuralEqual(AddOne(16), AddOne(16, "sub"), &mismatch));
  EXPECT_EQ(mismatch.path, "main.body.block[root].for[i].block[add]");
  EXPECT_EQ(mismatch.reason, "block names \"add\" and \"sub\"");
  EXPECT_NE(StructuralHash(AddOne(16)), StructuralHash(AddOne(16, "sub")));
}

TEST(Structural, FreeVariablesByIdentityUnlessMapped) {
  Var x("x"), y("y");
  EXPECT_FALSE(StructuralEqual(x + 1, y + 1));
  EXPECT_TRUE(StructuralEqual(x + 1, y + 1, true));
  EXPECT_FALSE(StructuralEqual(x + y, x + x, true));
  EXPECT_FALSE(StructuralEqual(x + x, x + y, true));
}

TEST(Mutator, SharesWhatDoesNotChange) {
  Function f = AddOne(16);
  EXPECT_TRUE(Substitute(f->body, {}).same_as(f->body));
  Stmt replaced = ReplaceStmt(f->body, FindPath(f, 2).back().get(), Evaluate(Expr(0)));
  EXPECT_TRUE(IsNoOp(cast<BlockRealizeNode>(replaced)->block->body));
}

// An array that a statement allocates has the extents that its variables are replaced by; others stay.
TEST(Substitute, ReachesExtentsOfArraysInside) {
  const Var n("n"), m("m");
  const DataType f32 = DataType::Float(32);
  const Buffer inside("inside", {Expr(n) + 1}, f32), other("other", {Expr(4)}, f32);
  const auto allocate = [](const Buffer& buffer, const Stmt& body) {
    return Stmt(new AllocateNode(buffer, Annotations(), body));
  };
  const Stmt s = allocate(other, allocate(inside, Store(inside, other(Expr(0)), {Expr(n)})));
  const Stmt replaced = Substitute(s, {{n, Expr(m)}});
  const auto* outer = cast<AllocateNode>(replaced);
  EXPECT_TRUE(outer->buffer.same_as(other));
  const auto* inner = cast<AllocateNode>(outer->body);
  EXPECT_TRUE(StructuralEqual(inner->buffer->shape[0], Expr(m) + 1));
  EXPECT_TRUE(inner->buffer->data.same_as(inside->data));
  EXPECT_TRUE(cast<StoreNode>(inner->body)->buffer.same_as(inner->buffer));
}

TEST(IndexMap, Apply) {
  Var i("i"), j("j"), a("a");
  IndexMap map({i, j}, {FloorDiv(i, 16), j, FloorMod(i, 16)});
  std::vector<Expr> at = map.Apply({a + 1, Expr(2)});
  EXPECT_TRUE(StructuralEqual(at[0], FloorDiv(a + 1, 16)));
  EXPECT_TRUE(StructuralEqual(at[1], Expr(2)));
}

}  // namespace
}  // namespace tilewright
