// Software pipelines, double buffers and aligned strides in lowering: what becomes of small programs, that lowered
// programs compute what the programs mean, and what is refused.
#include "codegen/lower/common/software_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "base/status_macros.h"
#include "codegen/lower/pipeline.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::Not;

// The text after one pass of the pipeline, or the message of the pass that refused.
std::string After(std::string_view pass, const std::string& program) {
  std::string text = "unchanged";
  LowerOptions options;
  options.after_pass = [&](std::string_view name, const Function&, const Function& after) {
    if (name == pass) text = Print(after);
  };
  const auto lowered = Lower(ParseOrDie(program), HostTarget(), options);
  return lowered.ok() ? text : std::string(lowered.status().message());
}

std::string RefusalOf(const std::string& program) {
  const auto lowered = Lower(ParseOrDie(program), HostTarget());
  return lowered.ok() ? "accepted" : std::string(lowered.status().message());
}

absl::Status Run(const Function& function, int64_t dim, bool checks, std::vector<NDArray>* results) {
  interp::CompileOptions options{.check_bounds = checks, .check_uninitialized = checks};
  TW_ASSIGN_OR_RETURN(const auto program, interp::Compile(function, options));
  std::vector<interp::Argument> arguments;
  for (const Param& param : function->params) {
    if (!param.buffer) {
      arguments.emplace_back(dim);
      continue;
    }
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(AsInt(extent).value_or(dim));
    results->push_back(NDArray(param.buffer->dtype, shape));
    FillIntegers(results->back(), 7 + arguments.size());
    arguments.emplace_back(results->back());
  }
  return program.Run(arguments);
}

// Empty when the lowered program, run with all detectors that apply to it, gives bit for bit what the program gives.
std::string Difference(const std::string& text, int64_t dim = 0) {
  const Module module = ParseOrDie(text);
  const auto lowered = Lower(module, HostTarget());
  if (!lowered.ok()) return std::string(lowered.status().message());
  std::vector<NDArray> expected, actual;
  if (absl::Status status = Run(module.Main(), dim, false, &expected); !status.ok()) return status.ToString();
  if (absl::Status status = Run(lowered->Main(), dim, true, &actual); !status.ok()) {
    return absl::StrCat(status.ToString(), "\n", Print(lowered->Main()));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!BitEqual(expected[i], actual[i])) return absl::StrCat("parameter ", i, "\n", Print(lowered->Main()));
  }
  return "";
}

// Loads row i, then uses it. $0: the rows; $1: annotations of the loop; $2: of the block that loads.
constexpr char kLoadAndUse[] = R"(
@T.prim_func
def main(A: T.Buffer(($0, 8), "float32"), B: T.Buffer(($0, 8), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((8,), "float32")
        for i in T.serial($0, annotations={$1}):
            for j in range(8):
                with T.block("load"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.block_attr({$2})
                    X[vj] = A[vi, vj]
            for j in range(8):
                with T.block("use"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = X[vj] * T.float32(2) + X[7 - vj]
)";
std::string LoadAndUse(const std::string& stages, const std::string& order, int rows = 16) {
  return absl::Substitute(
      kLoadAndUse, rows,
      absl::StrCat("\"software_pipeline_stage\": ", stages, ", \"software_pipeline_order\": ", order), "");
}

TEST(SoftwarePipeline, ExpandsIntoPrologueBodyAndEpilogue) {
  const std::string text = After("software_pipeline", LoadAndUse("[0, 1]", "[0, 1]"));
  EXPECT_THAT(text, HasSubstr(R"(
    X = T.decl_buffer((2, 8))
    for j in range(8):
        X[0, j] = A[0, j]
    for i in range(15):
        for j in range(8):
            X[(i + 1) % 2, j] = A[i + 1, j]
        for j in range(8):
            B[i, j] = X[i % 2, j] * T.float32(2) + X[i % 2, 7 - j]
    for j in range(8):
        B[15, j] = X[1, j] * T.float32(2) + X[1, 7 - j])"));
}

TEST(SoftwarePipeline, UsesOneVersionWhereTheUseComesFirst) {
  const std::string text = After("software_pipeline", LoadAndUse("[0, 1]", "[1, 0]"));
  EXPECT_THAT(text, HasSubstr("X = T.decl_buffer((8,))"));
  EXPECT_THAT(text, HasSubstr("for i in range(15):"));
}

TEST(SoftwarePipeline, ComputesTheSame) {
  for (const char* order : {"[0, 1]", "[1, 0]"}) {
    for (const char* stages : {"[0, 0]", "[0, 1]", "[0, 2]", "[0, 5]", "[2, 3]"}) {
      for (int rows : {1, 2, 3, 5, 16}) {
        if (std::string_view(stages) == "[0, 0]" && std::string_view(order) == "[1, 0]") continue;
        EXPECT_EQ(Difference(LoadAndUse(stages, order, rows)), "") << stages << order << rows;
      }
    }
  }
}

// Stage numbers, orders and dependences drawn at random: accepted pipelines compute the same.
TEST(SoftwarePipeline, RandomPipelinesComputeTheSame) {
  std::mt19937 random(1);
  auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int accepted = 0, refused = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int statements = 2 + draw(3), rows = 1 + draw(6);
    const bool symbolic = draw(3) == 0;
    std::vector<int> stages, order;
    std::string body;
    for (int s = 0; s < statements; ++s) {
      stages.push_back(draw(8) == 0 ? draw(3) : std::min(3, (stages.empty() ? 0 : stages.back()) + draw(2)));
      order.push_back(s);
      // Reads one buffer before it, the row before (through the output), or the input.
      const std::string source = s == 0 || draw(4) == 0 ? "A[vi, vj]" : absl::StrCat("X", draw(s), "[7 - vj]");
      const bool sum = draw(4) == 0;
      absl::SubstituteAndAppend(
          &body, R"(
            for j in range(8):
                with T.block("s$0"):
                    vi, vj = T.axis.remap("$3", [i, j])
                    X$0[vj] = $1 + T.float32($0)
            for j in range(8):
                with T.block("o$0"):
                    vi, vj = T.axis.remap("$3", [i, j])
                    $2)",
          s, source,
          sum ? absl::Substitute("S[$0, vj] = S[$0, vj] + X$0[vj]", s) : absl::Substitute("B[$0, vi, vj] = X$0[vj]", s),
          sum ? "OS" : "SS");
    }
    // Each buffer and its use are two statements.
    std::vector<int> all_stages, all_order;
    for (int s = 0; s < statements; ++s) {
      all_stages.push_back(stages[s]);
      all_stages.push_back(stages[s] + draw(3));
    }
    for (int s = 0; s < 2 * statements; ++s) all_order.push_back(s);
    if (draw(2) == 0) std::shuffle(all_order.begin(), all_order.end(), random);
    std::string allocations;
    for (int s = 0; s < statements; ++s) {
      absl::SubstituteAndAppend(&allocations, "        X$0 = T.alloc_buffer((8,), \"float32\")\n", s);
    }
    const std::string program = absl::Substitute(
        R"(
@T.prim_func
def main($5A: T.Buffer(($0, 8), "float32"), B: T.Buffer((8, $0, 8), "float32"), S: T.Buffer((8, 8), "float32")):
    with T.block("root"):
$1        for i in T.serial($0, annotations={"software_pipeline_stage": [$2], "software_pipeline_order": [$3]}):$4
)",
        symbolic ? "n" : std::to_string(rows), allocations, absl::StrJoin(all_stages, ", "),
        absl::StrJoin(all_order, ", "), body, symbolic ? "n: T.int32, " : "");
    const std::string difference = Difference(program, rows);
    if (difference.find(" would run before ") != std::string::npos) {
      ++refused;
      continue;
    }
    EXPECT_EQ(difference, "") << program;
    ++accepted;
  }
  EXPECT_GE(accepted, 60);
  EXPECT_GE(refused, 20);
}

TEST(SoftwarePipeline, SymbolicExtentsWithFewerIterationsThanStages) {
  constexpr char kProgram[] = R"(
@T.prim_func
def main(n: T.int32, A: T.Buffer((n, 8), "float32"), B: T.Buffer((n, 8), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((8,), "float32")
        for i in T.serial(n, annotations={"software_pipeline_stage": [0, 3], "software_pipeline_order": [0, 1]}):
            for j in range(8):
                with T.block("load"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    X[vj] = A[vi, vj]
            for j in range(8):
                with T.block("use"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = X[vj] * T.float32(2)
)";
  for (int n : {1, 2, 3, 4, 9}) EXPECT_EQ(Difference(kProgram, n), "") << n;
}

// A product whose panels are loaded one step ahead, in a loop of tiles that is a pipeline of its own.
constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    with T.block("root"):
        As = T.alloc_buffer((16, 24), "float32")
        Bs = T.alloc_buffer((24, 16), "float32")
        for i0 in range(2):
            for k0 in T.serial($0, annotations={$1}):
                for i, k in T.grid(8, 24 // $0):
                    with T.block("As"):
                        vi = T.axis.spatial(16, i0 * 8 + i)
                        vk = T.axis.spatial(24, k0 * (24 // $0) + k)
                        $2
                        As[vi, vk] = A[vi, vk]
                for k, j in T.grid(24 // $0, 16):
                    with T.block("Bs"):
                        vk = T.axis.spatial(24, k0 * (24 // $0) + k)
                        vj = T.axis.spatial(16, j)
                        $3
                        Bs[vk, vj] = B[vk, vj]
                for i, j, k in T.grid(8, 16, 24 // $0):
                    with T.block("C"):
                        vi = T.axis.spatial(16, i0 * 8 + i)
                        vj = T.axis.spatial(16, j)
                        vk = T.axis.reduce(24, k0 * (24 // $0) + k)
                        with T.init():
                            C[vi, vj] = T.float32(0)
                        C[vi, vj] = C[vi, vj] + As[vi, vk] * Bs[vk, vj]
)";

TEST(SoftwarePipeline, LoadsPanelsOfAProductAhead) {
  for (int steps : {1, 2, 6, 24}) {
    for (const char* stages : {"[0, 0, 1]", "[0, 1, 3]"}) {
      const std::string annotations = absl::Substitute(
          R"("software_pipeline_stage": $0, "software_pipeline_order": [0, 1, 2], "software_pipeline_async_stages": [0])",
          stages);
      const std::string program = absl::Substitute(kProduct, steps, annotations, "", "");
      EXPECT_EQ(Difference(program), "") << steps << stages;
    }
  }
}

TEST(DoubleBuffer, LoadsTheNextPartWhileThePresentOneIsUsed) {
  const std::string program = absl::Substitute(kLoadAndUse, 16, "", "\"double_buffer_scope\": 0");
  EXPECT_EQ(After("software_pipeline", program), After("software_pipeline", LoadAndUse("[0, 1]", "[0, 1]")));
  for (int rows : {1, 2, 3}) {
    EXPECT_EQ(Difference(absl::Substitute(kLoadAndUse, rows, "", "\"double_buffer_scope\": 0")), "");
  }
}

TEST(DoubleBuffer, GivesBuffersOfAPipelineTwoVersions) {
  const std::string annotations = R"("software_pipeline_stage": [0, 0], "software_pipeline_order": [0, 1])";
  const std::string program = absl::Substitute(kLoadAndUse, 16, annotations, "\"double_buffer_scope\": 0");
  const std::string text = After("software_pipeline", program);
  EXPECT_THAT(text, HasSubstr("X = T.decl_buffer((2, 8))"));
  EXPECT_THAT(text, HasSubstr("X[i % 2, j] = A[i, j]"));
  EXPECT_EQ(Difference(program), "");
}

TEST(DoubleBuffer, OfOneOperandOfAProduct) {
  const std::string program = absl::Substitute(kProduct, 6, "", "T.block_attr({\"double_buffer_scope\": 0})", "");
  EXPECT_THAT(After("software_pipeline", program), HasSubstr("As = T.decl_buffer((2, 8, 4))"));
  EXPECT_EQ(Difference(program), "");
}

TEST(AlignStrides, PadsRows) {
  const std::string program = absl::Substitute(kProduct, 6, "", "T.block_attr({\"buffer_dim_align\": [[0, 0, 8, 5]]})",
                                               "T.block_attr({\"buffer_dim_align\": [[0, 0, 16, 0]]})");
  const std::string text = After("align_strides", program);
  EXPECT_THAT(text, HasSubstr("As = T.decl_buffer((8, 4), strides=(5, 1))"));
  EXPECT_THAT(text, HasSubstr("Bs = T.decl_buffer((4, 16), strides=(16, 1))"));
  EXPECT_EQ(Difference(program), "");
}

TEST(AlignStrides, OuterStridesGrowWithInnerOnes) {
  const std::string program = R"(
@T.prim_func
def main(A: T.Buffer((4, 3, 5), "float32"), B: T.Buffer((4, 3, 5), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((4, 3, 5), "float32")
        for i, j, k in T.grid(4, 3, 5):
            with T.block("X"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                T.block_attr({"buffer_dim_align": [[0, 1, 4, 3], [0, 0, 8, 1], [0, 2, 2, 0]]})
                X[vi, vj, vk] = A[vi, vj, vk]
        for i, j, k in T.grid(4, 3, 5):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = X[3 - vi, vj, vk]
)";
  // 2 elements apart, rows of 10 begin at 11 (3 more than 8), planes of 33 need no padding (1 more than 32).
  EXPECT_THAT(After("align_strides", program), HasSubstr("strides=(33, 11, 2)"));
  EXPECT_EQ(Difference(program), "");
}

TEST(AlignStrides, VersionsOfAPipelineKeepTheStrides) {
  const std::string annotations = R"("software_pipeline_stage": [0, 1, 2], "software_pipeline_order": [0, 1, 2])";
  const std::string program =
      absl::Substitute(kProduct, 6, annotations, "T.block_attr({\"buffer_dim_align\": [[0, 0, 8, 5]]})", "");
  EXPECT_THAT(After("software_pipeline", program), HasSubstr("As = T.decl_buffer((3, 8, 4), strides=(40, 5, 1))"));
  EXPECT_EQ(Difference(program), "");
}

TEST(SoftwarePipeline, RefusesBadAnnotations) {
  auto refused = [](const std::string& annotations) {
    return RefusalOf(absl::Substitute(kLoadAndUse, 16, annotations, ""));
  };
  EXPECT_EQ(refused(R"("software_pipeline_stage": [0, 1])"),
            "function main: loop i: a software pipeline has no software_pipeline_order");
  EXPECT_EQ(refused(R"("software_pipeline_order": [0, 1])"),
            "function main: loop i: a software pipeline has no software_pipeline_stage");
  EXPECT_EQ(refused(R"("software_pipeline_async_stages": [0])"),
            "function main: loop i: a software pipeline has no software_pipeline_stage");
  EXPECT_EQ(refused(R"("software_pipeline_stage": 1, "software_pipeline_order": [0, 1])"),
            "function main: loop i: software_pipeline_stage is not a list of integers");
  EXPECT_EQ(refused(R"("software_pipeline_stage": [0, 1, 1], "software_pipeline_order": [0, 1])"),
            "function main: loop i: software_pipeline_stage has 3 entries, but the loop has 2 statements");
  EXPECT_EQ(refused(R"("software_pipeline_stage": [0, -1], "software_pipeline_order": [0, 1])"),
            "function main: loop i: software_pipeline_stage has the negative stage -1");
  EXPECT_EQ(refused(R"("software_pipeline_stage": [0, 1], "software_pipeline_order": [1, 2])"),
            "function main: loop i: software_pipeline_order [1, 2] is not a permutation of 0 to 1");
  EXPECT_EQ(refused(R"("software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1],
                      "software_pipeline_async_stages": 0)"),
            "function main: loop i: software_pipeline_async_stages is not a list of integers");
  EXPECT_EQ(refused(R"("software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1],
                      "software_pipeline_async_stages": [2])"),
            "function main: loop i: software_pipeline_async_stages names the stage 2, which no statement has");
}

TEST(SoftwarePipeline, RefusesLoopsThatRunInNoOrder) {
  std::string program = LoadAndUse("[0, 1]", "[0, 1]");
  program.replace(program.find("T.serial"), 8, "T.parallel");
  EXPECT_EQ(RefusalOf(program),
            "function main: loop i: a software pipeline must be a serial or unrolled loop, not parallel");
}

TEST(SoftwarePipeline, RefusesOrdersThatChangeResults) {
  EXPECT_EQ(
      RefusalOf(LoadAndUse("[1, 0]", "[0, 1]")),
      "function main: loop i: in the pipeline, use (stage 0, order 1) would run before load (stage 1, order 0) of "
      "the same iteration, and may depend on it through X");
  EXPECT_EQ(
      RefusalOf(LoadAndUse("[0, 0]", "[1, 0]")),
      "function main: loop i: in the pipeline, use (stage 0, order 0) would run before load (stage 0, order 1) of "
      "the same iteration, and may depend on it through X");
  // The next row needs the sum that this one leaves.
  EXPECT_EQ(
      RefusalOf(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), S: T.Buffer((1,), "float32"), B: T.Buffer((16,), "float32")):
    with T.block("root"):
        for i in T.serial(16, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
            with T.block("read"):
                vi = T.axis.opaque(16, i)
                B[vi] = S[0]
            with T.block("sum"):
                vi = T.axis.opaque(16, i)
                S[0] = S[0] + A[vi]
)"),
      "function main: loop i: in the pipeline, read (stage 0, order 0) would run before sum (stage 1, order 1) of "
      "the iteration 1 before, and may depend on it through S");
}

TEST(SoftwarePipeline, KnowsRegionsOfIterationsApart) {
  // B is a parameter: iterations share it, but touch different rows.
  EXPECT_EQ(Difference(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    with T.block("root"):
        for i in T.serial(16, annotations={"software_pipeline_stage": [0, 2], "software_pipeline_order": [0, 1]}):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + T.float32(1)
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = B[vi] * T.float32(2)
)"),
            "");
}

TEST(SoftwarePipeline, RefusesCallsThatMustKeepTheirOrder) {
  EXPECT_EQ(RefusalOf(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    with T.block("root"):
        for i in T.serial(16, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
            with T.block("first"):
                vi = T.axis.opaque(16, i)
                T.evaluate(T.call_extern("int32", "f", vi))
            with T.block("second"):
                vi = T.axis.opaque(16, i)
                T.evaluate(T.call_extern("int32", "g", vi))
)"),
            "function main: loop i: in the pipeline, first (stage 0, order 0) would run before second (stage 1, order "
            "1) of the iteration 1 before, and may depend on it through the effects of calls or barriers");
}

TEST(SoftwarePipeline, RefusesBuffersWhoseAddressIsTaken) {
  EXPECT_EQ(RefusalOf(R"(
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    with T.block("root"):
        for i in T.serial(16, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
            with T.block("row"):
                vi = T.axis.spatial(16, i)
                T.reads(A[vi, 0:8])
                T.writes(B[vi, 0:8])
                X = T.alloc_buffer((8,), "float32")
                for j in range(8):
                    X[j] = A[vi, j]
                T.evaluate(T.call_extern("int32", "f", X.data, vi))
)"),
            "function main: loop i: X needs 2 versions, but statement 1 uses its address");
}

TEST(DoubleBuffer, RefusesBadAnnotations) {
  auto refused = [](const std::string& annotation) {
    return RefusalOf(absl::Substitute(kLoadAndUse, 16, "", annotation));
  };
  EXPECT_EQ(refused("\"double_buffer_scope\": [0]"),
            "function main: block load: double_buffer_scope is not the number of a write buffer");
  EXPECT_EQ(refused("\"double_buffer_scope\": 1"),
            "function main: block load: double_buffer_scope names the write buffer 1 of 1");
  EXPECT_EQ(refused("\"buffer_dim_align\": 1"), "function main: block load: buffer_dim_align is not a list");
  EXPECT_EQ(
      refused("\"buffer_dim_align\": [[0, 0, 8]]"),
      "function main: block load: buffer_dim_align has an entry that is not [write buffer, axis, factor, offset]");
  EXPECT_EQ(refused("\"buffer_dim_align\": [[1, 0, 8, 0]]"),
            "function main: block load: buffer_dim_align names the write buffer 1 of 1");
  EXPECT_EQ(refused("\"buffer_dim_align\": [[0, 1, 8, 0]]"),
            "function main: block load: buffer_dim_align names the axis 1 of X, which has 1");
  EXPECT_EQ(refused("\"buffer_dim_align\": [[0, 0, 0, 0]]"),
            "function main: block load: buffer_dim_align has the factor 0");
  EXPECT_EQ(refused("\"buffer_dim_align\": [[0, 0, 8, -1]]"),
            "function main: block load: buffer_dim_align has the offset -1");
}

TEST(DoubleBuffer, RefusesBuffersThatBelongToNoIteration) {
  EXPECT_EQ(RefusalOf(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((16,), "float32")
        for i in range(16):
            with T.block("X"):
                vi = T.axis.spatial(16, i)
                T.block_attr({"double_buffer_scope": 0})
                X[vi] = A[vi]
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = X[15 - vi]
)"),
            "function main: buffer X is to be double-buffered, but does not belong to the iterations of a loop");
  EXPECT_EQ(RefusalOf(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            T.block_attr({"double_buffer_scope": 0})
            B[vi] = A[vi]
)"),
            "function main: block B: the storage of B, about which it has an annotation, is not allocated here");
}

}  // namespace
}  // namespace tilewright
