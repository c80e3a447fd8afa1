// The measuring worker of GPUs: runs candidates on a GPU and says how long they take (protocol.h). Kernels come
// compiled; the worker lowers the candidate once more to know how they are launched. A device that reports an error is
// of no use to the process any more: it ends, and another one takes its place.
#pragma once

#include <functional>
#include <string>

#include "autoschedule/measure/protocol/protocol.h"

namespace tilewright {

// Answers lines of the protocol, one after the other. `emulate`: candidates run in the CUDA emulator, for tests where
// there is no GPU.
std::function<WorkerAnswer(const std::string& line)> GpuMeasuringWorker(bool emulate);

}  // namespace tilewright
