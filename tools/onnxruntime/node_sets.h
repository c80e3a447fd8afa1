// Which nodes of a graph can be one: connected sets without a path from one node of a set to another that leaves it.
#pragma once

#include <cstddef>
#include <vector>

namespace tilewright::onnxruntime {

// `writers[i]`: the nodes whose results node i reads, all before i. Each taken node is in one set, and sets read each
// other in one direction alone, so that all of them may become nodes at once.
//
//   a -> b -> x -> c        x is not taken: {a, b}, {c}
//   a -> b -> c             and a -> x -> c: {a, b}, {c}, since x runs between a and c
std::vector<std::vector<size_t>> SetsOf(const std::vector<std::vector<size_t>>& writers,
                                        const std::vector<bool>& taken);

}  // namespace tilewright::onnxruntime
