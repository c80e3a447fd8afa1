#include "codegen/lower/cpu/load_runs.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

constexpr size_t kMostRuns = 4;
constexpr int64_t kLeastLanes = 4;  // of a run

// One lane of an index vector; null where it has another form.
Expr LaneOf(const Expr& e, int lane) {
  if (e.dtype().is_scalar()) return e;
  if (const auto* ramp = dyn_cast<RampNode>(e)) return ramp->base + ramp->stride * Const(ramp->stride.dtype(), lane);
  if (const auto* broadcast = dyn_cast<BroadcastNode>(e)) return broadcast->value;
  if (const auto* cast_node = dyn_cast<CastNode>(e)) {
    const Expr value = LaneOf(cast_node->value, lane);
    return value ? CastTo(e.dtype().element(), value) : Expr();
  }
  const auto* binary = dyn_cast<BinaryNode>(e);
  if (binary == nullptr) return Expr();
  const Expr a = LaneOf(binary->a, lane), b = LaneOf(binary->b, lane);
  return a && b ? MakeBinary(binary->op, a, b) : Expr();
}

// The first lane, and how far from it each lane is.
struct Lanes {
  Expr first;
  std::vector<int64_t> offsets;
};
std::optional<Lanes> FindLanes(const Expr& index) {
  arith::Analyzer analyzer;
  Lanes lanes;
  for (int lane = 0; lane < index.dtype().lanes(); ++lane) {
    const Expr at = LaneOf(index, lane);
    if (!at || !at.dtype().is_scalar()) return std::nullopt;
    if (lane == 0) lanes.first = analyzer.Simplify(at);
    const std::optional<int64_t> offset = AsInt(analyzer.Simplify(at - lanes.first));
    if (!offset) return std::nullopt;
    lanes.offsets.push_back(*offset);
  }
  return lanes;
}

// Neighbours from the first offset on.
struct Run {
  int64_t first, count;
};
std::vector<Run> RunsOf(const std::vector<int64_t>& offsets) {
  std::vector<Run> runs;
  for (const int64_t offset : std::set<int64_t>(offsets.begin(), offsets.end())) {
    if (!runs.empty() && offset == runs.back().first + runs.back().count) {
      ++runs.back().count;
    } else {
      runs.push_back({offset, 1});
    }
  }
  return runs;
}

// The shortest aligned vector that all lanes lie in, and where in it each lies. The buffer ends where such a vector
// ends, so that all of it can be loaded.
struct Window {
  Expr base;
  int64_t width = 0;
  std::vector<int> picked;
};
std::optional<Window> WindowOf(const Lanes& lanes, const Buffer& buffer) {
  const auto [low, high] = std::ranges::minmax(lanes.offsets);
  const std::optional<int64_t> size = AsInt(buffer->shape[0]);
  for (auto width = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(high - low + 1)));
       size && width <= static_cast<int64_t>(lanes.offsets.size()) && *size % width == 0; width *= 2) {
    const std::optional<int64_t> first = AsInt(arith::Simplify(FloorMod(lanes.first, width)));
    if (!first || *first + low < 0 || *first + high >= width) continue;
    Window window{arith::Simplify(lanes.first - *first), width, {}};
    for (const int64_t offset : lanes.offsets) window.picked.push_back(static_cast<int>(*first + offset));
    return window;
  }
  return std::nullopt;
}

// Two vectors, one behind the other.
Expr Behind(const Expr& low, const Expr& high) {
  std::vector<int> all;
  for (int lane = 0; lane < low.dtype().lanes() + high.dtype().lanes(); ++lane) all.push_back(lane);
  return Expr(new ShuffleNode({low, high}, std::move(all)));
}

class RunLoader : public Mutator {
 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const bool gathers = op->indices.size() == 1 && op->indices[0].dtype().lanes() > 1 && !op->predicate &&
                         !isa<RampNode>(op->indices[0]) && !isa<BroadcastNode>(op->indices[0]);
    if (!gathers || guarded_) return self;
    const std::optional<Lanes> lanes = FindLanes(op->indices[0]);
    if (!lanes) return self;
    const std::vector<Run> runs = RunsOf(lanes->offsets);
    const bool same = std::ranges::all_of(runs, [&](const Run& run) { return run.count == runs[0].count; });
    if (runs.size() > kMostRuns || (runs.size() & (runs.size() - 1)) != 0 || !same || runs[0].count < kLeastLanes) {
      return LoadWindow(*op, *lanes, self);
    }
    std::vector<Expr> vectors;
    const DataType index_type = lanes->first.dtype();
    for (const Run& run : runs) {
      const Expr first = arith::Simplify(lanes->first + Const(index_type, run.first));
      vectors.push_back(op->buffer.Load({Ramp(first, Const(index_type, 1), static_cast<int>(run.count))}));
    }
    std::vector<int> picked;
    for (const int64_t offset : lanes->offsets) {
      const auto run =
          std::ranges::find_if(runs, [&](const Run& r) { return r.first <= offset && offset < r.first + r.count; });
      picked.push_back(static_cast<int>((run - runs.begin()) * run->count + offset - run->first));
    }
    while (vectors.size() > 2) {
      std::vector<Expr> halves;
      for (size_t i = 0; i < vectors.size(); i += 2) halves.push_back(Behind(vectors[i], vectors[i + 1]));
      vectors = std::move(halves);
    }
    return Expr(new ShuffleNode(std::move(vectors), std::move(picked)));
  }
  // What a lane's condition guards is loaded by masks.
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    const bool outside = guarded_;
    guarded_ = guarded_ || (op->op == kIfThenElse && op->args[0].dtype().lanes() > 1);
    Expr mutated = Mutator::MutateCall(op, self);
    guarded_ = outside;
    return mutated;
  }

 private:
  static Expr LoadWindow(const LoadNode& op, const Lanes& lanes, const Expr& self) {
    std::optional<Window> window = WindowOf(lanes, op.buffer);
    if (!window) return self;
    const Expr whole =
        op.buffer.Load({Ramp(window->base, Const(window->base.dtype(), 1), static_cast<int>(window->width))});
    return Expr(new ShuffleNode({whole}, std::move(window->picked)));
  }

  bool guarded_ = false;
};

}  // namespace

Function LoadRuns(const Function& function) {
  return function.WithBody(RunLoader().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
