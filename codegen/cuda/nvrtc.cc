#include "codegen/cuda/nvrtc.h"

#include <dlfcn.h>

#include <vector>

#include "absl/strings/str_cat.h"

namespace tilewright::cuda {
namespace {

using Handle = void*;

// The part of nvrtc.h that is used here.
struct Nvrtc {
  int (*create)(Handle*, const char* text, const char* name, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Handle, int, const char* const*) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*log_size)(Handle, size_t*) = nullptr;
  int (*log)(Handle, char*) = nullptr;
  int (*ptx_size)(Handle, size_t*) = nullptr;
  int (*ptx)(Handle, char*) = nullptr;
  int (*cubin_size)(Handle, size_t*) = nullptr;
  int (*cubin)(Handle, char*) = nullptr;
  bool complete = false;
};

constexpr const char* kLibraries[] = {"libnvrtc.so.13",
                                      "libnvrtc.so.12",
                                      "libnvrtc.so",
                                      "/usr/local/cuda/lib64/libnvrtc.so",
                                      "/usr/local/cuda/lib64/libnvrtc.so.13",
                                      "/usr/local/cuda/lib64/libnvrtc.so.12"};

Nvrtc Open() {
  Nvrtc found;
  void* library = nullptr;
  for (const char* name : kLibraries) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return found;
  found.complete = true;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    found.complete = found.complete && function != nullptr;
  };
  find("nvrtcCreateProgram", found.create);
  find("nvrtcCompileProgram", found.compile);
  find("nvrtcDestroyProgram", found.destroy);
  find("nvrtcGetProgramLogSize", found.log_size);
  find("nvrtcGetProgramLog", found.log);
  find("nvrtcGetPTXSize", found.ptx_size);
  find("nvrtcGetPTX", found.ptx);
  find("nvrtcGetCUBINSize", found.cubin_size);
  find("nvrtcGetCUBIN", found.cubin);
  return found;
}

const Nvrtc& Library() {
  static const Nvrtc library = Open();
  return library;
}

std::string Read(Handle program, int (*size)(Handle, size_t*), int (*get)(Handle, char*)) {
  size_t bytes = 0;
  if (size(program, &bytes) != 0) return "";
  std::string text(bytes, '\0');
  if (bytes > 0) get(program, text.data());
  return text;
}

}  // namespace

bool NvrtcIsInstalled() { return Library().complete; }

absl::StatusOr<NvrtcResult> CompileWithNvrtc(const std::string& text, std::string_view architecture,
                                             bool many_registers) {
  const Nvrtc& nvrtc = Library();
  if (!nvrtc.complete) {
    return absl::FailedPreconditionError("NVRTC (libnvrtc.so of CUDA 12 or 13) is not installed on this machine");
  }
  Handle program = nullptr;
  if (nvrtc.create(&program, text.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0) {
    return absl::InternalError("NVRTC cannot create a program");
  }
  const std::string target = absl::StrCat("--gpu-architecture=", std::string(architecture));
  std::vector<const char*> options = {target.c_str(), "--std=c++17", "--ptxas-options=-v", "-default-device"};
  if (many_registers) options.push_back("--ptxas-options=--register-usage-level=10");
  const int code = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  NvrtcResult result;
  result.log = Read(program, nvrtc.log_size, nvrtc.log);
  while (!result.log.empty() && result.log.back() == '\0') result.log.pop_back();
  const bool is_ptx = architecture.starts_with("compute_");
  if (code == 0) {
    result.binary = is_ptx ? Read(program, nvrtc.ptx_size, nvrtc.ptx) : Read(program, nvrtc.cubin_size, nvrtc.cubin);
    if (is_ptx && !result.binary.empty() && result.binary.back() == '\0') result.binary.pop_back();
  }
  nvrtc.destroy(&program);
  if (code != 0) return absl::InvalidArgumentError(absl::StrCat("NVRTC refuses the text of the kernels: ", result.log));
  return result;
}

}  // namespace tilewright::cuda
