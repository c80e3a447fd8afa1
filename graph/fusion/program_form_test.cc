#include "graph/fusion/program_form.h"

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

void ExpectSame(const PrimFunc& actual, const char* expected) {
  EXPECT_TRUE(StructuralEqual(actual, ParseFunctionOrDie(expected))) << Print(Module(actual));
}

// A window of one element: the channels are still summed over.
TEST(WithoutUnitDimensions, ReductionsOverOneElementGoWhereAnotherStays) {
  ExpectSame(WithoutUnitDimensions(ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((1, 6, 8), "float32"), W: T.Buffer((1, 8, 4), "float32"), Y: T.Buffer((1, 6, 4), "float32")):
    for n, i, o, r, c in T.grid(1, 6, 4, 1, 8):
        with T.block("conv"):
            vn, vi, vo, vr, vc = T.axis.remap("SSSRR", [n, i, o, r, c])
            with T.init():
                Y[vn, vi, vo] = T.float32(0)
            Y[vn, vi, vo] = Y[vn, vi, vo] + X[vn, vi + vr, vc] * W[vr, vc, vo]
)")),
             R"(
@T.prim_func
def main(X: T.Buffer((1, 6, 8), "float32"), W: T.Buffer((1, 8, 4), "float32"), Y: T.Buffer((1, 6, 4), "float32")):
    for i, o, c in T.grid(6, 4, 8):
        with T.block("conv"):
            vi, vo, vc = T.axis.remap("SSR", [i, o, c])
            with T.init():
                Y[0, vi, vo] = T.float32(0)
            Y[0, vi, vo] = Y[0, vi, vo] + X[0, vi + 0, vc] * W[0, vc, vo]
)");
}

// A sum needs an iterator to be summed over, and that iterator a loop.
TEST(WithoutUnitDimensions, TheLastReductionStaysWithItsLoop) {
  ExpectSame(WithoutUnitDimensions(ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((1, 1), "float32"), Y: T.Buffer((1,), "float32")):
    for n, c in T.grid(1, 1):
        with T.block("sum"):
            vn, vc = T.axis.remap("SR", [n, c])
            with T.init():
                Y[vn] = T.float32(0)
            Y[vn] = Y[vn] + X[vn, vc]
)")),
             R"(
@T.prim_func
def main(X: T.Buffer((1, 1), "float32"), Y: T.Buffer((1,), "float32")):
    for c in range(1):
        with T.block("sum"):
            vc = T.axis.reduce(1, c)
            with T.init():
                Y[0] = T.float32(0)
            Y[0] = Y[0] + X[0, vc]
)");
}

// Instructions for groups of small integers compute tiles, which have rows.
TEST(WithoutUnitDimensions, OneRowOfSmallIntegersStays) {
  constexpr char kProduct[] = R"(
@T.prim_func
def main(X: T.Buffer((1, 8), "$0"), W: T.Buffer((8, 4), "int8"), Y: T.Buffer((1, 4), "int32")):
    for i, o, c in T.grid(1, 4, 8):
        with T.block("product"):
            vi, vo, vc = T.axis.remap("SSR", [i, o, c])
            with T.init():
                Y[vi, vo] = 0
            Y[vi, vo] = Y[vi, vo] + T.Cast("int32", X[vi, vc]) * T.Cast("int32", W[vc, vo])
)";
  const PrimFunc bytes = ParseFunctionOrDie(absl::Substitute(kProduct, "uint8"));
  EXPECT_TRUE(StructuralEqual(WithoutUnitDimensions(bytes), bytes));
  const PrimFunc words = ParseFunctionOrDie(absl::Substitute(kProduct, "int16"));
  EXPECT_FALSE(StructuralEqual(WithoutUnitDimensions(words), words));
}

TEST(WithOneIndexType, ConversionsGoAndIndicesAreSimplified) {
  ExpectSame(WithOneIndexType(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 24), "float32"), B: T.Buffer((T.int64(96),), "float32"), C: T.Buffer((96,), "float32")):
    for i in range(T.int64(96)):
        with T.block("B"):
            vi = T.axis.spatial(T.int64(96), i)
            B[vi] = A[T.Cast("int32", vi) // 24, T.Cast("int32", vi % T.int64(24))]
    for i, j in T.grid(4, T.int64(24)):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi * 24 + T.Cast("int32", vj)] = T.if_then_else(T.Cast("int64", vi) * T.int64(24) + vj < T.int64(24), B[T.Cast("int64", vi * 24) + vj], T.Cast("float32", vj))
)")),
             R"(
@T.prim_func
def main(A: T.Buffer((4, 24), "float32"), B: T.Buffer((T.int64(96),), "float32"), C: T.Buffer((96,), "float32")):
    for i in range(96):
        with T.block("B"):
            vi = T.axis.spatial(96, i)
            B[vi] = A[vi // 24, vi % 24]
    for i, j in T.grid(4, 24):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi * 24 + vj] = T.if_then_else(vi < 1, B[vi * 24 + vj], T.Cast("float32", T.Cast("int64", vj)))
)");
}

// A constant index of a gather, limited as ONNX's are.
TEST(WithOneIndexType, ConstantsAreFolded) {
  ExpectSame(WithOneIndexType(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 24), "float32"), B: T.Buffer((24,), "float32")):
    for i in range(24):
        with T.block("B"):
            vi = T.axis.spatial(24, i)
            B[vi] = A[T.max(T.min(T.Select(T.LT(T.int64(-1), T.int64(0)), T.Add(T.int64(-1), T.int64(4)), T.int64(-1)), T.int64(3)), T.int64(0)), vi]
)")),
             R"(
@T.prim_func
def main(A: T.Buffer((4, 24), "float32"), B: T.Buffer((24,), "float32")):
    for i in range(24):
        with T.block("B"):
            vi = T.axis.spatial(24, i)
            B[vi] = A[3, vi]
)");
}

TEST(WithOneIndexType, IteratorsOfOneValueStay) {
  const char* product = R"(
@T.prim_func
def main(X: T.Buffer((6, 1), "float32"), W: T.Buffer((1, 4), "float32"), Y: T.Buffer((6, 4), "float32")):
    for i, o, c in T.grid(6, 4, 1):
        with T.block("Y"):
            vi, vo, vc = T.axis.remap("SSR", [i, o, c])
            with T.init():
                Y[vi, vo] = T.float32(0)
            Y[vi, vo] = Y[vi, vo] + X[vi, vc] * W[vc, vo]
)";
  ExpectSame(WithOneIndexType(ParseFunctionOrDie(product)), product);
}

// What is read from memory keeps the type that it is limited in; what may not fit in 32 bits keeps 64.
TEST(WithOneIndexType, ValuesAndLargeIndicesKeepTheirTypes) {
  const char* gather = R"(
@T.prim_func
def main(A: T.Buffer((40,), "float32"), I: T.Buffer((24,), "int64"), B: T.Buffer((24,), "float32")):
    for i in range(24):
        with T.block("B"):
            vi = T.axis.spatial(24, i)
            B[vi] = A[T.Cast("int32", T.max(T.min(I[vi], T.int64(39)), T.int64(0)))]
)";
  ExpectSame(WithOneIndexType(ParseFunctionOrDie(gather)), gather);
  const char* large = R"(
@T.prim_func
def main(A: T.Buffer((T.int64(3000000000),), "int8"), B: T.Buffer((T.int64(3000000000),), "int8")):
    for i in range(T.int64(3000000000)):
        with T.block("B"):
            vi = T.axis.spatial(T.int64(3000000000), i)
            B[vi] = A[vi]
)";
  ExpectSame(WithOneIndexType(ParseFunctionOrDie(large)), large);
}

TEST(WithOneIndexType, SymbolicExtentsAreOf64Bits) {
  ExpectSame(WithOneIndexType(ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 24))
    B = T.match_buffer(b, (n * 24,))
    for i, j in T.grid(n, 24):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * T.int64(24) + T.Cast("int64", vj)] = A[vi, vj]
)")),
             R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 24))
    B = T.match_buffer(b, (n * 24,))
    for i, j in T.grid(n, T.int64(24)):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * T.int64(24) + vj] = A[vi, vj]
)");
}

TEST(WithIndexType, LoopsIteratorsAndIndicesHaveTheType) {
  ExpectSame(WithIndexType(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((24,), "float32"), B: T.Buffer((26,), "float32")):
    for i in range(24):
        with T.block("B"):
            vi = T.axis.spatial(24, i)
            B[vi + 2] = A[vi]
)"),
                           DataType::Int(64)),
             R"(
@T.prim_func
def main(A: T.Buffer((24,), "float32"), B: T.Buffer((26,), "float32")):
    for i in range(T.int64(24)):
        with T.block("B"):
            vi = T.axis.spatial(T.int64(24), i)
            B[vi + T.int64(2)] = A[vi]
)");
}

}  // namespace
}  // namespace tilewright::graph
