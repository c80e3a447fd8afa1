// Programs of the fuzzer that no operator of ir/ops gives, as text.
#pragma once

namespace tilewright::fuzz {

inline constexpr const char* kInPlaceRowSum = R"(
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), bias: T.Buffer((6,), "float32"), D: T.Buffer((6,), "float32")):
    C = T.alloc_buffer((6,))
    for i, j in T.grid(6, 8):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] * T.float32(2)
    for i, k in T.grid(6, 4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk + 3]
    for i in range(6):
        with T.block("D"):
            vi = T.axis.spatial(6, i)
            D[vi] = C[vi] + bias[vi]
)";

// Operands with zero points, one of them for each column.
inline constexpr const char* kZeroPoints = R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "uint8"), B: T.Buffer((6, 5), "int8"), z: T.Buffer((5,), "int32"), C: T.Buffer((4, 5), "int32")):
    for i, j, k in T.grid(4, 5, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 3
            C[vi, vj] = C[vi, vj] + (T.Cast("int32", A[vi, vk]) - 7) * (z[vj] + T.Cast("int32", B[vk, vj]))
)";

// A convolution whose result is scaled and then reduced.
inline constexpr const char* kPaddedConvolution = R"(
@T.prim_func
def main(X: T.Buffer((10, 3), "float32"), W: T.Buffer((3, 3, 4), "float32"), Z: T.Buffer((8,), "float32")):
    P = T.alloc_buffer((12, 3), "float32")
    Y = T.alloc_buffer((10, 4), "float32")
    S = T.alloc_buffer((10, 4), "float32")
    for i, c in T.grid(12, 3):
        with T.block("P"):
            vi, vc = T.axis.remap("SS", [i, c])
            P[vi, vc] = T.if_then_else(1 <= vi and vi < 11, X[vi - 1, vc], T.float32(0))
    for i, o, r, c in T.grid(10, 4, 3, 3):
        with T.block("Y"):
            vi, vo, vr, vc = T.axis.remap("SSRR", [i, o, r, c])
            with T.init():
                Y[vi, vo] = T.float32(0)
            Y[vi, vo] = Y[vi, vo] + P[vi + vr, vc] * W[vr, vc, vo]
    for i, o in T.grid(10, 4):
        with T.block("S"):
            vi, vo = T.axis.remap("SS", [i, o])
            S[vi, vo] = Y[vi, vo] * T.float32(2) + T.float32(1)
    for i, o in T.grid(8, 4):
        with T.block("Z"):
            vi, vo = T.axis.remap("SR", [i, o])
            with T.init():
                Z[vi] = T.float32(0)
            Z[vi] = Z[vi] + S[vi + 1, vo]
)";

// Every other element is multiplied by zero.
inline constexpr const char* kZeroTerms = R"(
@T.prim_func
def main(X: T.Buffer((8,), "float32"), W: T.Buffer((2, 3), "float32"), Y: T.Buffer((8,), "float32")):
    for i, r, k in T.grid(8, 2, 3):
        with T.block("Y"):
            vi, vr, vk = T.axis.remap("SRR", [i, r, k])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + T.if_then_else((vi + vr) % 2 == 0, X[(vi + vr) // 2 + vk], T.float32(0)) * W[vr, vk]
)";

// Phases whose windows join_windows joins, of an output whose end is not read.
inline constexpr const char* kWindows = R"(
@T.prim_func
def main(X: T.Buffer((6,), "float32"), W: T.Buffer((2, 2), "float32"), Y: T.Buffer((7,), "float32")):
    Y_all = T.alloc_buffer((8,), "float32")
    for h, p, r in T.grid(4, 2, 2):
        with T.block("Y_all"):
            vh, vp, vr = T.axis.remap("SSR", [h, p, r])
            with T.init():
                Y_all[vh * 2 + vp] = T.float32(0)
            Y_all[vh * 2 + vp] = Y_all[vh * 2 + vp] + T.if_then_else(vh * 2 + vp < 7 and vr * 2 + vp < 3, X[vh + vp + vr], T.float32(0)) * W[vp, vr]
    for h in range(7):
        with T.block("Y"):
            vh = T.axis.spatial(7, h)
            Y[vh] = Y_all[vh]
)";

// Windows over rows that lie one behind the other, and what reads the places that windows have.
inline constexpr const char* kRows = R"(
@T.prim_func
def main(P: T.Buffer((20,), "float32"), W: T.Buffer((2, 3), "float32"), Y: T.Buffer((3, 3), "float32")):
    Y_rows = T.alloc_buffer((3, 3), "float32")
    for h, w, r, s in T.grid(3, 3, 2, 3):
        with T.block("Y_rows"):
            vh, vw, vr, vs = T.axis.remap("SSRR", [h, w, r, s])
            with T.init():
                Y_rows[vh, vw] = T.float32(0)
            Y_rows[vh, vw] = Y_rows[vh, vw] + P[(vh + vr) * 5 + vw + vs] * W[vr, vs]
    for h, w in T.grid(3, 3):
        with T.block("Y"):
            vh, vw = T.axis.remap("SS", [h, w])
            Y[vh, vw] = T.max(Y_rows[vh, vw], T.float32(0))
)";

inline constexpr const char* kMatmulBias = R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 8), "float32"), bias: T.Buffer((4, 8), "float32"), D: T.Buffer((4, 8), "float32")):
    C = T.alloc_buffer((4, 8), "float32")
    for i, j, k in T.grid(4, 8, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(4, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + bias[vi, vj]
)";

// Constant weights, packed in the program: what hoist_prepack takes out of it.
inline constexpr const char* kPackedWeights = R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 8), "float32"), bias: T.Buffer((4, 8), "float32"), D: T.Buffer((4, 8), "float32")):
    T.func_attr({"tilewright.constant_params": [1]})
    B_packed = T.alloc_buffer((2, 6, 4), "float32")
    C = T.alloc_buffer((4, 8), "float32")
    for j, k in T.grid(8, 6):
        with T.block("B_packed"):
            vj, vk = T.axis.remap("SS", [j, k])
            B_packed[vj // 4, vk, vj % 4] = B[vk, vj]
    for i, j, k in T.grid(4, 8, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B_packed[vj // 4, vk, vj % 4]
    for i, j in T.grid(4, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + bias[vi, vj]
)";

// Two values are reduced together.
inline constexpr const char* kArgMax = R"(
@T.prim_func
def main(V: T.Buffer((6, 8), "float32"), Best: T.Buffer((6,), "float32"), Where: T.Buffer((6,), "int32")):
    W = T.alloc_buffer((6, 8), "float32")
    for i, j in T.grid(6, 8):
        with T.block("W"):
            vi, vj = T.axis.remap("SS", [i, j])
            W[vi, vj] = V[vi, vj] * T.float32(8) - T.Cast("float32", vj)
    for i, k in T.grid(6, 8):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(W[vi, vk])
            T.writes(Where[vi], Best[vi])
            with T.init():
                Where[vi] = -1
                Best[vi] = T.float32(-1000)
            where: T.int32 = T.Select(Best[vi] >= W[vi, vk], Where[vi], vk)
            best: T.float32 = T.Select(Best[vi] >= W[vi, vk], Best[vi], W[vi, vk])
            Where[vi] = where
            Best[vi] = best
)";

// A running sum, and an opaque block in its consumer.
inline constexpr const char* kScan = R"(
@T.prim_func
def main(A: T.Buffer((5, 9), "float32"), C: T.Buffer((5, 9), "float32")):
    X = T.alloc_buffer((5, 9), "float32")
    B = T.alloc_buffer((5, 9), "float32")
    for i, j in T.grid(5, 9):
        with T.block("X"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = A[vi, vj] + T.float32(1)
    for i in range(5):
        with T.block("scan"):
            vi = T.axis.spatial(5, i)
            T.reads(X[vi, 0:9], B[vi, 0:9])
            T.writes(B[vi, 0:9])
            B[vi, 0] = X[vi, 0]
            for t in range(8):
                B[vi, t + 1] = B[vi, t] + X[vi, t + 1]
    for i, j in T.grid(5, 9):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, 8 - vj] * T.float32(2)
)";

// Products are added to an array, which is scaled after that.
inline constexpr const char* kAccumulation = R"(
@T.prim_func
def main(X: T.Buffer((6, 4), "float32"), Y: T.Buffer((6, 5), "float32"), A: T.Buffer((4, 5), "float32"), C: T.Buffer((4, 5), "float32")):
    for k, i, j in T.grid(6, 4, 5):
        with T.block("A"):
            vk, vi, vj = T.axis.remap("RSS", [k, i, j])
            T.reads(A[vi, vj], X[vk, vi], Y[vk, vj])
            T.writes(A[vi, vj])
            A[vi, vj] = A[vi, vj] + X[vk, vi] * Y[vk, vj]
    for i, j in T.grid(4, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
)";

inline constexpr const char* kOpaque = R"(
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6, 8), "float32")):
    B = T.alloc_buffer((6, 8), "float32")
    for i, j in T.grid(6, 8):
        with T.block("B"):
            vi = T.axis.opaque(6, i)
            vj = T.axis.spatial(8, j)
            B[vi, vj] = A[vi, vj] + T.float32(3)
    for i, j in T.grid(6, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[5 - vi, vj]
)";

inline constexpr const char* kGather = R"(
@T.prim_func
def main(Table: T.Buffer((16, 4), "float32"), Index: T.Buffer((9,), "uint8"), C: T.Buffer((9, 4), "float32")):
    S = T.alloc_buffer((16, 4), "float32")
    G = T.alloc_buffer((9, 4), "float32")
    for i, j in T.grid(16, 4):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = Table[vi, vj] * T.float32(2)
    for i, j in T.grid(9, 4):
        with T.block("G"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(S[0:16, vj], Index[vi])
            T.writes(G[vi, vj])
            G[vi, vj] = S[T.Cast("int32", Index[vi]), vj]
    for i, j in T.grid(9, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = G[vi, vj] + T.float32(1)
)";

// Rows of a sparse matrix. The blocks declare more than they touch, which may be hidden.
inline constexpr const char* kSparseRows = R"(
@T.prim_func
def main(Data: T.Buffer((16, 4), "float32"), Index: T.Buffer((9,), "uint8"), C: T.Buffer((9, 4), "float32")):
    S = T.alloc_buffer((9, 4), "float32")
    for i, j in T.grid(9, 4):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(Index[0:9], Data[vi, vj])
            T.writes(S[vi, vj])
            S[vi, vj] = Data[vi, vj] * T.float32(2)
    for i, j in T.grid(9, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(S[vi, vj], Data[0:16, vj], Index[vi], Index[0:9])
            T.writes(C[vi, vj])
            C[vi, vj] = S[vi, vj] + Data[T.Cast("int32", Index[vi]), vj]
)";

// A matmul in tiles of threads, with one operand copied into shared memory together.
inline constexpr const char* kThreadedMatmul = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    A_shared = T.alloc_buffer((8, 8), "float32", scope="shared")
    for by in T.thread_binding(2, thread="blockIdx.y"):
        for ty in T.thread_binding(4, thread="threadIdx.y"):
            for tx in T.thread_binding(4, thread="threadIdx.x"):
                for k_0 in range(2):
                    for c in range(1):
                        for cy in T.thread_binding(4, thread="threadIdx.y"):
                            for cx in T.thread_binding(4, thread="threadIdx.x"):
                                with T.block("A_shared"):
                                    vi = T.axis.spatial(8, by * 4 + cy)
                                    vk = T.axis.spatial(8, k_0 * 4 + c * 4 + cx)
                                    A_shared[vi, vk] = A[vi, vk]
                    for j, k_1 in T.grid(2, 4):
                        with T.block("C"):
                            vi = T.axis.spatial(8, by * 4 + ty)
                            vj = T.axis.spatial(8, tx * 2 + j)
                            vk = T.axis.reduce(8, k_0 * 4 + k_1)
                            with T.init():
                                C[vi, vj] = T.float32(0)
                            C[vi, vj] = C[vi, vj] + A_shared[vi, vk] * B[vk, vj]
)";

// Threads write shared memory, meet, and read what others wrote.
inline constexpr const char* kThreadedReverse = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    S = T.alloc_buffer((4, 8), "float32", scope="shared")
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("S"):
                v, vi = T.axis.remap("SS", [bx, tx])
                S[v, vi] = A[v, vi]
            T.tvm_storage_sync("shared")
            with T.block("B"):
                v, vi = T.axis.remap("SS", [bx, tx])
                B[v, vi] = S[v, 7 - vi]
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
)";

// Two kernels: rows by a sum across threads, and a use of the sums.
inline constexpr const char* kThreadedRows = R"(
@T.prim_func
def main(A: T.Buffer((6, 16), "float32"), C: T.Buffer((6, 16), "float32")):
    S = T.alloc_buffer((6,), "float32")
    T_1 = T.alloc_buffer((6, 16), "float32")
    for bx in T.thread_binding(6, thread="blockIdx.x"):
        for k_0 in range(2):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("S"):
                    vi = T.axis.spatial(6, bx)
                    vk = T.axis.reduce(16, k_0 * 8 + tx)
                    with T.init():
                        S[vi] = T.float32(0)
                    S[vi] = S[vi] + A[vi, vk]
    for i, j in T.grid(6, 16):
        with T.block("T"):
            vi, vj = T.axis.remap("SS", [i, j])
            T_1[vi, vj] = A[vi, vj] + S[vi]
    for i, j in T.grid(6, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T_1[vi, vj] * T.float32(2)
)";

// A stage of a stencil: rows of B are used by three rows of C.
inline constexpr const char* kStencil = R"(
@T.prim_func
def main(A: T.Buffer((12, 6), "float32"), C: T.Buffer((10, 6), "float32")):
    B = T.alloc_buffer((12, 6), "float32")
    for i, j in T.grid(12, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(10, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]
)";

// Windows over windows, and a consumer of part of their result.
inline constexpr const char* kCascade = R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), E: T.Buffer((2,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    C = T.alloc_buffer((14,), "float32")
    D = T.alloc_buffer((12,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * T.float32(2)
    for i, r in T.grid(14, 3):
        with T.block("C"):
            vi, vr = T.axis.remap("SR", [i, r])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi + vr]
    for i, r in T.grid(12, 3):
        with T.block("D"):
            vi, vr = T.axis.remap("SR", [i, r])
            with T.init():
                D[vi] = T.float32(0)
            D[vi] = D[vi] + C[vi + vr]
    for i in range(2):
        with T.block("E"):
            vi = T.axis.spatial(2, i)
            E[vi] = D[vi + 5]
)";

// Windows over a row that is enlarged by half.
inline constexpr const char* kEnlarged = R"(
@T.prim_func
def main(A: T.Buffer((12,), "float32"), C: T.Buffer((15,), "float32")):
    B = T.alloc_buffer((12,), "float32")
    for i in range(12):
        with T.block("B"):
            vi = T.axis.spatial(12, i)
            B[vi] = A[vi] * T.float32(2)
    for i, r in T.grid(15, 3):
        with T.block("C"):
            vi, vr = T.axis.remap("SR", [i, r])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi * 2 // 3 + vr]
)";

// Part of what is made is read: 27 elements of 32 in tiles of four, and one column of five.
inline constexpr const char* kUnevenTiles = R"(
@T.prim_func
def main(A: T.Buffer((32,), "float32"), C: T.Buffer((27,), "float32")):
    B = T.alloc_buffer((8, 4), "float32")
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi * 4 + vj] * T.float32(2)
    for i in range(27):
        with T.block("C"):
            vi = T.axis.spatial(27, i)
            C[vi] = B[(vi + 2) // 4, (vi + 2) % 4] + T.float32(1)
)";
inline constexpr const char* kOneColumn = R"(
@T.prim_func
def main(A: T.Buffer((12, 5), "float32"), C: T.Buffer((10, 1), "float32")):
    B = T.alloc_buffer((12, 5), "float32")
    for i, j in T.grid(12, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(10, 1):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi + 1, vj + 3] + T.float32(1)
)";

// Sums in types of 16 bits, exact: products of halves by bytes with a bias behind them, and terms that are rounded on
// purpose, to multiples of 2 from 256 on.
inline constexpr const char* kHalfProducts = R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "float16"), W: T.Buffer((6, 8), "int8"), E: T.Buffer((8,), "float16"), D: T.Buffer((4, 8), "float16")):
    C = T.alloc_buffer((4, 8), "float16")
    for i, j, k in T.grid(4, 8, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * T.Cast("float16", W[vk, vj])
    for i, j in T.grid(4, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + E[vj]
)";
inline constexpr const char* kRoundedTerms = R"(
@T.prim_func
def main(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6,), "bfloat16"), C: T.Buffer((5,), "bfloat16"), M: T.Buffer((5,), "bfloat16")):
    for i, k in T.grid(5, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.bfloat16(0)
            C[vi] = C[vi] + (T.Cast("bfloat16", A[vi, vk] + T.float32(257)) - T.bfloat16(256)) * B[vk]
    for i, k in T.grid(5, 6):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.bfloat16(-512)
            M[vi] = T.max(M[vi], T.Cast("bfloat16", A[vi, vk] + T.float32(257)))
)";

inline constexpr const char* kSymbolicChain = R"(
@T.prim_func
def main(a: T.handle, c: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 6), "float32")
    C = T.match_buffer(c, (n,), "float32")
    B = T.alloc_buffer((n, 6), "float32")
    for i, j in T.grid(n, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, k in T.grid(n, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi, vk]
)";

}  // namespace tilewright::fuzz
