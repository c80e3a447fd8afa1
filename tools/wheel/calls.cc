// The Python module tilewright._calls: compiled libraries, called on whatever DLPack describes.
//
//   library = _calls.Library("/tmp/gemm.so", threads=0)           # 0: one for each CPU
//   library.call("main", [a, b, c], [False, False, True])         # tensors; whether each may be written
//
// Compiled functions take compact arrays whose elements begin at a multiple of 64 bytes (docs/abi.md). Other arrays of
// the CPU are copied, and back where they may be written. Those of other devices are passed as they are.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "codegen/abi/function_abi.h"
#include "codegen/runtime/loaded_module.h"
#include "codegen/runtime/thread_pool.h"

namespace nb = nanobind;
namespace runtime = tilewright::runtime;

namespace {

using Array = nb::ndarray<nb::ro>;

constexpr size_t kAlignment = 64;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

Memory Allocate(size_t bytes) {
  void* memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment);
  if (memory == nullptr) throw std::bad_alloc();
  return Memory(memory);
}

// One argument of a call: the caller's memory, or an aligned copy of it.
class Argument {
 public:
  Argument(const Array& array, bool written) : array_(array), written_(written) {
    for (size_t d = 0; d < array.ndim(); ++d) {
      shape_.push_back(array.shape(d));
      strides_.push_back(array.stride(d));
    }
    const auto dtype = array.dtype();
    tensor_ = {.data = const_cast<void*>(array.data()),
               .device = {array.device_type(), array.device_id()},
               .ndim = static_cast<int32_t>(array.ndim()),
               .dtype = {dtype.code, dtype.bits, dtype.lanes},
               .shape = shape_.data(),
               .strides = nullptr,
               .byte_offset = 0};
    const bool aligned = reinterpret_cast<uintptr_t>(tensor_.data) % kAlignment == 0;
    if (tensor_.device.device_type != kTwCpu || (aligned && IsCompact())) {
      tensor_.strides = tensor_.device.device_type == kTwCpu ? nullptr : strides_.data();
      return;
    }
    copy_ = Allocate(array.size() * ElementBytes());
    theirs_ = static_cast<char*>(tensor_.data);
    tensor_.data = copy_.get();
    char* ours = static_cast<char*>(copy_.get());
    Copy(0, theirs_, &ours, true);
  }

  TwTensor* tensor() { return &tensor_; }
  void Finish() {
    if (!copy_ || !written_) return;
    char* ours = static_cast<char*>(copy_.get());
    Copy(0, theirs_, &ours, false);
  }

 private:
  size_t ElementBytes() const { return (size_t{tensor_.dtype.bits} * tensor_.dtype.lanes + 7) / 8; }
  bool IsCompact() const {
    int64_t expected = 1;
    for (size_t d = shape_.size(); d-- > 0;) {
      if (shape_[d] != 1 && strides_[d] != expected) return false;
      expected *= shape_[d];
    }
    return true;
  }
  // Copies the dimensions from d on between `theirs` and the compact `ours`, which moves on.
  void Copy(size_t d, char* theirs, char** ours, bool in) {
    const size_t bytes = ElementBytes();
    if (d == shape_.size()) {
      std::memcpy(in ? *ours : theirs, in ? theirs : *ours, bytes);
      *ours += bytes;
      return;
    }
    const bool row = d + 1 == shape_.size() && strides_[d] == 1;
    if (row) {
      const size_t all = static_cast<size_t>(shape_[d]) * bytes;
      std::memcpy(in ? *ours : theirs, in ? theirs : *ours, all);
      *ours += all;
      return;
    }
    for (int64_t i = 0; i < shape_[d]; ++i) {
      Copy(d + 1, theirs + i * strides_[d] * static_cast<int64_t>(bytes), ours, in);
    }
  }

  Array array_;
  bool written_;
  std::vector<int64_t> shape_, strides_;
  TwTensor tensor_ = {};
  Memory copy_;
  char* theirs_ = nullptr;
};

class Library {
 public:
  Library(const std::string& path, int threads) : pool_({.num_threads = threads, .pin_workers = false}) {
    std::string error;
    module_ = runtime::LoadedModule::Open(path, &error);
    if (!module_) throw std::runtime_error(error);
  }

  bool Has(const std::string& name) const { return module_->Find(name) != nullptr; }

  // Returns the code of the call and its sentence. `constant_workspace`: its size does not depend on extents.
  std::pair<int, std::string> Call(const std::string& name, const std::vector<Array>& arrays,
                                   const std::vector<bool>& written, bool constant_workspace) {
    const TwFunction function = module_->Find(name);
    if (function == nullptr) throw std::runtime_error("the library has no function " + name);
    std::vector<std::unique_ptr<Argument>> arguments;
    std::vector<TwTensor*> tensors;
    for (size_t i = 0; i < arrays.size(); ++i) {
      arguments.push_back(std::make_unique<Argument>(arrays[i], written[i]));
      tensors.push_back(arguments.back()->tensor());
    }
    const int64_t bytes = constant_workspace ? module_->WorkspaceBytes(name) : 0;
    const TwParallelHook hook = pool_.hook();
    std::string message(512, '\0');
    int code = 0;
    {
      const nb::gil_scoped_release released;
      // Kept from the last call of this thread: new pages are cleared by the system each time.
      thread_local Memory workspace;
      thread_local int64_t workspace_bytes = 0;
      if (bytes > workspace_bytes) {
        workspace = Allocate(static_cast<size_t>(bytes));
        workspace_bytes = bytes;
      }
      const TwCall call = {.parallel = &hook,
                           .workspace = bytes > 0 ? workspace.get() : nullptr,
                           .workspace_bytes = bytes > 0 ? workspace_bytes : 0,
                           .message = message.data(),
                           .message_bytes = static_cast<int64_t>(message.size())};
      code = function(&call, tensors.data(), static_cast<int32_t>(tensors.size()));
      for (const auto& argument : arguments) argument->Finish();
    }
    message.resize(std::strlen(message.c_str()));
    return {code, message};
  }

 private:
  runtime::ThreadPool pool_;
  std::optional<runtime::LoadedModule> module_;
};

}  // namespace

NB_MODULE(_calls, m) {
  m.doc() = "Compiled libraries, called on whatever DLPack describes.";
  nb::class_<Library>(m, "Library")
      .def(nb::init<const std::string&, int>(), nb::arg("path"), nb::arg("threads") = 0)
      .def("has", &Library::Has, nb::arg("name"))
      .def(
          "call",
          [](Library& library, const std::string& name, const std::vector<Array>& arrays,
             const std::vector<bool>& written, bool constant_workspace) {
            const auto [code, message] = library.Call(name, arrays, written, constant_workspace);
            return nb::make_tuple(code, message);
          },
          nb::arg("name"), nb::arg("arrays"), nb::arg("written"), nb::arg("constant_workspace") = false);
  m.attr("error_type") = static_cast<int>(kTwErrorType);
  m.attr("error_count") = static_cast<int>(kTwErrorArgumentCount);
  m.attr("first_error_of_runs") = static_cast<int>(kTwErrorMemory);
}
