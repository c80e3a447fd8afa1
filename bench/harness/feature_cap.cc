#include "bench/harness/feature_cap.h"

#include <algorithm>
#include <cstdlib>

namespace tilewright::bench {
namespace {

constexpr char kCapVariable[] = "TILEWRIGHT_HOST_FEATURES";

// A cap by the names that the peers have for it.
struct PeerNames {
  std::string_view cap;
  const char* onednn;
  const char* openblas;
  const char* pytorch;
  const char* xla;
  const char* iree;
};
constexpr PeerNames kPeerNames[] = {
    {"avx2", "AVX2", "Haswell", "avx2", "AVX2", "x86-64-v3"},
    {"avx512", "AVX512_CORE", "SkylakeX", "avx512", "AVX512", "x86-64-v4"},
    {"avx512vnni", "AVX512_CORE_VNNI", "SkylakeX", "avx512", "AVX512_VNNI", "cascadelake"},
};

// Peers that look at the CPU and at nothing else.
constexpr std::string_view kWithoutSwitch[] = {"xnnpack", "onnxruntime", "openvino", "tvm"};

std::string_view Cap() {
  const char* cap = std::getenv(kCapVariable);
  return cap == nullptr ? "" : cap;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> PeerSwitches() {
  const auto* const names = std::ranges::find(kPeerNames, Cap(), &PeerNames::cap);
  if (names == std::ranges::end(kPeerNames)) return {};
  return {{"DNNL_MAX_CPU_ISA", names->onednn},
          {"ONEDNN_MAX_CPU_ISA", names->onednn},
          {"OPENBLAS_CORETYPE", names->openblas},
          {"ATEN_CPU_CAPABILITY", names->pytorch},
          {"XLA_FLAGS", std::string("--xla_cpu_max_isa=") + names->xla},
          {"TILEWRIGHT_IREE_CPU", names->iree}};
}

std::string WhyNotCapped(std::string_view peer) {
  const std::string_view cap = Cap();
  if (cap.empty() || std::ranges::find(kWithoutSwitch, peer) == std::ranges::end(kWithoutSwitch)) return "";
  return "takes features that " + std::string(kCapVariable) + "=" + std::string(cap) + " hides";
}

}  // namespace tilewright::bench
