#include "schedule/blocks/reorder_block_iter_var.h"
#include "schedule/loops/add_unit_loop.h"
#include "schedule/loops/fuse.h"
#include "schedule/loops/loop_kind.h"
#include "schedule/loops/loop_partition.h"
#include "schedule/loops/merge.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/recorder/primitive_lists.h"

namespace tilewright {

std::vector<Primitive> LoopPrimitives() {
  using Role = Primitive::Role;
  return {
      {"split",
       "One loop becomes a nest; a factor of None is inferred.",
       {{"loop", ArgKind::kLoop},
        {"factors", ArgKind::kFactors},
        {"preserve_unit_iters", ArgKind::kBool, true},
        {"disable_predication", ArgKind::kBool, false}},
       ResultKind::kLoops,
       Role::kTransform,
       [](Application& call) {
         return WithLoops(call, Split(call.function(), call.Id(0), call.Factors(1),
                                      {.preserve_unit_iters = call.Bool(2), .disable_predication = call.Bool(3)}));
       }},
      {"fuse",
       "A nest of loops, outermost first, becomes one loop.",
       {{"loops", ArgKind::kLoops, std::nullopt, true}, {"preserve_unit_iters", ArgKind::kBool, true}},
       ResultKind::kLoop,
       Role::kTransform,
       [](Application& call) { return WithLoop(call, Fuse(call.function(), call.Ids(0), call.Bool(1))); }},
      {"reorder",
       "Loops of a nest change places: the ones named come in the order named.",
       {{"ordered_loops", ArgKind::kLoops, std::nullopt, true}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, Reorder(call.function(), call.Ids(0))); }},
      {"loop_partition",
       "One loop becomes several, one after the other; a factor of None is what the others leave over.",
       {{"loop", ArgKind::kLoop},
        {"factors", ArgKind::kFactors},
        // For schedules that peers print.
        {"preserve_unit_iters", ArgKind::kBool, true}},
       ResultKind::kLoops,
       Role::kTransform,
       [](Application& call) { return WithLoops(call, LoopPartition(call.function(), call.Id(0), call.Factors(1))); }},
      {"merge",
       "Loops side by side, and the loops around them, become one nest with the bodies of all.",
       {{"loops", ArgKind::kLoops, std::nullopt, true}},
       ResultKind::kLoop,
       Role::kTransform,
       [](Application& call) { return WithLoop(call, Merge(call.function(), call.Ids(0))); }},
      {"reorder_block_iter_var",
       "A block lists its iterators in another order.",
       {{"block", ArgKind::kBlock}, {"new_order", ArgKind::kInts}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, ReorderBlockIterVar(call.function(), call.Id(0), call.Ints(1))); }},
      {"add_unit_loop",
       "A loop of one iteration around a loop or block.",
       {{"block_or_loop", ArgKind::kLoopOrBlock}},
       ResultKind::kLoop,
       Role::kTransform,
       [](Application& call) { return WithLoop(call, AddUnitLoop(call.function(), call.Id(0))); }},
  };
}

std::vector<Primitive> LoopKindPrimitives() {
  using Role = Primitive::Role;
  return {
      {"parallel",
       "The iterations of the loop run on several cores.",
       {{"loop", ArgKind::kLoop}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, Parallel(call.function(), call.Id(0))); }},
      {"vectorize",
       "The iterations of the loop become lanes of vectors.",
       {{"loop", ArgKind::kLoop}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, Vectorize(call.function(), call.Id(0))); }},
      {"unroll",
       "The iterations of the loop are written out.",
       {{"loop", ArgKind::kLoop}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, Unroll(call.function(), call.Id(0))); }},
      {"bind",
       "The iterations of the loop run on the threads of an axis (\"threadIdx.x\").",
       {{"loop", ArgKind::kLoop}, {"thread_axis", ArgKind::kString}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, Bind(call.function(), call.Id(0), call.String(1))); }},
  };
}

}  // namespace tilewright
