// Calls a function of a library as a program would that knows the C interface alone: nothing of the compiler is linked.
//
//   call_library LIBRARY FUNCTION PLACE CALLS ARGUMENT...
//
// PLACE is "cpu", "gpu" (arrays in the driver's memory, no stream) or "stream" (the same with a stream and a
// workspace). Each ARGUMENT is a file: code, bits, whether it is an array, rank and extents as int64, then the
// elements. After the calls they are in ARGUMENT.out. Prints code and message of the last call, and what each has cost.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "codegen/abi/function_abi.h"
#include "codegen/cuda/driver.h"
#include "codegen/cuda/host/testing/driver_counts.h"

namespace {

using tilewright::cuda::Driver;

struct Argument {
  std::string path, elements;
  std::vector<int64_t> shape;
  TwTensor tensor = {};
  char* aligned = nullptr;
};

constexpr size_t kAlignment = 256;

void Read(const std::string& path, Argument& argument) {
  std::ifstream stream(path, std::ios::binary);
  int64_t head[4] = {};
  stream.read(reinterpret_cast<char*>(head), sizeof head);
  argument.shape.resize(static_cast<size_t>(head[3]));
  stream.read(reinterpret_cast<char*>(argument.shape.data()), static_cast<std::streamsize>(head[3] * 8));
  argument.elements.assign(std::istreambuf_iterator<char>(stream), {});
  argument.path = path;
  const size_t bytes = (argument.elements.size() / kAlignment + 1) * kAlignment;
  argument.aligned = static_cast<char*>(std::aligned_alloc(kAlignment, bytes));
  argument.elements.copy(argument.aligned, argument.elements.size());
  argument.tensor = {.data = argument.aligned,
                     .device = {kTwCpu, head[2] != 0},
                     .ndim = static_cast<int32_t>(head[3]),
                     .dtype = {static_cast<uint8_t>(head[0]), static_cast<uint8_t>(head[1]), 1},
                     .shape = argument.shape.data()};
}

int Fail(const std::string& why) {
  std::printf("%s\n", why.c_str());
  return 2;
}

void PrintCounts(const TwDriverCounts& before, const TwDriverCounts& after) {
  std::printf("allocations %ld copies_in %ld copies_out %ld launches %ld", after.allocations - before.allocations,
              after.copies_in - before.copies_in, after.copies_out - before.copies_out,
              after.launches - before.launches);
  std::printf(" graphs %ld graph_launches %ld dependent %ld\n", after.graphs - before.graphs,
              after.graph_launches - before.graph_launches, after.dependent_launches - before.dependent_launches);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return Fail("usage: call_library LIBRARY FUNCTION PLACE CALLS ARGUMENT...");
  const std::string place = argv[3];
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Fail(dlerror());
  const auto function = reinterpret_cast<TwFunction>(dlsym(library, argv[2]));
  const std::string name = std::string(argv[2]).starts_with("tw_") ? argv[2] + 3 : argv[2];
  const auto workspace = reinterpret_cast<TwWorkspaceBytes>(dlsym(library, (name + "_workspace_bytes").c_str()));
  if (function == nullptr || workspace == nullptr) return Fail("the library lacks the function");
  std::vector<Argument> arguments(static_cast<size_t>(argc - 5));
  std::vector<TwTensor*> tensors;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Read(argv[i + 5], arguments[i]);
    tensors.push_back(&arguments[i].tensor);
  }
  char message[1024] = "";
  TwCall call = {.message = message, .message_bytes = sizeof message};
  std::string error;
  const Driver* driver = nullptr;
  if (place != "cpu") {
    driver = Driver::Open(&error);
    if (driver == nullptr) return Fail(error);
  }
  for (Argument& argument : arguments) {
    const bool is_array = argument.tensor.device.device_id != 0;
    argument.tensor.device.device_id = 0;
    if (driver == nullptr || !is_array) continue;
    if (driver->Allocate(argument.elements.size(), &argument.tensor.data) != 0) return Fail("no memory");
    driver->CopyToDevice(argument.tensor.data, argument.aligned, argument.elements.size());
    argument.tensor.device = {kTwCuda, 0};
  }
  if (place == "stream") {
    call.workspace_bytes = workspace();
    driver->CreateStream(&call.stream);
    driver->Allocate(static_cast<size_t>(call.workspace_bytes), &call.workspace);
  }
  int code = 0;
  for (int i = 0; i < std::atoi(argv[4]); ++i) {
    const auto counts = reinterpret_cast<TwDriverCountsFunction>(dlsym(RTLD_DEFAULT, "tw_driver_counts"));
    const TwDriverCounts before = counts != nullptr ? *counts() : TwDriverCounts{};
    message[0] = 0;
    code = function(&call, tensors.data(), static_cast<int32_t>(tensors.size()));
    const auto now = reinterpret_cast<TwDriverCountsFunction>(dlsym(RTLD_DEFAULT, "tw_driver_counts"));
    if (now != nullptr) PrintCounts(before, *now());
  }
  if (call.stream != nullptr) driver->Synchronize(call.stream);
  for (Argument& argument : arguments) {
    if (argument.tensor.device.device_type == kTwCuda) {
      driver->CopyToHost(argument.aligned, argument.tensor.data, argument.elements.size());
    }
    std::ofstream(argument.path + ".out", std::ios::binary)
        .write(argument.aligned, static_cast<std::streamsize>(argument.elements.size()));
  }
  std::printf("code %d: %s\n", code, message);
  return 0;
}
