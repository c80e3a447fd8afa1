#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "schedule/movement/cache_read.h"
#include "schedule/movement/cache_write.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectProgram;
using testing::ReasonOf;

// B feeds C, in the same loop i, and D.
constexpr char kTwoReaders[] = R"(
@T.prim_func
def main(A: T.Buffer((60, 64), "float32"), C: T.Buffer((60, 64), "float32"), D: T.Buffer((60, 64), "float32")):
    B = T.alloc_buffer((60, 64))
    for i in range(60):
        for j in range(64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(64):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(60, 64):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + T.float32(3)
)";

// One tile per instance of the outer block.
constexpr char kNested[] = R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i0, j0 in T.grid(4, 64):
        with T.block("outer"):
            vi0, vj0 = T.axis.remap("SS", [i0, j0])
            for i in range(16):
                with T.block("C"):
                    vi = T.axis.spatial(16, i)
                    C[vi0 * 16 + vi, vj0] = A[vi0 * 16 + vi, vj0]
)";

TEST(CacheRead, OfAnInputGoesToTheBeginningOfTheScope) {
  const Function f = ParseFunctionOrDie(kTwoReaders);
  Outcome<CacheReadResult> result = CacheRead(f, BlockNamed(f, "B"), 0, "global.A_reg");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(FindBlock(result->function, result->block)->block->name, "A_global.A_reg");
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((60, 64), "float32"), C: T.Buffer((60, 64), "float32"), D: T.Buffer((60, 64), "float32")):
    B = T.alloc_buffer((60, 64))
    A_global_A_reg = T.alloc_buffer((60, 64), scope="global.A_reg")
    for ax0, ax1 in T.grid(60, 64):
        with T.block("A_global.A_reg"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_global_A_reg[v0, v1] = A[v0, v1]
    for i in range(60):
        for j in range(64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A_global_A_reg[vi, vj] * T.float32(2)
        for j in range(64):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(60, 64):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + T.float32(3)
)");
}

TEST(CacheRead, CopiesBetweenTheWriterAndItsFirstReader) {
  const Function f = ParseFunctionOrDie(kTwoReaders);
  Outcome<CacheReadResult> result = CacheRead(f, BlockNamed(f, "C"), 0, "shared");
  ASSERT_TRUE(result.ok());
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((60, 64), "float32"), C: T.Buffer((60, 64), "float32"), D: T.Buffer((60, 64), "float32")):
    B = T.alloc_buffer((60, 64))
    B_shared = T.alloc_buffer((60, 64), scope="shared")
    for i in range(60):
        for j in range(64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for ax0, ax1 in T.grid(1, 64):
            with T.block("B_shared"):
                v0 = T.axis.spatial(60, i + ax0)
                v1 = T.axis.spatial(64, ax1)
                B_shared[v0, v1] = B[v0, v1]
        for j in range(64):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B_shared[vi, vj] + T.float32(1)
    for i, j in T.grid(60, 64):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B_shared[vi, vj] + T.float32(3)
)");
}

TEST(CacheRead, RedirectsOnlyTheNamedConsumers) {
  const Function f = ParseFunctionOrDie(kTwoReaders);
  const uint32_t d = BlockNamed(f, "D");
  Outcome<CacheReadResult> result = CacheRead(f, BlockNamed(f, "C"), 0, "shared", {d});
  ASSERT_TRUE(result.ok());
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((60, 64), "float32"), C: T.Buffer((60, 64), "float32"), D: T.Buffer((60, 64), "float32")):
    B = T.alloc_buffer((60, 64))
    B_shared = T.alloc_buffer((60, 64), scope="shared")
    for i in range(60):
        for j in range(64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(64):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
    for ax0, ax1 in T.grid(60, 64):
        with T.block("B_shared"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B_shared[v0, v1] = B[v0, v1]
    for i, j in T.grid(60, 64):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B_shared[vi, vj] + T.float32(3)
)");
}

TEST(CacheRead, OfANestedScopeHoldsThePartThatTheScopeReads) {
  const Function f = ParseFunctionOrDie(kNested);
  Outcome<CacheReadResult> result = CacheRead(f, BlockNamed(f, "C"), 0, "shared");
  ASSERT_TRUE(result.ok());
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i0, j0 in T.grid(4, 64):
        with T.block("outer"):
            vi0, vj0 = T.axis.remap("SS", [i0, j0])
            T.reads(A[vi0 * 16:vi0 * 16 + 16, vj0])
            T.writes(C[vi0 * 16:vi0 * 16 + 16, vj0])
            A_shared = T.alloc_buffer((16, 1), scope="shared")
            for ax0, ax1 in T.grid(16, 1):
                with T.block("A_shared"):
                    v0, v1 = T.axis.remap("SS", [ax0, ax1])
                    A_shared[v0, v1] = A[vi0 * 16 + v0, vj0 + v1]
            for i in range(16):
                with T.block("C"):
                    vi = T.axis.spatial(16, i)
                    C[vi0 * 16 + vi, vj0] = A_shared[vi, 0]
)");
}

TEST(CacheRead, KeepsSymbolicShapes) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 64), "float32")
    C = T.match_buffer(c, (n, 64), "float32")
    for i, j in T.grid(n, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
)");
  Outcome<CacheReadResult> read = CacheRead(f, BlockNamed(f, "C"), 0, "shared");
  ASSERT_TRUE(read.ok());
  Outcome<CacheWriteResult> write = CacheWrite(read->function, BlockNamed(f, "C"), 0, "local");
  ASSERT_TRUE(write.ok()) << ReasonOf(write, read->function);
  ExpectProgram(write->function, R"(
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 64), "float32")
    C = T.match_buffer(c, (n, 64), "float32")
    A_shared = T.alloc_buffer((n, 64), scope="shared")
    C_local = T.alloc_buffer((n, 64), scope="local")
    for ax0, ax1 in T.grid(n, 64):
        with T.block("A_shared"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_shared[v0, v1] = A[v0, v1]
    for i, j in T.grid(n, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C_local[vi, vj] = A_shared[vi, vj] + T.float32(1)
    for ax0, ax1 in T.grid(n, 64):
        with T.block("C_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            C[v0, v1] = C_local[v0, v1]
)");
}

TEST(CacheRead, Refuses) {
  const Function f = ParseFunctionOrDie(kTwoReaders);
  const uint32_t c = BlockNamed(f, "C");
  auto reason = [&](uint32_t block, int index, const char* scope, std::vector<uint32_t> consumers = {}) {
    return ReasonOf(CacheRead(f, block, index, scope, consumers), f);
  };
  EXPECT_EQ(reason(c, 1, "shared"), "C reads 1 regions, there is no number 1");
  EXPECT_EQ(reason(c, -1, "shared"), "C reads 1 regions, there is no number -1");
  EXPECT_EQ(reason(c, 0, "not a scope"), "\"not a scope\" is not a storage scope");
  EXPECT_EQ(reason(c, 0, "shared", {BlockNamed(f, "B")}), "B does not read B");
  EXPECT_EQ(reason(c, 0, "shared", {1}), "root is not in the scope of C");
  EXPECT_EQ(reason(1, 0, "shared"), "root is the root block");
  EXPECT_EQ(reason(99, 0, "shared"), "the block no longer exists");
}

TEST(CacheRead, RefusesWhereTheCopyWouldHoldOtherValues) {
  auto reason = [](const char* text, const char* block) {
    const Function f = ParseFunctionOrDie(text);
    return ReasonOf(CacheRead(f, BlockNamed(f, block), 0, "shared"), f);
  };
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((60,), "float32"), C: T.Buffer((60,), "float32")):
    for i in range(60):
        with T.block("C"):
            vi = T.axis.spatial(60, i)
            C[vi] = C[vi] + A[vi]
)",
                   "C"),
            "C also writes C");
  // B is written in part; C reads what was there before.
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(B: T.Buffer((60,), "float32"), C: T.Buffer((60,), "float32")):
    for i in range(30):
        with T.block("B"):
            vi = T.axis.spatial(30, i)
            B[vi] = T.float32(0)
    for i in range(60):
        with T.block("C"):
            vi = T.axis.spatial(60, i)
            C[vi] = B[vi]
)",
                   "C"),
            "C may read elements of B that B does not write");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(B: T.Buffer((60,), "float32"), C: T.Buffer((60,), "float32")):
    for i in range(60):
        with T.block("C"):
            vi = T.axis.spatial(60, i)
            C[vi] = B[vi]
        with T.block("B"):
            vi = T.axis.spatial(60, i)
            B[vi] = T.float32(0)
)",
                   "C"),
            "C reads B before B writes it");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(B: T.Buffer((60,), "float32"), C: T.Buffer((60,), "float32")):
    for i in range(60):
        with T.block("B"):
            vi = T.axis.spatial(60, i)
            B[vi] = T.float32(0)
        with T.block("C"):
            vi = T.axis.spatial(60, i)
            C[vi] = B[vi]
)",
                   "C"),
            "B has values from outside of the scope, and B writes a part of it in each iteration of i");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((60,), "float32", strides=(2,)), C: T.Buffer((60,), "float32")):
    for i in range(60):
        with T.block("C"):
            vi = T.axis.spatial(60, i)
            T.reads(A[vi])
            T.writes(C[vi])
            T.evaluate(T.call_extern("int32", "f", T.address_of(A[vi]), T.address_of(C[vi])))
)",
                   "C"),
            "C takes the address of A");
}

TEST(CacheRead, RefusesANestedScopeThatReachesOutside) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((10, 4), "float32")):
          for i in range(10):
              with T.block("B_o"):
                  vi = T.axis.spatial(10, i)
                  T.reads(A[vi - 1, 0:4])
                  T.writes(B[vi, 0:4])
                  for j in range(4):
                      with T.block("B"):
                          vj = T.axis.spatial(4, j)
                          B[vi, vj] = T.if_then_else(1 <= vi and vi < 9, A[vi - 1, vj], T.float32(0)))");
  EXPECT_EQ(ReasonOf(CacheRead(f, BlockNamed(f, "B"), 0, "local"), f), "the scope of B may reach outside of A");
}

TEST(CacheWrite, CopiesBackBehindTheWriterOrAtTheEnd) {
  const Function f = ParseFunctionOrDie(kTwoReaders);
  Outcome<CacheWriteResult> result = CacheWrite(f, BlockNamed(f, "B"), 0, "shared");
  ASSERT_TRUE(result.ok());
  result = CacheWrite(result->function, BlockNamed(f, "C"), 0, "local");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(FindBlock(result->function, result->block)->block->name, "C_local");
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((60, 64), "float32"), C: T.Buffer((60, 64), "float32"), D: T.Buffer((60, 64), "float32")):
    B = T.alloc_buffer((60, 64))
    B_shared = T.alloc_buffer((60, 64), scope="shared")
    C_local = T.alloc_buffer((60, 64), scope="local")
    for i in range(60):
        for j in range(64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B_shared[vi, vj] = A[vi, vj] * T.float32(2)
        for ax0, ax1 in T.grid(1, 64):
            with T.block("B_shared"):
                v0 = T.axis.spatial(60, i + ax0)
                v1 = T.axis.spatial(64, ax1)
                B[v0, v1] = B_shared[v0, v1]
        for j in range(64):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C_local[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(60, 64):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + T.float32(3)
    for ax0, ax1 in T.grid(60, 64):
        with T.block("C_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            C[v0, v1] = C_local[v0, v1]
)");
}

TEST(CacheWrite, CachesOnlyTheBoxThatIsWritten) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((30,), "float32"), C: T.Buffer((60, 8), "float32")):
    for i in range(30):
        with T.block("C"):
            vi = T.axis.spatial(30, i)
            C[vi + 10, 3] = A[vi]
)");
  Outcome<CacheWriteResult> result = CacheWrite(f, BlockNamed(f, "C"), 0, "local");
  ASSERT_TRUE(result.ok());
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((30,), "float32"), C: T.Buffer((60, 8), "float32")):
    C_local = T.alloc_buffer((30, 1), scope="local")
    for i in range(30):
        with T.block("C"):
            vi = T.axis.spatial(30, i)
            C_local[vi, 0] = A[vi]
    for ax0, ax1 in T.grid(30, 1):
        with T.block("C_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            C[v0 + 10, v1 + 3] = C_local[v0, v1]
)");
}

TEST(CacheWrite, Refuses) {
  auto reason = [](const char* text, const char* block, int index = 0, const char* scope = "local") {
    const Function f = ParseFunctionOrDie(text);
    return ReasonOf(CacheWrite(f, BlockNamed(f, block), index, scope), f);
  };
  EXPECT_EQ(reason(kTwoReaders, "B", 1), "B writes 1 regions, there is no number 1");
  EXPECT_EQ(reason(kTwoReaders, "B", 0, ""), "\"\" is not a storage scope");
  EXPECT_EQ(reason(kTwoReaders, "root"), "root is the root block");
  // The copy would overwrite C[1], C[3], ...
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((30,), "float32"), C: T.Buffer((60,), "float32")):
    for i in range(30):
        with T.block("C"):
            vi = T.axis.spatial(30, i)
            C[vi * 2] = A[vi]
)",
                   "C"),
            "C may not write all elements of C that a copy of its output would overwrite");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((30,), "float32"), C: T.Buffer((30,), "float32")):
    for i in range(30):
        with T.block("C"):
            vi = T.axis.spatial(30, i)
            T.where(A[i] < T.float32(0))
            C[vi] = A[vi]
)",
                   "C"),
            "C may not write all elements of C that a copy of its output would overwrite");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((30,), "float32"), C: T.Buffer((30,), "float32")):
    for i in range(30):
        with T.block("C"):
            vi = T.axis.spatial(30, i)
            C[vi] = C[vi] + A[vi]
)",
                   "C"),
            "C also reads C");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((30, 8), "float32"), C: T.Buffer((30,), "float32")):
    for i in range(30):
        with T.block("C_init"):
            vi = T.axis.spatial(30, i)
            C[vi] = T.float32(0)
        for j in range(8):
            with T.block("C_update"):
                vi, vj = T.axis.remap("SR", [i, j])
                C[vi] = C[vi] + A[vi, vj]
)",
                   "C_update"),
            "C_init also writes C");
}

}  // namespace
}  // namespace tilewright
