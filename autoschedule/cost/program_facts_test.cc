#include "autoschedule/cost/program_facts.h"

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

const AccessFacts* FindAccess(const ProgramFacts& facts, std::string_view buffer, bool write) {
  for (const AccessFacts& access : facts.accesses) {
    if (facts.buffers[static_cast<size_t>(access.buffer)].buffer->name == buffer && access.write == write)
      return &access;
  }
  return nullptr;
}

TEST(ProgramFacts, Matmul) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i, j, k in T.grid(8, 4, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)");
  const ProgramFacts facts = GatherFacts(f);
  ASSERT_EQ(facts.loops.size(), 3u);
  EXPECT_EQ(facts.loops[2].parent, 1);
  EXPECT_EQ(facts.Iterations(2), 8 * 4 * 16);
  EXPECT_TRUE(facts.Encloses(0, 2));
  EXPECT_TRUE(facts.Encloses(-1, 2));
  EXPECT_FALSE(facts.Encloses(2, 0));
  ASSERT_EQ(facts.operations.size(), 1u);
  EXPECT_EQ(facts.operations[0].kind, OperationKind::kMultiplyAdd);
  EXPECT_TRUE(facts.operations[0].accumulates);
  EXPECT_EQ(facts.operations[0].varies, 7u);
  const AccessFacts* a = FindAccess(facts, "A", false);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->varies, 5u);  // i and k
  ASSERT_EQ(a->index[1].terms.size(), 1u);
  EXPECT_EQ(a->index[1].terms[0].loop, 2);
  // Two writes: the init in one of 16 instances, and the sum.
  EXPECT_DOUBLE_EQ(FindAccess(facts, "C", true)->share, 1.0 / 16);
  EXPECT_FALSE(FindAccess(facts, "C", true)->accumulates);
  EXPECT_TRUE(facts.accesses.back().accumulates);
}

// 1, 1, 2, 2, 3, 3, 4, 4 iterations: 2.5, rounded up.
TEST(ProgramFacts, ExtentsThatOtherLoopsDecideAreMeans) {
  const ProgramFacts facts = GatherFacts(ParseFunctionOrDie(R"(
@T.prim_func
def main(C: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j in range(T.min(8, i // 2 + 1)):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(0)
)"));
  ASSERT_EQ(facts.loops.size(), 2u);
  EXPECT_EQ(facts.loops[1].extent, 3);
  EXPECT_FALSE(facts.loops[1].known);
}

TEST(ProgramFacts, ZeroPointsDoNotWidenOperands) {
  const ProgramFacts facts = GatherFacts(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "uint8"), B: T.Buffer((8,), "int8"), z: T.Buffer((1,), "int32"), C: T.Buffer((1,), "int32")):
    for k in range(8):
        with T.block("C"):
            vk = T.axis.reduce(8, k)
            with T.init():
                C[0] = 0
            C[0] = C[0] + (T.Cast("int32", A[vk]) - 128) * (z[0] + T.Cast("int32", B[vk]))
)"));
  EXPECT_EQ(facts.operations.back().kind, OperationKind::kMultiplyAdd);
  EXPECT_EQ(facts.operations.back().operand.bits(), 8);
}

TEST(ProgramFacts, VariablesOfStatementsAreComputed) {
  const ProgramFacts facts = GatherFacts(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            t: T.float32 = T.exp(A[vi])
            B[vi] = t * t
)"));
  EXPECT_NE(FindAccess(facts, "A", false), nullptr);
  EXPECT_EQ(facts.operations[0].kind, OperationKind::kTranscendental);
}

TEST(ProgramFacts, FusedLoopsAreTakenApart) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8,), "float32")):
    for f in T.parallel(32):
        with T.block("A"):
            v0 = T.axis.spatial(4, f // 8)
            v1 = T.axis.spatial(8, f % 8)
            A[v0, v1] = B[v1] + T.float32(1)
)");
  const ProgramFacts facts = GatherFacts(f);
  ASSERT_EQ(facts.loops.size(), 2u);
  EXPECT_EQ(facts.loops[0].extent, 4);
  EXPECT_EQ(facts.loops[1].extent, 8);
  EXPECT_EQ(facts.loops[1].parent, 0);
  EXPECT_EQ(facts.loops[0].loop, facts.loops[1].loop);
  EXPECT_EQ(FindAccess(facts, "B", false)->varies, 2u);
  EXPECT_EQ(FindAccess(facts, "B", false)->loop, 1);
  EXPECT_EQ(FindAccess(facts, "A", true)->varies, 3u);
}

TEST(ProgramFacts, PaddingAndSubBuffers) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((30,), "float32"), W: T.Buffer((4, 16), "float32"), C: T.Buffer((2, 16), "float32")):
    R = T.alloc_buffer((32,), scope="register")
    for i in range(32):
        with T.block("pad"):
            vi = T.axis.spatial(32, i)
            R[vi] = T.if_then_else(1 <= vi and vi < 31, A[vi - 1], T.float32(0))
    for o in range(2):
        with T.block("tile"):
            vo = T.axis.spatial(2, o)
            T.reads(R[vo * 16:vo * 16 + 16], W[vo, 0:16])
            T.writes(C[vo, 0:16])
            RR = T.match_buffer(R[vo * 16:vo * 16 + 16], (16,), offset_factor=1, scope="register")
            CC = T.match_buffer(C[vo, 0:16], (16,), offset_factor=1)
            for l in T.vectorized(16):
                CC[l] = CC[l] + RR[l] * W[vo, l]
)");
  const ProgramFacts facts = GatherFacts(f);
  // 30 of 32, the two conditions counted one by one.
  EXPECT_DOUBLE_EQ(FindAccess(facts, "A", false)->share, 31.0 / 32 * 31 / 32);
  const AccessFacts* r = FindAccess(facts, "R", false);
  ASSERT_NE(r, nullptr);
  ASSERT_EQ(r->index.size(), 1u);
  EXPECT_EQ(r->index[0].Max(), 31);
  const AccessFacts* c = FindAccess(facts, "C", true);
  ASSERT_EQ(c->index.size(), 2u);
  EXPECT_EQ(c->index[0].Max(), 1);
  EXPECT_EQ(c->index[1].Max(), 15);
  ASSERT_EQ(facts.operations.size(), 1u);
  EXPECT_DOUBLE_EQ(facts.operations[0].share, 31.0 / 32 * 31 / 32);
}

TEST(ProgramFacts, TemporariesOfStraightCodeAreInRegisters) {
  const auto in_registers = [](const std::string& kind, int side) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((64, SIDE), "float32"), B: T.Buffer((64, SIDE), "float32")):
    T_ = T.alloc_buffer((64, SIDE), "float32")
    for i in range(64):
        for j in T.KIND(SIDE):
            with T.block("T_"):
                vi, vj = T.axis.remap("SS", [i, j])
                T_[vi, vj] = A[vi, vj] + T.float32(1)
        for j in T.KIND(SIDE):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T_[vi, vj] * T_[vi, vj]
)";
    for (size_t at = text.find("KIND"); at != text.npos; at = text.find("KIND")) text.replace(at, 4, kind);
    for (size_t at = text.find("SIDE"); at != text.npos; at = text.find("SIDE")) {
      text.replace(at, 4, std::to_string(side));
    }
    const ProgramFacts facts = GatherFacts(ParseFunctionOrDie(text));
    EXPECT_FALSE(facts.buffers[static_cast<size_t>(FindAccess(facts, "A", false)->buffer)].in_registers);
    return facts.buffers[static_cast<size_t>(FindAccess(facts, "T_", true)->buffer)].in_registers;
  };
  EXPECT_TRUE(in_registers("vectorized", 64));
  EXPECT_TRUE(in_registers("unroll", 8));
  EXPECT_FALSE(in_registers("serial", 64));
  EXPECT_FALSE(in_registers("vectorized", 4096));
}

TEST(ProgramFacts, TypesAndFunctions) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16,), "int8"), B: T.Buffer((16,), "int8"), C: T.Buffer((1,), "int32"), D: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("C"):
            vi = T.axis.reduce(16, i)
            C[0] = C[0] + T.Cast("int32", A[vi]) * T.Cast("int32", B[vi])
    for i in range(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            D[vi] = T.exp(D[vi]) / T.float32(3)
)");
  const ProgramFacts facts = GatherFacts(f);
  std::vector<OperationKind> kinds;
  for (const OperationFacts& operation : facts.operations) kinds.push_back(operation.kind);
  EXPECT_EQ(kinds,
            (std::vector<OperationKind>{OperationKind::kConvert, OperationKind::kConvert, OperationKind::kMultiplyAdd,
                                        OperationKind::kTranscendental, OperationKind::kDivide}));
  EXPECT_EQ(facts.operations[2].operand, DataType::Int(8));
  EXPECT_EQ(facts.operations[2].dtype, DataType::Int(32));
  EXPECT_EQ(facts.operations[3].callee, "exp");
}

TEST(ProgramFacts, OpaqueCallsTouchTheDeclaredRegions) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i in range(8):
        with T.block("call"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi * 8:vi * 8 + 8, 0:64])
            T.writes(C[vi * 8:vi * 8 + 8, 0:32])
            T.evaluate(T.call_extern("int32", "kernel", A.data, C.data))
)");
  const ProgramFacts facts = GatherFacts(f);
  ASSERT_EQ(facts.operations.size(), 1u);
  EXPECT_EQ(facts.operations[0].kind, OperationKind::kCall);
  EXPECT_EQ(FindAccess(facts, "A", false)->width, (std::vector<int64_t>{8, 64}));
  EXPECT_EQ(FindAccess(facts, "C", true)->width, (std::vector<int64_t>{8, 32}));
}

// Six vectors, of which four are read: the example of unread_vectors.h.
TEST(ProgramFacts, VectorsOfSumsThatNothingReadsDoNotCount) {
  const auto facts_of = [](int columns) {
    return GatherFacts(ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64, 96), "float32"), C: T.Buffer(($0,), "float32")):
    R = T.alloc_buffer((96,), scope="register")
    for j in range(2):
        for k in range(64):
            for v in T.unroll(3):
                for l in T.vectorized(16):
                    with T.block("R"):
                        vj = T.axis.spatial(96, j * 48 + v * 16 + l)
                        vk = T.axis.reduce(64, k)
                        with T.init():
                            R[vj] = T.float32(0)
                        R[vj] = R[vj] + A[vk] * B[vk, vj]
        for l in T.vectorized(48):
            with T.block("C"):
                vj = T.axis.spatial($0, j * 48 + l)
                T.where(j * 48 + l < $0)
                C[vj] = R[vj]
)",
                                                           columns)));
  };
  for (const auto& [columns, share] : {std::pair(96, 1.0), std::pair(64, 4.0 / 6), std::pair(50, 4.0 / 6)}) {
    const ProgramFacts facts = facts_of(columns);
    ASSERT_EQ(facts.operations.size(), 1u);
    EXPECT_DOUBLE_EQ(facts.operations[0].share, share) << columns;
    EXPECT_DOUBLE_EQ(FindAccess(facts, "B", false)->share, share) << columns;
    EXPECT_DOUBLE_EQ(FindAccess(facts, "A", false)->share, 1) << columns;  // for the other vectors too
  }
}

// An index that is not a sum over loops may read any of them.
TEST(ProgramFacts, SumsThatAreReadAnywhereCount) {
  const ProgramFacts facts = GatherFacts(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64, 96), "float32"), C: T.Buffer((96,), "float32")):
    R = T.alloc_buffer((96,), scope="register")
    for j in range(6):
        for k in range(64):
            for l in T.vectorized(16):
                with T.block("R"):
                    vj = T.axis.spatial(96, j * 16 + l)
                    vk = T.axis.reduce(64, k)
                    with T.init():
                        R[vj] = T.float32(0)
                    R[vj] = R[vj] + A[vk] * B[vk, vj]
    for j in range(96):
        with T.block("C"):
            vj = T.axis.spatial(96, j)
            C[vj] = R[T.max(T.min(T.Select(vj < 48, vj * 2, 191 - 2 * vj), 95), 0)]
)"));
  ASSERT_GE(facts.operations.size(), 1u);
  EXPECT_TRUE(facts.operations[0].accumulates);
  EXPECT_DOUBLE_EQ(facts.operations[0].share, 1);
}

}  // namespace
}  // namespace tilewright
