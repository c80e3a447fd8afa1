#include "ir/well_formed.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

const DataType kF32 = DataType::Float(32);

Function AddOne() {
  FunctionBuilder f("main");
  Buffer a = f.Input("A", {16}, kF32);
  Buffer b = f.Compute("B", {16}, [&](Var i) { return a(i) + 1; });
  return f.Build({b});
}

std::vector<std::string> Reasons(const Function& function) {
  std::vector<std::string> reasons;
  for (const WellFormedViolation& violation : FindViolations(function)) reasons.push_back(violation.reason);
  return reasons;
}

// `function` with one rewritten statement.
Function Rewritten(const Function& function, const std::function<Stmt(const Stmt&)>& rewrite) {
  return function.WithBody(RewriteStmt(function->body, rewrite), function->next_id);
}

TEST(WellFormed, AcceptsBuiltPrograms) { EXPECT_EQ(Reasons(AddOne()), std::vector<std::string>{}); }

TEST(WellFormed, LoopVariableInsideOfABlock) {
  Function f = AddOne();
  Var loop_var = FindLoop(f, 2)->var;
  Function bad = Rewritten(f, [&](const Stmt& s) {
    const auto* store = dyn_cast<StoreNode>(s);
    return store == nullptr ? s : Store(store->buffer, store->value, {loop_var});
  });
  EXPECT_EQ(Reasons(bad),
            std::vector<std::string>{"variable " + loop_var.name() + " is used outside of its definition"});
}

TEST(WellFormed, IdsAreUniqueAndBelowTheNext) {
  Function f = AddOne();
  Function twice = Rewritten(f, [&](const Stmt& s) {
    const auto* loop = dyn_cast<ForNode>(s);
    if (loop == nullptr) return s;
    ForNode::Fields fields = loop->fields();
    fields.id = 3;
    return For(std::move(fields));
  });
  ASSERT_EQ(Reasons(twice).size(), 1u);
  EXPECT_NE(Reasons(twice)[0].find("has the id of another loop or block"), std::string::npos);
  EXPECT_FALSE(Reasons(f.WithBody(f->body, 2)).empty());
}

TEST(WellFormed, BufferThatNobodyDefines) {
  Function f = AddOne();
  Buffer stranger("X", {16}, kF32);
  Function bad = Rewritten(f, [&](const Stmt& s) {
    const auto* store = dyn_cast<StoreNode>(s);
    return store == nullptr ? s : Store(stranger, store->value, store->indices);
  });
  EXPECT_EQ(Reasons(bad), std::vector<std::string>{"buffer X is used outside of its definition"});
}

TEST(WellFormed, VariableDefinedTwice) {
  Function f = AddOne();
  Function bad = Rewritten(f, [&](const Stmt& s) {
    const auto* loop = dyn_cast<ForNode>(s);
    return loop == nullptr ? s : For({.id = 9, .var = loop->var, .extent = Expr(1), .body = s});
  });
  bad = bad.WithBody(bad->body, 10);
  ASSERT_EQ(Reasons(bad).size(), 1u);
  EXPECT_NE(Reasons(bad)[0].find("is defined twice"), std::string::npos);
}

TEST(WellFormed, ArgumentsBeginWithTheirFirstElement) {
  const auto reasons = [](Expr offset) {
    BufferNode::Fields fields{.name = "A", .dtype = kF32, .shape = {Expr(16)}};
    fields.elem_offset = std::move(offset);
    const Buffer a(std::move(fields));
    const Stmt body = Store(a, Const(kF32, 1.0), {Expr(0)});
    return Reasons(Function({.name = "main", .params = {{Var("a", DataType::Handle()), a}}, .body = body}));
  };
  EXPECT_EQ(reasons(Expr()), std::vector<std::string>{});
  EXPECT_EQ(reasons(Expr(0)), std::vector<std::string>{});
  EXPECT_EQ(reasons(Var("offset", DataType::Int(32))), std::vector<std::string>{});
  EXPECT_EQ(reasons(Expr(16)), std::vector<std::string>{"parameter A has elem_offset 16: an argument begins with its "
                                                        "first element, so its offset is 0 or a variable"});
}

}  // namespace
}  // namespace tilewright
