#include "codegen/lower/cpu/store_runs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/builtin.h"

namespace tilewright {
namespace {

class Names : public UnguardedLoads {
 public:
  std::vector<std::string> names;

 protected:
  void AddLoad(const LoadNode* load) override { names.push_back(load->buffer->name); }
};

Buffer Numbers(const char* name) { return Buffer(name, {8}, DataType::Int(32)); }

std::vector<std::string> LoadsOf(const Expr& value) {
  Names loads;
  loads.Visit(value);
  return loads.names;
}

TEST(UnguardedLoadsTest, FindsWhatIsLoadedWhateverConditionsSay) {
  const Buffer a = Numbers("a"), b = Numbers("b"), c = Numbers("c");
  const Expr i(3);
  EXPECT_EQ(LoadsOf(a.Load({i}) + b.Load({i})), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(LoadsOf(a.Load({b.Load({i})})), (std::vector<std::string>{"b", "a"}));
  // A select computes both, the condition of an `and` its first operand only.
  EXPECT_EQ(LoadsOf(Select(a.Load({i}) < 1, b.Load({i}), c.Load({i}))), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(LoadsOf(And(a.Load({i}) < 1, b.Load({i}) < 1)), std::vector<std::string>{"a"});
  EXPECT_EQ(LoadsOf(Call(DataType::Int(32), std::string(kIfThenElse), {a.Load({i}) < 1, b.Load({i}), c.Load({i})})),
            std::vector<std::string>{});
  const Var x("x", DataType::Int(32));
  EXPECT_EQ(LoadsOf(Expr(new LetNode(x, a.Load({i}), b.Load({x}))) + c.Load({i})), std::vector<std::string>{"c"});
}

TEST(UnguardedLoadsTest, TellsCallsThatDoMoreThanRead) {
  Names reads, writes;
  reads.Visit(Call(DataType::Float(32), "exp", {Const(DataType::Float(32), 1)}));
  EXPECT_TRUE(reads.only_reads());
  writes.Visit(Call(DataType::Int(32), "some_function", {Expr(1)}));
  EXPECT_FALSE(writes.only_reads());
}

class Reverser : public StoreRunMutator {
 public:
  std::vector<size_t> runs;

 protected:
  bool ChangeRun(std::vector<Stmt>& run) override {
    runs.push_back(run.size());
    if (run.size() < 2) return false;
    std::swap(run.front(), run.back());
    return true;
  }
};

TEST(StoreRunMutatorTest, GivesTheLongestRunsOfEachSequence) {
  const Buffer a = Numbers("a");
  const auto store = [&](int i) { return Store(a, Expr(i), {Expr(i)}); };
  const Stmt other = Evaluate(Call(DataType::Int(32), "some_function", {Expr(1)}));
  Reverser reverser;
  const Stmt changed = reverser.Mutate(Sequence({store(0), store(1), other, store(2)}));
  EXPECT_EQ(reverser.runs, (std::vector<size_t>{2, 1}));
  const std::vector<Stmt>& stmts = cast<SeqNode>(changed)->stmts;
  ASSERT_EQ(stmts.size(), 4U);
  EXPECT_TRUE(IsInt(cast<StoreNode>(stmts[0])->value, 1));
  EXPECT_TRUE(IsInt(cast<StoreNode>(stmts[1])->value, 0));
  EXPECT_TRUE(stmts[2].same_as(other));
  EXPECT_TRUE(IsInt(cast<StoreNode>(stmts[3])->value, 2));
  const Stmt alone = Sequence({other, store(2), other});
  EXPECT_TRUE(Reverser().Mutate(alone).same_as(alone));
}

}  // namespace
}  // namespace tilewright
