#include "ir/ops/broadcast.h"

#include <algorithm>

#include "base/check.h"
#include "ir/arith/analyzer.h"
#include "ir/structural.h"

namespace tilewright::ops {
namespace {

// min(n, 512) is 1 where n is: that one of both is 1 says no more than that they are equal.
bool Implies(const Expr& condition, const Expr& conclusion) {
  arith::Analyzer analyzer;
  analyzer.Assume(condition);
  return analyzer.CanProve(conclusion);
}

}  // namespace

bool SameExtent(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  const auto x = AsInt(a), y = AsInt(b);
  if (x && y) return *x == *y;
  if (x || y) return false;
  return IsInt(arith::Simplify(a - b), 0);
}

Expr BroadcastExtent(const Expr& a, const Expr& b) {
  if (IsInt(a, 1)) return b;
  if (IsInt(b, 1) || SameExtent(a, b)) return a;
  const auto x = AsInt(a), y = AsInt(b);
  if (x && y) return {};
  // A constant other than one is the result: a symbolic extent next to it is equal to it, or one.
  if (x) return a;
  if (y) return b;
  return arith::Simplify(Select(a == Const(a.dtype(), 1), b, a));
}

std::optional<std::vector<Expr>> BroadcastShape(const std::vector<std::vector<Expr>>& shapes) {
  size_t rank = 0;
  for (const auto& shape : shapes) rank = std::max(rank, shape.size());
  std::vector<Expr> result(rank, Expr(1));
  for (const auto& shape : shapes) {
    const size_t skip = rank - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      Expr extent = BroadcastExtent(result[skip + i], shape[i]);
      if (!extent) return std::nullopt;
      result[skip + i] = std::move(extent);
    }
  }
  return result;
}

std::vector<Expr> BroadcastConditions(const std::vector<std::vector<Expr>>& shapes) {
  size_t rank = 0;
  for (const auto& shape : shapes) rank = std::max(rank, shape.size());
  std::vector<Expr> conditions;
  for (size_t d = 1; d <= rank; ++d) {
    Expr joined(1);
    for (const auto& shape : shapes) {
      if (shape.size() < d) continue;
      const Expr& extent = shape[shape.size() - d];
      const bool meet = !IsInt(joined, 1) && !IsInt(extent, 1) && !SameExtent(joined, extent);
      if (meet && !(AsInt(joined) && AsInt(extent))) {
        const Expr equal = CastTo(extent.dtype(), joined) == extent;
        Expr condition = equal;
        for (const Expr& one : {joined, extent}) {
          const Expr is_one = one == Const(one.dtype(), 1);
          if (!AsInt(one) && !Implies(is_one, equal)) condition = Or(condition, is_one);
        }
        conditions.push_back(std::move(condition));
      }
      joined = BroadcastExtent(joined, extent);
      if (!joined) break;
    }
  }
  return conditions;
}

Indices BroadcastAt(const std::vector<Expr>& shape, const std::vector<Expr>& output, const Indices& at) {
  TW_CHECK(shape.size() <= output.size() && at.size() == output.size());
  const size_t skip = output.size() - shape.size();
  Indices result;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Expr& index = at[skip + i];
    const Expr zero = Const(index.dtype(), 0);
    if (IsInt(shape[i], 1)) {
      result.push_back(zero);
    } else if (AsInt(shape[i]) || SameExtent(shape[i], output[skip + i])) {
      result.push_back(index);
    } else {
      result.push_back(Select(shape[i] == Const(shape[i].dtype(), 1), zero, index));
    }
  }
  return result;
}

Expr LoadBroadcast(const Buffer& buffer, const std::vector<Expr>& output, const Indices& at) {
  return buffer.Load(BroadcastAt(buffer->shape, output, at));
}

Buffer MapTo(FunctionBuilder& f, const std::string& name, std::vector<Expr> shape, const std::vector<Buffer>& inputs,
             const ScalarBody& body) {
  const std::vector<Expr> extents = shape;
  return f.Compute(name, std::move(shape), [&](const std::vector<Var>& v) {
    const Indices at(v.begin(), v.end());
    std::vector<Expr> elements;
    for (const Buffer& input : inputs) elements.push_back(LoadBroadcast(input, extents, at));
    return body(elements);
  });
}

Buffer Map(FunctionBuilder& f, const std::string& name, const std::vector<Buffer>& inputs, const ScalarBody& body) {
  std::vector<std::vector<Expr>> shapes;
  for (const Buffer& input : inputs) shapes.push_back(input->shape);
  std::optional<std::vector<Expr>> shape = BroadcastShape(shapes);
  TW_CHECK(shape.has_value()) << "the inputs of " << name << " do not broadcast";
  return MapTo(f, name, *std::move(shape), inputs, body);
}

}  // namespace tilewright::ops
