#include "codegen/lower/gpu/first_threads_nest.h"

#include <optional>
#include <utility>

#include "codegen/lower/gpu/images/image_rows.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// What of the copy lies in shared memory: nothing where the store is no such copy.
Buffer TileOf(const StoreNode& store) {
  if (MemoryOwner(store.buffer->scope) == OwnerLevel::kBlock) return store.buffer;
  const std::optional<CopiedElement> copied = CopiedBy(store.value);
  const bool from_shared = copied && MemoryOwner(copied->load->buffer->scope) == OwnerLevel::kBlock;
  return from_shared ? copied->load->buffer : Buffer();
}

}  // namespace

Stmt FirstThreadsNest(const Stmt& s, const std::vector<const ForNode*>& threads) {
  std::vector<const ForNode*> digits, vectors;
  Stmt inside = s;
  std::vector<Expr> conditions;
  for (;;) {
    if (const auto* loop = dyn_cast<ForNode>(inside)) {
      if (loop->kind == ForKind::kThreadBound || !IsInt(loop->min, 0) || !AsInt(loop->extent)) return Stmt();
      (loop->kind == ForKind::kVectorized ? vectors : digits).push_back(loop);
      inside = loop->body;
    } else if (const auto* branch = dyn_cast<IfNode>(inside); branch != nullptr && !branch->else_case) {
      conditions.push_back(branch->condition);
      inside = branch->then_case;
    } else {
      break;
    }
  }
  const auto* store = dyn_cast<StoreNode>(inside);
  const Buffer tile = store == nullptr ? Buffer() : TileOf(*store);
  if (!tile || tile->ndim() < 2) return Stmt();
  for (size_t c = conditions.size(); c-- > 0;) inside = If(conditions[c], std::move(inside));
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
  const std::vector<Expr>& shape = tile->shape;
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
  Stmt copy = RewriteExprs(Substitute(inside, values), [&](const Expr& e) { return analyzer.Simplify(e); });
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
