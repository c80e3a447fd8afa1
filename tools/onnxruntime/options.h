// The provider's options of a session: `add_provider_for_devices(devices, {"threads": "4"})` in Python, or the
// session's configuration entries "ep.tilewright.NAME".
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graph/rewrite/pass.h"

namespace tilewright::onnxruntime {

struct ProviderOptions {
  int threads = 0;        // 0: one for each processor
  std::string cache_dir;  // of kernels; empty: as TILEWRIGHT_KERNEL_CACHE says; "off": none
  // Sets of fewer nodes stay with ONNX Runtime.
  int min_nodes = 2;
  graph::PassContext passes = {};  // precision and opt_level
};

// From texts by name. Errors name the option that there is not, or the value that it does not take.
absl::StatusOr<ProviderOptions> ReadOptions(const std::map<std::string, std::string>& texts);

}  // namespace tilewright::onnxruntime
