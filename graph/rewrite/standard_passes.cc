#include "graph/rewrite/legalize.h"
#include "graph/rewrite/passes.h"

namespace tilewright::graph {

std::vector<Pass> StandardPasses(const PassEnvironment& environment) {
  const PassEnvironment e = environment;
  const auto cse = [e](const GraphModule& m) { return EliminateCommonSubexpressions(m, *e.ops); };
  const auto dce = [e](const GraphModule& m) { return EliminateDeadCode(m, *e.ops); };
  const auto fold = [e](const GraphModule& m) { return FoldConstants(m, *e.ops, e.folder); };
  const auto legalize = [e](const GraphModule& m) { return LegalizeOps(m, *e.ops, *e.lowerings); };
  return {
      {.name = "FoldConstants", .opt_level = 1, .run = fold},
      {.name = "EliminateCommonSubexpressions", .opt_level = 1, .run = cse},
      {.name = "EliminateDeadCode", .opt_level = 1, .run = dce},
      {.name = "LegalizeOps", .opt_level = 0, .run = legalize},
  };
}

}  // namespace tilewright::graph
