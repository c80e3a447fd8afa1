// Contractions of narrow types: scheduled right, compiled right, and by the instructions that are made for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/backend.h"
#include "codegen/testing/equivalence.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/matmul.h"
#include "ir/script/printer.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/script/trace_text.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;

ops::OperandTypes Types(const char* name) { return *ops::OperandTypes::Parse(name); }

ops::ConvShape Conv2d(int64_t size, int64_t in, int64_t out, ops::Window window) {
  return {.spatial = {size, size}, .in_channels = in, .out_channels = out, .windows = ops::Same(window, 2)};
}

struct Case {
  const char* name;
  Function (*make)(const ops::OperandTypes& types);
};
ops::ConvShape Grouped1x1(int64_t size, int64_t channels, int64_t groups) {
  ops::ConvShape shape = Conv2d(size, channels, channels, {1, 1});
  shape.groups = groups;
  return shape;
}

ops::ConvShape Grouped3x3(int64_t size, int64_t channels, int64_t groups) {
  ops::ConvShape shape = Conv2d(size, channels, channels, {3, 1, 1});
  shape.groups = groups;
  return shape;
}

const Case kCases[] = {
    {"Matmul", [](const ops::OperandTypes& t) { return ops::Matmul(24, 64, 16, t); }},
    {"MatmulEdges", [](const ops::OperandTypes& t) { return ops::Matmul(23, 37, 13, t); }},
    {"MatmulOneRow", [](const ops::OperandTypes& t) { return ops::Matmul(1, 50, 7, t); }},
    {"MatmulTransposed", [](const ops::OperandTypes& t) { return ops::Matmul(20, 40, 18, t, true); }},
    {"BatchMatmul", [](const ops::OperandTypes& t) { return ops::BatchMatmul(2, 9, 33, 10, t, true); }},
    {"ThreeChannels", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(9, 3, 20, {7, 2, 3}), t); }},
    {"ThreeChannelsDeep", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(23, 3, 20, {11, 4}), t); }},
    {"Window3x3", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(8, 8, 32, {3, 1, 1}), t); }},
    {"Window1x1", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(7, 12, 40, {1, 2}), t); }},
    {"Grouped1x1", [](const ops::OperandTypes& t) { return ops::Conv(Grouped1x1(6, 24, 3), t); }},
    {"ShortRows", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(6, 32, 16, {3, 1, 1}), t); }},
    {"Dilated", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(10, 6, 16, {3, 1, 2, 2}), t); }},
    {"FusedRows", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(5, 64, 40, {3, 1, 1}), t); }},
    {"FusedRowsOfGroups", [](const ops::OperandTypes& t) { return ops::Conv(Grouped3x3(5, 32, 2), t); }},
    {"Strided", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(9, 16, 16, {3, 2, 1}), t); }},
    {"DilatedThreeChannels", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(13, 3, 20, {3, 2, 2, 2}), t); }},
    {"Window3d",
     [](const ops::OperandTypes& t) {
       return ops::Conv(
           {.spatial = {3, 5, 4}, .in_channels = 4, .out_channels = 16, .windows = ops::Same({3, 2, 1}, 3)}, t);
     }},
    {"Transposed",
     [](const ops::OperandTypes& t) {
       return ops::ConvTranspose(1, 5, 4, 6, 20, {.kernel = 4, .stride = 2, .padding = 1}, t);
     }},
    {"TransposedUnevenPhases",
     [](const ops::OperandTypes& t) {
       return ops::ConvTranspose(1, 5, 4, 9, 17, {.kernel = 3, .stride = 2, .padding = 1}, t);
     }},
    {"TransposedFewChannels",
     [](const ops::OperandTypes& t) {
       return ops::ConvTranspose(1, 5, 4, 9, 3, {.kernel = 3, .stride = 2, .padding = 1}, t);
     }},
    {"Attention", [](const ops::OperandTypes& t) { return ops::TransposeBatchMatmul(1, 17, 2, 8, t); }},
    {"AttentionTransposedInRegisters",
     [](const ops::OperandTypes& t) { return ops::TransposeBatchMatmul(1, 32, 2, 64, t); }},
    {"AttentionPadded", [](const ops::OperandTypes& t) { return ops::TransposeBatchMatmul(1, 37, 2, 64, t); }},
};

NDArray Filled(const Buffer& buffer, uint64_t seed) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
  NDArray array(buffer->dtype, std::move(shape));
  if (buffer->dtype.is_float()) {
    FillIntegers(array, seed);
  } else {
    FillUniform(array, seed, buffer->dtype.is_uint() ? 0 : -128, buffer->dtype.is_uint() ? 255 : 127);
  }
  return array;
}

absl::Status RunWithAllChecks(const Function& function, const std::vector<interp::Argument>& arguments) {
  absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
  return program.ok() ? program->Run(arguments) : program.status();
}

class LowPrecision : public ::testing::TestWithParam<std::tuple<const char*, Case, const char*>> {};
INSTANTIATE_TEST_SUITE_P(All, LowPrecision,
                         ::testing::Combine(::testing::Values("bf16", "u8s8", "s8s8", "s16s16"),
                                            ::testing::ValuesIn(kCases), ::testing::Values("znver4", "sapphirerapids")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + std::get<1>(test.param).name + "_" +
                                  std::get<2>(test.param);
                         });
// Bytes are multiplied as 16 bits there, but those of a single row: it uses each of its weights once.
std::vector<Case> CasesOfSeveralRows() {
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  std::erase_if(cases, [](const Case& each) { return std::string_view(each.name) == "MatmulOneRow"; });
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Avx2, LowPrecision,
                         ::testing::Combine(::testing::Values("u8s8"), ::testing::ValuesIn(CasesOfSeveralRows()),
                                            ::testing::Values("znver3")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + std::get<1>(test.param).name;
                         });

TEST_P(LowPrecision, ComputesTheSame) {
  const auto& [types, which, target_name] = GetParam();
  const Function op = which.make(Types(types));
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Target target = *NamedTarget(std::string("x86-") + target_name), host = HostTarget();
  const AutoScheduled result = AutoSchedule(Module(op), target, &intrins);
  ASSERT_TRUE(result.refused.empty()) << result.refused[0].ToString();
  const Function scheduled = result.schedule.module().Find("main");
  const VerifyResult verified = VerifyProgram(scheduled);
  EXPECT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, scheduled);
  const NDArray a = Filled(op->params[0].buffer, 1), b = Filled(op->params[1].buffer, 2);
  const NDArray expected = Filled(op->params[2].buffer, 3), actual = Filled(op->params[2].buffer, 4);
  EXPECT_EQ(RunWithAllChecks(op, {a, b, expected}), absl::OkStatus());
  EXPECT_EQ(RunWithAllChecks(scheduled, {a, b, actual}), absl::OkStatus());
  EXPECT_TRUE(BitEqual(expected, actual));
  if (std::ranges::all_of(target.features, [&](const std::string& feature) { return host.has(feature); })) {
    EXPECT_EQ(testing::CompareWithInterpreter(result.schedule.module(), {.tolerance = 1e-4}), "");
  }
}

TEST_P(LowPrecision, ConstantsArePackedAheadOfTime) {
  const auto& [types, which, target_name] = GetParam();
  const Function op = which.make(Types(types));
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Target target = *NamedTarget(std::string("x86-") + target_name);
  const AutoScheduled result = AutoSchedule(Module(MarkConstant(op, {1})), target, &intrins);
  ASSERT_TRUE(result.refused.empty()) << result.refused[0].ToString();
  if (std::string_view(std::get<1>(GetParam()).name).starts_with("Attention"))
    return;  // its operands are transposed first
  const Function main = result.schedule.module().Find("main"), prepack = result.schedule.module().Find("main_prepack");
  ASSERT_TRUE(prepack);
  const NDArray a = Filled(op->params[0].buffer, 1), b = Filled(op->params[1].buffer, 2);
  const NDArray expected = Filled(op->params[2].buffer, 3), actual = Filled(op->params[2].buffer, 4);
  std::map<std::string, NDArray> by_name = {
      {op->params[0].buffer->name, a}, {op->params[1].buffer->name, b}, {op->params[2].buffer->name, actual}};
  const auto arguments_of = [&](const Function& function) {
    std::vector<interp::Argument> arguments;
    for (const Param& param : function->params) {
      arguments.push_back(by_name.emplace(param.buffer->name, Filled(param.buffer, 5)).first->second);
    }
    return arguments;
  };
  EXPECT_EQ(RunWithAllChecks(op, {a, b, expected}), absl::OkStatus());
  EXPECT_EQ(RunWithAllChecks(prepack, arguments_of(prepack)), absl::OkStatus());
  EXPECT_EQ(RunWithAllChecks(main, arguments_of(main)), absl::OkStatus());
  EXPECT_TRUE(BitEqual(expected, actual));
}

// The code of main; what runs ahead of time is left out.
Artifact CodeOf(const Function& op, const char* target_name = "x86-znver4") {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Target target = *NamedTarget(target_name);
  const AutoScheduled result = AutoSchedule(Module(MarkConstant(op, {1})), target, &intrins);
  EXPECT_TRUE(result.refused.empty());
  auto code = Compile(Module(result.schedule.module().Find("main")), target, {.format = "s", .count = true});
  EXPECT_TRUE(code.ok()) << code.status();
  return code.ok() ? *std::move(code) : Artifact();
}

std::string AssemblyOf(const Function& op, const char* target_name = "x86-znver4") {
  return CodeOf(op, target_name).bytes;
}

TEST(LowPrecisionCode, AttentionScoresTransposeInRegisters) {
  for (const char* types : {"f32", "bf16", "u8s8"}) {
    for (const auto& [size, dim] : {std::pair(64, 64), std::pair(53, 64), std::pair(64, 80), std::pair(53, 72)}) {
      IntrinRegistry intrins = IntrinRegistry::Builtin();
      const Module module(ops::TransposeBatchMatmul(1, size, 2, dim, Types(types)));
      for (const char* target : {"x86-znver4", "x86-sapphirerapids"}) {
        const AutoScheduled result = AutoSchedule(module, *NamedTarget(target), &intrins);
        EXPECT_NE(ToText(result.schedule.trace()).find("transpose_"), std::string::npos)
            << types << size << " " << dim << target;
      }
    }
  }
}

// A group of 3 channels is loaded, broadcast and masked at once.
TEST(LowPrecisionCode, FirstLayersMaskInOneInstruction) {
  for (const char* types : {"u8s8", "s8s8"}) {
    const Artifact code = CodeOf(ops::Conv(Conv2d(56, 3, 32, {3, 2, 1}), Types(types)));
    const std::string& assembly = code.bytes;
    EXPECT_EQ(code.counters.at(kSpillsCounter), 0) << types;
    EXPECT_NE(assembly.find(types == std::string_view("u8s8") ? "vpandd" : "vpternlogd"), assembly.npos);
  }
}

// Rows of a tile share most of what they read. It waits in registers, so there are few of them, and the whole depth of
// a window's row is one step, deep ones included.
TEST(LowPrecisionCode, FirstLayersShareRowsInRegisters) {
  for (const ops::Window window : {ops::Window{7, 2, 3}, {11, 4}, {5, 2, 2}}) {
    const Function op = ops::Conv(Conv2d(112, 3, 64, window), Types("bf16"));
    const Artifact code = CodeOf(op);
    const std::string& assembly = code.bytes;
    // LLVM begins some loads early.
    EXPECT_LE(code.counters.at(kSpillsCounter), 2) << window.kernel;
    EXPECT_NE(assembly.find("vdpbf16ps"), assembly.npos) << window.kernel;
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const std::string trace = ToText(AutoSchedule(Module(op), *NamedTarget("x86-znver4"), &intrins).schedule.trace());
    const int64_t depth = (3 * window.kernel + 1) / 2 * 2;
    EXPECT_NE(trace.find("x" + std::to_string(depth) + "_avx512bf16"), trace.npos) << window.kernel;
  }
}

// Signed bytes by constants: the sign bit is flipped as rows are read, and the constants are added up ahead of time.
TEST(LowPrecisionCode, SignedRowsAreFlipped) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const auto flips = [&](const Function& op) {
    const AutoScheduled result = AutoSchedule(Module(op), *NamedTarget("x86-znver4"), &intrins);
    const std::string text = ToText(result.schedule.trace());
    return text.find("flip_sign_bit") != text.npos && text.find("split_offset") != text.npos;
  };
  const Function product = ops::Matmul(64, 64, 64, Types("s8s8"));
  EXPECT_TRUE(flips(MarkConstant(product, {1})));
  EXPECT_FALSE(flips(product));
  EXPECT_TRUE(flips(MarkConstant(ops::Conv(Conv2d(28, 64, 64, {3, 1, 1}), Types("s8s8")), {1})));
  // A third of the terms is padding.
  EXPECT_FALSE(flips(MarkConstant(ops::Conv(Conv2d(4, 64, 64, {3, 1, 1}), Types("s8s8")), {1})));
  EXPECT_FALSE(flips(MarkConstant(ops::Matmul(64, 64, 64, Types("u8s8")), {1})));
}

TEST(LowPrecisionCode, UsesTheInstructionsWithoutSpills) {
  for (const auto& [types, instruction] :
       {std::pair("bf16", "vdpbf16ps"), {"u8s8", "vpdpbusd"}, {"s8s8", "vpdpbusd"}, {"s16s16", "vpdpwssd"}}) {
    for (const Function& op :
         {ops::Matmul(128, 128, 128, Types(types)), ops::Conv(Conv2d(28, 128, 128, {3, 1, 1}), Types(types)),
          ops::Conv(Conv2d(56, 64, 64, {1, 1}), Types(types)), ops::Conv(Grouped1x1(56, 64, 4), Types(types)),
          ops::ConvTranspose(1, 9, 9, 64, 32, {.kernel = 3, .stride = 2, .padding = 1}, Types(types))}) {
      const Artifact code = CodeOf(op);
      const std::string& assembly = code.bytes;
      EXPECT_EQ(code.counters.at(kSpillsCounter), 0) << types << "\n" << Print(op);
      EXPECT_NE(assembly.find(instruction), assembly.npos) << types;
      // A group of the row operand is read and broadcast at once, for all vectors of its row or in each product.
      EXPECT_TRUE(assembly.find("broadcast") != assembly.npos || assembly.find("{1to16}") != assembly.npos);
      EXPECT_EQ(assembly.find("vpinsr"), assembly.npos);
    }
  }
}

size_t Count(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// The extents of the loops that cores share.
std::vector<int64_t> ParallelExtents(const Function& function) {
  std::vector<int64_t> extents;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* loop = dyn_cast<ForNode>(s);
    if (loop != nullptr && loop->kind == ForKind::kParallel) extents.push_back(*AsInt(loop->extent));
    return true;
  });
  return extents;
}

// Rows are copied for windows along them, once for all windows across, where neither tiles in place nor images do.
TEST(LowPrecisionCode, AmxCopiesRowsForWindowsAlongThem) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const auto copy_of = [&](const ops::ConvShape& shape) {
    const Function op = MarkConstant(ops::Conv(shape, Types("u8s8")), {1});
    const AutoScheduled result = AutoSchedule(Module(op), *NamedTarget("x86-sapphirerapids"), &intrins);
    const std::string text = Print(result.schedule.module().Find("main"));
    const size_t at = text.find("_reindex = T.alloc_buffer(");
    return at == text.npos ? "none" : text.substr(at + 26, text.find(", \"uint8\"", at) - at - 26);
  };
  // (n, r across, depth, rows and those that windows reach, depth of a tile) of rows as one
  EXPECT_EQ(copy_of(Conv2d(7, 256, 256, {3, 1, 1})), "(1, 3, 4, 70, 64)");
  // (n, rows of the image, windows along, depth, row, depth of a tile) with a stride
  EXPECT_EQ(copy_of(Conv2d(56, 64, 64, {3, 2, 1})), "(1, 57, 3, 1, 28, 64)");
  // with windows and three channels as one depth; stride and dilation are the same, so rows follow each other
  EXPECT_EQ(copy_of(Conv2d(56, 3, 64, {7, 2, 3, 2})), "(1, 1, 800, 24)");
  // Tiles of long rows read the padded image itself.
  EXPECT_EQ(copy_of(Conv2d(28, 64, 64, {3, 1, 1})), "none");
}

// Rows of an image are one behind the other where that is less to copy.
TEST(LowPrecisionCode, AmxReadsRowsAcrossAnImage) {
  const Function op = MarkConstant(ops::Conv(Conv2d(7, 128, 64, {3, 1, 1}), Types("u8s8")), {1});
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(op), *NamedTarget("x86-sapphirerapids"), &intrins);
  EXPECT_THAT(ToText(result.schedule.trace()), ::testing::HasSubstr("pitch=9, run_in_gaps=True"));
  // (n, depth, rows of 9 that 4 tiles of 16 and windows reach, depth of a tile)
  EXPECT_THAT(Print(result.schedule.module().Find("main")),
              ::testing::HasSubstr("T.alloc_buffer((1, 2, 84, 64), \"uint8\")"));
}

// Each core copies the rows that it reads for itself: all where cores share columns, else those around its own.
TEST(LowPrecisionCode, AmxCopiesRowsForEachCore) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Target target = *NamedTarget("x86-sapphirerapids");
  const auto shared = [&](int cores, const ops::ConvShape& shape) {
    target.cores = cores;
    const Function op = MarkConstant(ops::Conv(shape, Types("u8s8")), {1});
    return ParallelExtents(AutoSchedule(Module(op), target, &intrins).schedule.module().Find("main"));
  };
  EXPECT_THAT(shared(2, Conv2d(7, 512, 512, {3, 1, 1})), ElementsAre(2));
  EXPECT_THAT(shared(2, Conv2d(7, 512, 16 * 33, {3, 1, 1})), ElementsAre(84, 33));  // columns that do not divide
  EXPECT_THAT(shared(1, Conv2d(7, 512, 512, {3, 1, 1})).size(), 2);
  EXPECT_THAT(shared(2, Conv2d(28, 64, 64, {3, 1, 1})), ElementsAre(2));
}

// Rows that no tile divides are packed in the loop that threads share: over so many tiles of rows that these keep them
// busy, or over the batch too.
TEST(LowPrecisionCode, AmxPacksRowsOfUnitBatches) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const auto shared = [&](int batch) {
    const Function op = MarkConstant(ops::BatchMatmul(batch, 197, 256, 96, Types("bf16")), {1});
    const AutoScheduled result = AutoSchedule(Module(op), *NamedTarget("x86-sapphirerapids"), &intrins);
    return ParallelExtents(result.schedule.module().Find("main"));
  };
  EXPECT_THAT(shared(1), ElementsAre(8));        // of 26 rows
  EXPECT_THAT(shared(12), ElementsAre(12 * 7));  // of 30 rows
}

// Rows that windows read again are loaded into the first cache level, also where a window is further away than a tile
// register has rows: six of them hold 84 here.
TEST(LowPrecisionCode, AmxKeepsRowsThatWindowsShare) {
  const std::string assembly =
      AssemblyOf(ops::Conv(Conv2d(17, 384, 320, {3, 1, 1}), Types("bf16")), "x86-sapphirerapids");
  const size_t products = Count(assembly, "tdpbf16ps");
  EXPECT_EQ(products % 6, 0);
  EXPECT_LE(Count(assembly, "tileloaddt1"), products / 6);  // of columns
}

// Sums stay in tile registers from the zeros on, and the registers are configured once.
TEST(LowPrecisionCode, AmxKeepsSumsInTiles) {
  for (const auto& [types, instruction] : {std::pair("bf16", "tdpbf16ps"), {"u8s8", "tdpbusd"}, {"s8s8", "tdpbssd"}}) {
    for (const Function& op :
         {ops::Matmul(128, 128, 128, Types(types)), ops::Conv(Conv2d(14, 128, 128, {3, 1, 1}), Types(types)),
          ops::Conv(Conv2d(9, 3, 32, {7, 2, 3}), Types(types))}) {
      const std::string assembly = AssemblyOf(op, "x86-sapphirerapids");
      EXPECT_GT(Count(assembly, instruction), 0u) << types << "\n" << Print(op);
      EXPECT_EQ(Count(assembly, "ldtilecfg"), 1u);
      // One more is stored in the loop over many products.
      EXPECT_GE(Count(assembly, "tilestored"), Count(assembly, "tilezero"));
      EXPECT_LE(Count(assembly, "tilestored"), Count(assembly, "tilezero") + 1);
      EXPECT_EQ(Count(assembly, "tilezero"), Count(assembly, instruction));
    }
  }
}

}  // namespace
}  // namespace tilewright
