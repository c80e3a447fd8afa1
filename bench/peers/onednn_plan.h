// oneDNN's primitives for a workload, one per variant.
//
// Terms:
//   plain descriptor  how the library sees an operand in the layout of the workload
//   plan              a primitive, made for the layouts that its variant lets the library choose
#pragma once

#include <dnnl.hpp>
#include <string>
#include <vector>

#include "bench/operators/problem.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {

struct PlainDescriptors {
  // Weights have no dimensions where there are none.
  dnnl::memory::desc source, weights, destination;
  // The bias of a convolution that is followed by a normalization: in f32, one element a channel.
  dnnl::memory::desc bias;
  dnnl::memory::desc scale;  // What the sums are multiplied by, where the library takes it when it runs.
};
PlainDescriptors Describe(const Workload& workload);

struct Plan {
  std::string variant;
  dnnl::primitive primitive;
  dnnl::memory::desc source, weights, destination;
  // The primitive calls the first dimension of the weights the second.
  bool swaps_weights = false;
};

// Those that the library has an implementation of; convolutions in f32 by Winograd's algorithm too. A convolution that
// is followed by a normalization takes a bias and does the ReLU; its scales are in the weights in f32, an operation
// after the sums in bf16, and output scales where sums are integers (fold_normalization.h). What is requantized takes
// the library's output scales. `parameters`: of the workload.
std::vector<Plan> MakePlans(const Workload& workload, const PlainDescriptors& plain, const runtime::Tensor& parameters,
                            const dnnl::engine& engine);

// The same weights with their two dimensions called the other way round: an inner product's are [n, k]. The memory
// stays.
dnnl::memory::desc SwapDimensions(const dnnl::memory::desc& plain);

}  // namespace tilewright::bench
