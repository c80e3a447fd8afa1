// Programs of the fuzzer whose extents are all parameters: what is proven of them is so for all sizes.
#pragma once

namespace tilewright::fuzz {

inline constexpr const char* kTilesWithATail = R"(
@T.prim_func
def main(n: T.int32, A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    C = T.alloc_buffer((T.ceildiv(n, 16), 16), "float32")
    for io, ii in T.grid(T.ceildiv(n, 16), 16):
        with T.block("c"):
            vo, vi = T.axis.remap("SS", [io, ii])
            C[vo, vi] = T.if_then_else(vo * 16 + vi < n, A[vo * 16 + vi], T.float32(0))
    for i in range(n):
        with T.block("d"):
            v = T.axis.spatial(n, i)
            B[v] = C[v // 16, v % 16] + T.float32(2)
)";

inline constexpr const char* kPrefixSums = R"(
@T.prim_func
def main(n: T.int32, A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    for i in range(n):
        with T.block("c"):
            v = T.axis.opaque(n, i)
            if v == 0:
                B[v] = A[v]
            else:
                B[v] = B[v - 1] + A[v]
)";

inline constexpr const char* kTriangularSums = R"(
@T.prim_func
def main(n: T.int32, A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    for i, k in T.grid(n, n):
        with T.block("c"):
            T.where(k <= i)
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vk]
)";

inline constexpr const char* kUpperTriangle = R"(
@T.prim_func
def main(n: T.int32, A: T.Buffer((n, n), "float32"), B: T.Buffer((n, n), "float32")):
    for i in range(n):
        for k in range(n - i):
            with T.block("c"):
                vi = T.axis.spatial(n, i)
                vk = T.axis.spatial(n, i + k)
                B[vi, vk] = A[vk, vi]
)";

inline constexpr const char* kTransposedTiles = R"(
@T.prim_func
def main(n: T.int32, m: T.int32, A: T.Buffer((n * 8, m * 8), "float32"), B: T.Buffer((m * 8, n * 8), "float32")):
    for i, j in T.grid(n, m):
        with T.block("o"):
            vo, vp = T.axis.remap("SS", [i, j])
            C = T.alloc_buffer((8, 8), "float32")
            for a, b in T.grid(8, 8):
                with T.block("c"):
                    vi, vj = T.axis.remap("SS", [a, b])
                    C[vj, vi] = A[vo * 8 + vi, vp * 8 + vj]
            for a, b in T.grid(8, 8):
                with T.block("d"):
                    vi, vj = T.axis.remap("SS", [a, b])
                    B[vp * 8 + vi, vo * 8 + vj] = C[vi, vj]
)";

inline constexpr const char* kRotation = R"(
@T.prim_func
def main(n: T.int32, s: T.int32, A: T.Buffer((n, 64), "float32"), B: T.Buffer((n, 64), "float32")):
    for i, j in T.grid(n, 64):
        with T.block("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[(vi + s) % n, vj] = A[vi, vj]
)";

inline constexpr const char* kJoined = R"(
@T.prim_func
def main(n: T.int32, m: T.int32,
         A: T.Buffer((n,), "float32"), B: T.Buffer((m,), "float32"), D: T.Buffer((n + m,), "float32")):
    C = T.alloc_buffer((n + m,), "float32")
    for i in range(n):
        with T.block("a"):
            v = T.axis.spatial(n, i)
            C[v] = A[v]
    for i in range(m):
        with T.block("b"):
            v = T.axis.spatial(m, i)
            C[v + n] = B[v]
    for i in range(n + m):
        with T.block("d"):
            v = T.axis.spatial(n + m, i)
            D[v] = C[v]
)";

inline constexpr const char* kHalves = R"(
@T.prim_func
def main(n: T.int32, A: T.Buffer((n,), "float32"), D: T.Buffer((n,), "float32")):
    C = T.alloc_buffer((n,), "float32")
    for i in range(n // 2):
        with T.block("a"):
            v = T.axis.spatial(n // 2, i)
            C[v] = A[v]
    for i in range(n - n // 2):
        with T.block("b"):
            v = T.axis.spatial(n - n // 2, i)
            C[v + n // 2] = A[v + n // 2] * T.float32(2)
    for i in range(n):
        with T.block("d"):
            v = T.axis.spatial(n, i)
            D[v] = C[v]
)";

inline constexpr const char* kPaddedWindows = R"(
@T.prim_func
def main(n: T.int32, A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    P = T.alloc_buffer((n + 2,), "float32")
    for i in range(n + 2):
        with T.block("p"):
            v = T.axis.spatial(n + 2, i)
            P[v] = T.if_then_else(1 <= v and v < n + 1, A[v - 1], T.float32(0))
    for i, k in T.grid(n, 3):
        with T.block("c"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + P[vi + vk]
)";

inline constexpr const char* kTwoColours = R"(
@T.prim_func
def main(n: T.int32, m: T.int32, A: T.Buffer((n + 2, m * 2 + 2), "float32")):
    for c in range(2):
        for y, x in T.grid(n, m):
            with T.block("s"):
                vc = T.axis.opaque(2, c)
                vy, vx = T.axis.remap("SS", [y, x])
                A[vy + 1, vx * 2 + (vy + vc) % 2 + 1] = (
                    A[vy, vx * 2 + (vy + vc) % 2 + 1] + A[vy + 2, vx * 2 + (vy + vc) % 2 + 1]
                    + A[vy + 1, vx * 2 + (vy + vc) % 2] + A[vy + 1, vx * 2 + (vy + vc) % 2 + 2]
                ) * T.float32(0.25)
)";

inline constexpr const char* kHalos = R"(
@T.prim_func
def main(n: T.int32, A: T.Buffer((n * 16 + 2,), "float32"), B: T.Buffer((n * 16,), "float32")):
    P = T.alloc_buffer((n * 16 + 2,), "float32")
    for o in range(n):
        for i in range(18):
            with T.block("p"):
                v = T.axis.spatial(n * 16 + 2, o * 16 + i)
                P[v] = A[v] * T.float32(2)
        for i, k in T.grid(16, 3):
            with T.block("c"):
                vi = T.axis.spatial(n * 16, o * 16 + i)
                vk = T.axis.reduce(3, k)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + P[vi + vk]
)";

}  // namespace tilewright::fuzz
