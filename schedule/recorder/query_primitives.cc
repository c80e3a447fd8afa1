#include "base/status_macros.h"
#include "schedule/blocks/query.h"
#include "schedule/recorder/primitive_lists.h"

namespace tilewright {
namespace {

Outcome<Applied> Blocks(Application& call, const Outcome<std::vector<uint32_t>>& ids) {
  if (!ids.ok()) return ids.refusal();
  return call.WithBlocks(call.function(), *ids);
}

}  // namespace

std::vector<Primitive> QueryPrimitives() {
  using Role = Primitive::Role;
  return {
      {"get_block",
       "The block with that name.",
       {{"name", ArgKind::kString}, {"func_name", ArgKind::kOptionalString, Value()}},
       ResultKind::kBlock,
       Role::kQuery,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(uint32_t block, GetBlock(call.function(), call.String(0)));
         return call.WithBlock(call.function(), block);
       }},
      {"get_loops",
       "The loops around a block up to its scope, outermost first.",
       {{"block", ArgKind::kBlock}},
       ResultKind::kLoops,
       Role::kQuery,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(std::vector<uint32_t> loops, GetLoops(call.function(), call.Id(0)));
         return call.WithLoops(call.function(), loops);
       }},
      {"get_child_blocks",
       "The blocks directly in a block or loop.",
       {{"block_or_loop", ArgKind::kLoopOrBlock}},
       ResultKind::kBlocks,
       Role::kQuery,
       [](Application& call) { return Blocks(call, GetChildBlocks(call.function(), call.Id(0))); }},
      {"get_producers",
       "The blocks of the scope that compute what the block uses.",
       {{"block", ArgKind::kBlock}},
       ResultKind::kBlocks,
       Role::kQuery,
       [](Application& call) { return Blocks(call, GetProducers(call.function(), call.Id(0))); }},
      {"get_consumers",
       "The blocks of the scope that use what the block computes.",
       {{"block", ArgKind::kBlock}},
       ResultKind::kBlocks,
       Role::kQuery,
       [](Application& call) { return Blocks(call, GetConsumers(call.function(), call.Id(0))); }},
      {"get_output_blocks",
       "The blocks in a block that write buffers which live on after it.",
       {{"scope_block", ArgKind::kBlock}},
       ResultKind::kBlocks,
       Role::kQuery,
       [](Application& call) { return Blocks(call, GetOutputBlocks(call.function(), call.Id(0))); }},
  };
}

}  // namespace tilewright
