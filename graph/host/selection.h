// The operators of graph/host/host_ops.h that select elements: which are the largest, which are different, which
// are marked, which boxes stand for others, which sequences occur. Each is told there.
#pragma once

#include "graph/host/host_ops.h"

namespace tilewright::graph {

absl::StatusOr<Arrays> RunNonzero(const Attrs& attrs, const Arrays& args, const TwParallelHook* parallel = nullptr);
absl::StatusOr<Arrays> RunTopK(const Attrs& attrs, const Arrays& args, const TwParallelHook* parallel = nullptr);
absl::StatusOr<Arrays> RunUnique(const Attrs& attrs, const Arrays& args, const TwParallelHook* parallel = nullptr);
absl::StatusOr<Arrays> RunCompress(const Attrs& attrs, const Arrays& args, const TwParallelHook* parallel = nullptr);
absl::StatusOr<Arrays> RunNonMaxSuppression(const Attrs& attrs, const Arrays& args,
                                            const TwParallelHook* parallel = nullptr);
// What runs for n-grams of a pool that is known.
HostFunction PrepareNgrams(const Attrs& attrs);

}  // namespace tilewright::graph
