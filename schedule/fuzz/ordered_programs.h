// Programs of the fuzzer in which order matters: blocks that read what their other instances write, reductions whose
// updates do not commute, and conditions that keep divisions and loads from going wrong.
#pragma once

namespace tilewright::fuzz {

// A filter along t, of channels that do not depend on each other.
inline constexpr const char* kFilter = R"(
@T.prim_func
def main(X: T.Buffer((4, 9), "float32"), Y: T.Buffer((4, 10), "float32")):
    for c in range(4):
        with T.block("start"):
            vc = T.axis.spatial(4, c)
            Y[vc, 0] = T.float32(1)
    for c, t in T.grid(4, 9):
        with T.block("Y"):
            vc, vt = T.axis.remap("SS", [c, t])
            Y[vc, vt + 1] = Y[vc, vt] * T.float32(0.5) + X[vc, vt]
)";

// A sweep over a grid that uses the new values above and to the left.
inline constexpr const char* kSweep = R"(
@T.prim_func
def main(A: T.Buffer((7, 8), "int32")):
    for i, j in T.grid(5, 6):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi + 1, vj + 1] = A[vi, vj + 1] + A[vi + 1, vj] - A[vi + 2, vj + 1] + A[vi + 1, vj + 2]
)";

// The costs of editing one text into another.
inline constexpr const char* kEditing = R"(
@T.prim_func
def main(S: T.Buffer((5,), "int32"), R: T.Buffer((6,), "int32"), D: T.Buffer((6, 7), "int32"), last: T.Buffer((7,), "int32")):
    for i, j in T.grid(5, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi + 1, vj + 1] = T.min(T.min(D[vi, vj + 1], D[vi + 1, vj]) + 1, D[vi, vj] + T.Select(S[vi] == R[vj], 0, 1))
    for j in range(7):
        with T.block("last"):
            vj = T.axis.spatial(7, j)
            last[vj] = D[5, vj] * 2
)";

// Two elements by each instance, in place, and a copy of what came out.
inline constexpr const char* kButterfly = R"(
@T.prim_func
def main(Y: T.Buffer((3, 12), "float32"), Z: T.Buffer((3, 12), "float32")):
    for r, i in T.grid(3, 6):
        with T.block("Y"):
            vr, v = T.axis.remap("SS", [r, i])
            a: T.float32 = Y[vr, v // 3 * 6 + v % 3]
            b: T.float32 = Y[vr, v // 3 * 6 + v % 3 + 3]
            Y[vr, v // 3 * 6 + v % 3] = a + b
            Y[vr, v // 3 * 6 + v % 3 + 3] = a - b
    for r, i in T.grid(3, 12):
        with T.block("Z"):
            vr, v = T.axis.remap("SS", [r, i])
            Z[vr, v] = Y[vr, v] + T.float32(1)
)";

// Each instance uses an element that an earlier or a later one writes.
inline constexpr const char* kOwnOutput = R"(
@T.prim_func
def main(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i in range(12):
        with T.block("B"):
            v = T.axis.spatial(12, i)
            B[v] = A[v] * T.float32(2)
            C[v] = B[v] + B[11 - v]
)";

// Rows move up by one, and are scaled.
inline constexpr const char* kShift = R"(
@T.prim_func
def main(A: T.Buffer((7, 6), "float32"), B: T.Buffer((6, 6), "float32")):
    for i, j in T.grid(6, 6):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi + 1, vj] * T.float32(2)
    for i, j in T.grid(6, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] - T.float32(1)
)";

// Sums of all that came before, in a buffer of the function's own.
inline constexpr const char* kRunningSums = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    P = T.alloc_buffer((4, 9), "float32")
    for i in range(4):
        with T.block("P_start"):
            vi = T.axis.spatial(4, i)
            P[vi, 0] = T.float32(0)
    for i, k in T.grid(4, 8):
        with T.block("P"):
            vi, vk = T.axis.remap("SS", [i, k])
            P[vi, vk + 1] = P[vi, vk] + A[vi, vk]
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = P[vi, vk + 1] * T.float32(2)
)";

// Odd elements from even ones: nothing depends on the order.
inline constexpr const char* kOddFromEven = R"(
@T.prim_func
def main(A: T.Buffer((3, 14), "float32")):
    for i, j in T.grid(3, 7):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj * 2 + 1] = A[vi, vj * 2] + T.float32(1)
)";

inline constexpr const char* kHorner = R"(
@T.prim_func
def main(A: T.Buffer((4, 3, 4), "float32"), R: T.Buffer((4,), "float32")):
    for i, j, k in T.grid(4, 3, 4):
        with T.block("R"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                R[vi] = T.float32(0)
            R[vi] = R[vi] * T.float32(2) + A[vi, vj, vk]
)";

inline constexpr const char* kAlternating = R"(
@T.prim_func
def main(A: T.Buffer((5, 8), "int32"), R: T.Buffer((5,), "int32"), C: T.Buffer((5,), "int32")):
    for i, k in T.grid(5, 8):
        with T.block("R"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                R[vi] = 1
            R[vi] = A[vi, vk] - R[vi]
    for i in range(5):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = R[vi] + 1
)";

// The last index of a positive element, and of all elements.
inline constexpr const char* kLastIndex = R"(
@T.prim_func
def main(A: T.Buffer((5, 8), "int32"), J: T.Buffer((5,), "int32"), L: T.Buffer((5,), "int32")):
    for i, k in T.grid(5, 8):
        with T.block("J"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                J[vi] = -1
            J[vi] = T.if_then_else(A[vi, vk] > 0, vk, J[vi])
    for i, k in T.grid(5, 8):
        with T.block("L"):
            vi, vk = T.axis.remap("SR", [i, k])
            L[vi] = vk * 3
)";

// The first of the greatest, among many that are equal.
inline constexpr const char* kFirstOfGreatest = R"(
@T.prim_func
def main(A: T.Buffer((4, 12), "int32"), J: T.Buffer((4,), "int32"), V: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 12):
        with T.block("R"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                J[vi] = -1
                V[vi] = -100
            j: T.int32 = T.Select(V[vi] >= A[vi, vk], J[vi], vk)
            x: T.int32 = T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])
            J[vi] = j
            V[vi] = x
)";

// Updates of elements that move from step to step, so that other instances wrote them before: in an order that counts,
// in one that does not, and in steps that are outside and inside of the elements' loop.
inline constexpr const char* kMovingElements = R"(
@T.prim_func
def main(A: T.Buffer((3, 4, 6), "float32"), C: T.Buffer((3, 6), "float32"), D: T.Buffer((6,), "float32"), S: T.Buffer((9,), "float32")):
    for r, k, i in T.grid(3, 4, 6):
        with T.block("C"):
            vr, vk, vi = T.axis.remap("SRS", [r, k, i])
            C[vr, (vi + vk) % 6] = C[vr, (vi + vk) % 6] * T.float32(2) + A[vr, vk, vi]
    for i, k in T.grid(6, 4):
        with T.block("D"):
            vi, vk = T.axis.remap("SR", [i, k])
            D[(vi + vk * 2) % 6] = A[0, vk, vi] - D[(vi + vk * 2) % 6]
    for i, k in T.grid(6, 4):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            S[vi + vk] = S[vi + vk] + A[1, vk, vi]
)";

// Divisions and loads that conditions on values guard.
inline constexpr const char* kGuardedQuotients = R"(
@T.prim_func
def main(A: T.Buffer((4, 9), "int32"), D: T.Buffer((4, 9), "int32"), B: T.Buffer((4, 9), "int32"), C: T.Buffer((4, 9), "int32")):
    for i, j in T.grid(4, 9):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(D[vi, vj] != 0, A[vi, vj] // D[vi, vj], -1)
    for i, j in T.grid(4, 9):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(D[i, j] != 0)
            C[vi, vj] = B[vi, vj] + A[vi, vj] % D[vi, vj]
)";

inline constexpr const char* kGuardedPlaces = R"(
@T.prim_func
def main(J: T.Buffer((13,), "int32"), A: T.Buffer((4,), "float32"), B: T.Buffer((13,), "float32"), C: T.Buffer((13,), "float32")):
    for i in range(13):
        with T.block("B"):
            v = T.axis.spatial(13, i)
            B[v] = T.if_then_else(0 <= J[v] and J[v] < 4 and A[J[v]] > T.float32(0), T.float32(1), T.float32(-1))
    for i in range(13):
        with T.block("C"):
            v = T.axis.spatial(13, i)
            C[v] = T.float32(0)
            if J[v] > 0:
                C[v] = B[v] + A[J[v] - 1]
)";

// A block that declares more than it writes.
inline constexpr const char* kPartsOfAll = R"(
@T.prim_func
def main(A: T.Buffer((8, 10), "float32"), C: T.Buffer((8, 10), "float32")):
    for i, j in T.grid(8, 10):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(C[vi, vj])
            with T.block("left"):
                T.where(vi < 5)
                T.reads(A[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vi, vj]
            with T.block("top"):
                T.where(vj < 7)
                T.reads(A[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vi, vj] * T.float32(2)
)";

// Rows of lengths that memory holds.
inline constexpr const char* kRaggedSums = R"(
@T.prim_func
def main(L: T.Buffer((6,), "int32"), A: T.Buffer((6, 9), "float32"), S: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("S"):
            vi = T.axis.spatial(6, i)
            S[vi] = T.float32(0)
            for t in range(L[vi] + 4):
                S[vi] = S[vi] + A[vi, t]
)";

// Sums and products of int32 that end inside of the type; their parts, or the factors in another order, need not.
inline constexpr const char* kFarZeroPoint = R"(
@T.prim_func
def main(A: T.Buffer((4, 2), "uint8"), B: T.Buffer((2, 5), "int8"), C: T.Buffer((4, 5), "int32")):
    for i, j, k in T.grid(4, 5, 2):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + (T.Cast("int32", A[vi, vk]) - 1073741824) * T.Cast("int32", T.Cast("int32", B[vk, vj]) % 2 != 0)
)";
inline constexpr const char* kZeroBetweenLargeFactors = R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "uint8"), B: T.Buffer((6,), "uint8"), E: T.Buffer((4,), "uint8"), C: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + (T.Cast("int32", A[vi, vk]) + 65536) * (T.Cast("int32", B[vk]) // 64) * (T.Cast("int32", E[vi]) + 65536)
)";

// Sums and products that leave int32 on the way, in some order or in any: updates wrap.
inline constexpr const char* kSumsThatWrap = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32"), P: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 5
            C[vi] = C[vi] + T.Select(A[vi, vk] % 2 == 0, -2147483647, 2147483647)
    for i, k in T.grid(4, 8):
        with T.block("P"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = 1
            P[vi] = P[vi] * (A[vi, vk] * 4099 + 1)
)";

}  // namespace tilewright::fuzz
