// What operators of graph/host/host_ops.h share: memory that is not cleared first, and loops in parallel.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "codegen/abi/parallel_hook.h"
#include "ir/ndarray.h"

namespace tilewright::graph {

// Memory that the caller writes, aligned as arrays are.
inline std::shared_ptr<std::byte[]> UnwrittenBytes(int64_t bytes) {
  constexpr std::align_val_t kAlignment{64};
  // One byte past an empty array keeps the pointer valid.
  auto* const memory = static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes) + 1, kAlignment));
  return {memory, [](std::byte* p) { ::operator delete(p, kAlignment); }};
}

// An array whose elements the caller writes, all of them.
inline NDArray Unwritten(DataType dtype, std::vector<int64_t> shape) {
  int64_t bytes = dtype.bytes();
  for (int64_t extent : shape) bytes *= extent;
  return {dtype, std::move(shape), UnwrittenBytes(bytes)};
}

// `body(begin, end)` on parts of [0, extent), in parallel where all of it is at least some thousand operations: less
// takes no longer than the other threads need to begin.
template <class Body>
void ForParts(const TwParallelHook* parallel, int64_t extent, int64_t operations, const Body& body) {
  constexpr int64_t kWorthwhile = 8'192;
  const auto run = [](int64_t begin, int64_t end, void* closure) { (*static_cast<const Body*>(closure))(begin, end); };
  tw_parallel_for(operations < kWorthwhile ? nullptr : parallel, run, const_cast<Body*>(&body), extent, 0);
}

}  // namespace tilewright::graph
