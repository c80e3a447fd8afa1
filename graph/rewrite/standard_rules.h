// Rewrites that are of use beyond one model.
#pragma once

#include <string>

#include "graph/rewrite/rule.h"

namespace tilewright::graph {

// multiply(a, b) + c   ->   ewise_fma(a, b, c), where nothing else reads the product.
RewriteRule MultiplyAddRule();

// What the pattern matches becomes a private function NAME0, NAME1, ... with the attribute Primitive, and a call of it.
// Variables that the match reads become parameters; constants are captured: they stand in the function.
//
//   lv0 = R.matmul(x, W); lv1 = R.add(lv0, B)
//
// becomes, with the pattern add(matmul(*, const), const) and the name fused_dense_add,
//
//   @R.function(private=True)
//   def fused_dense_add0(x):
//       R.func_attr({"Primitive": True})
//       with R.dataflow():
//           lv = R.matmul(x, W)
//           gv = R.add(lv, B)
//           R.output(gv)
//       return gv
//   ...
//   lv1 = cls.fused_dense_add0(x)
//
// so that later passes see what was fused, and no operator has to be made for each combination. `example` is the
// generator that the rule is checked with.
RewriteRule OutlineRule(std::string name, PatternGraph pattern,
                        std::function<absl::StatusOr<RuleExample>(std::mt19937_64&, const OpTable&)> example);

// Outlines add(matmul(x, W), B) with constant W and B.
RewriteRule FuseDenseAddRule();

}  // namespace tilewright::graph
