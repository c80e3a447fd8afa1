#include "codegen/cuda/emulator/global_memory.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "codegen/cuda/emulator/shadow.h"

namespace tilewright::emulator {

void GlobalMemory::Add(std::string name, void* first, size_t bytes, Use use) {
  auto array = std::make_unique<Array>();
  array->name = std::move(name);
  array->begin = static_cast<std::byte*>(first);
  array->bytes = bytes;
  array->use = use;
  arrays_.push_back(std::move(array));
}

void GlobalMemory::BeginLaunch() {
  for (auto& array : arrays_) {
    if (array->use == kInput) continue;
    array->shadow = std::make_unique<Shadow>(array->bytes, array->use == kInOut);
    if (array->use == kOutput) std::memset(array->begin, 0xff, array->bytes);
  }
}

GlobalMemory::Array* GlobalMemory::Find(const void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  Array* ends_here = nullptr;
  for (auto& array : arrays_) {
    if (at >= array->begin && at < array->begin + array->bytes) return array.get();
    if (at == array->begin + array->bytes) ends_here = array.get();
  }
  return ends_here;
}

GlobalMemory::Array* GlobalMemory::Nearest(const void* address, size_t distance) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  Array* nearest = nullptr;
  for (auto& array : arrays_) {
    const auto begin = reinterpret_cast<uintptr_t>(array->begin), end = begin + array->bytes;
    if (at >= begin && at < end) return array.get();
    const uintptr_t away = at < begin ? begin - at : at - end;
    if (away > distance) continue;
    distance = away;
    nearest = array.get();
  }
  return nearest;
}

}  // namespace tilewright::emulator
