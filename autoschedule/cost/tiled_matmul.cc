#include "autoschedule/cost/tiled_matmul.h"

#include "absl/strings/substitute.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {

Function TiledMatmul(int rows, int vectors, const char* outer, int size) {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($4, $4), "float32"), B: T.Buffer(($5, $4, $2), "float32"), C: T.Buffer(($4, $4), "float32")):
    A_reg = T.alloc_buffer(($4, $4), scope="register")
    C_reg = T.alloc_buffer(($4, $4), scope="register")
    for jo in T.$3($5):
        for io in range($6):
            for ii in T.unroll($0):
                for ji in T.vectorized($2):
                    with T.block("init"):
                        vi = T.axis.spatial($4, io * $0 + ii)
                        vj = T.axis.spatial($4, jo * $2 + ji)
                        C_reg[vi, vj] = T.float32(0)
            for k in range($4):
                for ii in T.unroll($0):
                    with T.block("A"):
                        vi = T.axis.spatial($4, io * $0 + ii)
                        vk = T.axis.spatial($4, k)
                        A_reg[vi, vk] = A[vi, vk]
                for ii in T.unroll($0):
                    for v in T.unroll($1):
                        for l in T.vectorized(16):
                            with T.block("C"):
                                vi = T.axis.spatial($4, io * $0 + ii)
                                vj = T.axis.spatial($4, jo * $2 + v * 16 + l)
                                vk = T.axis.reduce($4, k)
                                C_reg[vi, vj] = C_reg[vi, vj] + A_reg[vi, vk] * B[jo, vk, v * 16 + l]
            for ii in T.unroll($0):
                for ji in T.vectorized($2):
                    with T.block("write"):
                        vi = T.axis.spatial($4, io * $0 + ii)
                        vj = T.axis.spatial($4, jo * $2 + ji)
                        C[vi, vj] = C_reg[vi, vj]
)",
                                             rows, vectors, 16 * vectors, outer, size, size / (16 * vectors),
                                             size / rows));
}

}  // namespace tilewright
