#include "codegen/runtime/loaded_module.h"

#include <dlfcn.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <string>
#include <string_view>

#include "codegen/abi/c_symbol.h"

namespace tilewright::runtime {
namespace {

#if defined(__x86_64__)
bool HasFeature(std::string_view name) {
#define TW_FEATURE(feature) \
  if (name == feature) return __builtin_cpu_supports(feature)
  TW_FEATURE("sse4.2");
  TW_FEATURE("popcnt");
  TW_FEATURE("avx");
  TW_FEATURE("avx2");
  TW_FEATURE("fma");
  TW_FEATURE("f16c");
  TW_FEATURE("bmi");
  TW_FEATURE("bmi2");
  TW_FEATURE("avx512f");
  TW_FEATURE("avx512bw");
  TW_FEATURE("avx512cd");
  TW_FEATURE("avx512dq");
  TW_FEATURE("avx512vl");
  TW_FEATURE("avx512vbmi");
  TW_FEATURE("avx512vnni");
  TW_FEATURE("avx512bf16");
  TW_FEATURE("avx512fp16");
  TW_FEATURE("avx512vp2intersect");
  TW_FEATURE("avxvnni");
  TW_FEATURE("amx-tile");
  TW_FEATURE("amx-int8");
  TW_FEATURE("amx-bf16");
#undef TW_FEATURE
  return false;
}
constexpr std::string_view kArchitecture = "x86_64";
#elif defined(__aarch64__)
// Linux tells by bits of the auxiliary vector; these are the features that presets of targets name.
bool HasFeature(std::string_view name) {
  const unsigned long bits = getauxval(AT_HWCAP), more_bits = getauxval(AT_HWCAP2);
  if (name == "neon") return bits & HWCAP_ASIMD;
  if (name == "dotprod") return bits & HWCAP_ASIMDDP;
  if (name == "fullfp16") return bits & HWCAP_ASIMDHP;
  if (name == "sve") return bits & HWCAP_SVE;
  if (name == "bf16") return more_bits & (1UL << 14);
  if (name == "i8mm") return more_bits & (1UL << 13);
  return false;
}
constexpr std::string_view kArchitecture = "aarch64";
#endif

}  // namespace

std::string MissingFeature(const std::string& features) {
  for (size_t begin = 0; begin < features.size();) {
    const size_t end = std::min(features.find(',', begin), features.size());
    const std::string name = features.substr(begin, end - begin);
    if (!name.empty() && !HasFeature(name)) return name;
    begin = end + 1;
  }
  return "";
}

void LoadedModule::Close::operator()(void* library) const { dlclose(library); }

std::optional<LoadedModule> LoadedModule::Open(const std::string& path, std::string* error) {
  // A name without a slash would be searched for in system folders.
  const std::string file = path.find('/') == path.npos ? "./" + path : path;
  LoadedModule module(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (module.library_ == nullptr) {
    *error = dlerror();
    return std::nullopt;
  }
  const auto* features = static_cast<const char*>(dlsym(module.library_.get(), "tw_required_features"));
  if (features == nullptr) {
    *error = path + " is not a library of compiled tensor programs: it lacks tw_required_features";
    return std::nullopt;
  }
  // Libraries without it are of version 1.
  const auto* version = static_cast<const int32_t*>(dlsym(module.library_.get(), "tw_abi_version"));
  if (version != nullptr && *version != TW_ABI_VERSION) {
    *error = path + " has version " + std::to_string(*version) +
             " of the C interface, and this program calls version " + std::to_string(TW_ABI_VERSION);
    return std::nullopt;
  }
  // "x86_64:avx2,fma"
  const std::string_view all(features);
  const size_t colon = std::min(all.find(':'), all.size() - 1);
  std::string missing = MissingFeature(std::string(all.substr(colon + 1)));
  if (all.substr(0, colon) != kArchitecture) missing = std::string(all.substr(0, colon));
  if (!missing.empty()) {
    *error = path + " was compiled for a processor with " + missing + ", which this machine lacks";
    return std::nullopt;
  }
  return module;
}

TwFunction LoadedModule::Find(const std::string& name) const {
  return reinterpret_cast<TwFunction>(dlsym(library_.get(), CSymbol(name).c_str()));
}

TwUncheckedFunction LoadedModule::FindUnchecked(const std::string& name) const {
  return reinterpret_cast<TwUncheckedFunction>(dlsym(library_.get(), (name + "_unchecked").c_str()));
}

int64_t LoadedModule::WorkspaceBytes(const std::string& name) const {
  const auto function = reinterpret_cast<TwWorkspaceBytes>(dlsym(library_.get(), (name + "_workspace_bytes").c_str()));
  return function == nullptr ? 0 : function();
}

}  // namespace tilewright::runtime
