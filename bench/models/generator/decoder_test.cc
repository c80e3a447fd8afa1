// Decoders: one load serves a prompt and every step behind it, with the tokens that ONNX Runtime gives, and a step
// costs nothing but its kernels.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "bench/models/generator/testing.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

using graph::Arrays;
using graph::OnnxModel;

constexpr int64_t kWords = 256, kCaches = 4;
constexpr DataType kF32 = DataType::Float(32), kI64 = DataType::Int(64);

// greedy_tokens.py --prompt=7 of both tiny models.
constexpr char kTokens[] =
    "11 48 85 122 159 196 233 108 72 20 123 102 60 162 134 29 214 78 56 55 177 78 187 122 20 17 162 161 "
    "253 79 120 148 4 200 108 204 13 120 120 45 165 99 94 157 61 72 122 36 190 10 68 215 238 68 5 35 153 "
    "202 216 154 154 5 39 237 100 154 204 143 113 78 107";

std::unique_ptr<OnnxModel> Load(const char* name, const OnnxModel::LoadOptions& options = {}) {
  const auto generated = GenerateModel(name, {.tiny = true});
  EXPECT_TRUE(generated.ok()) << generated.status();
  auto model = OnnxModel::Load(FileOf(generated->proto), options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

NDArray Integers(int64_t batch, int64_t count, const std::function<int64_t(int64_t)>& element) {
  NDArray array(kI64, {batch, count});
  for (int64_t i = 0; i < batch * count; ++i) array.SetInt(i, element(i % count));
  return array;
}

int64_t Likeliest(const NDArray& logits) {
  const int64_t row = logits.size() - kWords;
  int64_t best = 0;
  for (int64_t word = 1; word < kWords; ++word) {
    if (logits.Get(row + word) > logits.Get(row + best)) best = word;
  }
  return best;
}

// Ids, mask and, for plain operators, positions of `fresh` tokens behind `past`.
Arrays TokenInputs(const std::vector<int64_t>& tokens, int64_t fresh, bool plain) {
  const auto total = static_cast<int64_t>(tokens.size()), past = total - fresh;
  Arrays inputs = {Integers(1, fresh, [&](int64_t i) { return tokens[static_cast<size_t>(past + i)]; }),
                   Integers(1, total, [](int64_t) { return 1; })};
  if (plain) inputs.push_back(Integers(1, fresh, [&](int64_t i) { return past + i; }));
  return inputs;
}

std::vector<int64_t> Prompt(int64_t length) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back((37 * i + 11) % kWords);
  return tokens;
}

// `steps` more tokens; each step's results are the next one's past.
std::string Continue(const OnnxModel& model, int64_t prompt, int64_t steps, bool plain) {
  std::vector<int64_t> tokens = Prompt(prompt);
  Arrays caches(kCaches, NDArray(kF32, {1, 2, 0, 16}));
  int64_t fresh = prompt;
  for (int64_t step = 0; step < steps; ++step) {
    Arrays arguments = TokenInputs(tokens, fresh, plain);
    arguments.insert(arguments.end(), caches.begin(), caches.end());
    const auto results = model.executor().Run(arguments);
    if (!results.ok()) return results.status().ToString();
    caches.assign(results->begin() + 1, results->end());
    tokens.push_back(Likeliest((*results)[0]));
    fresh = 1;
  }
  return absl::StrJoin(tokens, " ");
}

TEST(Decoder, OneLoadContinuesAPromptWithoutAPast) {
  for (const char* name : {"decoder", "decoder_plain"}) {
    SCOPED_TRACE(name);
    const auto model = Load(name);
    ASSERT_NE(model, nullptr);
    ASSERT_NE(model->executor().planned(), nullptr);
    EXPECT_EQ(Continue(*model, 7, 64, name != std::string("decoder")), kTokens);
    EXPECT_EQ(model->executor().planned()->counters().plans, 1);
  }
}

// The caches are the caller's, with room for all keys.
TEST(Decoder, StepsCostNothingButTheirKernels) {
  const auto model = Load("decoder");
  ASSERT_NE(model, nullptr);
  const graph::PlannedFunction& planned = *model->executor().planned();
  std::vector<int64_t> tokens = Prompt(7);
  const int64_t room = 71;
  Arrays caches;
  for (int64_t i = 0; i < kCaches; ++i) caches.emplace_back(kF32, std::vector<int64_t>{1, 2, room, 16});
  std::vector<std::vector<int64_t>> longest = {{1, 7}, {1, room}};
  for (const NDArray& cache : caches) longest.push_back(cache.shape());
  const absl::Status reserved = planned.Reserve(longest);
  ASSERT_TRUE(reserved.ok()) << reserved;
  const graph::RunCounters before = planned.counters();
  int64_t fresh = 7;
  for (int step = 0; step < 64; ++step) {
    Arrays arguments = TokenInputs(tokens, fresh, false);
    arguments.insert(arguments.end(), caches.begin(), caches.end());
    Arrays results = {NDArray(kF32, {1, fresh, kWords})};
    results.insert(results.end(), caches.begin(), caches.end());
    const absl::Status status = model->executor().RunInto(arguments, results);
    ASSERT_TRUE(status.ok()) << status;
    tokens.push_back(Likeliest(results[0]));
    fresh = 1;
  }
  EXPECT_EQ(absl::StrJoin(tokens, " "), kTokens);
  const graph::RunCounters after = planned.counters();
  EXPECT_EQ(after.plans, before.plans);
  EXPECT_EQ(after.frames, before.frames);
  EXPECT_EQ(after.allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(after.copied_bytes, 0);
  for (const graph::PlanStep& step : planned.plan().steps) {
    if (step.in_place)
      EXPECT_EQ(planned.plan().programs[static_cast<size_t>(step.in_place->program)].constant.size(),
                step.tensors.size() + step.scalars.size() - 1);
  }
  EXPECT_EQ(std::ranges::count_if(planned.plan().steps, [](const auto& step) { return step.in_place.has_value(); }),
            kCaches);
}

}  // namespace
}  // namespace tilewright::bench
