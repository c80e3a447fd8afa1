// Expressions in double precision beside bounds on their errors: what a reference program computes
// (reference_program.h).
//
//   ErrorBounds bounds([&](const Buffer& buffer) { return pairs.at(buffer.get()); });
//   Bounded y = bounds.VisitApart(a * b + c);       y.value in float64; y.error: how far from it the original may be
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/expr.h"
#include "ir/function.h"

namespace tilewright {

inline constexpr DataType kDouble = DataType::Float(64);
// The bound of an element that may be anything.
inline constexpr double kUnbounded = 1e300;

// A value and a bound on its error: a number; for a condition, whether it may come out the other way. Null: exact.
struct Bounded {
  Expr value, error;
};
// Elements and bounds on their errors. Null: exact.
struct BoundedBuffer {
  Buffer value, error;
};

Expr Double(double value);
// The absolute value in double precision.
Expr Magnitude(const Expr& e);
// Half a unit in the last place, relative to the value.
double UnitRoundoff(DataType type);

class ErrorBounds {
 public:
  using Bindings = std::vector<std::pair<Var, Expr>>;

  // `find_buffer`: what loads from a buffer read.
  explicit ErrorBounds(std::function<BoundedBuffer(const Buffer&)> find_buffer)
      : find_buffer_(std::move(find_buffer)) {}

  // What is used more than once gets a name, which is to be bound around what is returned: see ExchangeBindings.
  Bounded Visit(const Expr& e);
  // The same with the names bound inside of what is returned.
  Bounded VisitApart(const Expr& e);
  // Values that are used more than once get a name, or the size of the bounds would grow with every operation.
  Expr Bind(const Expr& e);
  Bounded Bind(const Bounded& bounded) { return {Bind(bounded.value), Bind(bounded.error)}; }
  // Starts a new list of names and gives the one before.
  Bindings ExchangeBindings(Bindings bindings) { return std::exchange(bindings_, std::move(bindings)); }
  // What a variable stands for from now on.
  Bounded BindVar(const Var& var, const Bounded& value);

  // What a type with a smaller range than double makes of values beyond its own: an infinity, in e4m3 a NaN. Near its
  // end either may come out.
  void Overflow(DataType type, Expr* value, Expr* error);

  // What has no bound; empty when everything has.
  const std::string& refusal() const { return refusal_; }
  void Refuse(std::string_view what);

 private:
  Bounded Refused(std::string_view what, const Expr& e);
  Bounded VisitLoad(const LoadNode* op);
  Bounded VisitLogic(const BinaryNode* op);
  Bounded DividedFloats(const BinaryNode* op, const Bounded& a, const Bounded& b, const Expr& value);
  Bounded VisitBinary(const BinaryNode* op);
  Bounded VisitCast(const CastNode* op);
  Bounded VisitCall(const CallNode* op);
  Bounded VisitReinterpret(const CallNode* op);
  Bounded OfClass(const CallNode* op, Bounded a);
  Bounded IntegerFunction(const CallNode* op, const std::vector<Bounded>& args, bool inexact);
  Bounded FloatFunction(const CallNode* op, const std::vector<Bounded>& args);
  Expr ErrorOfFunction(const std::string& name, const Bounded& a);
  Expr Spread(const Bounded& a, const std::function<Expr(const Expr&)>& function);

  const std::function<BoundedBuffer(const Buffer&)> find_buffer_;
  std::unordered_map<const VarNode*, Bounded> vars_;
  Bindings bindings_;
  std::string refusal_;
};

}  // namespace tilewright
