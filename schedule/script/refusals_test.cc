// Refusals by their full text: refusals.txt holds programs, calls that are refused, and what each refusal says.
//
//   #### matmul                          a program: all functions until the next line that begins with >>>
//   @T.prim_func
//   def main(...): ...
//
//   >>> sch.parallel(sch.get_loops("C")[2])                               calls; the last one is refused
//   parallel: the iterator vk of block C, which depends on loop k, ...    the line of the refusal
//
// After a change of messages, review what this writes:
//
//   TILEWRIGHT_UPDATE_GOLDEN=1 bazel run //schedule/script:refusals_test
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/golden.h"
#include "intrin/registry.h"
#include "ir/functor.h"
#include "ir/script/parser.h"
#include "schedule/script/schedule_script.h"

namespace tilewright {
namespace {

constexpr char kFile[] = "schedule/script/refusals.txt";

// Those whose functions NAME_desc and NAME_impl the module has.
IntrinRegistry IntrinsOf(const Module& module) {
  IntrinRegistry intrins;
  for (const Function& function : module.functions()) {
    constexpr std::string_view kSuffix = "_desc";
    if (!function->name.ends_with(kSuffix)) continue;
    const std::string name = function->name.substr(0, function->name.size() - kSuffix.size());
    TensorIntrin intrin{.name = name, .description = function, .implementation = module.Find(name + "_impl")};
    const absl::Status added = intrins.Add(std::move(intrin));
    EXPECT_TRUE(added.ok()) << added;
  }
  return intrins;
}

// What the last call is refused with, or what went wrong instead.
std::string RefusalOf(const std::string& program, const std::string& calls) {
  const absl::StatusOr<Module> module = ParseModule(program);
  if (!module.ok()) return "the program is wrong: " + std::string(module.status().message());
  IntrinRegistry intrins = IntrinsOf(*module);
  Schedule schedule(*module, {.intrins = &intrins});
  const auto error = ApplyScheduleScript(calls, kFile, &schedule);
  if (!error) return "accepted";
  if (!error->refusal) return "no refusal: " + error->diagnostic.ToString();
  // The program is shown with what the refusal is about marked.
  const std::string whole = Render(*error->refusal, schedule.refused_function());
  const bool marks = !error->refusal->objects.empty() && whole.find("no longer exists") == whole.npos &&
                     whole.find("is the root block") == whole.npos;
  if (marks && whole.find("^^^") == whole.npos) return "nothing is marked: " + whole;
  return RenderLine(*error->refusal, schedule.refused_function());
}

TEST(Refusals, SayWhatTheFileSays) {
  std::ifstream file(kFile);
  ASSERT_TRUE(file.is_open());
  std::ostringstream actual;
  std::string program, calls;
  bool in_program = false;
  for (std::string line; std::getline(file, line);) {
    if (!calls.empty() && !line.starts_with("... ")) {
      actual << RefusalOf(program, calls) << "\n";  // in place of this line
      calls.clear();
      continue;
    }
    actual << line << "\n";
    if (line.starts_with("#### ")) {
      program.clear();
      in_program = true;
    } else if (line.starts_with(">>> ") || line.starts_with("... ")) {
      calls += line.substr(4) + "\n";
      in_program = false;
    } else if (in_program) {
      program += line + "\n";
    }
  }
  EXPECT_EQ(calls, "") << "the file ends without the text of a refusal";
  EXPECT_TRUE(MatchesGolden(kFile, actual.str()));
}

// ---- What schedule files cannot ask for

Function BlockedInit() {
  const absl::StatusOr<Module> module = ParseModule(R"(
      @T.prim_func
      def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
          for k in range(8):
              with T.block("C"):
                  vk = T.axis.reduce(8, k)
                  T.reads(A[0:8, vk])
                  T.writes(C[0:8])
                  with T.init():
                      for i in range(8):
                          with T.block("init"):
                              vi = T.axis.spatial(8, i)
                              T.reads(D[vi], C[vi])
                              T.writes(C[vi])
                              C[vi] = D[vi]
                  for i in range(8):
                      with T.block("update"):
                          vi = T.axis.spatial(8, i)
                          C[vi] = C[vi] + A[vi, vk]
          for i in range(8):
              with T.block("D"):
                  vi = T.axis.spatial(8, i)
                  D[vi] = C[vi])");
  return module->Main();
}

// The names of blocks in an init are not looked up, but a handle may name one.
TEST(Refusals, OfBlocksInsideOfAnInit) {
  const Function function = BlockedInit();
  uint32_t block = 0, loop = 0, outside = 0;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
      if (realize->block->name == "init") block = realize->block->id;
    } else if (const auto* found = dyn_cast<ForNode>(s)) {
      if (block == 0 && found->var.name() == "i") loop = found->id;
      outside = found->id;
    }
    return true;
  });
  const Value init = BlockRef{"main", block}, own_loop = LoopRef{"main", loop}, other_loop = LoopRef{"main", outside};
  const Value map =
      (*ParseModule("@T.prim_func\ndef main():\n    T.evaluate(0)")).functions().empty() ? Value() : Value();
  const Var i("i", DataType::Int(32));
  const IndexMap identity({i}, {i});
  const std::vector<std::pair<std::string_view, std::vector<Value>>> calls = {
      {"cache_read", {init, 0, "local"}},
      {"cache_write", {init, 0, "local"}},
      {"cache_inplace", {init, 1, "local"}},
      {"compute_at", {init, other_loop}},
      {"reverse_compute_at", {init, other_loop}},
      {"compute_inline", {init}},
      {"reverse_compute_inline", {init}},
      {"decompose_padding", {init, own_loop}},
      {"reindex", {init, Value::List{"read", 0}}},
      {"reindex_cache_read", {init, 0, "local", identity}},
      {"rolling_buffer", {init, 0}},
      {"rfactor", {own_loop, 0}},
  };
  for (const auto& [name, args] : calls) {
    Schedule schedule{Module(function)};
    const Outcome<std::vector<Rv>> results = schedule.Apply(name, args);
    ASSERT_FALSE(results.ok()) << name;
    EXPECT_EQ(RenderLine(results.refusal(), function), std::string(name) + ": block init lies in the init of a block");
  }
}

TEST(Refusals, OfArgumentsAndTraces) {
  const Module module(BlockedInit());
  Schedule schedule(module);
  auto line = [&](const auto& outcome) {
    return outcome.ok() ? std::string("accepted") : RenderLine(outcome.refusal(), module.Main());
  };
  EXPECT_EQ(line(schedule.Apply("get_block", {"D", "main", 3})),
            "get_block: there are 3 arguments, at most 2 are taken");
  const BlockRv block = *schedule.GetBlock("D");
  const LoopRef loop = *schedule.Get((*schedule.GetLoops(block))[0]).As<LoopRef>();
  EXPECT_EQ(line(schedule.GetProducers(BlockRef{loop.function, loop.id})),
            "get_producers: loop i is a loop, not a block");
  EXPECT_EQ(line(schedule.GetChildBlocks(BlockRef{"none", 1})), "get_child_blocks: there is no function none");
  ASSERT_TRUE(schedule.GetChildBlocks(*schedule.GetBlock("C")).ok());
  const Buffer buffer("A", {8}, DataType::Float(32));
  const Var i("i", DataType::Int(32)), j("j", DataType::Int(32));
  const IndexMap tiles({i}, {FloorDiv(i, 3), FloorMod(i, 3)}), loads({i, j}, {buffer(i)});
  EXPECT_EQ(line(schedule.TransformLayout(block, Value::List{"write", 0}, tiles, loads)),
            "transform_layout: pad_value A[i] loads from a buffer");
  // Recorded where block "C" holds one block.
  const absl::StatusOr<Module> other = ParseModule(R"(
      @T.prim_func
      def main(D: T.Buffer((8,), "float32")):
          with T.block("root"):
              for i in range(8):
                  with T.block("D"):
                      vi = T.axis.spatial(8, i)
                      D[vi] = T.float32(0)
              for i in range(8):
                  with T.block("C"):
                      vi = T.axis.spatial(8, i)
                      D[vi] = T.float32(0))");
  ASSERT_TRUE(other.ok());
  Schedule replayed(*other);
  EXPECT_EQ(line(replayed.Replay(schedule.trace())), "get_child_blocks: there are 0 results here, 1 in the trace");
}

}  // namespace
}  // namespace tilewright
