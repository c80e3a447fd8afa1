#include "tools/programs/time_calls.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/program/sizes.h"
#include "base/status_macros.h"
#include "codegen/remote/launcher.h"
#include "ir/functor.h"
#include "tools/profile/top_nests.h"
#include "tools/programs/prepared_call.h"

namespace tilewright {
namespace {

// Parameters that a call may read after it, or an earlier call, has written them: each call gets their first values.
std::vector<bool> ReadAndWritten(const Function& function) {
  std::set<const VarNode*> read;  // data pointers
  PreOrderExprs(function->body, [&](const Expr& e) {
    if (const auto* load = dyn_cast<LoadNode>(e)) read.insert(load->buffer->data.get());
    if (const auto* var = dyn_cast<VarNode>(e)) read.insert(var);  // a pointer that a call is given
    return true;
  });
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr) return true;
    for (const MatchBuffer& view : realize->block->match_buffers) read.insert(view.source.buffer->data.get());
    return true;
  });
  std::vector<bool> both = Written(function);
  for (size_t i = 0; i < both.size(); ++i) {
    const Buffer& buffer = function->params[i].buffer;
    both[i] = both[i] && read.contains(buffer->data.get());
  }
  return both;
}

// The first call, which touches all memory for the first time, is not timed.
absl::StatusOr<std::vector<Span>> Times(PreparedCall& call, const std::vector<bool>& restored, size_t calls,
                                        const std::function<void()>& after_each = {}) {
  std::vector<Span> spans(calls);
  call.CopyIn();
  TW_RETURN_IF_ERROR(call.Run());
  for (Span& span : spans) {
    if (std::ranges::find(restored, true) != restored.end()) call.CopyIn(restored);
    TW_RETURN_IF_ERROR(call.Run(&span));
    if (after_each) after_each();
  }
  return spans;
}

// The target with as many cores as threads: what bounds are for.
Target WithThreads(Target target, int threads) {
  target.cores = std::min(target.cores, threads);
  return target;
}

absl::Status TimeParts(const Engine& engine, const Module& module, const TimedFunction& timed, Timing* timing) {
  if (remote::IsForeign(engine.target)) {
    return absl::UnimplementedError(
        absl::StrCat("parts of calls are timed on this machine, not on ", engine.target.name));
  }
  const Target bounded = WithThreads(engine.target, engine.threads());
  const std::vector<TopNest> nests = TopNestsOf(timed.scheduled);
  for (const TopNest& nest : nests) {
    timing->profile.parts.push_back(
        {.name = nest.name,
         .place = nest.place,
         .bound_seconds = SpeedOfLightOf(AtSizes(nest.alone, timed.extents), bounded).seconds});
  }
  timing->profile.bound_seconds =
      BoundSeconds(AtSizes(timed.original, timed.extents), AtSizes(timed.scheduled, timed.extents), bounded);
  if (nests.empty()) return absl::OkStatus();
  Module with_clock = module;
  const Function function = WithClock(timed.scheduled);
  with_clock.Set(function);
  TW_ASSIGN_OR_RETURN(const auto code, CompileAndLoad(with_clock, engine.target, CompileOptionsOf(engine)));
  // Seconds and nanoseconds before and after each nest.
  const NDArray clock(DataType::Int(64), {static_cast<int64_t>(2 * nests.size()), 2});
  std::vector<interp::Argument> arguments = timed.arguments;
  arguments.emplace_back(clock);
  TW_ASSIGN_OR_RETURN(const auto call, PreparedCall::Make(*code, function, arguments, {.threads = engine.max_threads}));
  std::vector<bool> restored = ReadAndWritten(timed.scheduled);
  restored.push_back(false);
  std::vector<bool> only_clock(restored.size() - 1, false);
  only_clock.push_back(true);
  const auto nanoseconds = [&](size_t row) {
    const auto first = static_cast<int64_t>(2 * row);
    return clock.GetInt(first) * 1'000'000'000 + clock.GetInt(first + 1);
  };
  const auto read_clock = [&] {
    call->CopyOut(only_clock);
    for (size_t i = 0; i < nests.size(); ++i) {
      const int64_t start = nanoseconds(2 * i), spent = nanoseconds(2 * i + 1) - start;
      timing->profile.parts[i].times.push_back({static_cast<double>(start) * 1e-9, static_cast<double>(spent) * 1e-9});
    }
  };
  TW_ASSIGN_OR_RETURN(timing->profile.calls, Times(*call, restored, timing->calls, read_clock));
  return absl::OkStatus();
}

}  // namespace

absl::Status TimeCalls(const Engine& engine, const CompiledModule& code, const Module& module,
                       const TimedFunction& timed, Timing* timing) {
  {
    TW_ASSIGN_OR_RETURN(const auto call,
                        PreparedCall::Make(code, timed.scheduled, timed.arguments, {.threads = engine.max_threads}));
    TW_ASSIGN_OR_RETURN(timing->spans, Times(*call, ReadAndWritten(timed.scheduled), timing->calls));
  }
  return timing->by_part ? TimeParts(engine, module, timed, timing) : absl::OkStatus();
}

}  // namespace tilewright
