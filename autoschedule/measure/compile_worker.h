// The compile worker: compiles candidates to shared libraries, or for GPUs, and computes references (protocol.h).
#pragma once

#include <string>

namespace tilewright {

// The answer to a line of the protocol; a request that fails is answered by what failed.
std::string AnswerCompileRequest(const std::string& line);

}  // namespace tilewright
