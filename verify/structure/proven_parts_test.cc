#include "verify/structure/proven_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

Function Parsed(const char* text) { return ParseOrDie(text).functions()[0]; }

std::vector<std::string> Findings(const Function& function, ProvenParts* proven) {
  std::vector<std::string> findings;
  for (const Diagnostic& d : VerifyProgram(function, nullptr, proven).diagnostics) {
    findings.push_back(std::string(d.check) + ": " + d.reason);
  }
  return findings;
}

// One nest after the other.
Function Together(const Function& function, std::vector<Stmt> nests) {
  return ProvenParts::Alone(function, Sequence(std::move(nests)));
}

// Two nests, of which the second one reads an element of what the first one writes.
constexpr const char* kTwoNests = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, %s]
)";
Function TwoNests(const std::string& read) {
  std::string text = kTwoNests;
  text.replace(text.find("%s"), 2, read);
  return Parsed(text.c_str());
}

TEST(ProvenParts, ARightNestIsRemembered) {
  const Function function = TwoNests("vj");
  ProvenParts proven;
  const std::vector<Stmt> nests = ProvenParts::NestsOf(function);
  ASSERT_EQ(nests.size(), 2u);
  EXPECT_EQ(proven.Find(nests[0]), nullptr);
  EXPECT_TRUE(Findings(function, &proven).empty());
  for (const Stmt& nest : nests) {
    ASSERT_NE(proven.Find(nest), nullptr);
    EXPECT_TRUE(proven.Find(nest)->empty());
    const auto blocks = ProvenParts::BlocksOf(nest);
    ASSERT_TRUE(blocks && blocks->size() == 1);
    EXPECT_TRUE(proven.Contains(blocks->front()));
  }
  EXPECT_TRUE(Findings(function, &proven).empty());
}

TEST(ProvenParts, AWrongNestIsFoundEachTime) {
  for (const char* read : {"vj + 1", "7 - vj", "vj // 2"}) {
    const Function function = TwoNests(read);
    const std::vector<std::string> expected = Findings(function, nullptr);
    ASSERT_FALSE(expected.empty()) << read;
    ProvenParts proven;
    for (int time = 0; time < 2; ++time) EXPECT_EQ(Findings(function, &proven), expected) << read;
    const std::vector<Stmt> nests = ProvenParts::NestsOf(function);
    EXPECT_NE(proven.Find(nests[0]), nullptr);
    EXPECT_EQ(proven.Find(nests[1]), nullptr);
    EXPECT_FALSE(proven.Contains(ProvenParts::BlocksOf(nests[1])->front()));
  }
}

TEST(ProvenParts, AProvenBlockMayBeBoundWrongly) {
  const Function function = TwoNests("vj");
  ProvenParts proven;
  ASSERT_TRUE(Findings(function, &proven).empty());
  const std::vector<Stmt> nests = ProvenParts::NestsOf(function);
  const Block block = ProvenParts::BlocksOf(nests[1])->front();
  const Var loop("k", DataType::Int(32));
  ForNode::Fields fields;
  fields.id = cast<ForNode>(nests[1])->id;
  fields.var = loop;
  fields.extent = Expr(9);
  fields.body = Realize({loop, Expr(0)}, True(), block);
  const Function wrong = Together(function, {nests[0], For(std::move(fields))});
  const std::vector<std::string> expected = Findings(wrong, nullptr);
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(expected[0].substr(0, 9), "bindings:");
  EXPECT_EQ(Findings(wrong, &proven), expected);
}

TEST(ProvenParts, ProvenNestsDependOnEachOtherAsBefore) {
  const char* text = R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]
)";
  const Function function = Parsed(text);
  ProvenParts proven;
  ASSERT_TRUE(Findings(function, &proven).empty());
  const std::vector<Stmt> nests = ProvenParts::NestsOf(function);
  const Function swapped = Together(function, {nests[1], nests[0]});
  const std::vector<std::string> expected = Findings(swapped, nullptr);
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_EQ(expected[0].substr(0, 13), "region cover:");
  EXPECT_EQ(Findings(swapped, &proven), expected);
}

// Instances of a block that may run again, in one loop or another, matter to loops whose iterations run at once.
TEST(ProvenParts, RepeatedInstancesAreRemembered) {
  const Function function = Parsed(R"(
@T.prim_func
def main(A: T.Buffer((18,), "float32"), C: T.Buffer((18,), "float32")):
    for o, i in T.grid(4, 6):
        with T.block("C"):
            vi = T.axis.spatial(18, o * 4 + i)
            C[vi] = A[vi]
)");
  ProvenParts proven;
  ASSERT_TRUE(Findings(function, &proven).empty());
  const Stmt nest = ProvenParts::NestsOf(function)[0];
  const Block block = ProvenParts::BlocksOf(nest)->front();
  ASSERT_NE(proven.Find(nest), nullptr);
  EXPECT_EQ(*proven.Find(nest), std::vector<const BlockNode*>{block.get()});
  // The block is proven, the nest is another one.
  ForNode::Fields fields = cast<ForNode>(nest)->fields();
  fields.kind = ForKind::kParallel;
  const Function parallel = Together(function, {For(std::move(fields))});
  const std::vector<std::string> expected = Findings(parallel, nullptr);
  for (int time = 0; time < 2; ++time) EXPECT_EQ(Findings(parallel, &proven), expected);
}

TEST(ProvenParts, BlocksOutsideOfWhichMemoryIsTouchedAreNotTakenAlone) {
  const Function function = Parsed(R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.where(A[i + 1] > 0)
            C[vi] = A[vi]
)");
  const std::vector<Stmt> nests = ProvenParts::NestsOf(function);
  ASSERT_EQ(nests.size(), 1u);
  EXPECT_FALSE(ProvenParts::BlocksOf(nests[0]).has_value());
}

TEST(ProvenParts, ARootThatDeclaresHasNoNests) {
  const Function function = Parsed(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    with T.block("root"):
        T.reads(A[0:8])
        T.writes(C[0:8])
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = A[vi]
)");
  EXPECT_TRUE(ProvenParts::NestsOf(function).empty());
}

}  // namespace
}  // namespace tilewright
