// Programs of the fuzzer about indices: symbolic extents, extents of 64 bits, both widths in one program, places
// that scalars and tables give.
#pragma once

namespace tilewright::fuzz {

// Two symbolic extents, an intermediate, a transposed use and a sum.
inline constexpr const char* kSymbolicGrid = R"(
@T.prim_func
def main(a: T.handle, c: T.handle, d: T.handle):
    h, w = T.int64(), T.int64()
    A = T.match_buffer(a, (h, w), "float32")
    C = T.match_buffer(c, (w, h), "float32")
    D = T.match_buffer(d, (h,), "float32")
    B = T.alloc_buffer((h, w), "float32")
    for i, j in T.grid(h, w):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for j, i in T.grid(w, h):
        with T.block("C"):
            vj, vi = T.axis.remap("SS", [j, i])
            C[vj, vi] = B[vi, vj] + T.float32(1)
    for i, k in T.grid(h, w):
        with T.block("D"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                D[vi] = T.float32(0)
            D[vi] = D[vi] + B[vi, vk]
)";

// A product with symbolic rows, as models have it.
inline constexpr const char* kSymbolicRows = R"(
@T.prim_func
def main(x: T.handle, W: T.Buffer((T.int64(6), T.int64(8)), "float32"), y: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (T.int64(1), n, T.int64(6)), "float32")
    Y = T.match_buffer(y, (T.int64(1), n, T.int64(8)), "float32")
    Z = T.alloc_buffer((T.int64(1), n, T.int64(8)), "float32")
    for b, i, j, k in T.grid(T.int64(1), n, T.int64(8), T.int64(6)):
        with T.block("Z"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                Z[vb, vi, vj] = T.float32(0)
            Z[vb, vi, vj] = Z[vb, vi, vj] + X[vb, vi, vk] * W[vk, vj]
    for b, i, j in T.grid(T.int64(1), n, T.int64(8)):
        with T.block("Y"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            Y[vb, vi, vj] = T.max(Z[vb, vi, vj], T.float32(0))
)";

inline constexpr const char* kWideMatmul = R"(
@T.prim_func
def main(A: T.Buffer((T.int64(5), T.int64(6)), "float32"), B: T.Buffer((T.int64(6), T.int64(8)), "float32"), D: T.Buffer((T.int64(5), T.int64(8)), "float32")):
    C = T.alloc_buffer((T.int64(5), T.int64(8)), "float32")
    for i, j, k in T.grid(T.int64(5), T.int64(8), T.int64(6)):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(T.int64(5), T.int64(8)):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * T.float32(2)
)";

// Loops of 32 bits around blocks of 64, and the other way round.
inline constexpr const char* kMixedWidths = R"(
@T.prim_func
def main(A: T.Buffer((T.int64(6), T.int64(8)), "float32"), C: T.Buffer((6, 8), "float32")):
    B = T.alloc_buffer((T.int64(6), T.int64(8)), "float32")
    for i in range(T.int64(6)):
        for v in range(2):
            for l in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(T.int64(6), i)
                    vj = T.axis.spatial(T.int64(8), T.Cast("int64", v) * T.int64(4) + T.Cast("int64", l))
                    B[vi, vj] = A[vi, vj] * T.float32(2)
    for f in range(T.int64(48)):
        with T.block("C"):
            vi = T.axis.spatial(6, T.Cast("int32", f // T.int64(8)))
            vj = T.axis.spatial(8, T.Cast("int32", f % T.int64(8)))
            C[vi, vj] = B[T.Cast("int64", vi), T.Cast("int64", vj)] + T.float32(1)
)";

// A page that a scalar names.
inline constexpr const char* kPages = R"(
@T.prim_func
def main(Pages: T.Buffer((9, 6), "float32"), source: T.int64, C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6,), "float32")
    for j in range(6):
        with T.block("B"):
            vj = T.axis.spatial(6, j)
            T.reads(Pages[source, vj])
            T.writes(B[vj])
            B[vj] = Pages[source, vj] * T.float32(2)
    for j in range(6):
        with T.block("C"):
            vj = T.axis.spatial(6, j)
            C[vj] = B[vj] + T.float32(1)
)";

// An image in other sizes: places that functions round.
inline constexpr const char* kResize = R"(
@T.prim_func
def main(A: T.Buffer((3, 8), "float32"), C: T.Buffer((6, 8), "float32")):
    B = T.alloc_buffer((3, 8), "float32")
    for i, j in T.grid(3, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(6, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[0:3, 0:8])
            T.writes(C[vi, vj])
            C[vi, vj] = B[T.Cast("int32", T.floor(T.Cast("float32", vi) * T.float32(0.5))), T.Cast("int32", T.ceil(T.Cast("float32", vj) * T.float32(0.75)))]
)";

// A permutation of rows through a table.
inline constexpr const char* kScatter = R"(
@T.prim_func
def main(X: T.Buffer((6, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    P = T.alloc_buffer((6,), "int32")
    Y = T.alloc_buffer((6, 4), "float32")
    for i in range(6):
        with T.block("P"):
            vi = T.axis.spatial(6, i)
            P[vi] = (vi * 5 + 2) % 6
    for i, j in T.grid(6, 4):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj], P[vi])
            T.writes(Y[P[vi], vj])
            Y[P[vi], vj] = X[vi, vj] * T.float32(2)
    for i, j in T.grid(6, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = X[vi, vj] + T.float32(1)
)";

}  // namespace tilewright::fuzz
