#include "autoschedule/sketch/space.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

NDArray ArrayFor(const Buffer& buffer, uint64_t seed) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
  NDArray array(buffer->dtype, std::move(shape));
  FillIntegers(array, seed);
  return array;
}

// What main writes to its last parameter, with all detectors on.
NDArray Result(const Function& function) {
  std::vector<interp::Argument> arguments;
  NDArray output(DataType::Float(32), {});
  for (size_t i = 0; i < function->params.size(); ++i) {
    output = ArrayFor(function->params[i].buffer, i);
    arguments.push_back(output);
  }
  absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
  EXPECT_TRUE(program.ok()) << program.status();
  const absl::Status status = program->Run(arguments);
  EXPECT_TRUE(status.ok()) << status;
  return output;
}

void ExpectCandidatesRight(const Function& op) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Space space(Module(op), *NamedTarget("x86-znver4"), &intrins);
  ASSERT_TRUE(space.left_alone().empty());
  const NDArray expected = Result(op);
  std::set<uint64_t> distinct;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Outcome<Candidate> candidate = space.Make(Choices::Drawn(seed));
    ASSERT_TRUE(candidate.ok()) << RenderLine(candidate.refusal(), op);
    distinct.insert(candidate->hash);
    EXPECT_TRUE(BitEqual(expected, Result(candidate->schedule.module().Main()))) << seed;
  }
  EXPECT_GT(distinct.size(), 10u);
}

TEST(Space, AllCandidatesComputeTheSame) {
  ExpectCandidatesRight(ops::Matmul(23, 37, 12));
  ExpectCandidatesRight(ops::BatchMatmul(3, 8, 48, 5));
  ExpectCandidatesRight(
      ops::Conv({.spatial = {6, 9}, .in_channels = 4, .out_channels = 20, .windows = ops::Same({3, 1, 1}, 2)}));
}

TEST(Space, GivenChoicesMakeTheSameProgram) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Space space(Module(ops::Matmul(24, 64, 16)), *NamedTarget("x86-znver4"), &intrins);
  const Outcome<Candidate> first = space.Make(Choices::Drawn(5));
  ASSERT_TRUE(first.ok());
  const Outcome<Candidate> second = space.Make(Choices::GivenOrPreferred(first->choices));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first->hash, second->hash);
  EXPECT_EQ(first->choices, second->choices);
  // The trace alone gives it too.
  Schedule replayed(space.module(), {.intrins = &intrins});
  ASSERT_TRUE(replayed.Replay(first->schedule.trace()).ok());
  EXPECT_EQ(StructuralHash(replayed.module()), first->hash);
}

}  // namespace
}  // namespace tilewright
