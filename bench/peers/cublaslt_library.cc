#include "bench/peers/cublaslt_library.h"

#include <dlfcn.h>

#include <type_traits>

namespace tilewright::bench {
namespace {

bool Load(CublasLtLibrary& library, std::string* error) {
  void* file = nullptr;
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"}) {
    if (file == nullptr) file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (file == nullptr) {
    *error = "not installed: there is no libcublasLt.so that the system finds";
    return false;
  }
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
    if (function == nullptr) missing = name;
  };
  find("cublasLtGetVersion", library.version);
  find("cublasLtCreate", library.create);
  find("cublasLtMatmulDescCreate", library.desc_create);
  find("cublasLtMatmulDescDestroy", library.desc_destroy);
  find("cublasLtMatmulDescSetAttribute", library.desc_set);
  find("cublasLtMatrixLayoutCreate", library.layout_create);
  find("cublasLtMatrixLayoutDestroy", library.layout_destroy);
  find("cublasLtMatrixLayoutSetAttribute", library.layout_set);
  find("cublasLtMatmulPreferenceCreate", library.preference_create);
  find("cublasLtMatmulPreferenceDestroy", library.preference_destroy);
  find("cublasLtMatmulPreferenceSetAttribute", library.preference_set);
  find("cublasLtMatmulAlgoGetHeuristic", library.heuristics);
  find("cublasLtMatmul", library.matmul);
  if (missing != nullptr) *error = std::string("libcublasLt has no ") + missing;
  return missing == nullptr;
}

}  // namespace

const CublasLtLibrary* CublasLtLibrary::Open(std::string* error) {
  struct Opened {
    CublasLtLibrary library;
    std::string error;
    bool ok = Load(library, &error);
  };
  static const auto* opened = new Opened;
  if (!opened->ok) *error = opened->error;
  return opened->ok ? &opened->library : nullptr;
}

}  // namespace tilewright::bench
