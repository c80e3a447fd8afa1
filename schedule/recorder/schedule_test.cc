#include "schedule/recorder/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "intrin/registry.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "schedule/recorder/shared_steps.h"
#include "schedule/script/schedule_script.h"
#include "schedule/script/trace_text.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

Module Matmul() { return Module(testing::Matmul(64, 32, 16)); }

template <class T>
std::string Line(const Outcome<T>& outcome, const Schedule& schedule) {
  return outcome.ok() ? "accepted" : RenderLine(outcome.refusal(), schedule.refused_function());
}

// A tiled matmul with sampled factors.
void Tile(Schedule& sch) {
  const BlockRv block = *sch.GetBlock("C");
  const std::vector<LoopRv> loops = *sch.GetLoops(block);
  const std::vector<IntRv> factors = *sch.SamplePerfectTile(loops[0], 2, 16);
  const std::vector<LoopRv> i = *sch.Split(loops[0], {factors[0], factors[1]});
  const IntRv width = *sch.SampleCategorical({4, 8, 16}, {1, 1, 2});
  const std::vector<LoopRv> j = *sch.Split(loops[1], {Value(), width});
  ASSERT_TRUE(sch.Reorder({i[0], j[0], loops[2], i[1], j[1]}).ok());
  ASSERT_TRUE(sch.Parallel(i[0]).ok());
  ASSERT_TRUE(sch.Annotate(block, "hint", Value::List{1, 0.5, "text", true}).ok());
}

// What a graph's operator calls its block does not hide the root.
TEST(Schedule, TheRootIsFoundAmongBlocksOfItsName) {
  Schedule sch(Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("root"):
            v = T.axis.spatial(8, i)
            B[v] = T.sqrt(A[v])
)")));
  const auto root = sch.GetBlock("root");
  ASSERT_TRUE(root.ok()) << Line(root, sch);
  const auto children = sch.GetChildBlocks(*root);
  ASSERT_TRUE(children.ok()) << Line(children, sch);
  EXPECT_EQ(children->size(), 1u);
}

TEST(Schedule, RecordsAndReplays) {
  Schedule first(Matmul(), {.seed = 7});
  Tile(first);
  EXPECT_TRUE(testing::SameResults(testing::Matmul(64, 32, 16), first.module().Main()));
  // Another seed: the decisions come from the trace.
  Schedule again(Matmul(), {.seed = 8});
  ASSERT_TRUE(again.Replay(first.trace()).ok());
  EXPECT_TRUE(StructuralEqual(first.module(), again.module()));
  EXPECT_EQ(ToText(first.trace()), ToText(again.trace()));
}

// Tiled by a sampled width, whose place among the candidates is given; the last call is refused.
void TileBy(Schedule& sch, int width_place) {
  const BlockRv block = *sch.GetBlock("C");
  const std::vector<LoopRv> loops = *sch.GetLoops(block);
  const std::vector<LoopRv> i = *sch.Split(loops[0], {Value(), 8});
  const IntRv width = *sch.SampleCategorical({4, 8, 16}, {1, 1, 2}, width_place);
  const std::vector<LoopRv> j = *sch.Split(loops[1], {Value(), width});
  ASSERT_TRUE(sch.Reorder({i[0], j[0], loops[2], i[1], j[1]}).ok());
  ASSERT_TRUE(sch.Parallel(i[0]).ok());
  EXPECT_EQ(Line(sch.Vectorize(loops[0]), sch), Line(sch.Vectorize(loops[0]), sch));
}

TEST(Schedule, SharesStepsUpToTheFirstOtherDecision) {
  const Module program = Matmul();
  SharedSteps shared;
  size_t before = 0;
  for (const int place : {0, 1, 2, 1, 0}) {
    Schedule alone(program), sharing(program, {.shared = &shared});
    TileBy(alone, place);
    TileBy(sharing, place);
    EXPECT_TRUE(StructuralEqual(alone.module(), sharing.module())) << place;
    EXPECT_EQ(ToJson(alone.trace()), ToJson(sharing.trace())) << place;
    Schedule replayed(program);
    ASSERT_TRUE(replayed.Replay(sharing.trace()).ok());
    EXPECT_TRUE(StructuralEqual(replayed.module(), sharing.module()));
    // The first schedule adds 8 steps, others those from the sampling call on, and known ones none.
    EXPECT_EQ(shared.size() - before, before == 0 ? 8u : before < 18 ? 5u : 0u);
    before = shared.size();
  }
}

TEST(Schedule, SharedStepsForgetWhatFewSchedulesTake) {
  const Module program = Matmul();
  SharedSteps shared(/*most=*/10);
  for (const int place : {0, 1, 2, 0, 1, 2}) {
    Schedule sharing(program, {.shared = &shared}), alone(program);
    TileBy(sharing, place);
    TileBy(alone, place);
    EXPECT_EQ(ToJson(alone.trace()), ToJson(sharing.trace()));
    EXPECT_LE(shared.size(), 10u);
  }
  // Another program begins anew.
  Schedule other(Module(testing::Matmul(32, 32, 32)), {.shared = &shared});
  EXPECT_EQ(shared.size(), 0u);
}

TEST(Schedule, DrawnDecisionsEndTheSharing) {
  const Module program = Matmul();
  SharedSteps shared;
  Schedule first(program, {.seed = 7, .shared = &shared}), alone(program, {.seed = 7});
  Tile(first);
  Tile(alone);
  EXPECT_EQ(shared.size(), 2u);  // get_block and get_loops
  EXPECT_EQ(ToJson(first.trace()), ToJson(alone.trace()));
}

TEST(Schedule, TextAndJsonRoundTrip) {
  Schedule first(Matmul(), {.seed = 7});
  Tile(first);
  const std::string text = ToText(first.trace());
  Schedule from_text(Matmul());
  const auto error = ApplyScheduleScript(text, "trace", &from_text);
  ASSERT_FALSE(error) << error->diagnostic.ToString() << "\n" << text;
  EXPECT_EQ(ToText(from_text.trace()), text);
  EXPECT_TRUE(StructuralEqual(first.module(), from_text.module()));

  const std::string json = ToJson(first.trace());
  absl::StatusOr<Trace> trace = TraceFromJson(json);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(ToJson(*trace), json);
  EXPECT_EQ(ToText(*trace), text);
}

TEST(Schedule, TextIsWhatPeersPrint) {
  Schedule sch(Matmul());
  const std::vector<LoopRv> loops = *sch.GetLoops(*sch.GetBlock("C"));
  ASSERT_TRUE(sch.SamplePerfectTile(loops[0], 2, 16, Value::List{8, 8}).ok());
  ASSERT_TRUE(sch.Split(loops[0], {Value(), 16}).ok());
  ASSERT_TRUE(sch.Reorder({loops[2], loops[1]}).ok());
  EXPECT_EQ(ToText(sch.trace()),
            "b0 = sch.get_block(name=\"C\", func_name=\"main\")\n"
            "l1, l2, l3 = sch.get_loops(block=b0)\n"
            "v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[8, 8])\n"
            "l6, l7 = sch.split(loop=l1, factors=[None, 16], preserve_unit_iters=True, disable_predication=False)\n"
            "sch.reorder(l3, l2)\n");
}

// The peer calls the buffer C.rf, and prints C_rf.
TEST(Schedule, BuffersGoByNamesWithDots) {
  Schedule sch(Matmul());
  const std::vector<LoopRv> loops = *sch.GetLoops(*sch.GetBlock("C"));
  ASSERT_TRUE(sch.Rfactor(loops[2], 0).ok());
  EXPECT_TRUE(sch.Apply("set_scope", {"C_rf", "C.rf", "local"}).ok());
  EXPECT_EQ(Line(sch.Apply("set_scope", {"C_rf", "C.r", "local"}), sch), "set_scope: block C_rf writes no buffer C.r");
}

TEST(Schedule, CopiesAreIndependent) {
  Schedule first(Matmul(), {.seed = 7});
  const std::vector<LoopRv> loops = *first.GetLoops(*first.GetBlock("C"));
  Schedule copy = first;
  ASSERT_TRUE(copy.Split(loops[0], {8, 8}).ok());
  EXPECT_TRUE(StructuralEqual(first.module(), Matmul()));
  EXPECT_EQ(first.trace().instructions.size(), 2u);
  EXPECT_EQ(copy.trace().instructions.size(), 3u);
  ASSERT_TRUE(first.Fuse({loops[0], loops[1]}).ok());
  EXPECT_EQ(first.trace().instructions[2]->primitive->name, std::string("fuse"));
  EXPECT_EQ(copy.trace().instructions[2]->primitive->name, std::string("split"));
}

TEST(Schedule, SamplingDependsOnTheSeedOnly) {
  auto sample = [](uint64_t seed) {
    Schedule sch(Matmul(), {.seed = seed});
    Tile(sch);
    return ToText(sch.trace());
  };
  EXPECT_EQ(sample(1), sample(1));
  std::vector<std::string> texts;
  for (uint64_t seed = 0; seed < 20; ++seed) texts.push_back(sample(seed));
  std::sort(texts.begin(), texts.end());
  EXPECT_GT(std::unique(texts.begin(), texts.end()) - texts.begin(), 5);
}

TEST(Schedule, IllegalDecisionsAreRefused) {
  Schedule sch(Matmul());
  const std::vector<LoopRv> loops = *sch.GetLoops("C");
  auto tile = [&](Value decision) { return Line(sch.SamplePerfectTile(loops[0], 2, 16, decision), sch); };
  EXPECT_EQ(tile(Value::List{4, 16}), "accepted");
  EXPECT_EQ(tile(Value::List{2, 32}), "accepted");  // over the limit of what is drawn
  EXPECT_EQ(tile(Value::List{4, 4, 4}), "sample_perfect_tile: the decision has 3 factors, not 2");
  EXPECT_EQ(tile(Value::List{4, 8}), "sample_perfect_tile: the product of the decision is 32, the extent of loop i 64");
  EXPECT_EQ(tile(Value::List{3, 8}),
            "sample_perfect_tile: factor 3 of the decision does not divide the extent 64 of loop i in its turn");
  EXPECT_EQ(tile("x"), "sample_perfect_tile: the decision is not a list of integers");
  auto choose = [&](Value decision) { return Line(sch.SampleCategorical({1, 2}, {0.5, 0.5}, decision), sch); };
  EXPECT_EQ(choose(1), "accepted");
  EXPECT_EQ(choose(2), "sample_categorical: the decision 2 is not one of 2 candidates");
  EXPECT_EQ(Line(sch.SampleCategorical({1, 2}, {0.5}), sch),
            "sample_categorical: there are 2 candidates and 1 probabilities");
}

TEST(Schedule, SamplesComputeLocations) {
  const Function chain = testing::ElementwiseChain(6, 8);
  std::vector<int64_t> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Schedule sch(Module{chain}, {.seed = seed});
    const BlockRv block = *sch.GetBlock("B");
    const LoopRv location = *sch.SampleComputeLocation(block);
    ASSERT_TRUE(sch.ComputeAt(block, location).ok());
    EXPECT_TRUE(testing::SameResults(chain, sch.module().Main()));
    seen.push_back(*sch.trace().instructions[1]->decision.As<int64_t>());
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen, (std::vector<int64_t>{-2, -1, 0, 1}));
  Schedule sch(Module{chain});
  EXPECT_EQ(Line(sch.SampleComputeLocation("B", 2), sch),
            "sample_compute_location: the decision 2 is none of the 2 loops around the consumer of block B");
  EXPECT_EQ(Line(sch.SampleComputeLocation("B", 0.5), sch), "sample_compute_location: the decision is not an integer");
}

TEST(Schedule, Queries) {
  Schedule sch(Module{testing::ElementwiseChain(6, 8)});
  const BlockRv root = *sch.GetBlock("root"), b = *sch.GetBlock("B"), c = *sch.GetBlock("C");
  auto ids = [&](const Outcome<std::vector<BlockRv>>& blocks) {
    std::vector<uint32_t> result;
    for (BlockRv block : *blocks) result.push_back(sch.Get(block).As<BlockRef>()->id);
    return result;
  };
  const uint32_t b_id = sch.Get(b).As<BlockRef>()->id, c_id = sch.Get(c).As<BlockRef>()->id;
  EXPECT_EQ(ids(sch.GetChildBlocks(root)), (std::vector<uint32_t>{b_id, c_id}));
  EXPECT_EQ(ids(sch.GetChildBlocks(sch.GetLoops(c)->at(0))), (std::vector<uint32_t>{c_id}));
  EXPECT_EQ(ids(sch.GetProducers(c)), (std::vector<uint32_t>{b_id}));
  EXPECT_EQ(ids(sch.GetConsumers(b)), (std::vector<uint32_t>{c_id}));
  EXPECT_EQ(ids(sch.GetConsumers(c)), (std::vector<uint32_t>{}));
  EXPECT_EQ(ids(sch.GetOutputBlocks(root)), (std::vector<uint32_t>{c_id}));
  EXPECT_EQ(Line(sch.GetProducers(root), sch), "get_producers: block root is the root block");
}

TEST(Schedule, ProducersAreInTheOrderOfTheReads) {
  Schedule sch(Module{testing::Matmul(4, 8, 16)});
  const BlockRv block = *sch.GetBlock("C");
  const BlockRv cache = *sch.CacheRead(block, 1, "global");
  const BlockRv init = *sch.DecomposeReduction(block, sch.GetLoops(block)->at(0));
  // C_update reads C, A and B_global; B_global comes first in the program.
  const Outcome<std::vector<BlockRv>> producers = sch.GetProducers(block);
  ASSERT_EQ(producers->size(), 2u);
  EXPECT_EQ(sch.Get(producers->at(0)).As<BlockRef>()->id, sch.Get(init).As<BlockRef>()->id);
  EXPECT_EQ(sch.Get(producers->at(1)).As<BlockRef>()->id, sch.Get(cache).As<BlockRef>()->id);
}

TEST(Schedule, RefusedCallsLeaveItAsItWas) {
  Schedule sch(Matmul());
  const std::vector<LoopRv> loops = *sch.GetLoops(*sch.GetBlock("C"));
  EXPECT_EQ(Line(sch.Parallel(loops[2]), sch),
            "parallel: the iterator vk of block C, which depends on loop k, is reduce, not spatial; "
            "rfactor makes partial sums whose loop is");
  EXPECT_EQ(sch.trace().instructions.size(), 2u);
  EXPECT_TRUE(StructuralEqual(sch.module(), Matmul()));
  ASSERT_TRUE(sch.Split(loops[0], {8, 8}).ok());
  EXPECT_EQ(Line(sch.Split(loops[0], {8, 8}), sch), "split: the loop no longer exists");
  EXPECT_EQ(Line(sch.GetBlock("D"), sch), "get_block: there is no block named D; did you mean C?");
  EXPECT_EQ(Line(sch.Apply("split", {Rv{77}, Value::List{8, 8}}), sch),
            "split: an argument is not a random variable of this schedule");
  EXPECT_EQ(Line(sch.Apply("split", {Rv(loops[1])}), sch), "split: the argument factors is missing");
  EXPECT_EQ(Line(sch.Tensorize("C", "nothing"), sch), "tensorize: there is no intrinsic nothing");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Schedule known(Matmul(), {.intrins = &intrins});
  EXPECT_EQ(Line(known.Tensorize("C", "dot_16x4_vnnj"), known),
            "tensorize: there is no intrinsic dot_16x4_vnnj; did you mean dot_16x4_vnni?");
  EXPECT_THAT(Line(known.Tensorize("C", "nothing"), known),
              ::testing::HasSubstr("there is no intrinsic nothing; names of families begin with "));
}

TEST(Trace, SimplifiedLeavesOutWhatNothingUses) {
  Schedule sch(Matmul());
  const BlockRv block = *sch.GetBlock("C");
  ASSERT_TRUE(sch.GetChildBlocks(block).ok());
  const std::vector<LoopRv> loops = *sch.GetLoops(block);
  ASSERT_TRUE(sch.SamplePerfectTile(loops[1], 3).ok());
  ASSERT_TRUE(sch.Split(loops[0], {8, 8}).ok());
  ASSERT_TRUE(sch.EnterPostproc().ok());
  ASSERT_TRUE(sch.Unroll(loops[2]).ok());
  const Trace simple = Simplified(sch.trace());
  EXPECT_EQ(simple.instructions.size(), 5u);
  EXPECT_EQ(WithoutPostprocessing(simple).instructions.size(), 3u);
  Schedule again(Matmul());
  ASSERT_TRUE(again.Replay(simple).ok());
  EXPECT_TRUE(StructuralEqual(sch.module(), again.module()));
}

TEST(Trace, JsonErrorsSayWhere) {
  auto error = [](std::string_view json) { return std::string(TraceFromJson(json).status().message()); };
  EXPECT_EQ(error("{"), "the text is not JSON");
  EXPECT_EQ(error("[]"), "a trace is an object with a list \"trace\"");
  EXPECT_EQ(error(R"({"trace": [{}]})"), "instruction 0: there is no \"primitive\"");
  EXPECT_EQ(error(R"({"trace": [{"primitive": "spilt"}]})"),
            "instruction 0: there is no primitive spilt; did you mean split?");
  EXPECT_EQ(error(R"({"trace": [{"primitive": "get_loops", "args": {"block": {"rv": "b0"}}}]})"),
            "instruction 0: b0 is not defined");
  EXPECT_EQ(error(R"({"trace": [{"primitive": "get_block", "args": {"nam": "C"}}]})"),
            "instruction 0: get_block has no argument nam");
  EXPECT_EQ(error(R"({"trace": [{"primitive": "get_block"}]})"), "instruction 0: get_block wants the argument name");
  // Copying a value takes stack for each level.
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(error(R"({"trace": [{"primitive": "get_block", "args": {"name": )" + deep + "}}]}"),
            "instruction 0: values are nested too deeply");
}

TEST(Primitives, NamesAreUniqueAndArgumentsWithDefaultsComeLast) {
  std::vector<std::string> names;
  for (const Primitive& primitive : AllPrimitives()) {
    names.push_back(primitive.name);
    EXPECT_EQ(FindPrimitive(primitive.name), &primitive);
    bool optional = false;
    for (const ArgSpec& arg : primitive.args) {
      EXPECT_TRUE(arg.default_value || !optional) << primitive.name << " " << arg.name;
      optional |= arg.default_value.has_value();
    }
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace tilewright
