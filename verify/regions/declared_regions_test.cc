#include "verify/regions/declared_regions.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "verify/rewrite/inline_names.h"

namespace tilewright {
namespace {

Diagnostics Check(const char* text) { return CheckDeclaredRegions(InlineNames(ParseOrDie(text).functions()[0])); }

TEST(DeclaredRegions, AcceptsTilesThatHoldTheirBody) {
  EXPECT_TRUE(Check(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            T.writes(B[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            for i1, j1 in T.grid(16, 16):
                B[vi * 16 + i1, vj * 16 + j1] = A[vi * 16 + i1, vj * 16 + j1]
)")
                  .empty());
}

TEST(DeclaredRegions, AReductionReadsWhatItWrites) {
  const auto program = [](const std::string& index) {
    return Check((R"(
@T.prim_func
def main(A: T.Buffer((15, 8), "float32"), S: T.Buffer((16,), "float32")):
    for i, k in T.grid(15, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(S[vi])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[)" +
                  index + "] + A[vi, vk]\n")
                     .c_str());
  };
  EXPECT_TRUE(program("vi").empty());
  const Diagnostics found = program("vi + 1");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reason, "block S reads S[vi + 1], which it does not declare");
}

TEST(DeclaredRegions, RefusesWhatIsNotDeclared) {
  Diagnostics found = Check(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((15,), "float32")):
    for i in range(15):
        with T.block("B"):
            vi = T.axis.spatial(15, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi + 1]
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].verdict, Verdict::kRefuted);
  EXPECT_EQ(found[0].reason, "block B reads A[vi + 1], but declares only A[vi]");
}

TEST(DeclaredRegions, AllOfABufferIsWhatBlocksInsideReadOfIt) {
  const auto program =
      [](const std::string& declared) {
        return Check((R"(
@T.prim_func
def main(A: T.Buffer((13,), "float32"), B: T.Buffer((16,), "float32")):
    with T.block("outer"):
        T.reads()" + declared +
                      R"()
        T.writes(B[0:16])
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = T.if_then_else(vi < 13, A[vi], T.float32(0))
)")
                         .c_str());
      };
  EXPECT_TRUE(program("A[0:13]").empty());
  EXPECT_TRUE(program("A[-1:14]").empty());
  ASSERT_EQ(program("A[0:12]").size(), 1u);
  EXPECT_EQ(program("A[0:12]")[0].verdict, Verdict::kRefuted);
}

// Blocks below the root without what they declare to read.
class WithoutReads : public Mutator {
 public:
  Block MutateBlock(const Block& block) override {
    BlockNode::Fields fields = Mutator::MutateBlock(block)->fields();
    fields.reads.clear();
    return Block(std::move(fields));
  }
};

TEST(DeclaredRegions, NamesABufferThatIsNotDeclaredAtAll) {
  const Function program = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
)");
  FunctionNode::Fields fields = program->fields();
  fields.body = WithoutReads().Mutate(fields.body);
  Diagnostics found = CheckDeclaredRegions(InlineNames(Function(std::move(fields))));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reason, "block B reads A[vi], which it does not declare");
}

// What was read from memory for a name outside of the block, the block does not read.
TEST(DeclaredRegions, NamesAreReadWhereTheyAreGiven) {
  EXPECT_TRUE(Check(R"(
@T.prim_func
def main(P: T.Buffer((4,), "int32"), A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    length: T.int32 = P[2]
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = T.if_then_else(vi < length, A[vi], T.float32(0))
)")
                  .empty());
}

TEST(DeclaredRegions, ExternalCallsAreAssumed) {
  Diagnostics found = Check(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    with T.block("call"):
        T.reads(A[0:16])
        T.writes(B[0:16])
        T.evaluate(T.call_extern("int32", "copy16", B.access_ptr("w"), A.access_ptr("r")))
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].verdict, Verdict::kAssumed);
}

// What is looked up in memory is taken at the declared region; the other dimensions are known.
TEST(DeclaredRegions, GathersAreAssumedWhereTheyAreLookedUp) {
  const auto reading = [](const std::string& region) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((16, 4), "float32"), I: T.Buffer((9,), "uint8"), B: T.Buffer((9, 3), "float32")):
    for i, j in T.grid(9, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(REGION, I[vi])
            T.writes(B[vi, vj])
            B[vi, vj] = A[T.Cast("int32", I[vi]), vj]
)";
    return Check(text.replace(text.find("REGION"), 6, region).c_str());
  };
  EXPECT_TRUE(reading("A[0:16, vj]").empty());
  ASSERT_EQ(reading("A[vi, vj]").size(), 1u);
  EXPECT_EQ(reading("A[vi, vj]")[0].verdict, Verdict::kAssumed);
  ASSERT_EQ(reading("A[0:16, vj + 1]").size(), 1u);
  EXPECT_EQ(reading("A[0:16, vj + 1]")[0].verdict, Verdict::kRefuted);
  EXPECT_EQ(reading("A[0:16, vj + 1]")[0].reason, "block B reads A[0:16, vj], but declares only A[0:16, vj + 1]");
}

// Each access is judged under its loops and conditions: a box around all of them is too large.
TEST(DeclaredRegions, AccessesAreInsideWhereTheirConditionsHold) {
  const auto reading = [](const std::string& extent, const std::string& index) {
    std::string text = R"(
@T.prim_func
def main(ends: T.Buffer((5,), "int32"), X: T.Buffer((40, 20), "float32"), Y: T.Buffer((40, 16), "float32")):
    for b in range(4):
        with T.block("row"):
            vb = T.axis.spatial(4, b)
            T.reads(ends[vb:vb + 2], X[ends[vb]:ends[vb] + (ends[vb + 1] - ends[vb]), 0:16])
            T.writes(Y[ends[vb]:ends[vb] + (ends[vb + 1] - ends[vb]), 0:16])
            for q in range(EXTENT):
                row: T.let[T.int32] = ends[vb] + q
                for d in range(16):
                    Y[row, d] = T.if_then_else(d < 8, X[row, INDEX], X[row, d - 8])
)";
    text.replace(text.find("EXTENT"), 6, extent);
    return Check(text.replace(text.find("INDEX"), 5, index).c_str());
  };
  EXPECT_TRUE(reading("ends[vb + 1] - ends[vb]", "d + 8").empty());
  EXPECT_FALSE(reading("ends[vb + 1] - ends[vb]", "d + 9").empty());
  EXPECT_FALSE(reading("ends[vb + 1] - ends[vb] + 1", "d + 8").empty());
}

TEST(DeclaredRegions, ConditionsOnMemoryThatChangesSayNothing) {
  const auto reading = [](const std::string& store) {
    std::string text = R"(
@T.prim_func
def main(n: T.Buffer((2,), "int32"), X: T.Buffer((20,), "float32"), Y: T.Buffer((20,), "float32")):
    with T.block("part"):
        T.reads(n[0:2], X[0:16])
        T.writes(n[1], Y[0:20])
        if n[0] < 16:
            STORE
            for i in range(n[0]):
                Y[i] = X[i]
)";
    return Check(text.replace(text.find("STORE"), 5, store).c_str());
  };
  EXPECT_TRUE(reading("Y[0] = T.float32(1)").empty());
  EXPECT_FALSE(reading("n[1] = 20").empty());
}

// What is set before a sum is part of what the block writes.
TEST(DeclaredRegions, InitsAreInsideToo) {
  const auto setting = [](const std::string& index) {
    std::string text = R"(
@T.prim_func
def main(X: T.Buffer((16, 8), "float32"), Y: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 8):
        with T.block("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(X[vi, vk])
            T.writes(Y[vi])
            with T.init():
                Y[INDEX] = T.float32(0)
            Y[vi] = Y[vi] + X[vi, vk]
)";
    return Check(text.replace(text.find("INDEX"), 5, index).c_str());
  };
  EXPECT_TRUE(setting("vi").empty());
  EXPECT_FALSE(setting("vi // 2").empty());
}

}  // namespace
}  // namespace tilewright
