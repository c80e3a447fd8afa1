// Libraries for AArch64 under the emulator in which this compiler's code for that machine runs: instructions in place
// of times.
#pragma once

#include <memory>
#include <string_view>

#include "bench/operators/implementation.h"
#include "target/target.h"

namespace tilewright::bench {

// "xnnpack" or "acl"; null for other names. Where setup.sh has not made the library, or the emulator is missing, the
// report says so.
std::unique_ptr<Implementation> MakeEmulatedPeer(std::string_view name, const Target& target);

}  // namespace tilewright::bench
