// What GPUs limit: memory, vectors, warps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/testing.h"

namespace tilewright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::RefutedOnGpu;

// A tile of ROWS x 128 floats for each block, of a buffer that holds all of them until it is lowered.
std::string Tile(const std::string& rows) {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((64, ROWS, 128), "float32"), C: T.Buffer((64, ROWS, 128), "float32")):
    S = T.alloc_buffer((64, ROWS, 128), "float32", scope="shared")
    for bx in T.thread_binding(64, thread="blockIdx.x"):
        for i in range(ROWS):
            for tx in T.thread_binding(128, thread="threadIdx.x"):
                with T.block("S"):
                    v, vi, vj = T.axis.remap("SSS", [bx, i, tx])
                    S[v, vi, vj] = A[v, vi, vj]
        for i in range(ROWS):
            for tx in T.thread_binding(128, thread="threadIdx.x"):
                with T.block("C"):
                    v, vi, vj = T.axis.remap("SSS", [bx, i, tx])
                    C[v, vi, vj] = S[v, vi, 127 - vj]
)";
  for (size_t at; (at = text.find("ROWS")) != std::string::npos;) text.replace(at, 4, rows);
  return text;
}

TEST(MemoryLimits, SharedMemoryOfABlock) {
  // 163 KiB are 326 rows.
  EXPECT_THAT(RefutedOnGpu(Tile("326")), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(Tile("327")),
              ElementsAre("memory limits: the kernel needs 167424 bytes of shared memory in a "
                          "block, cuda-sm80 has 166912"));
  EXPECT_THAT(RefutedOnGpu(Tile("128"), "cuda-sm75"), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(Tile("129"), "cuda-sm75").size(), 1u);
  EXPECT_THAT(RefutedOnGpu(Tile("198"), "cuda-sm86"), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(Tile("199"), "cuda-sm89").size(), 1u);
  EXPECT_THAT(RefutedOnGpu(Tile("454"), "cuda-sm90"), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(Tile("455"), "cuda-sm90a").size(), 1u);
}

// Global memory that blocks, or threads, allocate for themselves is memory that they have.
TEST(MemoryLimits, GlobalMemoryOfBlocksAndThreads) {
  const auto of_blocks = [](const std::string& rows) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((64, ROWS, 128), "float32"), C: T.Buffer((64, ROWS, 128), "float32")):
    for bx in T.thread_binding(64, thread="blockIdx.x"):
        with T.block("all"):
            v = T.axis.spatial(64, bx)
            W = T.alloc_buffer((ROWS, 128))
            for i in range(ROWS):
                for tx in T.thread_binding(128, thread="threadIdx.x"):
                    with T.block("W"):
                        vi, vj = T.axis.remap("SS", [i, tx])
                        W[vi, vj] = A[v, vi, vj]
            for i in range(ROWS):
                for tx in T.thread_binding(128, thread="threadIdx.x"):
                    with T.block("C"):
                        vi, vj = T.axis.remap("SS", [i, tx])
                        C[v, vi, vj] = W[vi, 127 - vj]
)";
    for (size_t at; (at = text.find("ROWS")) != std::string::npos;) text.replace(at, 4, rows);
    return text;
  };
  EXPECT_THAT(RefutedOnGpu(of_blocks("326")), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(of_blocks("327")),
              ElementsAre("memory limits: the kernel needs 167424 bytes of shared memory in a block, cuda-sm80 has "
                          "166912"));
  // A thread of its own for each block, or each of 32.
  const auto of_threads = [](const std::string& tag, const std::string& length) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((32, LENGTH), "float32"), C: T.Buffer((32, LENGTH), "float32")):
    for t in T.thread_binding(32, thread="TAG"):
        with T.block("all"):
            v = T.axis.spatial(32, t)
            W = T.alloc_buffer((LENGTH,))
            for i in range(LENGTH):
                with T.block("W"):
                    vi = T.axis.spatial(LENGTH, i)
                    W[vi] = A[v, vi]
            for i in range(LENGTH):
                with T.block("C"):
                    vi = T.axis.spatial(LENGTH, i)
                    C[v, vi] = W[LENGTH - 1 - vi]
)";
    for (size_t at; (at = text.find("LENGTH")) != std::string::npos;) text.replace(at, 6, length);
    return text.replace(text.find("TAG"), 3, tag);
  };
  for (const char* tag : {"blockIdx.x", "threadIdx.x"}) {
    EXPECT_THAT(RefutedOnGpu(of_threads(tag, "130816")), IsEmpty()) << tag;
    EXPECT_THAT(RefutedOnGpu(of_threads(tag, "131073")),
                ElementsAre(::testing::StartsWith("memory limits: the kernel needs 524292 bytes of local memory in a "
                                                  "thread, cuda-sm80 has ")))
        << tag;
  }
}

// Rows of 128 floats that begin 136 apart.
TEST(MemoryLimits, PaddedStridesCount) {
  const auto padded = [](const std::string& rows, const std::string& align) {
    std::string text = Tile(rows);
    return text.insert(text.find("                    S[v, vi, vj] ="),
                       "                    T.reads(A[v, vi, vj])\n"
                       "                    T.writes(S[v, vi, vj])\n"
                       "                    T.block_attr({\"buffer_dim_align\": [" +
                           align + "]})\n");
  };
  EXPECT_THAT(RefutedOnGpu(padded("306", "[0, 1, 32, 8]")), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(padded("307", "[0, 1, 32, 8]")),
              ElementsAre("memory limits: the kernel needs 167008 bytes of shared memory in a block, cuda-sm80 has "
                          "166912"));
  EXPECT_THAT(RefutedOnGpu(padded("326", "[0, 1, 32, 0]")), IsEmpty());
}

// What is dead leaves its bytes to what comes later: a row of S that is read back before T is written.
TEST(MemoryLimits, BuffersOfOtherTimesShareBytes) {
  const auto program = [](const std::string& last_read) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((256, 128), "float32"), B: T.Buffer((256, 128), "float32"), C: T.Buffer((256, 128), "float32")):
    S = T.alloc_buffer((256, 128), "float32", scope="shared")
    U = T.alloc_buffer((256, 128), "float32", scope="shared")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
)";
    for (const auto& [name, value] : {std::pair<std::string, std::string>{"S", "A[vi, vj]"},
                                      {"B", "S[vi, vj]"},
                                      {"U", "B[vi, vj]"},
                                      {"C", "U[vi, vj]" + last_read}}) {
      text += "            for i" + name + " in range(256):\n                with T.block(\"" + name +
              "\"):\n                    vi, vj = T.axis.remap(\"SS\", [i" + name + ", tx])\n                    " +
              name + "[vi, vj] = " + value + "\n";
    }
    return text;
  };
  EXPECT_THAT(RefutedOnGpu(program("")), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(program(" + S[vi, vj]")),
              ElementsAre("memory limits: the kernel needs 262144 bytes of shared memory in a block, cuda-sm80 has "
                          "166912"));
}

TEST(MemoryLimits, VersionsOfPipelinesCount) {
  const auto program = [](const std::string& rows, const std::string& loop, const std::string& block) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((8, ROWS, 128), "float32"), C: T.Buffer((8, ROWS, 128), "float32")):
    S = T.alloc_buffer((ROWS, 128), "float32", scope="shared")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            for k in T.serial(8LOOP):
                for i in range(ROWS):
                    with T.block("S"):
                        v, vi, vj = T.axis.remap("SSS", [k, i, tx])
                        T.reads(A[v, vi, vj])
                        T.writes(S[vi, vj])
                        BLOCK
                        S[vi, vj] = A[v, vi, vj]
                for i in range(ROWS):
                    with T.block("C"):
                        v, vi, vj = T.axis.remap("SSS", [k, i, tx])
                        C[v, vi, vj] = S[vi, vj]
)";
    for (size_t at; (at = text.find("ROWS")) != std::string::npos;) text.replace(at, 4, rows);
    text.replace(text.find("LOOP"), 4, loop);
    return text.replace(text.find("BLOCK"), 5, block);
  };
  const auto memory = [&](const std::string& rows, const std::string& loop, const std::string& block) {
    testing::Texts findings = RefutedOnGpu(program(rows, loop, block));
    std::erase_if(findings, [](const std::string& finding) { return !finding.starts_with("memory limits"); });
    return findings;
  };
  const auto stages = [](const std::string& last) {
    return ", annotations={\"software_pipeline_stage\": [0, " + last + "], \"software_pipeline_order\": [0, 1]}";
  };
  const std::string none = "T.block_attr({})", twice = "T.block_attr({\"double_buffer_scope\": 0})";
  EXPECT_THAT(memory("326", "", none), IsEmpty());
  EXPECT_THAT(memory("163", stages("1"), none), IsEmpty());
  EXPECT_THAT(memory("164", stages("1"), none),
              ElementsAre("memory limits: the kernel needs 167936 bytes of shared memory in a block, cuda-sm80 has "
                          "166912"));
  EXPECT_THAT(memory("108", stages("2"), none), IsEmpty());
  EXPECT_THAT(memory("109", stages("2"), none).size(), 1u);
  EXPECT_THAT(memory("163", "", twice), IsEmpty());
  EXPECT_THAT(memory("164", "", twice).size(), 1u);
}

// A tile of 128 x 64 that threads copy in several steps of several iterations takes its own bytes, 16384.
TEST(MemoryLimits, OtherIterationsAreTheSameMemory) {
  const auto program = [](const std::string& tiles) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((128, 512), "float16"), C: T.Buffer((TILES, 128, 512), "float16")):
    S = T.alloc_buffer((TILES, 128, 512), "float16", scope="shared")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for k in range(8):
            for t, f in T.grid(TILES, 64):
                for tx in T.thread_binding(128, thread="threadIdx.x"):
                    with T.block("S"):
                        vt = T.axis.spatial(TILES, t)
                        vi = T.axis.spatial(128, (f * 128 + tx) // 64)
                        vj = T.axis.spatial(512, k * 64 + (f * 128 + tx) % 64)
                        S[vt, vi, vj] = A[vi, vj]
            for t, f in T.grid(TILES, 64):
                for tx in T.thread_binding(128, thread="threadIdx.x"):
                    with T.block("C"):
                        vt = T.axis.spatial(TILES, t)
                        vi = T.axis.spatial(128, (f * 128 + tx) // 64)
                        vj = T.axis.spatial(512, k * 64 + (f * 128 + tx) % 64)
                        C[vt, vi, vj] = S[vt, vi, vj]
)";
    for (size_t at; (at = text.find("TILES")) != std::string::npos;) text.replace(at, 5, tiles);
    return text;
  };
  EXPECT_THAT(RefutedOnGpu(program("10")), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(program("11")),
              ElementsAre("memory limits: the kernel needs 180224 bytes of shared memory in a "
                          "block, cuda-sm80 has 166912"));
}

// Sums of a warpgroup are spread over 128 lanes.
TEST(MemoryLimits, SumsOfWarpgroups) {
  const auto memory = [](const std::string& columns) {
    std::string text = R"(
@T.prim_func
def main(C: T.Buffer((64, COLUMNS), "float32")):
    S = T.alloc_buffer((64, COLUMNS), "float32", scope="wgmma.accumulator")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            for i in range(COLUMNS // 2):
                with T.block("S"):
                    v = T.axis.spatial(64 * COLUMNS, tx * (COLUMNS // 2) + i)
                    S[v // COLUMNS, v % COLUMNS] = T.float32(0)
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            for i in range(COLUMNS // 2):
                with T.block("C"):
                    v = T.axis.spatial(64 * COLUMNS, tx * (COLUMNS // 2) + i)
                    C[v // COLUMNS, v % COLUMNS] = S[v // COLUMNS, v % COLUMNS]
)";
    for (size_t at; (at = text.find("COLUMNS")) != std::string::npos;) text.replace(at, 7, columns);
    testing::Texts findings = RefutedOnGpu(text, "cuda-sm90a");
    std::erase_if(findings, [](const std::string& finding) { return !finding.starts_with("memory limits"); });
    return findings;
  };
  EXPECT_THAT(memory("256"), IsEmpty());
  EXPECT_THAT(memory("512"), ElementsAre("memory limits: the kernel needs 1024 bytes in the registers of a thread, "
                                         "cuda-sm90a has 1020"));
}

TEST(MemoryLimits, RegistersOfAThread) {
  const auto program = [](const std::string& elements, const std::string& scope) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((256, EL), "float32"), C: T.Buffer((256, EL), "float32")):
    R = T.alloc_buffer((256, EL), "float32", scope="SCOPE")
    for tx in T.thread_binding(256, thread="threadIdx.x"):
        for i in range(EL):
            with T.block("R"):
                v, vi = T.axis.remap("SS", [tx, i])
                R[v, vi] = A[v, vi]
        for i in range(EL):
            with T.block("C"):
                v, vi = T.axis.remap("SS", [tx, i])
                C[v, vi] = R[v, vi]
)";
    for (size_t at; (at = text.find("EL)")) != std::string::npos;) text.replace(at, 2, elements);
    return text.replace(text.find("SCOPE"), 5, scope);
  };
  EXPECT_THAT(RefutedOnGpu(program("255", "register")), IsEmpty());
  EXPECT_THAT(
      RefutedOnGpu(program("256", "register")),
      ElementsAre("memory limits: the kernel needs 1024 bytes in the registers of a thread, cuda-sm80 has 1020"));
  EXPECT_THAT(RefutedOnGpu(program("256", "local")), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(program("131073", "local")),
              ElementsAre("memory limits: the kernel needs 524292 bytes of local memory in a thread, cuda-sm80 has "
                          "524288"));
}

// Loops over the same threads that stand next to each other: each thread has what it touches in both.
TEST(MemoryLimits, RegistersOfAThreadInSeveralLoops) {
  const auto program = [](const std::string& elements) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((256, EL), "float32"), C: T.Buffer((256, EL), "float32")):
    R = T.alloc_buffer((256, EL), "float32", scope="register")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(256, thread="threadIdx.x"):
            for i in range(EL):
                with T.block("R"):
                    v, vi = T.axis.remap("SS", [tx, i])
                    R[v, vi] = A[v, vi]
        for tx in T.thread_binding(256, thread="threadIdx.x"):
            for i in range(EL):
                with T.block("C"):
                    v, vi = T.axis.remap("SS", [tx, i])
                    C[v, vi] = R[v, vi]
)";
    for (size_t at; (at = text.find("EL)")) != std::string::npos;) text.replace(at, 2, elements);
    return text;
  };
  EXPECT_THAT(RefutedOnGpu(program("255")), IsEmpty());
  EXPECT_THAT(
      RefutedOnGpu(program("256")),
      ElementsAre("memory limits: the kernel needs 1024 bytes in the registers of a thread, cuda-sm80 has 1020"));
}

std::string Vectors(const std::string& row, const std::string& type = "float32", const std::string& lanes = "4") {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((32, 64), "TYPE"), B: T.Buffer((32, ROW), "TYPE")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        for j in range(4):
            for v in T.vectorized(LANES):
                with T.block("B"):
                    vi = T.axis.spatial(32, tx)
                    vj = T.axis.spatial(64, j * LANES + v)
                    B[vi, vj] = A[vi, vj]
)";
  for (size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
  for (size_t at; (at = text.find("LANES")) != std::string::npos;) text.replace(at, 5, lanes);
  return text.replace(text.find("ROW"), 3, row);
}

TEST(VectorAccess, Width) {
  EXPECT_THAT(RefutedOnGpu(Vectors("64")), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(Vectors("64", "float16", "8")), IsEmpty());
  // What is not aligned is made one element at a time: slow, not wrong.
  EXPECT_THAT(RefutedOnGpu(Vectors("65")), IsEmpty());
  EXPECT_THAT(RefutedOnGpu(Vectors("64", "float32", "8")),
              Contains("vector access: loop v is vectorized over 8 elements of float32 of B: cuda-sm80 loads and "
                       "stores 8, 16, 32, 64 or 128 bits at once"));
  EXPECT_THAT(RefutedOnGpu(Vectors("66", "float32", "3")).size(), 2u);
  // A CPU has no such limit.
  EXPECT_THAT(RefutedOnGpu(Vectors("65"), "x86-znver4"), IsEmpty());
}

constexpr char kWarp[] = R"(
@T.prim_func
def main(A: T.Buffer((64, 32), "float32"), C: T.Buffer((64, 32), "float32")):
    for bx in T.thread_binding(64, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("C"):
                v, vi = T.axis.remap("SS", [bx, tx])
                T.reads(A[v, 0:32])
                T.writes(C[v, vi])
                T.block_attr({"warp_execution": 1})
                C[v, vi] = A[v, 31 - vi]
)";

TEST(ExecutionScope, WholeWarps) {
  EXPECT_THAT(RefutedOnGpu(kWarp), IsEmpty());
  std::string some(kWarp);
  some.insert(some.find("                T.reads"), "                T.where(tx < 16)\n");
  EXPECT_THAT(RefutedOnGpu(some),
              ElementsAre("execution scope: block C is executed by whole warps, but which lanes come "
                          "there depends on tx < 16"));
  std::string warps(kWarp);
  warps.insert(warps.find("                T.reads"), "                T.where(tx // 32 < 1)\n");
  EXPECT_THAT(RefutedOnGpu(warps), IsEmpty());
  std::string half(kWarp);
  half.replace(half.find("binding(32"), 10, "binding(16");
  EXPECT_THAT(RefutedOnGpu(half),
              ElementsAre("execution scope: block C is executed by warps of 32 lanes, but loop tx gives "
                          "threadIdx.x an extent of 16"));
}

TEST(ExecutionScope, FragmentsOfWarps) {
  EXPECT_THAT(RefutedOnGpu(R"(
@T.prim_func
def main(A: T.Buffer((16, 32), "float32")):
    F = T.alloc_buffer((16, 32), "float32", scope="wmma.accumulator")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for i in range(16):
                with T.block("F"):
                    vi, vj = T.axis.remap("SS", [i, tx])
                    F[vi, vj] = T.float32(0)
            for i in range(16):
                with T.block("A"):
                    vi, vj = T.axis.remap("SS", [i, tx])
                    A[vi, vj] = F[vi, vj]
)"),
              ElementsAre("execution scope: block F touches F[vi, vj], a fragment of a whole warp, at a place that "
                          "differs between lanes",
                          "execution scope: block A touches F[vi, vj], a fragment of a whole warp, at a place that "
                          "differs between lanes"));
}

// Lanes may do to sums element by element what each has to do to its own.
TEST(ExecutionScope, ElementsOfLanes) {
  const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((16, 32), "float32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        F = T.alloc_buffer((16, 32), "float32", scope="wmma.accumulator")
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for h, c, p in T.grid(2, 4, 2):
                with T.block("F"):
                    vi = T.axis.spatial(16, h * 8 + tx // 4)
                    vj = T.axis.spatial(32, c * 8 + tx % 4 * 2 + p)
                    F[vi, vj] = A[vi, vj]
)";
  EXPECT_THAT(RefutedOnGpu(text), IsEmpty());
  std::string other = text;
  other.replace(other.find("tx % 4 * 2 + p"), 14, "tx % 4 + p * 4");
  EXPECT_THAT(RefutedOnGpu(other),
              ElementsAre("execution scope: block F touches F[vi, vj], a fragment of a whole warp, at "
                          "a place that differs between lanes"));
  std::string operand = text;
  operand.replace(operand.find("wmma.accumulator"), 16, "wmma.matrix_b");
  EXPECT_THAT(RefutedOnGpu(operand),
              ElementsAre("execution scope: block F touches F[vi, vj], a fragment of a whole warp, "
                          "at a place that differs between lanes"));
}

}  // namespace
}  // namespace tilewright
