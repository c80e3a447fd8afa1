// Programs that tests of commands run, and files to give them in.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace tilewright::testing {

inline constexpr char kFill[] = R"(
@T.prim_func
def fill(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[i] = 1.0
)";

inline constexpr char kScale[] = R"(
@T.prim_func
def scale(x: T.handle, y: T.handle):
    n = T.int32()
    X = T.match_buffer(x, (n,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    for i in range(n):
        with T.block("Y"):
            vi = T.axis.spatial(n, i)
            Y[vi] = X[vi] * T.float32(2)
)";

inline constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    for i, j, k in T.grid(16, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

// The path of a file with this text.
inline std::string WriteFile(const std::string& name, const std::string& text) {
  std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

}  // namespace tilewright::testing
