#include "verify/threads/memory_values.h"

#include <gtest/gtest.h>

#include "ir/functor.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

const Function& Kernel() {
  static const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("k"):
                vb, vt = T.axis.remap("SS", [b, t])
                T.reads()
                T.writes()
                n = T.alloc_buffer((1,), "int32", scope="local")
                m = T.alloc_buffer((1,), "int32", scope="local")
                S = T.alloc_buffer((8,), "int32", scope="shared")
                n[0] = P[vb]
                S[vt] = vt
                m[0] = n[0] + S[0]
                C[m[0]] = P[n[0]] + S[vt]
)");
  return function;
}

// The only load of the buffer of that name in the value that is stored to C, or in its place.
Expr LoadOf(const std::string& name) {
  Expr found;
  PreOrder(Kernel()->body, [&](const Stmt& s) {
    const auto* store = dyn_cast<StoreNode>(s);
    if (store == nullptr || store->buffer->name != "C") return true;
    const auto look = [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load != nullptr && load->buffer->name == name) found = e;
      return true;
    };
    PreOrder(store->value, look);
    PreOrder(store->indices[0], look);
    return true;
  });
  return found;
}

std::vector<std::string> Tags(const LoopSet& loops) {
  std::vector<std::string> tags;
  for (const ForNode* loop : loops) tags.push_back(loop->thread_tag);
  return tags;
}

TEST(MemoryValues, LoopsThatValuesDependOn) {
  const MemoryValues values(Kernel());
  EXPECT_TRUE(values.any());
  using Texts = std::vector<std::string>;
  EXPECT_EQ(Tags(values.DependsOn(LoadOf("n"))), Texts{"blockIdx.x"});
  // What threads share is the same for all of them.
  EXPECT_EQ(Tags(values.DependsOn(LoadOf("m"))), Texts{"blockIdx.x"});
  EXPECT_EQ(Tags(values.DependsOn(LoadOf("S"))), Texts{"threadIdx.x"});
  EXPECT_EQ(Tags(values.DependsOn(LoadOf("P"))), Texts{"blockIdx.x"});
}

TEST(MemoryValues, NamesLastUntilMemoryChanges) {
  MemoryValues values(Kernel());
  const Expr first = values.Named(LoadOf("n"));
  EXPECT_TRUE(values.HasNames(first));
  EXPECT_TRUE(values.Named(LoadOf("n")).same_as(first));
  const Expr of_table = values.Named(LoadOf("P"));
  values.Change(Kernel()->body);
  EXPECT_FALSE(values.Named(LoadOf("n")).same_as(first));
  EXPECT_FALSE(values.Named(LoadOf("P")).same_as(of_table));  // at another n
  const ValuesByName by_name = values.Take();
  const MemoryValue& n = by_name.at(cast<VarNode>(first));
  EXPECT_FALSE(n.lasts);
  EXPECT_TRUE(n.is_steady);
  EXPECT_EQ(n.decided_by.size(), 1u);  // the loop over blocks
}

TEST(MemoryValues, ProgramsWithoutThemAskNothing) {
  EXPECT_FALSE(MemoryValues(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for t in T.thread_binding(8, thread="threadIdx.x"):
        with T.block("C"):
            vt = T.axis.spatial(8, t)
            C[vt] = A[vt]
)"))
                   .any());
}

}  // namespace
}  // namespace tilewright
