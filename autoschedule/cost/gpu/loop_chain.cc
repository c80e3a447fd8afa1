#include "autoschedule/cost/gpu/loop_chain.h"

#include <algorithm>

#include "ir/annotations.h"

namespace tilewright {
namespace {

// The last stage of a pipeline: so many iterations before its use data are asked for.
double StagesOf(const ForNode& loop) {
  double stages = 1;
  const auto found = loop.annotations.find(kPipelineStage);
  if (found == loop.annotations.end()) return stages;
  const auto* list = std::get_if<Annotation::List>(&found->second.value);
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto* number = std::get_if<Expr>(&(*list)[i].value);
    if (number != nullptr) stages = std::max(stages, static_cast<double>(AsInt(*number).value_or(1)));
  }
  return stages;
}

}  // namespace

bool IsLoopOverThreads(const LoopFacts& loop) { return loop.loop->thread_tag.starts_with("threadIdx"); }

bool IsLoopOverBlocks(const LoopFacts& loop) {
  return loop.kind == ForKind::kThreadBound && !IsLoopOverThreads(loop) &&
         !loop.loop->thread_tag.starts_with("vthread");
}

LoopChain ChainOf(const ProgramFacts& facts, const std::vector<double>& extents, int place) {
  const auto loop_at = [&](int l) -> const LoopFacts& { return facts.loops[static_cast<size_t>(l)]; };
  LoopChain chain;
  bool inside_grid = false;
  std::vector<int> loops;
  for (int l = place; l >= 0; l = loop_at(l).parent) loops.push_back(l);
  std::reverse(loops.begin(), loops.end());
  bool has_threads = false;
  for (const int l : loops) has_threads |= loop_at(l).kind == ForKind::kThreadBound;
  bool in_kernel = !has_threads;
  for (const int l : loops) {
    const LoopFacts& loop = loop_at(l);
    in_kernel |= loop.kind == ForKind::kThreadBound;
    if (!in_kernel || IsLoopOverBlocks(loop)) {
      if (!inside_grid) chain.first_inside = loop.depth + 1;
      continue;
    }
    inside_grid = true;
    if (IsLoopOverThreads(loop)) {
      const bool same = chain.innermost_thread >= 0 && loop_at(chain.innermost_thread).loop == loop.loop;
      if (!same) chain.innermost_threads = 1;
      if (!same) chain.innermost_thread = l;
      chain.innermost_threads *= extents[static_cast<size_t>(l)];
      chain.threads *= extents[static_cast<size_t>(l)];
      continue;
    }
    chain.serial.push_back(l);
    if (loop.loop->annotations.contains(kPipelineAsyncStages)) {
      chain.pipelined = l;
      chain.stages_ahead = StagesOf(*loop.loop);
    }
  }
  return chain;
}

}  // namespace tilewright
