// Schedule: records primitives as they are applied to a module.
//
//   Schedule sch(module);
//   BlockRv block = *sch.GetBlock("C");
//   std::vector<LoopRv> loops = *sch.GetLoops(block);
//   Outcome<std::vector<LoopRv>> split = sch.Split(loops[0], {Value(), 16});
//   if (!split.ok()) return Render(split.refusal(), sch.refused_function());
//   ... sch.module(), sch.trace() ...
//
// Handles (LoopRv, BlockRv, IntRv) are random variables of this schedule and of its copies. A refused call leaves the
// program as it was. Copying costs a few reference counts whatever the size of the program and the trace; copies are
// independent. A schedule may be moved between threads, and copies used on different ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/forked_list.h"
#include "ir/function.h"
#include "schedule/core/primitive.h"
#include "schedule/core/random.h"
#include "schedule/core/refusal.h"
#include "schedule/core/trace.h"
#include "schedule/core/value.h"

namespace tilewright {

struct LoopRv : Rv {};
struct BlockRv : Rv {};
struct IntRv : Rv {};

class SharedSteps;
struct SharedStep;

struct ScheduleOptions {
  uint64_t seed = 0;
  IntrinRegistry* intrins = nullptr;  // what tensorize may name; must outlive the schedule and its copies
  SharedSteps* shared = nullptr;      // shared_steps.h; must outlive the sharing
};

class Schedule {
 public:
  using Options = ScheduleOptions;
  explicit Schedule(Module module, const Options& options = {});

  const Module& module() const { return module_; }
  const Trace& trace() const { return trace_; }
  // What a random variable stands for: a LoopRef, BlockRef or integer. It may name a loop or block that is gone.
  const Value& Get(Rv rv) const;
  // The function that the last refused call was about: what Render wants.
  const Function& refused_function() const { return refused_function_; }

  void Seed(uint64_t seed) { random_ = Random(seed); }

  // Applies a primitive to arguments in the order of its table entry; trailing ones may be left out where there are
  // defaults. Blocks may be given by name. `decision`: of a sampling primitive, None to draw one.
  Outcome<std::vector<Rv>> Apply(const Primitive& primitive, std::vector<Value> args, const Value& decision = {});
  Outcome<std::vector<Rv>> Apply(std::string_view primitive, std::vector<Value> args, const Value& decision = {});

  // Further calls neither take steps from those that schedules share nor add to them.
  void EndSharing();

  // Takes queries whose results nothing uses out of the trace.
  void RemoveUnusedQueries();

  // Whether decompose_padding would accept these arguments. A question only: it is not an instruction of the trace.
  bool CanDecomposePadding(Value block, Value loop) const;

  // Forgets a random variable: later calls that name it are refused. The program and the trace stay as they are.
  Outcome<std::monostate> RemoveRv(Rv rv);

  // Applies the instructions of a trace of another schedule. `renamed`, when given, receives this schedule's name of
  // each of the trace's random variables. On a refusal the instructions before it stay applied.
  Outcome<std::monostate> Replay(const Trace& trace, std::map<int, Rv>* renamed = nullptr);

  // The primitives, by name; schedule/README.md and docs/primitives.md say what they do.
  Outcome<BlockRv> GetBlock(std::string name, std::string function = "main");
  Outcome<std::vector<LoopRv>> GetLoops(Value block);
  Outcome<std::vector<BlockRv>> GetChildBlocks(Value block_or_loop);
  Outcome<std::vector<BlockRv>> GetProducers(Value block);
  Outcome<std::vector<BlockRv>> GetConsumers(Value block);
  Outcome<std::vector<BlockRv>> GetOutputBlocks(Value scope_block);

  Outcome<std::vector<IntRv>> SamplePerfectTile(LoopRv loop, int n, int max_innermost_factor = 16, Value decision = {});
  Outcome<std::vector<IntRv>> SamplePartitionedTile(LoopRv loop, int n, int partition_pos = 0, int innerpart_factor = 1,
                                                    Value decision = {});
  Outcome<std::vector<IntRv>> SampleImperfectTile(LoopRv loop, int n, int max_innermost_factor = 16,
                                                  Value decision = {});
  // `name`: what is chosen, for those who read the trace; None or a string.
  Outcome<IntRv> SampleCategorical(std::vector<Value> candidates, std::vector<Value> probs, Value decision = {},
                                   Value name = {});
  Outcome<LoopRv> SampleComputeLocation(Value block, Value decision = {});

  // Factors: integers, IntRv, or None (one at most).
  Outcome<std::vector<LoopRv>> Split(LoopRv loop, std::vector<Value> factors, bool preserve_unit_iters = true,
                                     bool disable_predication = false);
  Outcome<LoopRv> Fuse(const std::vector<LoopRv>& loops, bool preserve_unit_iters = true);
  Outcome<std::monostate> Reorder(const std::vector<LoopRv>& loops);
  Outcome<std::vector<LoopRv>> LoopPartition(LoopRv loop, std::vector<Value> factors);
  Outcome<LoopRv> Merge(const std::vector<LoopRv>& loops);
  Outcome<std::monostate> ReorderBlockIterVar(Value block, std::vector<Value> new_order);
  Outcome<LoopRv> AddUnitLoop(Value block_or_loop);
  Outcome<std::monostate> Parallel(LoopRv loop);
  Outcome<std::monostate> Vectorize(LoopRv loop);
  Outcome<std::monostate> Unroll(LoopRv loop);
  Outcome<std::monostate> Bind(LoopRv loop, std::string thread_axis);

  Outcome<BlockRv> CacheRead(Value block, int read_buffer_index, std::string storage_scope,
                             std::vector<Value> consumers = {});
  Outcome<BlockRv> CacheWrite(Value block, int write_buffer_index, std::string storage_scope,
                              std::vector<Value> consumers = {});
  // The copy's indices as a map of the block's iterators.
  Outcome<BlockRv> ReindexCacheRead(Value block, int read_buffer_index, std::string storage_scope, IndexMap index_map);
  Outcome<BlockRv> ReindexCacheWrite(Value block, int write_buffer_index, std::string storage_scope,
                                     IndexMap index_map);
  Outcome<BlockRv> ReadAt(LoopRv loop, Value block, int read_buffer_index, std::string storage_scope);
  Outcome<BlockRv> WriteAt(LoopRv loop, Value block, int write_buffer_index, std::string storage_scope);
  Outcome<std::monostate> ExpandAutoCopy(Value block);
  Outcome<std::vector<BlockRv>> CacheInplace(Value block, int read_buffer_index, std::string storage_scope);
  Outcome<std::vector<BlockRv>> CacheIndex(Value block, std::string storage_scope, int cse_thresh = 0);
  Outcome<std::monostate> SetScope(Value block, int buffer_index, std::string storage_scope);
  Outcome<std::monostate> ComputeAt(Value block, LoopRv loop, bool preserve_unit_loops = false, int index = -1);
  Outcome<std::monostate> ReverseComputeAt(Value block, LoopRv loop, bool preserve_unit_loops = false, int index = -1);
  Outcome<std::monostate> ComputeInline(Value block);
  Outcome<std::monostate> ReverseComputeInline(Value block);
  // Buffers: ("read" or "write", number) as a list, or the buffer's name.
  Outcome<BlockRv> Reindex(Value block, Value buffer, Value kept_dims = Value::List{}, bool skip_simplify = false);
  Outcome<std::monostate> TransformLayout(Value block, Value buffer, IndexMap index_map, Value pad_value = {});
  Outcome<std::monostate> SkipZeroTerms(Value block);
  Outcome<std::monostate> JoinWindows(Value block, int iterator, int reduction);
  // `window`: positions in the block's iterators. The block that sums.
  Outcome<BlockRv> GatherSums(Value block, std::vector<Value> window);
  Outcome<std::monostate> FuseWithGaps(Value block, int outer, int inner, int pitch, bool run_in_gaps = false);
  // The blocks that collect tiles of the input and that transform these, the kernel and the output.
  Outcome<std::vector<BlockRv>> Winograd(Value block, int iterator, int reduction, int outputs);
  Outcome<BlockRv> CacheFactors(Value block, std::vector<Value> factors);
  Outcome<BlockRv> DecomposeAccumulation(Value block);
  Outcome<BlockRv> SplitOffset(Value block, int factor);
  Outcome<std::monostate> RollingBuffer(Value block, int write_buffer_index);
  Outcome<std::monostate> TransformBlockLayout(Value block, IndexMap index_map);
  Outcome<std::monostate> PadEinsum(Value block, std::vector<Value> padding);
  Outcome<std::monostate> PadEinsumInPlace(Value block, std::vector<Value> padding);
  Outcome<std::monostate> HoistPrepack(Value block);
  Outcome<BlockRv> DecomposePadding(Value block, LoopRv loop);
  Outcome<std::monostate> StorageAlign(Value block, int buffer_index, int axis, int factor, int offset);
  Outcome<std::monostate> SetLayout(Value block, int buffer_index, std::string layout);
  Outcome<std::monostate> UnsafeSetDtype(Value block, int buffer_index, std::string dtype);
  Outcome<std::monostate> WidenBuffer(Value block, int buffer_index, std::string dtype);
  Outcome<std::monostate> FlipSignBit(Value block, int buffer_index);
  // `access`: "read" or "write". The map's results are begin and end of each dimension in turn.
  Outcome<std::monostate> AnnotateBufferAccess(Value block, int buffer_index, std::string access, IndexMap ranges);
  Outcome<std::monostate> UnsafeHideBufferAccess(Value block, std::string access, std::vector<Value> indices);

  Outcome<BlockRv> DecomposeReduction(Value block, LoopRv loop);
  Outcome<std::monostate> ComposeReduction(Value init_block, Value update_block);
  Outcome<std::monostate> FuseReductionEpilogue(Value reduction_block, Value epilogue_block);
  Outcome<BlockRv> Rfactor(LoopRv loop, int factor_axis);
  // The blocks of parts, that of the first loop and then those of the reductions among the others.
  Outcome<std::vector<BlockRv>> RescaleReduction(const std::vector<LoopRv>& loops, bool skip_leading = true);
  // As above, and then the blocks that compute corrections.
  Outcome<std::vector<BlockRv>> RescaleParts(const std::vector<LoopRv>& loops);
  Outcome<BlockRv> HoistFactor(Value block, int read_buffer_index);
  // The block that rounds the sum.
  Outcome<BlockRv> WidenSum(Value block, int write_buffer_index, std::string dtype);
  Outcome<BlockRv> Blockize(Value target, bool preserve_unit_iters = true);
  Outcome<std::monostate> Tensorize(Value block_or_loop, std::string intrin, bool preserve_unit_iters = true);
  Outcome<std::monostate> Annotate(Value block_or_loop, std::string key, Value value);
  Outcome<std::monostate> Unannotate(Value block_or_loop, std::string key);
  Outcome<std::monostate> EnterPostproc();

 private:
  bool IsKnown(Rv rv) const;
  // Queries blocks that are given by name; each is an instruction of its own.
  std::optional<Refusal> ReplaceBlockNames(const Primitive& primitive, std::vector<Value>& args);
  // What the arguments stand for, checked and completed, or why they do not fit.
  Outcome<std::vector<Value>> Resolve(const Primitive& primitive, std::vector<Value>& args);
  Outcome<Value> ResolveRvs(const Primitive& primitive, const Value& value) const;
  std::string FunctionOf(const Primitive& primitive, const std::vector<Value>& args) const;

  // A call whose outcome is known.
  Outcome<std::vector<Rv>> Take(const SharedStep& step);
  // Records what was applied, and returns the results.
  std::vector<Rv> Record(const SharedInstruction& instruction, const std::vector<Value>& results);

  template <class T>
  Outcome<T> One(std::string_view primitive, std::vector<Value> args, const Value& decision = {});
  template <class T>
  Outcome<std::vector<T>> All(std::string_view primitive, std::vector<Value> args, const Value& decision = {});
  Outcome<std::monostate> None(std::string_view primitive, std::vector<Value> args);

  Module module_;
  ForkedList<Value> values_;
  Trace trace_;
  Random random_;
  IntrinRegistry* intrins_;
  Function refused_function_;
  SharedSteps* shared_ = nullptr;
  std::shared_ptr<SharedStep> place_;  // among the shared steps; null: this schedule shares none
};

}  // namespace tilewright
