// The peers of bench/peers: Python packages in a virtual environment that bench/peers/setup.sh makes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/operators/implementation.h"
#include "target/target.h"

namespace tilewright::bench {

// "onnxruntime", "pytorch", "tvm", "iree" or "xla"; null for any other name. One that is not installed says so when it
// is to prepare a workload. The environment is in the folder that the variable TILEWRIGHT_PEERS names, and otherwise in
// ~/.cache/tilewright/peers.
std::unique_ptr<Implementation> MakePythonPeer(std::string_view name);

// The command that serves a peer (bench/peers/worker.h); an error says what is missing.
absl::StatusOr<std::vector<std::string>> PythonPeerCommand(std::string_view name);
// The same in an emulator of the target's processor, with a Python and packages for its architecture, which lie in a
// folder of its name in the environment's. `counter`: a file whose first 8 bytes are to count instructions.
absl::StatusOr<std::vector<std::string>> EmulatedPeerCommand(std::string_view name, const Target& target,
                                                             const std::string& counter);

}  // namespace tilewright::bench
