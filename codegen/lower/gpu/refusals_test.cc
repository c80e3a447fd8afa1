// What the passes for GPUs refuse, and with which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "codegen/lower/gpu/shared_places.h"
#include "codegen/lower/gpu/testing/kernel_testing.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using testing::LoweredTo;

struct Refused {
  const char* name;
  const char* program;
  const char* reason;
};
class Refusals : public ::testing::TestWithParam<Refused> {};
TEST_P(Refusals, NameTheReason) {
  const auto lowered = LoweredTo(ParseFunctionOrDie(GetParam().program), "order_async", "cuda-sm90a");
  ASSERT_FALSE(lowered.ok());
  EXPECT_THAT(std::string(lowered.status().message()), HasSubstr(GetParam().reason));
}

constexpr Refused kRefused[] = {
    {"first_index", R"(
@T.prim_func
def main(A: T.Buffer((33,), "float32")):
    for tx in T.thread_binding(1, 33, thread="threadIdx.x"):
        A[tx] = T.float32(0)
)",
     "loop tx is bound to threadIdx.x and does not start at 0"},
    {"threads", R"(
@T.prim_func
def main(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    for tx in T.thread_binding(n, thread="threadIdx.x"):
        A[tx] = T.float32(0)
)",
     "loop tx is bound to threadIdx.x, but its extent n is not a constant"},
    {"extents", R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, 32), "float32")
    B = T.match_buffer(b, (m, 32), "float32")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        for i in T.thread_binding(n, thread="blockIdx.x"):
            A[i, tx] = T.float32(0)
        for j in T.thread_binding(m, thread="blockIdx.x"):
            B[j, tx] = T.float32(0)
)",
     "loop j is bound to blockIdx.x with an extent of m, another loop of the kernel with n"},
    {"blocks", R"(
@T.prim_func
def main(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        for i in T.thread_binding(8, thread="blockIdx.x"):
            A[i, tx] = T.float32(0)
        for j in T.thread_binding(8, thread="blockIdx.x"):
            B[j, tx] = A[7 - j, tx]
)",
     "buffer A is written below one loop over blocks of a kernel and used below another one"},
    {"owners", R"(
@T.prim_func
def main(A: T.Buffer((32,), "float32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        with T.block("all"):
            v = T.axis.opaque(1, bx)
            L = T.alloc_buffer((1,), "float32", scope="local")
            S = T.alloc_buffer((1,), "float32", scope="shared")
            if A[0] > T.float32(0):
                L[0] = T.float32(1)
                S[0] = T.float32(2)
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                A[tx] = L[0] + S[0]
)",
     "writes memory of one thread and memory that threads share"},
    {"reducing_blocks", R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        with T.block("B"):
            vk = T.axis.reduce(8, bx)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vk]
)",
     "the blocks of loop bx reduce together, and blocks do not wait for each other (use rfactor)"},
    {"loop_of_both", R"(
@T.prim_func
def main(A: T.Buffer((4, 128), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(128, i * 32 + tx)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
)",
     "loop i chooses the element and what is reduced"},
    {"branch", R"(
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("all"):
            v = T.axis.opaque(32, tx)
            S = T.alloc_buffer((32,), "float32", scope="shared")
            if v < 16:
                S[v] = A[v]
                B[v] = S[15 - v]
)",
     "inside of a loop or branch that not all threads of the block enter alike: no barrier can stand there"},
    {"shared_extent", R"(
@T.prim_func
def main(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("all"):
            v = T.axis.opaque(32, tx)
            S = T.alloc_buffer((n,), "float32", scope="shared")
            for i in range(n):
                S[i] = A[i]
            A[v] = S[v] + S[n - 1]
)",
     "shared memory S has an extent that is not a constant"},
    {"lanes", R"(
@T.prim_func
def main(I: T.Buffer((32,), "int32"), A: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("all"):
            v = T.axis.opaque(32, tx)
            W = T.alloc_buffer((32,), "float32", scope="warp")
            W[I[v]] = A[v]
            A[v] = W[31 - v]
)",
     "memory W of a warp: which lane keeps an element cannot be seen"},
    {"fragment", R"(
@T.prim_func
def main(A: T.Buffer((16, 16), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("all"):
            v = T.axis.opaque(32, tx)
            C = T.alloc_buffer((16, 16), "float32", scope="wmma.accumulator")
            for i, j in T.grid(16, 16):
                C[i, j] = A[i, j]
            A[v // 16, v % 16] = C[v // 16, v % 16] + C[15, 15]
)",
     "fragment C is accessed element by element, and not each element by the lane that has it"},
    {"tiles", R"(
@T.prim_func
def main(A: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("all"):
            v = T.axis.opaque(32, tx)
            C = T.alloc_buffer((1, 1), "float32", scope="wmma.accumulator")
            C[0, 0] = A[v]
            A[v] = C[0, 0] + T.float32(1)
)",
     "fragment C does not consist of whole tiles"},
    {"matrix_rows", R"(
@T.prim_func
def main(A: T.Buffer((32, 4), "uint32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("all"):
            v = T.axis.opaque(32, tx)
            S = T.alloc_buffer((16, 16), "float16", scope="shared", layout=T.layout(lambda i, j: (j, i), shape=(16, 16)))
            R = T.alloc_buffer((4,), "uint32", scope="local")
            S[v % 16, v // 16] = T.float16(0)
            T.evaluate(T.cuda.ldmatrix_x4(T.address_of(R[0]), T.address_of(S[v % 16, v // 16 * 8])))
            A[v, 0] = R[0]
)",
     "rows of 16 bytes that ldmatrix and stmatrix access do not lie together in buffer S"},
    {"producer", R"(
@T.prim_func
def main(A: T.Buffer((8, 4, 32), "float32"), B: T.Buffer((8, 4, 32), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        for k in T.serial(8, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1], "software_pipeline_async_stages": [0], "software_pipeline_roles": 1}):
            with T.block("all"):
                vx = T.axis.opaque(32, tx)
                vk = T.axis.opaque(8, k)
                S = T.alloc_buffer((4, 32), "float32", scope="shared")
                for u in T.thread_binding(1, thread="threadIdx.x"):
                    for i, j in T.grid(4, 32):
                        with T.block("S"):
                            vi, vj = T.axis.remap("SS", [i, j])
                            S[vi, vj] = A[vk, vi, vj]
                for i in range(4):
                    with T.block("B"):
                        vi = T.axis.spatial(4, i)
                        B[vk, vi, vx] = S[vi, vx] + T.float32(1)
)",
     "a kernel of 32 threads cannot get a producer: 32 threads, as many as a step of threadIdx.y has, would not be "
     "whole "
     "warpgroups, or too many"},
};
INSTANTIATE_TEST_SUITE_P(All, Refusals, ::testing::ValuesIn(kRefused),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SharedPlaces, SaysWhichBuffersHaveNone) {
  const auto reason = [](const Buffer& buffer) {
    return std::string(FindOperandForm(buffer, 64, 16, true).status().message());
  };
  const DataType half = DataType::Float(16);
  const Scope shared = Scope::Parse("shared");
  EXPECT_EQ(reason(Buffer("S", {Var("n"), Expr(64)}, half, shared)),
            "the extents of buffer S are not constants, or more than shared memory can have");
  EXPECT_THAT(reason(Buffer("S", {Expr(64), Expr(64)}, half, shared)),
              HasSubstr("the elements of buffer S do not lie where an instruction finds tiles of 64 x 16 in it"));
  BufferNode::Fields fields = Buffer("S", {Expr(64), Expr(64)}, half, shared)->fields();
  fields.strides = {Var("stride"), Expr(1)};
  EXPECT_EQ(reason(Buffer(fields)), "where the elements of buffer S lie is not known");
}

}  // namespace
}  // namespace tilewright
