// Peers that live in processes of their own, such as Python packages (bench/peers).
//
// The process answers requests, a line of JSON each (bench/peers/README.md); it is started when the first workload is
// prepared and stays. Inputs and outputs go through .npy files. A block of runs is timed there, by the rules of
// measure.h, so what it takes to ask is not in the samples. Between its blocks the process is stopped: whatever threads
// it has wait without using a CPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/operators/implementation.h"

namespace tilewright::bench {

// `command`: a program and its first arguments; --threads=2 and --cpus=0,1 follow. A process that does not start, ends,
// or does not answer is an error of the workload; the next one gets a fresh process.
std::unique_ptr<Implementation> MakeWorkerPeer(std::string name, std::vector<std::string> command);

}  // namespace tilewright::bench
