#include "codegen/lower/cpu/load_runs.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "codegen/lower/cpu/vector_lanes.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/bounds.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/lane_runs.h"

namespace tilewright {
namespace {

constexpr int64_t kLeastInRegisters = 2;

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
  // A position lies in its array, so a narrower type holds it too.
  if (const auto* narrowed = dyn_cast<CastNode>(index); narrowed && narrowed->value.dtype().is_int()) {
    std::optional<Lanes> lanes = FindLanes(narrowed->value);
    if (lanes) lanes->first = CastTo(index.dtype().element(), lanes->first);
    return lanes;
  }
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

// The shortest aligned vector that contains all lanes, and the place of each lane in it. The buffer's length is a
// multiple of the vector's, so the whole vector can be loaded.
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

// The register vectors, as they were stored, that contain the lanes. Each lane has a vector and a place in it.
struct Sources {
  std::vector<int64_t> vectors;  // as multiples of a vector's lanes from `base` on
  Expr base;
  std::vector<std::pair<size_t, int>> lanes;
};
std::optional<Sources> SourcesOf(const Lanes& lanes, const Buffer& buffer) {
  const auto width = std::ssize(lanes.offsets);
  const std::optional<int64_t> size = AsInt(buffer->shape[0]);
  const std::optional<int64_t> first = AsInt(arith::Simplify(FloorMod(lanes.first, width)));
  if (!size || *size % width != 0 || !first) return std::nullopt;
  Sources sources{{}, arith::Simplify(lanes.first - *first), {}};
  for (const int64_t offset : lanes.offsets) {
    const int64_t vector = arith::FloorDivInt(*first + offset, width);
    const auto found = std::ranges::find(sources.vectors, vector);
    sources.lanes.emplace_back(found - sources.vectors.begin(), static_cast<int>(*first + offset - vector * width));
    if (found == sources.vectors.end()) sources.vectors.push_back(vector);
  }
  if (std::ssize(sources.vectors) > kMostPicked) return std::nullopt;
  return sources;
}

// Elements of which every `stride`th is a lane.
struct Elements {
  Expr begin, end;  // those that are loaded
  Expr same;        // whether any is; null where they are
};
std::optional<Elements> LoadedElements(const LoadNode& op, int64_t stride) {
  const int64_t lanes = op.indices[0].dtype().lanes();
  const DataType type = op.indices[0].dtype().element();
  if (!op.predicate) return Elements{Const(type, 0), Const(type, (lanes - 1) * stride + 1), {}};
  const std::optional<LaneRange> range = LanesBetween(op.predicate);
  if (!range) return std::nullopt;
  const DataType count = range->end.dtype();
  return Elements{arith::Simplify(range->begin * Const(count, stride)),
                  arith::Simplify((range->end - Const(count, 1)) * Const(count, stride) + Const(count, 1)),
                  range->same};
}

// Which of the `lanes` elements from `first` on are loaded; null where all are.
Expr LoadedLanes(const Elements& elements, int64_t first, int lanes, arith::Analyzer& analyzer) {
  const DataType type = elements.end.dtype();
  const Expr begin = CastTo(type, elements.begin), at = Ramp(Const(type, first), Const(type, 1), lanes);
  Expr loaded = elements.same ? Broadcast(elements.same, lanes) : Expr();
  const auto add = [&](const Expr& condition) { loaded = loaded ? And(loaded, condition) : condition; };
  if (!analyzer.CanProve(begin <= Const(type, first))) add(MakeBinary(BinaryOp::kLE, Broadcast(begin, lanes), at));
  if (!analyzer.CanProve(Const(type, first + lanes) <= elements.end)) {
    add(MakeBinary(BinaryOp::kLT, at, Broadcast(elements.end, lanes)));
  }
  return loaded;
}

// The load of each `stride`th element; null where it is not known which lanes are loaded.
Expr LoadStrided(const LoadNode& op, const RampNode& ramp, int64_t stride) {
  const int lanes = ramp.dtype().lanes();
  const DataType type = ramp.base.dtype();
  const std::optional<Elements> elements = LoadedElements(op, stride);
  if (!elements) return {};
  arith::Analyzer analyzer;
  std::vector<Expr> vectors;
  // The last one ends with the last lane: nothing behind it is loaded.
  const int64_t last = stride * (lanes - 1) + 1 - lanes;
  for (int64_t i = 0; i < stride; ++i) {
    const int64_t begin = std::min(i * lanes, last);
    const Expr first = arith::Simplify(ramp.base + Const(type, begin));
    vectors.push_back(
        op.buffer.Load({Ramp(first, Const(type, 1), lanes)}, LoadedLanes(*elements, begin, lanes, analyzer)));
  }
  std::vector<int> picked;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t offset = lane * stride, vector = std::min(offset / lanes, stride - 1);
    picked.push_back(static_cast<int>(vector * lanes + offset - std::min(vector * lanes, last)));
  }
  return PickLanes(std::move(vectors), std::move(picked));
}

class RunLoader : public Mutator {
 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (op->indices.size() != 1 || op->indices[0].dtype().lanes() == 1 || guarded_) return self;
    if (const auto* ramp = dyn_cast<RampNode>(op->indices[0])) {
      const std::optional<int64_t> stride = AsInt(ramp->stride);
      const bool strided = stride && 2 <= *stride && *stride <= kLongestStride && ramp->dtype().lanes() >= kLeastOfRun;
      const Expr picked = strided && op->buffer->dtype.is_scalar() ? LoadStrided(*op, *ramp, *stride) : Expr();
      return picked ? picked : self;
    }
    // Indices and masks may contain loads of runs themselves.
    if (op->predicate || isa<BroadcastNode>(op->indices[0])) return Mutator::MutateLoad(op, self);
    const std::optional<Lanes> lanes = FindLanes(op->indices[0]);
    if (!lanes) return Mutator::MutateLoad(op, self);
    const std::vector<Run> runs = RunsOf(lanes->offsets);
    const bool same = std::ranges::all_of(runs, [&](const Run& run) { return run.count == runs[0].count; });
    const int64_t least = op->buffer->scope.kind() == MemoryKind::kRegister ? kLeastInRegisters : kLeastOfRun;
    if (std::ssize(runs) > kMostRuns || (runs.size() & (runs.size() - 1)) != 0 || !same || runs[0].count < least) {
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
    return PickLanes(std::move(vectors), std::move(picked));
  }
  // Neighbours of which each is loaded are one vector.
  Expr MutateShuffle(const ShuffleNode* op, const Expr& self) override {
    const auto* first = dyn_cast<LoadNode>(op->vectors[0]);
    const auto* ramp = first == nullptr ? nullptr : dyn_cast<RampNode>(first->indices[0]);
    if (ramp == nullptr || op->vectors.size() == 1 || !IsInt(ramp->stride, 1)) return Mutator::MutateShuffle(op, self);
    int lanes = 0;
    for (const Expr& vector : op->vectors) {
      const auto* load = dyn_cast<LoadNode>(vector);
      const auto* here = load == nullptr ? nullptr : dyn_cast<RampNode>(load->indices[0]);
      if (here == nullptr || load->predicate || !load->buffer.same_as(first->buffer) || !IsInt(here->stride, 1) ||
          !IsInt(arith::Simplify(here->base - ramp->base), lanes)) {
        return Mutator::MutateShuffle(op, self);
      }
      lanes += here->dtype().lanes();
    }
    return Expr(new ShuffleNode({first->buffer.Load({Ramp(ramp->base, ramp->stride, lanes)})}, op->indices));
  }
  // Loads under a condition of lanes become masked loads.
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    const bool outside = guarded_;
    guarded_ = guarded_ || (op->op == kIfThenElse && op->args[0].dtype().lanes() > 1);
    Expr mutated = Mutator::MutateCall(op, self);
    guarded_ = outside;
    return mutated;
  }

 private:
  // Puts the lanes of one vector of registers after the other's in their places.
  static Expr LoadSources(const LoadNode& op, const Sources& sources) {
    const auto width = std::ssize(sources.lanes);
    const auto load = [&](size_t i) {
      const DataType type = sources.base.dtype();
      const Expr first = arith::Simplify(sources.base + Const(type, sources.vectors[i] * width));
      return op.buffer.Load({Ramp(first, Const(type, 1), static_cast<int>(width))});
    };
    Expr result = load(0);
    for (size_t i = 1; i < sources.vectors.size(); ++i) {
      std::vector<int> picked;
      for (const auto& [vector, place] : sources.lanes) {
        const auto lane = static_cast<int>(picked.size());
        picked.push_back(vector == i ? static_cast<int>(width) + place : i == 1 && vector == 0 ? place : lane);
      }
      result = Expr(new ShuffleNode({result, load(i)}, std::move(picked)));
    }
    return result;
  }
  static Expr LoadWindow(const LoadNode& op, const Lanes& lanes, const Expr& self) {
    std::optional<Window> window = WindowOf(lanes, op.buffer);
    if (!window && op.buffer->scope.kind() == MemoryKind::kRegister) {
      const std::optional<Sources> sources = SourcesOf(lanes, op.buffer);
      return sources && sources->vectors.size() > 1 ? LoadSources(op, *sources) : self;
    }
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
