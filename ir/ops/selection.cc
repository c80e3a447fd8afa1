#include "ir/ops/selection.h"

#include <utility>
#include <vector>

namespace tilewright::ops {
namespace {

// Whether `a` comes before `b` wherever it stands.
Expr ComesBefore(const Expr& a, const Expr& b, bool largest) {
  const Expr more = largest ? a > b : a < b;
  if (!a.dtype().is_float()) return more;
  const auto is_nan = [](const Expr& e) { return Call(DataType::Bool(), "isnan", {e}); };
  const Expr &greater = largest ? a : b, &less = largest ? b : a;
  return Or(more, And(is_nan(greater), Not(is_nan(less))));
}

}  // namespace

Selected TopK(FunctionBuilder& f, const Buffer& x, int axis, const Expr& count, bool largest) {
  const size_t a = static_cast<size_t>(axis);
  const Expr extent = x->shape[a];
  const DataType index = extent.dtype();
  const auto number = [&](int64_t value) { return Const(index, value); };
  const Expr ranks = CastTo(index, count), last_rank = AsInt(count) ? number(*AsInt(count) - 1) : ranks - number(1);
  std::vector<Expr> shape = x->shape, lines = x->shape;
  shape[a] = ranks;
  lines.erase(lines.begin() + axis);
  const Selected best{f.Alloc("values", shape, x->dtype), f.Alloc("positions", shape, DataType::Int(64))};
  f.Grid(lines, [&](const std::vector<Var>& loops) {
    f.Block("top_k", [&](BlockBuilder& block) {
      std::vector<Expr> line;
      for (size_t i = 0; i < loops.size(); ++i) line.push_back(block.Spatial(lines[i], loops[i]));
      const auto at = [&](const Expr& place) {
        std::vector<Expr> indices = line;
        indices.insert(indices.begin() + axis, place);
        return indices;
      };
      f.Loop("place", extent, [&](const Var& place) {
        const Expr value = x.Load(at(place));
        const Expr last = best.values.Load(at(last_rank));
        f.If(Or(place < ranks, ComesBefore(value, last, largest)), [&] {
          // From the last rank up: what the value passes moves down, and it takes the rank below the first that it does
          // not. Ranks from `place` on hold nothing yet.
          f.Loop("step", ranks, [&](const Var& step) {
            const Expr rank = last_rank - step, above = Max(rank - number(1), number(0));
            const auto put = [&](const Expr& element, const Expr& position) {
              f.Store(best.values, element, at(rank));
              f.Store(best.positions, position, at(rank));
            };
            const Expr passes = ComesBefore(value, best.values.Load(at(above)), largest);
            f.If(rank <= place, [&] {
              f.If(
                  And(rank > number(0), passes),
                  [&] { put(best.values.Load(at(above)), best.positions.Load(at(above))); },
                  [&] {
                    const Expr is_new = ComesBefore(value, best.values.Load(at(rank)), largest);
                    f.If(Or(rank == place, is_new), [&] { put(value, CastTo(DataType::Int(64), place)); });
                  });
            });
          });
        });
      });
    });
  });
  return best;
}

}  // namespace tilewright::ops
