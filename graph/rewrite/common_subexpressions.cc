#include "base/status_macros.h"
#include "graph/ir/functor.h"
#include "graph/rewrite/passes.h"

namespace tilewright::graph {

absl::StatusOr<GraphModule> EliminateCommonSubexpressions(const GraphModule& module, const OpTable& ops) {
  // The builder finds what is bound already.
  BlockBuilder builder(&ops, module, {.cse = true});
  Mutator identity(&builder);
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) TW_RETURN_IF_ERROR(identity.MutateFunction(entry.function).status());
  }
  return builder.module();
}

}  // namespace tilewright::graph
