// oneDNN, in the ways in which it can be asked for the same result:
//
//   plain          activations in the layouts of the workload, weights packed ahead of time as the library likes
//   any            activations too in the layouts that the library likes; converting them is not timed
//   inner_product  a GMM of one batch as a fully connected layer, activations plain
#pragma once

#include <memory>

#include "bench/operators/implementation.h"

namespace tilewright::bench {

std::unique_ptr<Implementation> MakeOneDnn();

}  // namespace tilewright::bench
