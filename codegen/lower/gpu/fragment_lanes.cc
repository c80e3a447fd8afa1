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

std::optional<Expr> OwnRegister(const Expr& element, int64_t columns, const TileLayout& tile,
                                const std::vector<const ForNode*>& threads, arith::Analyzer* analyzer) {
  const auto threads_x = std::ranges::find(threads, "threadIdx.x", &ForNode::thread_tag);
  const std::optional<int64_t> extent = threads_x == threads.end() ? std::nullopt : AsInt((*threads_x)->extent);
  const int64_t tile_rows = tile.shape()[0], tile_columns = tile.shape()[1], lanes = tile.places()[0],
                registers = tile.places()[1];
  if (!extent || *extent % lanes != 0 || columns % tile_columns != 0) return std::nullopt;
  // The thread's number in the digits that the layout has: others * lanes + the lane's.
  const Var& thread = (*threads_x)->var;
  const DataType type = thread.dtype();
  const auto number = [&](int64_t value) { return Const(type, value); };
  const auto div = [&](const Expr& e, int64_t by) { return FloorDiv(e, number(by)); };
  const auto mod = [&](const Expr& e, int64_t by) { return FloorMod(e, number(by)); };
  arith::Analyzer::Scope inside(analyzer);
  struct Digit {
    Var var;
    int64_t count, stride;
    Expr of_thread;
  };
  std::vector<Digit> digits = {{Var("others", type), *extent / lanes, lanes, div(thread, lanes)}};
  for (const LayoutDigit& digit : tile.digits()) {
    if (digit.place != 0) continue;
    digits.push_back({Var("digit", type), digit.extent, digit.stride, mod(div(thread, digit.stride), digit.extent)});
  }
  Expr lane = number(0);
  for (const Digit& digit : digits) {
    // Around may stand that only some threads come here.
    const arith::Bounds known = analyzer->ConstBounds(digit.of_thread);
    const int64_t first = std::max<int64_t>(known.min, 0), last = std::min(known.max, digit.count - 1);
    analyzer->Bind(digit.var, Range{number(first), number(std::max<int64_t>(last - first + 1, 1))});
    if (digit.stride != lanes) lane = lane + digit.var * number(digit.stride);
  }
  const Expr at = CastTo(type, Substitute(element, {{thread, digits[0].var * number(lanes) + lane}}));
  const Expr row = analyzer->Simplify(div(at, columns)), column = analyzer->Simplify(mod(at, columns));
  const std::vector<Expr> holder = tile.Apply({mod(row, tile_rows), mod(column, tile_columns)});
  if (!analyzer->CanProveEqual(holder[0], lane)) return std::nullopt;
  const Expr number_of_tile = div(row, tile_rows) * number(columns / tile_columns) + div(column, tile_columns);
  const Expr result = analyzer->Simplify(number_of_tile * number(registers) + holder[1]);
  const bool of_thread = std::ranges::any_of(digits, [&](const Digit& digit) { return UsesVar(result, digit.var); });
  return of_thread ? std::nullopt : std::optional(result);
}

}  // namespace tilewright
