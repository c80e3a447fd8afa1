// Programs of the fuzzer whose reductions read what others give: exponentials of differences to a maximum, norms,
// chains of products, masks.
#pragma once

namespace tilewright::fuzz {

// The sum of exponentials, and its logarithm.
inline constexpr const char* kLogSumExp = R"(
@T.prim_func
def main(X: T.Buffer((4, 10), "float32"), L: T.Buffer((4,), "float32")):
    M = T.alloc_buffer((4,), "float32")
    S = T.alloc_buffer((4,), "float32")
    for i, j in T.grid(4, 10):
        with T.block("M"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                M[vi] = T.float32(-3.0e+38)
            M[vi] = T.max(M[vi], X[vi, vj])
    for i, j in T.grid(4, 10):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.exp(X[vi, vj] - M[vi])
    for i in range(4):
        with T.block("L"):
            vi = T.axis.spatial(4, i)
            L[vi] = M[vi] + T.log(S[vi])
)";

// Attention: products, a causal mask, exponentials that a sum and a product read, late division.
inline constexpr const char* kCausalAttention = R"(
@T.prim_func
def main(Q: T.Buffer((5, 3), "float32"), K: T.Buffer((6, 3), "float32"), V: T.Buffer((6, 2), "float32"), O: T.Buffer((5, 2), "float32")):
    P = T.alloc_buffer((5, 6), "float32")
    M = T.alloc_buffer((5,), "float32")
    E = T.alloc_buffer((5, 6), "float32")
    S = T.alloc_buffer((5,), "float32")
    R = T.alloc_buffer((5, 2), "float32")
    for i, j, d in T.grid(5, 6, 3):
        with T.block("P"):
            vi, vj, vd = T.axis.remap("SSR", [i, j, d])
            with T.init():
                P[vi, vj] = T.float32(0)
            P[vi, vj] = P[vi, vj] + Q[vi, vd] * K[vj, vd]
    for i, j in T.grid(5, 6):
        with T.block("M"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                M[vi] = T.float32("-inf")
            M[vi] = T.max(M[vi], T.if_then_else(vj <= vi, P[vi, vj], T.float32("-inf")))
    for i, j in T.grid(5, 6):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(T.if_then_else(vj <= vi, P[vi, vj], T.float32("-inf")) - M[vi])
    for i, j in T.grid(5, 6):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vj]
    for i, d, j in T.grid(5, 2, 6):
        with T.block("R"):
            vi, vd, vj = T.axis.remap("SSR", [i, d, j])
            with T.init():
                R[vi, vd] = T.float32(0)
            R[vi, vd] = R[vi, vd] + E[vi, vj] * V[vj, vd]
    for i, d in T.grid(5, 2):
        with T.block("O"):
            vi, vd = T.axis.remap("SS", [i, d])
            O[vi, vd] = R[vi, vd] / S[vi]
)";

// Scores that a window masks, row 0 as a whole, in a block of their own; zeros where all of a row is masked; its
// greatest weight as a second output.
inline constexpr const char* kMaskedWindow = R"(
@T.prim_func
def main(P: T.Buffer((6, 8), "float32"), V: T.Buffer((8, 2), "float32"), W: T.Buffer((6,), "float32"), O: T.Buffer((6, 2), "float32")):
    X = T.alloc_buffer((6, 8), "float32")
    M = T.alloc_buffer((6,), "float32")
    E = T.alloc_buffer((6, 8), "float32")
    S = T.alloc_buffer((6,), "float32")
    for i, j in T.grid(6, 8):
        with T.block("X"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = T.Select(vj < vi, T.Select(vi - vj < 4, P[vi, vj] * T.float32(0.5), T.float32("-inf")), T.float32("-inf"))
    for i, j in T.grid(6, 8):
        with T.block("M"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                M[vi] = T.float32("-inf")
            M[vi] = T.max(M[vi], X[vi, vj])
    for i, j in T.grid(6, 8):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.Select(X[vi, vj] == T.float32("-inf"), T.float32(0), T.exp(X[vi, vj] - M[vi]))
    for i, j in T.grid(6, 8):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vj]
    for i, j in T.grid(6, 8):
        with T.block("W"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                W[vi] = T.float32(0)
            W[vi] = T.max(W[vi], T.Select(S[vi] == T.float32(0), T.float32(0), E[vi, vj] / S[vi]))
    for i, d, j in T.grid(6, 2, 8):
        with T.block("O"):
            vi, vd, vj = T.axis.remap("SSR", [i, d, j])
            with T.init():
                O[vi, vd] = T.float32(0)
            O[vi, vd] = O[vi, vd] + T.Select(S[vi] == T.float32(0), T.float32(0), E[vi, vj] / S[vi]) * V[vj, vd]
)";

// A product with rows that are divided by their norm, which is an output too.
inline constexpr const char* kNormOfRows = R"(
@T.prim_func
def main(X: T.Buffer((4, 9), "float32"), V: T.Buffer((9, 3), "float32"), Q: T.Buffer((4,), "float32"), O: T.Buffer((4, 3), "float32")):
    for i, j in T.grid(4, 9):
        with T.block("Q"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                Q[vi] = T.float32(0)
            Q[vi] = Q[vi] + (X[vi, vj] * X[vi, vj] + T.float32(1))
    for i, d, j in T.grid(4, 3, 9):
        with T.block("O"):
            vi, vd, vj = T.axis.remap("SSR", [i, d, j])
            with T.init():
                O[vi, vd] = T.float32(0)
            O[vi, vd] = O[vi, vd] + X[vi, vj] / T.sqrt(Q[vi]) * V[vj, vd]
)";

// The least of a row, and two sums that follow it in their own ways.
inline constexpr const char* kTwoScales = R"(
@T.prim_func
def main(X: T.Buffer((3, 8), "float32"), A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
    M = T.alloc_buffer((3,), "float32")
    for i, j in T.grid(3, 8):
        with T.block("M"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                M[vi] = T.float32(1.0e+30)
            M[vi] = T.min(M[vi], X[vi, vj])
    for i, j in T.grid(3, 8):
        with T.block("A"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                A[vi] = T.float32(0)
            A[vi] = A[vi] + T.exp2(M[vi] - X[vi, vj])
    for i, j in T.grid(3, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + T.if_then_else(vj < 5, T.exp((M[vi] - X[vi, vj]) * T.float32(0.25)), T.float32(0)) * T.float32(2)
)";

}  // namespace tilewright::fuzz
