// Operators that have no program: their results' extents depend on data, or their work is not a loop nest.
//
// An operator is a row of the table: its signature and type rule (graph/ir/op.h) and the function that computes it on
// arrays. Control flow is not among them; the executor runs it.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/abi/parallel_hook.h"
#include "graph/ir/op.h"
#include "ir/ndarray.h"

namespace tilewright::graph {

using Arrays = std::vector<NDArray>;
// Arguments that are absent are default-constructed arrays. Threads of `parallel` share the work; null: none do.
using HostFunction = std::function<absl::StatusOr<Arrays>(const Attrs&, const Arrays&, const TwParallelHook* parallel)>;

struct HostOp {
  OpNode::Fields op;
  HostFunction run;
  // Makes what runs for calls with these attributes, once; null where nothing is to be made ahead.
  std::function<HostFunction(const Attrs&)> prepare = {};
};

// host.nonzero (x)                           [rank, count], in row-major order
// host.top_k (x, k), axis, largest           values and positions; ties by the lower position, NaN above all numbers
// host.unique (x), axis, sorted              of the slices along `axis`: values, first positions, inverse, counts
// host.compress (x, condition), axis         the slices along `axis` where the condition holds
// host.non_max_suppression (boxes, scores, most, iou, threshold), center
// host.ngrams (x), counts, indexes, pool, weights, mode, least, most, skips
//                                            how often n-grams of a pool occur in rows of integers
// host.read_values (x)                       x, with its elements as known values: symbols that are defined here
// host.determinant (x)                       of the last two dimensions
const std::vector<HostOp>& HostOps();
// The operators of HostOps, and the executor's control flow: host.loop and host.scan.
void AddHostOps(OpTable* ops);

}  // namespace tilewright::graph
