// Programs that store between reads of the same memory and what depends on them: conditions, masks, ends of loops,
// iterators and indices have the values that memory has where they stand.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "codegen/testing/equivalence.h"

namespace tilewright {
namespace {

void ExpectSame(const std::string& program) {
  testing::ComparisonOptions options;
  options.integers = 7;
  EXPECT_EQ(testing::CompareWithInterpreter(program, options), "") << program;
}

// The body for each row, whose loop is of any kind.
void ExpectSameInRows(const std::string& body) {
  for (const char* loop : {"range", "T.vectorized", "T.parallel", "T.unroll"}) {
    ExpectSame(absl::StrReplaceAll(R"(
@T.prim_func
def main(A: T.Buffer((21, 4), "int32"), N: T.Buffer((21,), "int32"), S: T.Buffer((21, 8), "int32")):
    for i in LOOP(21):
        with T.block("rows"):
            vi = T.axis.spatial(21, i)
            N[vi] = T.max(T.min(A[vi, 0], 3), 0)
            for c in range(8):
                S[vi, c] = 0
)",
                                   {{"LOOP", loop}}) +
               body);
  }
}

// ---- Conditions

TEST(Conditions, HoldUntilTheirMemoryIsStoredTo) {
  ExpectSameInRows(R"(
            if N[vi] < 2:
                N[vi] = N[vi] + 3
                if N[vi] < 2:
                    S[vi, 0] = 1
)");
  ExpectSameInRows(R"(
            if N[vi] == 1:
                N[vi] = A[vi, 1]
                S[vi, 1] = N[vi]
            else:
                N[vi] = 1
                if N[vi] == 1:
                    S[vi, 2] = 5
)");
  ExpectSameInRows(R"(
            x: T.int32 = A[vi, 1]
            if x < 4 and N[vi] < 3:
                x = x + 3
                if x < 4:
                    x = x + 100
            S[vi, 0] = x
)");
}

TEST(Conditions, GuardAllOfTheirStoresAlike) {
  ExpectSameInRows(R"(
            for k in range(4):
                if A[vi, k] < S[vi, 0]:
                    S[vi, 0] = A[vi, k]
                    S[vi, 1] = k
                    N[vi] = N[vi] + 1
)");
  ExpectSameInRows(R"(
            for k in range(4):
                if A[vi, k] > S[vi, 0]:
                    if A[vi, k] < N[vi]:
                        N[vi] = A[vi, k]
                        S[vi, 2] = k
                    S[vi, 0] = A[vi, k]
                    S[vi, 1] = k
)");
}

TEST(Conditions, OfPredicatesHoldUntilTheirMemoryIsStoredTo) {
  ExpectSameInRows(R"(
            with T.block("guarded"):
                vp = T.axis.opaque(8, N[vi])
                T.where(N[vi] < 3)
                N[vi] = N[vi] + 1
                if N[vi] < 3:
                    S[vi, vp] = 7
)");
}

TEST(Conditions, OfACompactionAreLookedAtAgain) {
  ExpectSameInRows(R"(
            N[vi] = 6
            for k in range(2):
                if N[vi] < 8:
                    S[vi, N[vi]] = A[vi, k * 2]
                    N[vi] = N[vi] + 1
                    if N[vi] < 8:
                        S[vi, N[vi]] = A[vi, k * 2 + 1]
                        N[vi] = N[vi] + 1
)");
}

// ---- Iterators and loops

TEST(Iterators, HaveTheirValuesWhenTheirBlocksBegin) {
  ExpectSame(R"(
@T.prim_func
def main(N: T.Buffer((1,), "int32"), A: T.Buffer((8,), "int32"), Q: T.Buffer((16,), "int32")):
    with T.block("empty"):
        N[0] = 0
    for i in range(8):
        with T.block("push"):
            vi = T.axis.opaque(8, i)
            vp = T.axis.opaque(16, T.max(T.min(N[0], 15), 0))
            N[0] = vp + 1
            Q[vp] = A[vi]
)");
  ExpectSameInRows(R"(
            with T.block("outer"):
                va = T.axis.opaque(8, N[vi])
                N[vi] = va + 1
                with T.block("inner"):
                    vb = T.axis.opaque(8, N[vi] + va)
                    N[vi] = 0
                    S[vi, va] = 1
                    S[vi, vb] = 2
)");
}

TEST(Iterators, OfSubBuffersBeginWhereTheirBlocksBegin) {
  ExpectSameInRows(R"(
            with T.block("part"):
                V = T.match_buffer(S[vi, N[vi]:N[vi] + 4], (4,), "int32", offset_factor=1)
                N[vi] = 4
                V[0] = 3
                V[1] = 4
)");
}

TEST(Loops, EndWhereTheyEndedWhenTheyBegan) {
  ExpectSameInRows(R"(
            for k in range(N[vi]):
                N[vi] = 0
                S[vi, k] = S[vi, k] + 1
)");
  ExpectSameInRows(R"(
            for k in range(N[vi], N[vi] + 1):
                N[vi] = k + 2
                S[vi, k] = 5
)");
  ExpectSameInRows(R"(
            for k in range(N[vi], N[vi] + 2):
                N[vi] = 0
                if k < 3:
                    S[vi, k] = 5
)");
}

TEST(Loops, CarryWhatIsThereWhenTheIndexChanges) {
  ExpectSame(R"(
@T.prim_func
def main(N: T.Buffer((1,), "int32"), S: T.Buffer((40,), "int32")):
    N[0] = 0
    for k in range(9):
        N[0] = k * 2
        S[k + N[0] + 1] = S[k + N[0]] + 1
)");
}

// ---- Memory whose elements are named by memory

TEST(Temporaries, AreAsLargeAsAllOfTheirPlaces) {
  ExpectSameInRows(R"(
            T_ = T.alloc_buffer((8,), "int32")
            N[vi] = 1
            T_[N[vi]] = 5
            N[vi] = 2
            T_[N[vi]] = 6
            S[vi, 0] = T_[1]
            S[vi, 1] = T_[N[vi]]
)");
}

TEST(Temporaries, KeepWhatEarlierIterationsLeft) {
  ExpectSame(R"(
@T.prim_func
def main(N: T.Buffer((1,), "int32"), A: T.Buffer((8,), "int32"), S: T.Buffer((8,), "int32")):
    with T.block("root"):
        T_ = T.alloc_buffer((9,), "int32")
        for c in range(9):
            T_[c] = 0
        for i in range(8):
            N[0] = i
            T_[N[0]] = A[i]
            N[0] = 0
            S[i] = T_[N[0]]
)");
}

}  // namespace
}  // namespace tilewright
