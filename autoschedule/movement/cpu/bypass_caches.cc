#include "autoschedule/movement/cpu/bypass_caches.h"

#include <algorithm>
#include <cstdint>

#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"
#include "ir/annotations.h"

namespace tilewright {
namespace {

using Done = std::monostate;

int64_t BytesOfParams(const Function& function) {
  int64_t bytes = 0;
  for (const Param& param : function->params) bytes += param.buffer ? BytesOf(param.buffer) : 0;
  return bytes;
}

// The bytes of a cache level, all cores together.
int64_t CacheBytes(const Target& target, size_t level) {
  if (target.levels.size() <= level) return INT64_MAX;
  const MemoryLevel& cache = target.levels[level];
  return cache.bytes * std::max(target.cores / std::max(cache.shared_by, 1), 1);
}

// A choice for functions with more than `bytes` of parameters.
Outcome<Done> Choose(Schedule& sch, LoopRv loop, int64_t bytes, const std::string& choice, const char* meaning,
                     const char* annotation, Choices& choices) {
  if (BytesOfParams(FunctionOf(sch, loop)) <= bytes) return Done();
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick, choices.Take(sch, choice, {0, 1}, 1, {{"plain"}, {meaning}}));
  if (pick.value == 0) return Done();
  return sch.Annotate(loop, annotation, Value(1));
}

}  // namespace

Outcome<Done> ChooseStreaming(Schedule& sch, LoopRv loop, const std::string& name, const Target& target,
                              Choices& choices) {
  const int64_t last_level = CacheBytes(target, target.levels.size() - 1);
  return Choose(sch, loop, last_level / 8 * 3, name + ".stream", "streamed", kStream, choices);
}

Outcome<Done> ChoosePrefetching(Schedule& sch, LoopRv loop, const std::string& name, const Target& target,
                                Choices& choices) {
  return Choose(sch, loop, CacheBytes(target, 1), name + ".prefetch", "fetched_ahead", kPrefetchNext, choices);
}

}  // namespace tilewright
