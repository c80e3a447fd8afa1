// Chains that tests schedule for GPUs.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/sketch/chained/chained_variants.h"
#include "gtest/gtest.h"
#include "intrin/registry.h"

namespace tilewright::testing {

// The program's product P by the sketch, where it does not refuse.
inline AutoScheduled Scheduled(const Function& program, const Target& target, IntrinRegistry& intrins,
                               const char* sketch, std::vector<Choice> given = {}) {
  given.push_back(Choice::Of("P.sketch", sketch));
  Choices choices = Choices::GivenOrPreferred(std::move(given));
  return AutoSchedule(Module(program), target, &intrins, choices);
}

// The name of a test of a variant.
inline std::string NameOfVariant(const ::testing::TestParamInfo<ChainedVariant>& variant) {
  std::string name = variant.param.name;
  std::erase_if(name, [](char c) { return c == ','; });
  std::ranges::replace_if(name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

// Chains of 16-bit operands whose extents fragments divide.
inline std::vector<ChainedVariant> NarrowVariants() {
  const std::string scaled = "P[vh, vi, vj] * T.float32(0.125)";
  const std::string causal = "T.if_then_else(vj <= vi, " + scaled + ", T.float32(\"-inf\"))";
  return {{.name = "float16", .depth = 64, .width = 64, .type = "float16"},
          {.name = "bfloat16, late division", .depth = 64, .width = 64, .late_division = true, .type = "bfloat16"},
          {.name = "head 128", .rows = 64, .keys = 128, .depth = 128, .width = 128, .type = "float16"},
          {.name = "causal", .rows = 128, .keys = 128, .score = causal, .start = kInfinity, .type = "float16"},
          // In the block of keys in which the mask ends, some lanes of a fragment have masked columns.
          {.name = "late keys",
           .rows = 16,
           .keys = 192,
           .depth = 16,
           .width = 16,
           .score = "T.if_then_else(vj >= 70, " + scaled + ", T.float32(\"-inf\"))",
           .start = kInfinity,
           .type = "float16"},
          {.name = "bias, grouped heads",
           .heads = 4,
           .key_heads = 2,
           .score = scaled + " + B[vi, vj]",
           .bias = "B: T.Buffer((128, 256), \"float32\"), ",
           .type = "float16"},
          {.name = "soft cap, log-sum-exp",
           .rows = 64,
           .score = "T.tanh(" + scaled + ") * T.float32(20)",
           .log_sum = true,
           .type = "float16"},
          {.name = "16 rows, 80 columns", .rows = 16, .keys = 96, .depth = 32, .width = 80, .type = "float16"}};
}

}  // namespace tilewright::testing
