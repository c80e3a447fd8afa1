#include "autoschedule/sketch/cpu/chained/chained_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/program/top_nests.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/sketch/chained/chained_variants.h"
#include "codegen/lower/pipeline.h"
#include "codegen/testing/equivalence.h"
#include "intrin/registry.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using testing::ChainedVariant;
using testing::kInfinity;
using testing::kKeys;
using testing::kRows;
using testing::Symbolic;
using testing::Variants;

struct Result {
  int loops = 0;
  int64_t largest = 0;  // elements of an allocation
};
Result Look(const Module& scheduled, const Target& target) {
  Result result;
  for (const Stmt& root : {scheduled.Main()->body}) {
    const Stmt body = isa<BlockRealizeNode>(root) ? cast<BlockRealizeNode>(root)->block->body : root;
    const auto* sequence = dyn_cast<SeqNode>(body);
    result.loops = sequence == nullptr ? 1 : static_cast<int>(sequence->stmts.size());
  }
  const absl::StatusOr<Module> lowered = Lower(scheduled, target);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  if (!lowered.ok()) return result;
  PreOrder(lowered->Main()->body, [&](const Stmt& s) {
    const auto* allocate = dyn_cast<AllocateNode>(s);
    if (allocate == nullptr) return true;
    int64_t elements = 1;
    for (const Expr& extent : allocate->buffer->shape) elements *= AsInt(extent).value_or(1 << 30);
    result.largest = std::max(result.largest, elements);
    return true;
  });
  return result;
}

Choices Keys(int64_t block) {
  return Choices::GivenOrPreferred({{"P.key_block", block, {block}}, Choice::Of("P.sketch", "chained")});
}

// Whether the rules make one loop of the program, which is right, proven, and holds no buffer of so many elements.
// `intrins`: calls of theirs are taken at the regions that blocks declare, which is an assumption of every program that
// has them; nothing else may be one.
bool IsOneLoop(const std::string& text, const Target& target, int64_t key_block, int64_t scores,
               double tolerance = 1e-4, IntrinRegistry* intrins = nullptr) {
  const Function program = ParseFunctionOrDie(text);
  Choices choices = Keys(key_block);
  const AutoScheduled scheduled = AutoSchedule(Module(program), target, intrins, choices);
  const Module& module = scheduled.schedule.module();
  const Result result = Look(module, target);
  const VerifyResult verified = VerifyProgram(module.Main(), &target);
  for (const Diagnostic& diagnostic : verified.diagnostics) {
    const std::string check = diagnostic.check;
    const bool of_call = check == "declared regions" || check == "initialization";
    EXPECT_TRUE(diagnostic.verdict == Verdict::kProven ||
                (intrins != nullptr && of_call && diagnostic.verdict == Verdict::kAssumed))
        << Render(verified, module.Main());
  }
  if (result.loops != 1) return false;
  EXPECT_LT(result.largest, scores) << Print(module);
  if (target.name != testing::TestedTarget().name) return true;
  EXPECT_EQ(testing::CompareWithInterpreter(module, {.target = target, .original = program, .tolerance = tolerance}),
            "")
      << Print(module);
  return true;
}

void CheckAll(const std::string& name, const std::string& text, int64_t scores, double tolerance = 1e-4) {
  for (const Target& target : {testing::TestedTarget(), *NamedTarget("x86-znver3")}) {
    for (const int64_t key_block : {0, 64}) {
      SCOPED_TRACE(name + ", " + target.name + ", " + std::to_string(key_block));
      EXPECT_TRUE(IsOneLoop(text, target, key_block, scores, tolerance));
    }
  }
}

TEST(ChainedRule, EachVariantIsOneLoop) {
  for (const ChainedVariant& v : Variants()) {
    // Weights are rounded before they are divided, not after.
    CheckAll(v.name, TextOf(v), v.heads * v.rows * v.keys,
             v.type == "float64"   ? 1e-10
             : v.type == "float32" ? 1e-4
                                   : 1e-2);
  }
}

TEST(ChainedRule, WeightsThatAreAResultAreInTheLoop) {
  for (const ChainedVariant& v : testing::VariantsThatGiveWeights()) {
    CheckAll(v.name, TextOf(v), v.heads * v.rows * v.keys, v.type == "float32" ? 1e-4 : 1e-10);
  }
}

// A second product of stored weights is in the chain where that is estimated to be the shorter way.
TEST(ChainedRule, WeightsThatAreAResultDecideByTheProjectedTime) {
  for (ChainedVariant v : testing::VariantsThatGiveWeights()) {
    const Function program = ParseFunctionOrDie(TextOf(v));
    const Target target = *NamedTarget("x86-znver4");
    const auto seconds = [&](const std::vector<Choice>& given) {
      Choices choices = Choices::GivenOrPreferred(given);
      const AutoScheduled scheduled = AutoSchedule(Module(program), target, nullptr, choices);
      return Project(scheduled.schedule.module().Main(), target).seconds;
    };
    const double preferred = seconds({});
    EXPECT_LE(preferred, seconds({Choice::Of("P.sketch", "chained")}) * 1.001) << v.name;
    EXPECT_LE(preferred, seconds({Choice::Of("P.sketch", "contraction")}) * 1.001) << v.name;
  }
}

// Lengths that are known at a call alone: the last blocks of rows and of vectors of keys are not whole.
TEST(ChainedRule, SymbolicLengthsAreOneLoop) {
  const std::string scaled = "P[vh, vi, vj] * T.float32(0.125)";
  const std::string causal = "T.if_then_else(vj <= vi, " + scaled + ", T.float32(\"-inf\"))";
  const std::vector<ChainedVariant> variants = {
      {.name = "both", .rows = kRows, .keys = kKeys},
      {.name = "both, late division", .rows = kRows, .keys = kKeys, .late_division = true},
      {.name = "one length", .rows = kRows, .keys = kRows},
      {.name = "causal", .rows = kRows, .keys = kRows, .score = causal, .start = kInfinity},
      {.name = "rows", .rows = kRows, .keys = 64},
      {.name = "keys", .rows = 64, .keys = kKeys},
      {.name = "by tokens", .rows = kRows, .keys = kRows, .by_tokens = true},
      {.name = "grouped heads", .rows = kRows, .keys = kKeys, .heads = 4, .key_heads = 2},
      {.name = "mask of keys",
       .rows = kRows,
       .keys = kRows,
       .score = scaled + " + B[vj]",
       .bias = "B: T.Buffer((1111,), \"float32\"), "},
  };
  for (const ChainedVariant& v : variants) {
    SCOPED_TRACE(v.name);
    const Function program = ParseFunctionOrDie(Symbolic(TextOf(v)));
    for (const Target& target : {testing::TestedTarget(), *NamedTarget("x86-znver3")}) {
      const AutoScheduled scheduled = AutoSchedule(Module(program), target, nullptr);
      const Module& module = scheduled.schedule.module();
      EXPECT_EQ(CountTopNests(module.Main()), 1) << Print(module);
      EXPECT_NE(VerifyProgram(module.Main(), &target).verdict(), Verdict::kRefuted);
      if (target.name != testing::TestedTarget().name) continue;
      for (const auto& [rows, keys] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {37, 50}, {70, 129}, {128, 256}}) {
        std::vector<int64_t> lengths;
        if (v.rows == kRows) lengths.push_back(rows);
        if (v.keys == kKeys) lengths.push_back(keys);
        EXPECT_EQ(testing::CompareWithInterpreter(
                      module, {.target = target, .original = program, .tolerance = 1e-4, .variables = lengths}),
                  "")
            << rows << " x " << keys << Print(module);
      }
    }
  }
}

// Numbers of queries that are known at a call alone: a tile has one of them. Keys too, whose last vector is not whole.
TEST(ChainedRule, SymbolicFewRowsAreOneLoop) {
  for (ChainedVariant v : {ChainedVariant{.name = "rows", .rows = kRows, .keys = 77},
                           {.name = "both", .rows = kRows, .keys = kKeys},
                           {.name = "both, shared keys", .keys = kKeys, .heads = 4, .key_heads = 2},
                           {.name = "both, masked rows",
                            .keys = kKeys,
                            .score = testing::Masked("(vi + vj) % 3 == 1 and vi != 1"),
                            .start = kInfinity},
                           {.name = "both, two values", .keys = kKeys, .two_values = true}}) {
    SCOPED_TRACE(v.name);
    v.rows = kRows;
    const Function program = WithLikelySizes(ParseFunctionOrDie(Symbolic(TextOf(v))), {{"n", {1}}, {"m", {512}}});
    for (const Target& target : {testing::TestedTarget(), *NamedTarget("x86-znver3")}) {
      Choices choices = Keys(0);
      const AutoScheduled scheduled = AutoSchedule(Module(program), target, nullptr, choices);
      const Module& module = scheduled.schedule.module();
      EXPECT_EQ(CountTopNests(module.Main()), 1) << Print(module);
      EXPECT_NE(Print(module).find("S_rf"), std::string::npos) << "not a vector of keys: " << Print(module);
      EXPECT_EQ(VerifyProgram(module.Main(), &target).verdict(), Verdict::kProven);
      if (target.name != testing::TestedTarget().name) continue;
      for (const auto& [rows, keys] : {std::pair<int64_t, int64_t>{1, 1}, {1, 130}, {3, 5}, {4, 64}}) {
        std::vector<int64_t> lengths = {rows};
        if (v.keys == kKeys) lengths.push_back(keys);
        EXPECT_EQ(testing::CompareWithInterpreter(
                      module, {.target = target, .original = program, .tolerance = 1e-4, .variables = lengths}),
                  "")
            << rows << " x " << keys << Print(module);
      }
    }
  }
}

// A softmax of a product's rows gives as many elements as there are scores: tiles of them are transposed.
TEST(ChainedRule, WhatIsComputedOfScoresMayBeAResult) {
  for (const auto& [rows, depth, columns] : {std::tuple(96, 256, 24), {33, 129, 24}, {7, 37, 50}, {129, 8, 17}}) {
    const Function program = ParseFunctionOrDie(absl::StrReplaceAll(
        R"(
@T.prim_func
def main(A: T.Buffer((ROWS, DEPTH), "float32"), B: T.Buffer((DEPTH, COLUMNS), "float32"),
         O: T.Buffer((ROWS, COLUMNS), "float32")):
    P = T.alloc_buffer((ROWS, COLUMNS), "float32")
    M = T.alloc_buffer((ROWS,), "float32")
    E = T.alloc_buffer((ROWS, COLUMNS), "float32")
    S = T.alloc_buffer((ROWS,), "float32")
    for i, j, k in T.grid(ROWS, COLUMNS, DEPTH):
        with T.block("P"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                P[vi, vj] = T.float32(0)
            P[vi, vj] = P[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(ROWS, COLUMNS):
        with T.block("M"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                M[vi] = T.float32("-inf")
            M[vi] = T.max(M[vi], P[vi, vj])
    for i, j in T.grid(ROWS, COLUMNS):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(P[vi, vj] - M[vi])
    for i, j in T.grid(ROWS, COLUMNS):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vj]
    for i, j in T.grid(ROWS, COLUMNS):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = E[vi, vj] / S[vi]
)",
        {{"ROWS", std::to_string(rows)}, {"DEPTH", std::to_string(depth)}, {"COLUMNS", std::to_string(columns)}}));
    for (const Target& target : {testing::TestedTarget(), *NamedTarget("x86-znver3")}) {
      const AutoScheduled scheduled = AutoSchedule(Module(program), target, nullptr);
      const Module& module = scheduled.schedule.module();
      if (rows >= 2 * target.lanes(32)) EXPECT_EQ(CountTopNests(module.Main()), 1) << Print(module);
      EXPECT_EQ(testing::CompareWithInterpreter(module, {.target = target, .original = program, .tolerance = 1e-4}), "")
          << Print(module);
    }
  }
}

// The target without tile registers.
Target WithoutMatrices(Target target) {
  std::erase_if(target.features, [](const std::string& feature) { return feature.starts_with("amx"); });
  return target;
}

// Those whose products of bfloat16 have tiles; the tested one only where it has them, and what it does without its tile
// registers.
std::vector<Target> NarrowTargets() {
  std::vector<Target> targets = {*NamedTarget("x86-sapphirerapids"), *NamedTarget("x86-znver4")};
  const Target tested = testing::TestedTarget();
  if (tested.has("amx-bf16")) targets.push_back(tested);
  if (tested.has("avx512bf16")) targets.push_back(WithoutMatrices(tested));
  return targets;
}

const std::vector<ChainedVariant>& NarrowVariants() {
  static const auto* const all = new std::vector<ChainedVariant>([] {
    const std::string scaled = "P[vh, vi, vj] * T.float32(0.125)";
    const auto masked = [&](const std::string& condition) {
      return "T.if_then_else(" + condition + ", " + scaled + ", T.float32(\"-inf\"))";
    };
    const ChainedVariant plain = {.name = "plain", .rows = 64, .keys = 128, .depth = 32, .width = 32};
    std::vector<ChainedVariant> variants(6, plain);
    variants[1].log_sum = true;
    variants[2].batch_of_one = true;
    variants[3].heads = 4;
    std::tie(variants[4].name, variants[4].score, variants[4].bias) =
        std::tuple("bias", scaled + " + B[vi, vj]", "B: T.Buffer((64, 128), \"float32\"), ");
    std::tie(variants[5].name, variants[5].rows, variants[5].depth) = std::tuple("head 20, several blocks", 256, 20);
    variants.push_back(
        {.name = "causal", .rows = 128, .depth = 64, .width = 64, .score = masked("vj <= vi"), .start = kInfinity});
    variants.push_back({.name = "window",
                        .rows = 128,
                        .depth = 32,
                        .width = 48,
                        .score = masked("vj <= vi and vi - vj < 48"),
                        .start = kInfinity});
    variants.push_back(
        {.name = "48 rows, 96 keys", .rows = 48, .keys = 96, .depth = 96, .width = 96, .heads = 3, .key_heads = 1});
    for (ChainedVariant& v : variants) v.type = "bfloat16";
    return variants;
  }());
  return *all;
}

// Products of bfloat16 by tiles of instructions that multiply groups, which divide all extents.
TEST(ChainedRule, NarrowTypesAreMultipliedInGroups) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const ChainedVariant& v : NarrowVariants()) {
    for (const Target& target : NarrowTargets()) {
      for (const int64_t key_block : {0, 64}) {
        SCOPED_TRACE(v.name + ", " + target.name + (target.has("amx-bf16") ? ", " : " by vectors, ") +
                     std::to_string(key_block));
        EXPECT_TRUE(IsOneLoop(TextOf(v), target, key_block, v.heads * v.rows * v.keys, 1e-2, &intrins));
      }
    }
  }
}

std::vector<ChainedVariant> VariantsInFloat32() {
  const std::string scaled = "P[vh, vi, vj] * T.float32(0.125)";
  const auto masked = [&](const std::string& condition) {
    return "T.if_then_else(" + condition + ", " + scaled + ", T.float32(\"-inf\"))";
  };
  return {
      {.name = "plain"},
      {.name = "late division", .late_division = true},
      {.name = "log-sum-exp", .rows = 64, .keys = 64, .log_sum = true},
      {.name = "causal", .score = masked("vj <= vi"), .start = kInfinity},
      {.name = "window", .rows = 256, .score = masked("vj <= vi and vi - vj < 48"), .start = kInfinity},
      {.name = "masked rows", .rows = 64, .keys = 64, .score = masked("vi % 3 != 0"), .start = kInfinity},
      {.name = "grouped heads", .rows = 64, .keys = 128, .depth = 64, .width = 64, .heads = 4, .key_heads = 2},
      {.name = "bias", .score = scaled + " + B[vi, vj]", .bias = "B: T.Buffer((128, 256), \"float32\"), "},
      {.name = "37 x 50, odd heads", .rows = 37, .keys = 50, .depth = 20, .width = 12},
      {.name = "129 x 197", .rows = 129, .keys = 197, .depth = 33, .width = 40},
      {.name = "4 queries", .rows = 4, .keys = 128},
  };
}

// What no instruction of the target multiplies is converted by blocks, and multiplied in float32.
TEST(ChainedRule, NarrowTypesWithoutInstructionsAreOneLoop) {
  for (ChainedVariant v : VariantsInFloat32()) {
    for (const auto& [type, named] : {std::pair("float16", "x86-znver4"), {"bfloat16", "x86-znver3"}}) {
      v.type = type;
      const Target tested = testing::TestedTarget();
      std::vector<Target> targets = {*NamedTarget(named)};
      if (type == std::string("float16") || !tested.has("avx512bf16")) targets.push_back(tested);
      for (const Target& target : targets) {
        for (const int64_t key_block : {0, 64}) {
          SCOPED_TRACE(v.name + ", " + type + ", " + target.name + ", " + std::to_string(key_block));
          EXPECT_TRUE(IsOneLoop(TextOf(v), target, key_block, v.heads * v.rows * v.keys, 1e-2));
        }
      }
    }
  }
}

TEST(ChainedRule, ProductsOfNarrowTypesAreTheInstructions) {
  ChainedVariant v = NarrowVariants()[0];
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const auto& [target, call] : {std::pair(*NamedTarget("x86-sapphirerapids"), "T.amx_dot_add("),
                                     std::pair(*NamedTarget("x86-znver4"), "T.dot_add(")}) {
    Choices choices = Keys(64);
    const AutoScheduled scheduled = AutoSchedule(Module(ParseFunctionOrDie(TextOf(v))), target, &intrins, choices);
    EXPECT_EQ(CountTopNests(scheduled.schedule.module().Main()), 1);
    const std::string text = Print(scheduled.schedule.module());
    const size_t first = text.find(call), second = text.find(call, first + 1);
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_NE(second, std::string::npos) << text;
  }
}

// Products of narrow types go another way if no tiles divide the extents, the target has none, or weights stay in
// float32.
TEST(ChainedRule, NarrowTypesWithoutTilesAreRight) {
  for (const auto& [rows, keys, depth, type] : {std::tuple(37, 50, 20, "bfloat16"),
                                                {128, 255, 32, "bfloat16"},
                                                {100, 256, 33, "bfloat16"},
                                                {64, 1, 32, "bfloat16"},
                                                {64, 128, 32, "float16"}}) {
    const ChainedVariant v = {.name = "", .rows = rows, .keys = keys, .depth = depth, .width = 24, .type = type};
    for (const bool wide_weights : {false, true}) {
      std::string text = TextOf(v);
      if (wide_weights) {
        const std::string narrow = std::string("T.Cast(\"") + type + "\", E[vh, vi, vj] / S[vh, vi])";
        text =
            absl::StrReplaceAll(text, {{narrow, "E[vh, vi, vj] / S[vh, vi]"},
                                       {"T.Cast(\"float32\", W[vh, vi, vj])", "W[vh, vi, vj]"},
                                       {absl::StrCat("W = T.alloc_buffer((2, ", rows, ", ", keys, "), \"", type, "\")"),
                                        absl::StrCat("W = T.alloc_buffer((2, ", rows, ", ", keys, "), \"float32\")")}});
      }
      const Function program = ParseFunctionOrDie(text);
      const Target target = testing::TestedTarget();
      IntrinRegistry intrins = IntrinRegistry::Builtin();
      const AutoScheduled scheduled = AutoSchedule(Module(program), target, &intrins);
      const Module& module = scheduled.schedule.module();
      EXPECT_EQ(testing::CompareWithInterpreter(module, {.target = target, .original = program, .tolerance = 1e-2}), "")
          << rows << " x " << keys << Print(module);
    }
  }
}

// Sums in registers lie as scores do: vectors of rows. Along keys each element would be a register.
TEST(ChainedRule, SumsInRegistersAreVectorsOfRows) {
  const Function program = ParseFunctionOrDie(TextOf(Variants()[0]));
  Choices choices = Keys(64);
  const AutoScheduled scheduled = AutoSchedule(Module(program), testing::TestedTarget(), nullptr, choices);
  int sums = 0;
  PreOrder(scheduled.schedule.module().Main()->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr || realize->block->name != "P_update") return true;
    ++sums;
    EXPECT_EQ(Print(realize->block->writes[0].region.back().min), "vi");
    return true;
  });
  EXPECT_EQ(sums, 1);
}

// Heads that share keys are rows of one tile: a loop over key heads loads each key once.
TEST(ChainedRule, FewRowsThatShareKeysAreOneTile) {
  for (const int64_t rows : {1, 3}) {
    const ChainedVariant variant = {.name = "", .rows = rows, .keys = 512, .depth = 64, .heads = 12, .key_heads = 3};
    const Function program = ParseFunctionOrDie(TextOf(variant));
    Choices choices = Choices::Preferred();
    const AutoScheduled scheduled = AutoSchedule(Module(program), testing::TestedTarget(), nullptr, choices);
    const Module& module = scheduled.schedule.module();
    int64_t parallel = 0;
    PreOrder(module.Main()->body, [&](const Stmt& s) {
      const auto* loop = dyn_cast<ForNode>(s);
      if (loop != nullptr && loop->kind == ForKind::kParallel) parallel = AsInt(loop->extent).value_or(0);
      return true;
    });
    EXPECT_EQ(parallel, 3) << Print(module);
  }
}

// Blocks of keys of which a mask shows nothing to a block of rows are not computed.
TEST(ChainedRule, LoopsOverKeysHoldWhatAMaskShows) {
  for (ChainedVariant v : Variants()) {
    if (v.name != "causal" && v.name != "window") continue;
    v.rows = 256;
    const Function program = ParseFunctionOrDie(TextOf(v));
    Choices choices = Choices::Preferred();
    const AutoScheduled scheduled = AutoSchedule(Module(program), testing::TestedTarget(), nullptr, choices);
    int ends = 0, begins = 0;
    PreOrder(scheduled.schedule.module().Main()->body, [&](const Stmt& s) {
      const auto* loop = dyn_cast<ForNode>(s);
      if (loop != nullptr) ends += AsInt(loop->extent) ? 0 : 1;
      if (loop != nullptr) begins += AsInt(loop->min) ? 0 : 1;
      return true;
    });
    EXPECT_EQ(ends, 1) << Print(scheduled.schedule.module());
    EXPECT_EQ(begins, v.name == "window" ? 1 : 0) << Print(scheduled.schedule.module());
  }
}

// The work of a window is proportional to the window, not to the length.
TEST(ChainedRule, WindowsTakeTimeInProportionToTheirLength) {
  const auto blocks_of_keys = [](int64_t length) {
    const ChainedVariant v = {.name = "",
                              .rows = length,
                              .keys = length,
                              .heads = 1,
                              .key_heads = 1,
                              .score = "T.if_then_else(vj <= vi and vi - vj < 128, P[vh, vi, vj], T.float32(\"-inf\"))",
                              .start = kInfinity};
    Choices choices = Keys(64);
    const AutoScheduled scheduled =
        AutoSchedule(Module(ParseFunctionOrDie(TextOf(v))), testing::TestedTarget(), nullptr, choices);
    int64_t most = 0;
    PreOrder(scheduled.schedule.module().Main()->body, [&](const Stmt& s) {
      const auto* loop = dyn_cast<ForNode>(s);
      if (loop == nullptr || AsInt(loop->min)) return true;
      // The extent at each block of rows: its loop is the one variable.
      std::vector<Var> vars;
      PreOrder(loop->extent, [&](const Expr& e) {
        if (const auto* var = dyn_cast<VarNode>(e)) vars.emplace_back(var);
        return true;
      });
      for (int64_t i = 0; !vars.empty() && i < length / 16; ++i) {
        const auto extent = AsInt(arith::Simplify(Substitute(loop->extent, {{vars[0], Const(vars[0].dtype(), i)}})));
        if (extent && i * 16 < length) most = std::max(most, *extent);
        if (!extent) most = length;
      }
      return true;
    });
    return most;
  };
  EXPECT_GT(blocks_of_keys(512), 1);
  EXPECT_EQ(blocks_of_keys(512), blocks_of_keys(4096));
}

TEST(ChainedRule, RowsOfAProductAreReducedInOneLoop) {
  for (const testing::RowsVariant& v : testing::RowsVariants()) {
    CheckAll(v.name, TextOf(v), 2 * 128 * 256);
    CheckAll("odd, " + v.name, TextOfOddRows(v), 2 * 83 * 131);
  }
}

}  // namespace
}  // namespace tilewright
