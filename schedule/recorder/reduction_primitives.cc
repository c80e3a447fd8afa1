#include "base/status_macros.h"
#include "schedule/algebra/hoist_factor.h"
#include "schedule/recorder/primitive_lists.h"
#include "schedule/reduction/compose_reduction.h"
#include "schedule/reduction/decompose_reduction.h"
#include "schedule/reduction/fuse_reduction_epilogue.h"
#include "schedule/reduction/rescale_reduction.h"
#include "schedule/reduction/rfactor.h"
#include "schedule/reduction/widen_sum.h"

namespace tilewright {

std::vector<Primitive> ReductionPrimitives() {
  using Role = Primitive::Role;
  return {
      {"decompose_reduction",
       "The init of a reduction block becomes a block of its own, before a loop.",
       {{"block", ArgKind::kBlock}, {"loop", ArgKind::kLoop}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(DecomposeReductionResult result,
                             DecomposeReduction(call.function(), call.Id(0), call.Id(1)));
         return call.WithBlock(result.function, result.init_block);
       }},
      {"compose_reduction",
       "The block that sets the start values of a reduction becomes its init again.",
       {{"init_block", ArgKind::kBlock}, {"update_block", ArgKind::kBlock}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, ComposeReduction(call.function(), call.Id(0), call.Id(1))); }},
      {"fuse_reduction_epilogue",
       "What is added to the result of a sum becomes what the sum starts with.",
       {{"reduction_block", ArgKind::kBlock}, {"epilogue_block", ArgKind::kBlock}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, FuseReductionEpilogue(call.function(), call.Id(0), call.Id(1))); }},
      {"rfactor",
       "A reduction becomes two: one of parts, each by itself along a loop, and one that combines the parts.",
       {{"loop", ArgKind::kLoop}, {"factor_axis", ArgKind::kInt}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) { return WithBlock(call, Rfactor(call.function(), call.Id(0), IntArg(call, 1))); }},
      {"rescale_reduction",
       "Reductions that read what another one gives run in its loop: they read its running value, and rescale their "
       "sums.",
       {{"loops", ArgKind::kLoops, std::nullopt, true}, {"skip_leading", ArgKind::kBool, true}},
       ResultKind::kBlocks,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(RescaleReductionResult result,
                             RescaleReduction(call.function(), call.Ids(0), call.Bool(1)));
         return call.WithBlocks(result.function, result.parts);
       }},
      {"rescale_parts",
       "Reductions that read what another one gives run in its loop in parts, in any order: the sums of parts are "
       "rescaled "
       "at last.",
       {{"loops", ArgKind::kLoops, std::nullopt, true}},
       ResultKind::kBlocks,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(RescaleReductionResult result, RescaleParts(call.function(), call.Ids(0)));
         return call.WithBlocks(result.function, result.parts);
       }},
      {"hoist_factor",
       "A factor that all terms of a sum have is multiplied with the sum, or divides it.",
       {{"block", ArgKind::kBlock}, {"read_buffer_index", ArgKind::kInt}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) { return WithBlock(call, HoistFactor(call.function(), call.Id(0), IntArg(call, 1))); }},
      {"widen_sum",
       "A reduction into a narrow type keeps its sum in a wider one and rounds it once, at last.",
       {{"block", ArgKind::kBlock}, {"write_buffer_index", ArgKind::kInt}, {"dtype", ArgKind::kString}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) {
         return WithBlock(call, WidenSum(call.function(), call.Id(0), IntArg(call, 1), call.String(2)));
       }},
  };
}

}  // namespace tilewright
