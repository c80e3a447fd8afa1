#include "schedule/loops/loop_kind.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest_names.h"
#include "base/status_macros.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_independence.h"
#include "schedule/program/loop_tree.h"
#include "verify/structure/loop_kinds.h"

namespace tilewright {
namespace {

Function WithKind(const Function& function, const ForNode& loop, ForKind kind, std::string thread = "") {
  ForNode::Fields fields = loop.fields();
  fields.kind = kind;
  fields.thread_tag = std::move(thread);
  return ReplaceIn(function, &loop, For(std::move(fields)), function->next_id);
}

// All on the path, of all scopes.
std::vector<const ForNode*> LoopsOf(const Path& path) {
  std::vector<const ForNode*> loops;
  for (const Stmt& s : path) {
    if (const auto* loop = dyn_cast<ForNode>(s)) loops.push_back(loop);
  }
  return loops;
}

Outcome<Function> RunAtOnce(const char* primitive, const Function& function, uint32_t id, ForKind kind,
                            std::string thread = "") {
  TW_ASSIGN_OR_RETURN(Path path, PathToLoop(primitive, function, id));
  const ForNode& loop = *cast<ForNode>(path.back());
  const bool reductions_too = thread.starts_with("threadIdx");
  if (auto refusal = WhyIterationsAreNotParallel(primitive, function, loop, kind, reductions_too)) return *refusal;
  if (kind != ForKind::kThreadBound && HoldsBarrier(LoopsOf(path), loop.body)) {
    return Refusal{primitive, "threads meet inside of {loop0}, at a barrier or at a loop over them", {id}};
  }
  return WithKind(function, loop, kind, std::move(thread));
}

const std::vector<std::string>& Threads() {
  static const auto* const threads = new std::vector<std::string>{
      "blockIdx.x",      "blockIdx.y",  "blockIdx.z",  "clusterCtaIdx.x", "clusterCtaIdx.y",
      "clusterCtaIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",     "vthread",
      "vthread.x",       "vthread.y",   "vthread.z"};
  return *threads;
}

}  // namespace

Outcome<Function> Parallel(const Function& function, uint32_t loop) {
  return RunAtOnce("parallel", function, loop, ForKind::kParallel);
}

Outcome<Function> Vectorize(const Function& function, uint32_t loop) {
  return RunAtOnce("vectorize", function, loop, ForKind::kVectorized);
}

Outcome<Function> Bind(const Function& function, uint32_t loop, std::string_view thread) {
  if (std::ranges::find(Threads(), thread) == Threads().end()) {
    const std::string near = DidYouMean(thread, Threads());
    return Refusal{"bind", "there is no thread axis {text0}{text1}", {loop}, {}, {std::string(thread), near}};
  }
  return RunAtOnce("bind", function, loop, ForKind::kThreadBound, std::string(thread));
}

Outcome<Function> Unroll(const Function& function, uint32_t loop) {
  TW_ASSIGN_OR_RETURN(Path path, PathToLoop("unroll", function, loop));
  return WithKind(function, *cast<ForNode>(path.back()), ForKind::kUnrolled);
}

}  // namespace tilewright
