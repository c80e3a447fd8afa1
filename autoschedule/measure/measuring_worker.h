// The measuring worker: runs compiled candidates and says how long they take (protocol.h), itself or by a worker
// elsewhere. It links what a deployed program links, no compiler and no schedule. The last ones that were right stay
// ready: a search measures its best candidates again and again.
#pragma once

#include <functional>
#include <string>

#include "autoschedule/measure/protocol/protocol.h"

namespace tilewright {

// Answers lines of the protocol, one after the other.
std::function<WorkerAnswer(const std::string& line)> MeasuringWorker();

}  // namespace tilewright
