// Every primitive of the table can be called as a method of Schedule, as schedule text and as a trace in JSON, and all
// say the same; and something refuses it in refusals.txt.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "intrin/registry.h"
#include "ir/structural.h"
#include "schedule/recorder/schedule.h"
#include "schedule/script/primitive_examples.h"
#include "schedule/script/schedule_script.h"
#include "schedule/script/trace_text.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

// The primitives that leave programs alone have no examples.
constexpr char kQueriesAndSampling[] = R"(
b = sch.get_block("B")
i, j = sch.get_loops(b)
b1, c1 = sch.get_child_blocks(sch.get_block("root"))
c2, = sch.get_consumers(b)
b2, = sch.get_producers(c2)
c3, = sch.get_output_blocks("root")
i_0, i_1 = sch.sample_perfect_tile(i, 2, 16, decision=[3, 2])
j_0, j_1 = sch.sample_partitioned_tile(j, 2, 1, 2, decision=[4, 2])
k_0, k_1 = sch.sample_imperfect_tile(j, 2, 16, decision=[2, 5])
width = sch.sample_categorical([2, 4], [0.5, 0.5], decision=1)
place = sch.sample_compute_location(b, decision=0)
sch.split(j, [j_0, j_1])
sch.split(i, [i_0, i_1])
sch.split(sch.get_loops(c1)[1], [k_0, k_1])
sch.annotate(c3, "width", width)
)";

struct Example {
  std::string primitive, calls;
  Module before;
  IntrinRegistry intrins;
};

std::vector<Example> Examples() {
  std::vector<Example> examples;
  const auto read = ReadPrimitiveExamples("schedule/script/primitive_examples.txt");
  EXPECT_TRUE(read.ok()) << read.status();
  for (const PrimitiveExample& example : read.value_or(std::vector<PrimitiveExample>())) {
    examples.push_back({example.primitive, example.calls, example.before, IntrinRegistry()});
    if (example.intrinsics.empty()) continue;
    EXPECT_TRUE(examples.back().intrins.LoadScript(example.intrinsics, example.primitive).ok());
  }
  examples.push_back({"", kQueriesAndSampling, Module(testing::ElementwiseChain(6, 8)), IntrinRegistry()});
  return examples;
}

// The schedule after the calls, which must be accepted.
Schedule After(Example& example, const std::string& calls) {
  Schedule schedule(example.before, {.intrins = &example.intrins});
  const auto error = ApplyScheduleScript(calls, example.primitive, &schedule);
  EXPECT_FALSE(error) << error->diagnostic.ToString();
  return schedule;
}

TEST(PrimitiveForms, TextAndJsonSayTheSame) {
  std::set<std::string> seen;
  for (Example& example : Examples()) {
    SCOPED_TRACE(example.primitive);
    const Schedule first = After(example, example.calls);
    for (const Instruction& instruction : first.trace().instructions) seen.insert(instruction.primitive->name);
    const std::string text = ToText(first.trace()), json = ToJson(first.trace());
    const Schedule from_text = After(example, text);
    EXPECT_TRUE(StructuralEqual(first.module(), from_text.module()));
    EXPECT_EQ(ToText(from_text.trace()), text);
    const absl::StatusOr<Trace> trace = TraceFromJson(json);
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_EQ(ToJson(*trace), json);
    for (const Trace& replayed : {*trace, Simplified(*trace)}) {
      Schedule from_json(example.before, {.intrins = &example.intrins});
      ASSERT_TRUE(from_json.Replay(replayed).ok());
      EXPECT_TRUE(StructuralEqual(first.module(), from_json.module()));
    }
  }
  for (const Primitive& primitive : AllPrimitives()) EXPECT_TRUE(seen.contains(primitive.name)) << primitive.name;
}

template <class T>
void Done(const Outcome<T>& outcome) {
  EXPECT_TRUE(outcome.ok()) << outcome.refusal().reason;
}

IndexMap Map(size_t inputs, const std::function<std::vector<Expr>(const std::vector<Var>&)>& outputs) {
  std::vector<Var> vars;
  for (size_t i = 0; i < inputs; ++i) vars.emplace_back("i" + std::to_string(i), DataType::Int(32));
  return IndexMap(vars, outputs(vars));
}

// What the examples do, in C++.
std::map<std::string, std::function<void(Schedule&)>> Calls() {
  using S = Schedule;
  using V = std::vector<Var>;
  using Es = std::vector<Expr>;
  const auto loops = [](S& s, const char* block) { return *s.GetLoops(block); };
  const Value one_read = Value::List{"read", 1}, first_write = Value::List{"write", 0};
  return {
      {"split", [=](S& s) { Done(s.Split(loops(s, "C")[0], {Value(), 16})); }},
      {"fuse", [=](S& s) { Done(s.Fuse({loops(s, "C")[0], loops(s, "C")[1]})); }},
      {"reorder", [=](S& s) { Done(s.Reorder({loops(s, "C")[2], loops(s, "C")[0]})); }},
      {"loop_partition", [=](S& s) { Done(s.LoopPartition(loops(s, "C")[0], {24})); }},
      {"merge", [=](S& s) { Done(s.Merge({loops(s, "B")[1], loops(s, "C")[1]})); }},
      {"reorder_block_iter_var", [](S& s) { Done(s.ReorderBlockIterVar("C", {2, 0, 1})); }},
      {"add_unit_loop", [=](S& s) { Done(s.AddUnitLoop(loops(s, "C")[2])); }},
      {"parallel", [=](S& s) { Done(s.Parallel(loops(s, "C")[0])); }},
      {"vectorize", [=](S& s) { Done(s.Vectorize(loops(s, "C")[1])); }},
      {"unroll", [=](S& s) { Done(s.Unroll(loops(s, "C")[2])); }},
      {"bind",
       [=](S& s) {
         Done(s.Bind(loops(s, "C")[0], "blockIdx.x"));
         Done(s.Bind(loops(s, "C")[1], "threadIdx.x"));
       }},
      {"cache_read", [](S& s) { Done(s.CacheRead("C", 0, "shared")); }},
      {"cache_write", [](S& s) { Done(s.CacheWrite("C", 0, "local")); }},
      {"reindex", [=](S& s) { Done(s.Reindex("C", one_read)); }},
      {"reindex_cache_read",
       [](S& s) {
         Done(s.ReindexCacheRead(
             "C", 1, "shared", Map(3, [](const V& v) -> Es { return {FloorDiv(v[1], 8), v[2], FloorMod(v[1], 8)}; })));
       }},
      {"reindex_cache_write",
       [](S& s) {
         Done(s.ReindexCacheWrite("C", 0, "shared", Map(3, [](const V& v) -> Es { return {v[1], v[0]}; })));
       }},
      {"read_at", [=](S& s) { Done(s.ReadAt(loops(s, "C")[0], "C", 0, "shared")); }},
      {"write_at", [=](S& s) { Done(s.WriteAt(loops(s, "C")[0], "C", 0, "shared")); }},
      {"expand_auto_copy", [=](S& s) { Done(s.ExpandAutoCopy(*s.ReadAt(loops(s, "C")[0], "C", 0, "shared"))); }},
      {"transform_block_layout",
       [](S& s) {
         Done(s.TransformBlockLayout("C", Map(3, [](const V& v) -> Es { return {v[0] * 24 + v[1], v[2]}; })));
       }},
      {"decompose_reduction", [=](S& s) { Done(s.DecomposeReduction("C", loops(s, "C")[2])); }},
      {"rfactor", [=](S& s) { Done(s.Rfactor(s.Split(loops(s, "C")[2], {Value(), 4})->at(1), 0)); }},
      {"blockize",
       [=](S& s) {
         const std::vector<LoopRv> l = loops(s, "C");
         const std::vector<LoopRv> i = *s.Split(l[0], {Value(), 6}), j = *s.Split(l[1], {Value(), 8});
         Done(s.Reorder({i[0], j[0], l[2], i[1], j[1]}));
         Done(s.Blockize(l[2]));
       }},
      {"annotate", [](S& s) { Done(s.Annotate("C", "pragma", 1)); }},
      {"unannotate",
       [](S& s) {
         Done(s.Annotate("C", "pragma", 1));
         Done(s.Unannotate("C", "pragma"));
       }},
      {"annotate_buffer_access",
       [](S& s) {
         Done(s.AnnotateBufferAccess("C", 0, "read", Map(3, [](const V& v) -> Es { return {v[0], v[0] + 1, 0, 16}; })));
       }},
      {"unsafe_hide_buffer_access", [](S& s) { Done(s.UnsafeHideBufferAccess("C", "read", {1})); }},
      {"enter_postproc", [](S& s) { Done(s.EnterPostproc()); }},
      {"pad_einsum", [](S& s) { Done(s.PadEinsum("C", {16, 1, 4})); }},
      {"pad_einsum_in_place",
       [=](S& s) {
         Done(s.Reindex("C", Value::List{"read", 0}));
         Done(s.Reindex("C", first_write));
         Done(s.PadEinsumInPlace("C", {16, 1, 1}));
       }},
      {"set_scope", [](S& s) { Done(s.SetScope("B", 0, "shared")); }},
      {"storage_align", [](S& s) { Done(s.StorageAlign("B", 0, 0, 32, 8)); }},
      {"transform_layout",
       [=](S& s) {
         Done(s.TransformLayout("B", first_write,
                                Map(2, [](const V& v) -> Es { return {FloorDiv(v[1], 8), v[0], FloorMod(v[1], 8)}; })));
       }},
      {"compute_at", [=](S& s) { Done(s.ComputeAt("B", loops(s, "C")[0])); }},
      {"reverse_compute_at", [=](S& s) { Done(s.ReverseComputeAt("C", loops(s, "B")[0])); }},
      {"compute_inline", [](S& s) { Done(s.ComputeInline("B")); }},
      {"reverse_compute_inline", [](S& s) { Done(s.ReverseComputeInline("C")); }},
      {"set_layout", [](S& s) { Done(s.SetLayout("B", 0, "swizzle_128B")); }},
      {"unsafe_set_dtype", [](S& s) { Done(s.UnsafeSetDtype("B", 0, "float64")); }},
      {"widen_buffer", [](S& s) { Done(s.WidenBuffer("B", 0, "float64")); }},
      {"flip_sign_bit", [](S& s) { Done(s.FlipSignBit("A_global", 0)); }},
      {"hoist_prepack", [](S& s) { Done(s.HoistPrepack("B_packed")); }},
      {"skip_zero_terms", [](S& s) { Done(s.SkipZeroTerms("Y")); }},
      {"join_windows", [](S& s) { Done(s.JoinWindows("Y", 1, 2)); }},
      {"gather_sums", [](S& s) { Done(s.GatherSums("Y", {1})); }},
      {"fuse_with_gaps", [](S& s) { Done(s.FuseWithGaps("Y_rows", 0, 1, 7, true)); }},
      {"winograd", [](S& s) { Done(s.Winograd("Y", 0, 2, 2)); }},
      {"cache_factors", [](S& s) { Done(s.CacheFactors("Y", {0, 2})); }},
      {"decompose_accumulation", [](S& s) { Done(s.DecomposeAccumulation("A")); }},
      {"rescale_reduction",
       [=](S& s) {
         const LoopRv m = s.Split(loops(s, "M")[1], {Value(), 4})->at(0);
         Done(s.RescaleReduction({m, s.Split(loops(s, "S")[1], {Value(), 4})->at(0)}));
       }},
      {"rescale_parts",
       [=](S& s) {
         const LoopRv m = s.Split(loops(s, "M")[1], {Value(), 4})->at(0);
         Done(s.RescaleParts({m, s.Split(loops(s, "S")[1], {Value(), 4})->at(0)}));
       }},
      {"hoist_factor", [](S& s) { Done(s.HoistFactor("O", 1)); }},
      {"widen_sum", [](S& s) { Done(s.WidenSum("C", 0, "float32")); }},
      {"split_offset", [](S& s) { Done(s.SplitOffset("C", 0)); }},
      {"cache_inplace", [](S& s) { Done(s.CacheInplace("B", 0, "local")); }},
      {"cache_index", [](S& s) { Done(s.CacheIndex("B", "global")); }},
      {"rolling_buffer",
       [=](S& s) {
         Done(s.ComputeAt("B", s.Split(loops(s, "C")[0], {Value(), 2})->at(0)));
         Done(s.RollingBuffer("B", 0));
       }},
      {"decompose_padding", [=](S& s) { Done(s.DecomposePadding("P", loops(s, "P")[0])); }},
      {"compose_reduction", [](S& s) { Done(s.ComposeReduction("C_init", "C_update")); }},
      {"fuse_reduction_epilogue", [](S& s) { Done(s.FuseReductionEpilogue("C", "D")); }},
      {"tensorize", [=](S& s) { Done(s.Tensorize(s.Split(loops(s, "B")[1], {Value(), 16})->at(1), "add_one")); }},
  };
}

// As kQueriesAndSampling, in C++.
void QueryAndSample(Schedule& s) {
  const BlockRv b = *s.GetBlock("B");
  const std::vector<LoopRv> l = *s.GetLoops(b);
  const std::vector<BlockRv> children = *s.GetChildBlocks(*s.GetBlock("root"));
  const std::vector<BlockRv> consumers = *s.GetConsumers(b);
  Done(s.GetProducers(consumers[0]));
  const std::vector<BlockRv> outputs = *s.GetOutputBlocks("root");
  const std::vector<IntRv> i = *s.SamplePerfectTile(l[0], 2, 16, Value::List{3, 2});
  const std::vector<IntRv> j = *s.SamplePartitionedTile(l[1], 2, 1, 2, Value::List{4, 2});
  const std::vector<IntRv> k = *s.SampleImperfectTile(l[1], 2, 16, Value::List{2, 5});
  const IntRv width = *s.SampleCategorical({2, 4}, {0.5, 0.5}, 1);
  Done(s.SampleComputeLocation(b, 0));
  Done(s.Split(l[1], {j[0], j[1]}));
  Done(s.Split(l[0], {i[0], i[1]}));
  Done(s.Split(s.GetLoops(children[1])->at(1), {k[0], k[1]}));
  Done(s.Annotate(outputs[0], "width", Rv(width)));
}

TEST(PrimitiveForms, MethodsSayTheSame) {
  std::set<std::string> seen;
  const auto calls = Calls();
  for (Example& example : Examples()) {
    SCOPED_TRACE(example.primitive);
    const auto call = calls.find(example.primitive);
    ASSERT_TRUE(call != calls.end() || example.primitive.empty());
    Schedule schedule(example.before, {.intrins = &example.intrins});
    example.primitive.empty() ? QueryAndSample(schedule) : call->second(schedule);
    EXPECT_TRUE(StructuralEqual(schedule.module(), After(example, example.calls).module()));
    for (const Instruction& instruction : schedule.trace().instructions) seen.insert(instruction.primitive->name);
  }
  for (const Primitive& primitive : AllPrimitives()) EXPECT_TRUE(seen.contains(primitive.name)) << primitive.name;
}

TEST(PrimitiveForms, EachIsRefusedSomewhere) {
  std::ifstream file("schedule/script/refusals.txt");
  ASSERT_TRUE(file.is_open());
  std::set<std::string> refused;
  for (std::string line; std::getline(file, line);) refused.insert(line.substr(0, line.find(": ")));
  for (const Primitive& primitive : AllPrimitives()) {
    const bool always_applies = std::string_view(primitive.name) == "enter_postproc";
    EXPECT_NE(refused.contains(primitive.name), always_applies) << primitive.name;
  }
}

}  // namespace
}  // namespace tilewright
