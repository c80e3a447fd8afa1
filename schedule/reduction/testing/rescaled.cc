#include "schedule/reduction/testing/rescaled.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/program/loop_tree.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "verify/verify.h"

namespace tilewright::testing {

uint32_t BlockId(const Function& f, std::string_view name) {
  const auto blocks = BlocksNamed(f, name);
  EXPECT_EQ(blocks.size(), 1u) << name;
  return blocks[0]->block->id;
}

Function SplitAll(Function f, const std::vector<Part>& parts, int by, std::vector<uint32_t>* loops) {
  for (const Part& part : parts) {
    Outcome<SplitResult> split = Split(f, LoopsAbove(f, BlockId(f, part.block))[part.place], {Expr(), by});
    EXPECT_TRUE(split.ok());
    f = split->function;
    std::vector<uint32_t> order = LoopsAbove(f, BlockId(f, part.block));
    std::rotate(order.begin() + static_cast<long>(parts[0].place), order.begin() + static_cast<long>(part.place),
                order.begin() + static_cast<long>(part.place) + 1);
    Outcome<ReorderResult> reordered = Reorder(f, order);
    EXPECT_TRUE(reordered.ok());
    f = reordered->function;
    loops->push_back(order[parts[0].place]);
  }
  return f;
}

Outcome<RescaleReductionResult> WithTermsAlone(const Function& function, const std::vector<uint32_t>& loops) {
  return RescaleReduction(function, loops);
}

Outcome<RescaleReductionResult> FromTheFirst(const Function& function, const std::vector<uint32_t>& loops) {
  return RescaleReduction(function, loops, /*skip_leading=*/false);
}

Function Rescaled(const Function& program, const std::vector<Part>& parts, int by, double max_error,
                  const RescalePrimitive& primitive) {
  std::vector<uint32_t> loops;
  const Function before = SplitAll(program, parts, by, &loops);
  Outcome<RescaleReductionResult> result = primitive(before, loops);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : ReasonText(result.refusal(), before));
  if (!result.ok()) return program;
  const VerifyResult verified = VerifyProgram(result->function, nullptr);
  EXPECT_EQ(verified.verdict(), Verdict::kProven) << Render(verified, result->function);
  for (uint64_t seed : {1, 2, 3}) {
    EXPECT_TRUE(SameResults(program, result->function, {.seed = seed, .max_error = max_error}))
        << Print(result->function);
  }
  return result->function;
}

Function Attention(std::string_view score, std::string_view weight, std::string_view start, int keys) {
  std::string text = R"(
@T.prim_func
def main(X: T.Buffer((6, KEYS), "float32"), V: T.Buffer((KEYS, 4), "float32"), S: T.Buffer((6,), "float32"), O: T.Buffer((6, 4), "float32")):
    M = T.alloc_buffer((6,), "float32")
    for i, j in T.grid(6, KEYS):
        with T.block("M"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                M[vi] = START
            M[vi] = T.max(M[vi], SCORE)
    for i, j in T.grid(6, KEYS):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + WEIGHT
    for i, d, j in T.grid(6, 4, KEYS):
        with T.block("O"):
            vi, vd, vj = T.axis.remap("SSR", [i, d, j])
            with T.init():
                O[vi, vd] = T.float32(0)
            O[vi, vd] = O[vi, vd] + WEIGHT * V[vj, vd]
)";
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  replace("WEIGHT", weight);
  replace("SCORE", score);
  replace("START", start);
  replace("KEYS", std::to_string(keys));
  return ParseFunctionOrDie(text);
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return text.replace(at, from.size(), to);
}

}  // namespace tilewright::testing
