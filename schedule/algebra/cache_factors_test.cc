#include "schedule/algebra/cache_factors.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/recorder/schedule.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

constexpr const char* kBilinear = R"(
@T.prim_func
def main(X: T.Buffer((8, 4), "float32"), W: T.Buffer((6, 4, 5), "float32"), Z: T.Buffer((8, 5), "float32"), Y: T.Buffer((8, 6), "float32")):
    for b, o, i, j in T.grid(8, 6, 4, 5):
        with T.block("Y"):
            vb, vo, vi, vj = T.axis.remap("SSRR", [b, o, i, j])
            with T.init():
                Y[vb, vo] = T.float32(0)
            Y[vb, vo] = Y[vb, vo] + X[vb, vi] * W[vo, vi, vj] * Z[vb, vj]
)";

Outcome<std::vector<Rv>> Apply(Schedule& sch, Value::List factors) {
  return sch.Apply("cache_factors", {*sch.GetBlock("Y"), Value(std::move(factors))});
}

std::string Refused(const char* program, Value::List factors) {
  Schedule sch{Module(ParseOrDie(program))};
  const auto result = Apply(sch, std::move(factors));
  return result.ok() ? "" : RenderLine(result.refusal(), sch.refused_function());
}

TEST(CacheFactors, MultipliesThemAhead) {
  Schedule sch{Module(ParseOrDie(kBilinear))};
  const Module before = sch.module();
  const auto result = Apply(sch, {int64_t{0}, int64_t{2}});
  ASSERT_TRUE(result.ok());
  // Along the iterators that the two use: b, i and j.
  EXPECT_EQ(sch.GetLoops(BlockRv{(*result)[0]})->size(), 3u);
  EXPECT_EQ(sch.GetProducers(*sch.GetBlock("Y"))->size(), 1u);
  testing::ExpectEquivalent(before.Main(), sch.module().Main());
}

TEST(CacheFactors, TakesOneFactorThatIsNoElement) {
  Schedule sch{Module(ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 4), "int8"), W: T.Buffer((4, 6), "int8"), Y: T.Buffer((8, 6), "int32")):
    for i, j, k in T.grid(8, 6, 4):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = 0
            Y[vi, vj] = (T.Cast("int32", A[vi, vk]) - 3) * T.Cast("int32", W[vk, vj]) + Y[vi, vj]
)"))};
  const Module before = sch.module();
  ASSERT_TRUE(Apply(sch, {int64_t{0}}).ok());
  testing::ExpectEquivalent(before.Main(), sch.module().Main());
}

TEST(CacheFactors, StoresAFactorBelowItsWideningCasts) {
  Schedule sch{Module(ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 4), "int8"), W: T.Buffer((4, 6), "int8"), Y: T.Buffer((8, 6), "int32")):
    for i, j, k in T.grid(8, 6, 4):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = 0
            Y[vi, vj] = Y[vi, vj] + T.Cast("int32", T.Cast("int16", T.if_then_else(vi < vk, A[vi, vk], T.int8(0)))) * T.Cast("int32", W[vk, vj])
)"))};
  const Module before = sch.module();
  ASSERT_TRUE(Apply(sch, {int64_t{0}}).ok());
  EXPECT_EQ(cast<BlockRealizeNode>(sch.module().Main()->body)->block->alloc_buffers[0]->dtype, DataType::Int(8));
  testing::ExpectEquivalent(before.Main(), sch.module().Main());
}

// Conversions to types that are no wider are computed ahead, and so are products.
TEST(CacheFactors, StoresOtherFactorsConverted) {
  constexpr const char* kProgram = R"(
@T.prim_func
def main(A: T.Buffer((8, 4), "int32"), S: T.Buffer((8,), "float16"), W: T.Buffer((4, 6), "float32"), Y: T.Buffer((8, 6), "float32")):
    for i, j, k in T.grid(8, 6, 4):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", S[vi]) * W[vk, vj]
)";
  for (const Value::List& factors : {Value::List{int64_t{0}}, Value::List{int64_t{0}, int64_t{1}}}) {
    Schedule sch{Module(ParseOrDie(kProgram))};
    const Module before = sch.module();
    ASSERT_TRUE(Apply(sch, factors).ok());
    EXPECT_EQ(cast<BlockRealizeNode>(sch.module().Main()->body)->block->alloc_buffers[0]->dtype, DataType::Float(32));
    testing::ExpectEquivalent(before.Main(), sch.module().Main());
  }
}

TEST(CacheFactors, RefusesWhatAreNoFactors) {
  EXPECT_EQ(Refused(kBilinear, {int64_t{3}}), "cache_factors: 3 names no factor of block Y, or one twice; it has 3");
  EXPECT_EQ(Refused(kBilinear, {int64_t{1}, int64_t{1}}),
            "cache_factors: 1 names no factor of block Y, or one twice; it has 3");
  EXPECT_EQ(Refused(kBilinear, {}),
            "cache_factors: some of the factors of block Y are to be cached, not none and not all");
  EXPECT_EQ(Refused(kBilinear, {int64_t{0}, int64_t{1}, int64_t{2}}),
            "cache_factors: some of the factors of block Y are to be cached, not none and not all");
}

// In another order products of integers may leave their type, where one factor is 0.
TEST(CacheFactors, KeepsIntegersInTheirType) {
  const auto refused = [](const std::string& a, const Value::List& factors) {
    const std::string program = R"(
@T.prim_func
def main(A: T.Buffer((8, 4), "int32"), B: T.Buffer((4,), "uint8"), E: T.Buffer((8,), "int8"), Y: T.Buffer((8,), "int32")):
    for i, k in T.grid(8, 4):
        with T.block("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = 0
            Y[vi] = Y[vi] + )" + a +
                                R"( * (T.Cast("int32", B[vk]) // 64) * (T.Cast("int32", E[vi]) + 128)
)";
    return Refused(program.c_str(), factors);
  };
  const int64_t a = 0, b = 1, e = 2;
  EXPECT_EQ(refused("A[vi, vk]", {a}), "");  // the program's own order
  EXPECT_EQ(
      refused("A[vi, vk]", {a, e}),
      "cache_factors: A[vi, vk] * (T.Cast(\"int32\", E[vi]) + 128) times other factors of block Y is not known to "
      "stay in int32");
  EXPECT_EQ(
      refused("A[vi, vk]", {e}),
      "cache_factors: T.Cast(\"int32\", E[vi]) + 128 times other factors of block Y is not known to stay in int32");
  EXPECT_EQ(refused("A[vi, vk]", {b, e}), "");
  // 8421504 * 255 is just below 2^31.
  EXPECT_EQ(refused("T.min(T.max(A[vi, vk], 0), 8421504)", {a, e}), "");
  EXPECT_NE(refused("T.min(T.max(A[vi, vk], 0), 8421505)", {a, e}), "");
}

TEST(CacheFactors, RefusesOtherBlocks) {
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4, 3), "float32"), Y: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 3):
        with T.block("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = T.max(Y[vi], X[vi, vk])
)",
                    {int64_t{0}}),
            "cache_factors: block Y does not add something to what it stores to");
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4, 3), "float32"), Y: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 3):
        with T.block("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + T.float32(2) * X[vi, vk]
)",
                    {int64_t{0}}),
            "cache_factors: T.float32(2) uses no iterator of block Y");
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4, 3), "float32"), Y: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 3):
        with T.block("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(k < 2)
            Y[vi] = Y[vi] + X[vi, vk] * X[vi, vk]
)",
                    {int64_t{0}}),
            "cache_factors: block Y has the predicate k < 2");
}

}  // namespace
}  // namespace tilewright
