// oneDNN, in the ways in which it can be asked for the same result:
//
//   plain          activations in the layouts of the workload, weights packed ahead of time as the library likes
//   any            activations too in the layouts that the library likes; converting them is not timed
//   inner_product  a GMM of one batch as a fully connected layer, activations plain
#ifndef TILEWRIGHT_BENCH_PEER_ONEDNN_H_
#define TILEWRIGHT_BENCH_PEER_ONEDNN_H_

#include <memory>

#include "bench/implementation.h"

namespace tilewright::bench {

std::unique_ptr<Implementation> MakeOneDnn();

}  // namespace tilewright::bench

#endif  // TILEWRIGHT_BENCH_PEER_ONEDNN_H_
