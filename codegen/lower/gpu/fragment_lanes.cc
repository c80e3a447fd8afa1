#include "codegen/lower/gpu/fragment_lanes.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

class Marker : public StmtMutator {
 public:
  using StmtMutator::Mutate;

 protected:
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    Stmt mutated = StmtMutator::MutateAllocate(op, self);
    const Buffer& buffer = op->buffer;
    const OwnerLevel owner = buffer->scope.owner();
    const bool of_lanes = owner == OwnerLevel::kWarp || owner == OwnerLevel::kWarpgroup;
    if (buffer->scope.kind() != MemoryKind::kFragment || !of_lanes || buffer->ndim() < 2) return mutated;
    Annotations annotations = op->annotations;
    annotations[kFragmentColumns] = MakeAnnotation(buffer->shape.back());
    return Stmt(new AllocateNode(buffer, std::move(annotations), cast<AllocateNode>(mutated)->body));
  }
};

}  // namespace

Function MarkFragments(const Function& function) {
  return function.WithBody(Marker().Mutate(function->body), function->next_id);
}

std::optional<Expr> OwnRegister(const Expr& element, int64_t columns, const FragmentTile& tile,
                                const std::vector<const ForNode*>& threads, arith::Analyzer* analyzer) {
  const auto lanes = std::ranges::find(threads, "threadIdx.x", &ForNode::thread_tag);
  const std::optional<int64_t> extent = lanes == threads.end() ? std::nullopt : AsInt((*lanes)->extent);
  if (!extent || *extent % tile.lanes != 0 || columns % tile.columns != 0) return std::nullopt;
  // The thread's number in digits: others * lanes + warp * 32 + group * 4 + pair.
  const Var& thread = (*lanes)->var;
  const DataType type = thread.dtype();
  const auto number = [&](int64_t value) { return Const(type, value); };
  const auto div = [&](const Expr& e, int64_t by) { return FloorDiv(e, number(by)); };
  const auto mod = [&](const Expr& e, int64_t by) { return FloorMod(e, number(by)); };
  arith::Analyzer::Scope inside(analyzer);
  const Var others("others", type), warp("warp", type), group("group", type), pair("pair", type);
  struct Digit {
    Var var;
    int64_t count;
    Expr of_thread;
  };
  const Digit digits[] = {
      {others, *extent / tile.lanes, div(thread, tile.lanes)},
      {warp, tile.lanes / tile.warp_size, mod(div(thread, tile.warp_size), tile.lanes / tile.warp_size)},
      {group, 8, mod(div(thread, 4), 8)},
      {pair, 4, mod(thread, 4)}};
  for (const Digit& digit : digits) {
    // Around may stand that only some threads come here.
    const arith::Bounds known = analyzer->ConstBounds(digit.of_thread);
    const int64_t first = std::max<int64_t>(known.min, 0), last = std::min(known.max, digit.count - 1);
    analyzer->Bind(digit.var, Range{number(first), number(std::max<int64_t>(last - first + 1, 1))});
  }
  const Expr lane = warp * number(tile.warp_size) + group * number(4) + pair;
  const Expr at = CastTo(type, Substitute(element, {{thread, others * number(tile.lanes) + lane}}));
  const Expr row = analyzer->Simplify(div(at, columns)), column = analyzer->Simplify(mod(at, columns));
  const Expr holder =
      div(mod(row, tile.rows), 16) * number(tile.warp_size) + mod(row, 8) * number(4) + div(mod(column, 8), 2);
  if (!analyzer->CanProveEqual(holder, lane)) return std::nullopt;
  const Expr number_of_tile = div(row, tile.rows) * number(columns / tile.columns) + div(column, tile.columns);
  const Expr in_tile =
      div(mod(column, tile.columns), 8) * number(4) + div(mod(row, 16), 8) * number(2) + mod(column, 2);
  const Expr result = analyzer->Simplify(number_of_tile * number(tile.Registers()) + in_tile);
  const bool of_thread = std::ranges::any_of(digits, [&](const Digit& digit) { return UsesVar(result, digit.var); });
  return of_thread ? std::nullopt : std::optional(result);
}

}  // namespace tilewright
