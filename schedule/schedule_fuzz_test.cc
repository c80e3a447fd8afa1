// Random compositions of primitives, each program run against the one it came from.
//
//   bazel test //schedule:schedule_fuzz_test                                    a few seconds
//   bazel-bin/schedule/schedule_fuzz_test --rounds=100000 --first_seed=1        longer
//
// A failure prints the seed, the trace that led to it and the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "schedule/schedule.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/programs.h"
#include "schedule/trace_text.h"

namespace tilewright {
namespace {

uint64_t rounds = 400, first_seed = 1;

std::vector<Function> Programs() {
  return {
      testing::Matmul(6, 8, 12),
      testing::Matmul(5, 7, 9, DataType::Int(32)),
      testing::ElementwiseChain(6, 10),
      testing::ElementwiseInOneNest(4, 9, 0),
      // In place, then a row sum with a bias.
      ParseFunctionOrDie(R"(
          @T.prim_func
          def main(A: T.Buffer((6, 8), "float32"), bias: T.Buffer((6,), "float32"), D: T.Buffer((6,), "float32")):
              C = T.alloc_buffer((6,))
              for i, j in T.grid(6, 8):
                  with T.block("A"):
                      vi, vj = T.axis.remap("SS", [i, j])
                      A[vi, vj] = A[vi, vj] * T.float32(2)
              for i, k in T.grid(6, 4):
                  with T.block("C"):
                      vi, vk = T.axis.remap("SR", [i, k])
                      with T.init():
                          C[vi] = T.float32(0)
                      C[vi] = C[vi] + A[vi, vk + 3]
              for i in range(6):
                  with T.block("D"):
                      vi = T.axis.spatial(6, i)
                      D[vi] = C[vi] + bias[vi])"),
      // A convolution whose result is scaled and then reduced.
      ParseFunctionOrDie(R"(
          @T.prim_func
          def main(X: T.Buffer((10, 3), "float32"), W: T.Buffer((3, 3, 4), "float32"), Z: T.Buffer((8,), "float32")):
              P = T.alloc_buffer((12, 3), "float32")
              Y = T.alloc_buffer((10, 4), "float32")
              S = T.alloc_buffer((10, 4), "float32")
              for i, c in T.grid(12, 3):
                  with T.block("P"):
                      vi, vc = T.axis.remap("SS", [i, c])
                      P[vi, vc] = T.if_then_else(1 <= vi and vi < 11, X[vi - 1, vc], T.float32(0))
              for i, o, r, c in T.grid(10, 4, 3, 3):
                  with T.block("Y"):
                      vi, vo, vr, vc = T.axis.remap("SSRR", [i, o, r, c])
                      with T.init():
                          Y[vi, vo] = T.float32(0)
                      Y[vi, vo] = Y[vi, vo] + P[vi + vr, vc] * W[vr, vc, vo]
              for i, o in T.grid(10, 4):
                  with T.block("S"):
                      vi, vo = T.axis.remap("SS", [i, o])
                      S[vi, vo] = Y[vi, vo] * T.float32(2) + T.float32(1)
              for i, o in T.grid(8, 4):
                  with T.block("Z"):
                      vi, vo = T.axis.remap("SR", [i, o])
                      with T.init():
                          Z[vi] = T.float32(0)
                      Z[vi] = Z[vi] + S[vi + 1, vo])"),
      // Every other element is multiplied by zero, as in a transposed convolution.
      ParseFunctionOrDie(R"(
          @T.prim_func
          def main(X: T.Buffer((8,), "float32"), W: T.Buffer((2, 3), "float32"), Y: T.Buffer((8,), "float32")):
              for i, r, k in T.grid(8, 2, 3):
                  with T.block("Y"):
                      vi, vr, vk = T.axis.remap("SRR", [i, r, k])
                      with T.init():
                          Y[vi] = T.float32(0)
                      Y[vi] = Y[vi] + T.if_then_else((vi + vr) % 2 == 0, X[(vi + vr) // 2 + vk], T.float32(0)) * W[vr, vk])"),
  };
}

// Draws applications of primitives to whatever the program holds at the time.
class Fuzzer {
 public:
  Fuzzer(const Function& program, uint64_t seed) : random_(seed), sch_(Module(program), {.seed = seed}) {}

  const Schedule& schedule() const { return sch_; }
  const std::map<std::string, std::pair<int, int>>& counts() const { return counts_; }

  // One application; whether the program may have changed.
  bool Step() {
    const std::vector<std::string> names = BlockNames();
    if (names.empty()) return false;
    const BlockRv block = *sch_.GetBlock(Pick(names));
    const std::vector<LoopRv> loops = *sch_.GetLoops(block);
    const std::vector<LoopRv> others = *sch_.GetLoops(*sch_.GetBlock(Pick(names)));
    auto loop = [&] { return loops.empty() ? Value(Rv{0}) : Value(Rv(Pick(loops))); };
    auto other = [&] { return others.empty() ? loop() : Value(Rv(Pick(others))); };
    switch (random_.Below(41)) {
      case 0:
      case 1:
      case 2:
        return Try("split", {loop(), Value::List{Value(), Factor()}});
      case 3:
        return Try("split", {loop(), Value::List{Factor(), Value(), Factor()}});
      case 4:
        return Try("fuse", {Consecutive(loops)});
      case 5:
      case 6:
        return Try("reorder", {Shuffled(loops)});
      case 7:
        return Try("parallel", {loop()});
      case 8:
        return Try("vectorize", {loop()});
      case 9:
        return Try("unroll", {loop()});
      case 10:
        return Try("cache_read", {block, Small(), "local"});
      case 11:
        return Try("cache_write", {block, 0, "local"});
      case 12:
      case 13:
        return Try("compute_at", {block, other(), Coin(), Coin() ? -1 : -2});
      case 14:
        return Try("reverse_compute_at", {block, other(), Coin(), Coin() ? -1 : -2});
      case 15:
        return Try("decompose_reduction", {block, loop()});
      case 16:
        return Try("blockize", {loop(), Coin()});
      case 17:
        return Try("compute_inline", {block});
      case 18:
        return Try("reverse_compute_inline", {block});
      case 19:
        return Try("reindex", {block, Value::List{Coin() ? "read" : "write", Small()}});
      case 20:
        return Try("transform_block_layout", {block, BlockMap(FindBlock(block).iter_vars.size())});
      case 21:
        return TransformLayout(block);
      case 22: {
        Value::List padding;
        for (size_t i = 0; i < FindBlock(block).iter_vars.size(); ++i) padding.push_back(Factor());
        return Try(Coin() ? "pad_einsum" : "pad_einsum_in_place", {block, padding});
      }
      case 33:
        return Try("read_at", {loop(), block, Small(), "local"});
      case 34:
        return Try("write_at", {loop(), block, 0, "local"});
      case 35:
        return Try("reindex_cache_read", {block, Small(), "local", BlockMap(FindBlock(block).iter_vars.size())});
      case 36:
        return Try("reindex_cache_write", {block, 0, "local", BlockMap(FindBlock(block).iter_vars.size())});
      case 37:
        return Coin() ? Try("cache_inplace", {block, 0, "local"}) : Try("cache_index", {block, "global", 1});
      case 38: {
        const BlockRv target = *sch_.GetBlock(Pick(names));
        return Try("compose_reduction", {block, target}) || Try("fuse_reduction_epilogue", {block, target}) ||
               Try("fuse_reduction_epilogue", {target, block});
      }
      case 39: {
        // Apart and together again, with what was done to the loops in between.
        const auto init = sch_.Apply("decompose_reduction", {block, loop()});
        return init.ok() && Try("compose_reduction", {(*init)[0], block});
      }
      case 24:
        return Try("loop_partition", {loop(), Value::List{Factor()}});
      case 25:
      case 32: {
        // Loops of two blocks at the same depth.
        const size_t depth = random_.Below(3);
        if (depth >= std::min(loops.size(), others.size())) return false;
        const Value a = Rv(loops[depth]), b = Rv(others[depth]);
        return Try("merge", {Value(Value::List{a, b})}) || Try("merge", {Value(Value::List{b, a})});
      }
      case 26: {
        Value::List order;
        for (size_t i = 0; i < FindBlock(block).iter_vars.size(); ++i) {
          order.insert(order.begin() + random_.Below(order.size() + 1), static_cast<int64_t>(i));
        }
        return Try("reorder_block_iter_var", {block, order});
      }
      case 27:
        return Try("decompose_padding", {block, loop()});
      case 28:
        return Try("storage_align", {block, 0, Small(), Factor(), Small()});
      case 29:
        // A wider type: no value changes.
        return Try("unsafe_set_dtype", {block, 0, "float64"});
      case 30:
        return Try("annotate_buffer_access", {block, 0, Coin() ? "read" : "write", WholeDimensions(block)});
      case 31: {
        const auto factors = sch_.SampleImperfectTile(loops.empty() ? LoopRv{} : Pick(loops), 2, 6);
        return factors.ok() && Try("split", {loop(), Value::List{Rv((*factors)[0]), Rv((*factors)[1])}});
      }
      case 23:
        return Try("rfactor", {loop(), static_cast<int64_t>(random_.Below(4)) - 2});
      case 40:
        return Try("skip_zero_terms", {block});
      default:
        return Try("add_unit_loop", {loop()});
    }
  }

 private:
  template <class T>
  const T& Pick(const std::vector<T>& from) {
    return from[random_.Below(from.size())];
  }
  bool Coin() { return random_.Below(2) == 0; }
  Value Factor() { return static_cast<int64_t>(1 + random_.Below(5)); }
  Value Small() { return static_cast<int64_t>(random_.Below(3)); }
  Value Consecutive(const std::vector<LoopRv>& loops) {
    Value::List list;
    if (loops.empty()) return list;
    const size_t first = random_.Below(loops.size());
    const size_t count = 1 + random_.Below(3);
    for (size_t i = first; i < std::min(first + count, loops.size()); ++i) list.push_back(Rv(loops[i]));
    return list;
  }
  Value Shuffled(const std::vector<LoopRv>& loops) {
    Value::List list;
    for (LoopRv loop : loops) {
      if (Coin()) list.insert(list.begin() + random_.Below(list.size() + 1), Rv(loop));
    }
    return list;
  }
  const BlockNode& FindBlock(BlockRv block) const {
    return *tilewright::FindBlock(sch_.module().Main(), sch_.Get(block).As<BlockRef>()->id)->block;
  }
  // Iterators in the reverse order, or the last two fused, or the first one split by 2.
  IndexMap BlockMap(size_t rank) {
    std::vector<Var> inputs;
    for (size_t i = 0; i < rank; ++i) inputs.emplace_back("i" + std::to_string(i));
    std::vector<Expr> outputs(inputs.begin(), inputs.end());
    switch (random_.Below(3)) {
      case 0:
        std::reverse(outputs.begin(), outputs.end());
        break;
      case 1:
        if (rank < 2) break;
        outputs.pop_back();
        outputs.back() = inputs[rank - 2] * static_cast<int>(2 + random_.Below(10)) + inputs[rank - 1];
        break;
      default:
        if (rank == 0) break;
        outputs[0] = FloorDiv(inputs[0], 2);
        outputs.push_back(FloorMod(inputs[0], 2));
    }
    return IndexMap(std::move(inputs), std::move(outputs));
  }
  // The whole of the first buffer that the block reads; not enough of other buffers, maybe.
  IndexMap WholeDimensions(BlockRv block) {
    const BlockNode& node = FindBlock(block);
    std::vector<Var> inputs;
    for (const IterVar& iter : node.iter_vars) inputs.emplace_back(iter.var.name());
    std::vector<Expr> ends = {Expr(0), Expr(1)};
    if (!node.reads.empty()) {
      ends.clear();
      for (const Expr& extent : node.reads[0].buffer->shape) {
        ends.push_back(Expr(0));
        ends.push_back(extent);
      }
    }
    return IndexMap(std::move(inputs), std::move(ends));
  }
  // Of a buffer that the caller does not see.
  bool TransformLayout(BlockRv block) {
    const BlockNode& node = FindBlock(block);
    if (node.writes.empty()) return false;
    const Buffer buffer = node.writes[0].buffer;
    for (const Param& param : sch_.module().Main()->params) {
      if (param.buffer.same_as(buffer)) return false;
    }
    const Value pad = Coin() ? Value(0) : Value();
    return Try("transform_layout", {block, Value::List{"write", 0}, BlockMap(buffer->ndim()), pad});
  }
  bool Try(const char* primitive, std::vector<Value> args) {
    const bool applied = sch_.Apply(primitive, std::move(args)).ok();
    ++(applied ? counts_[primitive].first : counts_[primitive].second);
    return applied;
  }
  // Names that one block has, the root's left out.
  std::vector<std::string> BlockNames() const {
    std::map<std::string, int> count;
    const Function function = sch_.module().Main();
    PreOrder(function->body, [&](const Stmt& s) {
      if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) ++count[realize->block->name];
      return true;
    });
    std::vector<std::string> names;
    for (const auto& [name, times] : count) {
      if (times == 1 && name != "root" && sch_.module().Main() && Schedule(sch_).GetBlock(name).ok())
        names.push_back(name);
    }
    return names;
  }

  Random random_;
  Schedule sch_;
  std::map<std::string, std::pair<int, int>> counts_;  // applied and refused
};

// Races are not looked for: buffers become private to an iteration only when they are lowered. A copy into a cache may
// read elements that were never written and that nobody uses.
::testing::AssertionResult SameAs(const Function& before, const Function& after, uint64_t seed) {
  const auto same = testing::SameResults(before, after, {.seed = seed, .check_races = false});
  const std::string message = same.message();
  const size_t unwritten = message.find("uninitialized: block \"");
  if (same || unwritten == message.npos) return same;
  const std::string block = message.substr(unwritten + 22, message.find('"', unwritten + 22) - unwritten - 22);
  if (!block.ends_with("_local")) return same;
  return testing::SameResults(before, after, {.seed = seed, .check_races = false, .check_uninitialized = false});
}

TEST(Fuzz, RandomSchedulesKeepTheProgram) {
  const std::vector<Function> programs = Programs();
  std::map<std::string, std::pair<int, int>> counts;
  for (uint64_t round = 0; round < rounds; ++round) {
    const uint64_t seed = first_seed + round;
    const Function& program = programs[seed % programs.size()];
    Fuzzer fuzzer(program, seed * 7919);
    for (int step = 0; step < 12; ++step) {
      if (!fuzzer.Step()) continue;
      const auto same = SameAs(program, fuzzer.schedule().module().Main(), seed);
      ASSERT_TRUE(same) << "seed " << seed << "\n" << ToText(Simplified(fuzzer.schedule().trace()));
    }
    // The trace replays to the same program.
    Schedule again(Module{program});
    ASSERT_TRUE(again.Replay(fuzzer.schedule().trace()).ok());
    ASSERT_EQ(ToText(again.trace()), ToText(fuzzer.schedule().trace()));
    for (const auto& [name, count] : fuzzer.counts()) {
      counts[name].first += count.first;
      counts[name].second += count.second;
    }
  }
  for (const auto& [name, count] : counts) {
    RecordProperty(name, std::to_string(count.first) + " applied, " + std::to_string(count.second) + " refused");
    std::printf("%-24s %6d applied %6d refused\n", name.c_str(), count.first, count.second);
    if (rounds >= 3000) EXPECT_GT(count.first, 0) << name << " was never applied";
  }
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--rounds=", 9) == 0) tilewright::rounds = std::strtoull(argv[i] + 9, nullptr, 10);
    if (std::strncmp(argv[i], "--first_seed=", 13) == 0)
      tilewright::first_seed = std::strtoull(argv[i] + 13, nullptr, 10);
  }
  return RUN_ALL_TESTS();
}
