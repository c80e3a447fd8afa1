#include "codegen/lower/gpu/first_threads_nest.h"

#include <optional>
#include <utility>

#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {

Stmt FirstThreadsNest(const Stmt& s, const std::vector<const ForNode*>& threads) {
  std::vector<const ForNode*> digits, vectors;
  Stmt inside = s;
  while (const auto* loop = dyn_cast<ForNode>(inside)) {
    if (loop->kind == ForKind::kThreadBound || !IsInt(loop->min, 0) || !AsInt(loop->extent)) return Stmt();
    (loop->kind == ForKind::kVectorized ? vectors : digits).push_back(loop);
    inside = loop->body;
  }
  const auto* store = dyn_cast<StoreNode>(inside);
  if (store == nullptr || store->indices.size() < 2) return Stmt();
  Expr first;
  for (const char* tag : {"threadIdx.z", "threadIdx.y", "threadIdx.x"}) {
    for (const ForNode* loop : threads) {
      if (loop->thread_tag != tag || IsInt(loop->extent, 1)) continue;
      digits.push_back(loop);
      const Expr is_first = loop->var == loop->min;
      first = first ? And(first, is_first) : is_first;
    }
  }
  digits.insert(digits.end(), vectors.begin(), vectors.end());
  const std::vector<Expr>& shape = store->buffer->shape;
  const std::optional<int64_t> rows = AsInt(shape[shape.size() - 2]), columns = AsInt(shape.back());
  if (!first || !rows || !columns) return Stmt();
  const DataType type = DataType::Int(32);
  const Var i("i", type), j("j", type);
  const Expr element = Expr(i) * Const(type, *columns) + j;
  VarMap values;
  int64_t weight = 1;
  for (size_t d = digits.size(); d-- > 0;) {
    const int64_t extent = AsInt(digits[d]->extent).value_or(0);
    const Expr digit = FloorMod(FloorDiv(element, Const(type, weight)), Const(type, extent));
    values[digits[d]->var] = CastTo(digits[d]->var.dtype(), digit);
    weight *= extent;
  }
  if (weight != *rows * *columns) return Stmt();
  arith::Analyzer analyzer;
  analyzer.Bind(i, Range{Const(type, 0), Const(type, *rows)});
  analyzer.Bind(j, Range{Const(type, 0), Const(type, *columns)});
  Stmt copy = RewriteExprs(Substitute(Stmt(store), values), [&](const Expr& e) { return analyzer.Simplify(e); });
  for (const auto& [var, extent] : {std::pair(j, *columns), {i, *rows}}) {
    ForNode::Fields fields;
    fields.var = var;
    fields.min = Const(type, 0);
    fields.extent = Const(type, extent);
    fields.body = std::move(copy);
    copy = For(std::move(fields));
  }
  return If(first, std::move(copy));
}

}  // namespace tilewright
