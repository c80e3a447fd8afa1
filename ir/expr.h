// Expressions: scalar (or short vector) computations over variables, constants and buffer elements.
//
//   Var i("i"), j("j");
//   Expr index = i * 16 + j;                       // int32
//   Expr inside = And(index < 30, j != 0);         // bool
//   Expr value = Select(inside, a(i, j), Const(DataType::Float(32), 0));
//
// Each node class documents its operands. Integer division: `FloorDiv`/`FloorMod` round towards minus infinity (what
// indices use), `Div`/`Mod` truncate for integers and are plain division for floats. Signed overflow of an index is an
// error of the program (the interpreter detects it, the simplifier assumes its absence); unsigned arithmetic wraps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/data_type.h"
#include "ir/node.h"

namespace tilewright {

class VarNode;

class ExprNode : public Node {
 public:
  static bool ClassOf(Kind kind) { return kind <= Kind::kCall; }
  DataType dtype() const { return dtype_; }

 protected:
  ExprNode(Kind kind, DataType dtype) : Node(kind), dtype_(dtype) {}

 private:
  const DataType dtype_;
};

// A shared expression; null when default-constructed (an absent predicate, say).
class Expr : public Ref<ExprNode> {
 public:
  Expr() = default;
  template <class T, class = std::enable_if_t<std::is_base_of_v<ExprNode, T>>>
  Expr(const Ref<T>& other) : Ref<ExprNode>(other) {}
  template <class T, class = std::enable_if_t<std::is_base_of_v<ExprNode, T>>>
  Expr(Ref<T>&& other) : Ref<ExprNode>(std::move(other)) {}
  explicit Expr(const ExprNode* node) : Ref<ExprNode>(node) {}
  Expr(int value);      // int32
  Expr(int64_t value);  // int32 when it fits, else int64

  DataType dtype() const { return get()->dtype(); }
};

// A variable: a loop variable, a block iterator, a scalar parameter, or the data pointer of a buffer. Its identity is
// the node; the name is for people.
class Var : public Ref<VarNode> {
 public:
  Var() = default;
  explicit Var(std::string name, DataType dtype = DataType::Int(32));
  explicit Var(const VarNode* node) : Ref<VarNode>(node) {}

  const std::string& name() const;
  DataType dtype() const;
};

class VarNode : public ExprNode {
 public:
  static constexpr Kind kKind = Kind::kVar;
  VarNode(std::string name, DataType dtype) : ExprNode(kKind, dtype), name(std::move(name)) {}
  const std::string name;
};

class IntImmNode : public ExprNode {  // Integers and booleans; uint64 values as their two's complement.
 public:
  static constexpr Kind kKind = Kind::kIntImm;
  IntImmNode(DataType dtype, int64_t value) : ExprNode(kKind, dtype), value(value) {}
  const int64_t value;

 private:
  friend class SmallConstants;  // which are immortal
};

class FloatImmNode : public ExprNode {  // `value` is exactly representable in the dtype.
 public:
  static constexpr Kind kKind = Kind::kFloatImm;
  FloatImmNode(DataType dtype, double value) : ExprNode(kKind, dtype), value(value) {}
  const double value;
};

class StringImmNode : public ExprNode {  // Only as an argument of a call or as an annotation.
 public:
  static constexpr Kind kKind = Kind::kStringImm;
  explicit StringImmNode(std::string value) : ExprNode(kKind, DataType::Handle()), value(std::move(value)) {}
  const std::string value;
};

enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kFloorDiv,
  kFloorMod,
  kMin,
  kMax,
  // Comparisons and logic give bool.
  kEQ,
  kNE,
  kLT,
  kLE,
  kGT,
  kGE,
  kAnd,
  kOr,
};
constexpr bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEQ && op <= BinaryOp::kGE; }
constexpr bool IsLogic(BinaryOp op) { return op >= BinaryOp::kAnd; }

class BinaryNode : public ExprNode {  // a and b have the same type.
 public:
  static constexpr Kind kKind = Kind::kBinary;
  BinaryNode(BinaryOp op, Expr a, Expr b);
  const BinaryOp op;
  const Expr a, b;
};

class NotNode : public ExprNode {
 public:
  static constexpr Kind kKind = Kind::kNot;
  explicit NotNode(Expr a) : ExprNode(kKind, a.dtype()), a(std::move(a)) {}
  const Expr a;
};

// Both values may be evaluated; `if_then_else` (a call) evaluates only the chosen one.
class SelectNode : public ExprNode {
 public:
  static constexpr Kind kKind = Kind::kSelect;
  SelectNode(Expr condition, Expr true_value, Expr false_value)
      : ExprNode(kKind, true_value.dtype()),
        condition(std::move(condition)),
        true_value(std::move(true_value)),
        false_value(std::move(false_value)) {}
  const Expr condition, true_value, false_value;
};

class CastNode : public ExprNode {
 public:
  static constexpr Kind kKind = Kind::kCast;
  CastNode(DataType dtype, Expr value) : ExprNode(kKind, dtype), value(std::move(value)) {}
  const Expr value;
};

class RampNode : public ExprNode {  // base, base + stride, ..., base + (lanes - 1) * stride
 public:
  static constexpr Kind kKind = Kind::kRamp;
  RampNode(Expr base, Expr stride, int lanes)
      : ExprNode(kKind, base.dtype().with_lanes(lanes)), base(std::move(base)), stride(std::move(stride)) {}
  const Expr base, stride;
};

class BroadcastNode : public ExprNode {
 public:
  static constexpr Kind kKind = Kind::kBroadcast;
  BroadcastNode(Expr value, int lanes)
      : ExprNode(kKind, value.dtype().with_lanes(value.dtype().lanes() * lanes)), value(std::move(value)) {}
  const Expr value;
};

// The lanes of `vectors` put one after the other, of which `indices` picks.
class ShuffleNode : public ExprNode {
 public:
  static constexpr Kind kKind = Kind::kShuffle;
  ShuffleNode(std::vector<Expr> vectors, std::vector<int> indices);
  const std::vector<Expr> vectors;
  const std::vector<int> indices;
};

class LetNode : public ExprNode {  // `body` with `var` standing for `value`
 public:
  static constexpr Kind kKind = Kind::kLet;
  LetNode(Var var, Expr value, Expr body)
      : ExprNode(kKind, body.dtype()), var(std::move(var)), value(std::move(value)), body(std::move(body)) {}
  const Var var;
  const Expr value, body;
};

// A call of a builtin (ir/builtin.h lists them) or, by `call_extern`, of a function outside of the program.
class CallNode : public ExprNode {
 public:
  static constexpr Kind kKind = Kind::kCall;
  CallNode(DataType dtype, std::string op, std::vector<Expr> args)
      : ExprNode(kKind, dtype), op(std::move(op)), args(std::move(args)) {}
  const std::string op;
  const std::vector<Expr> args;
};

inline const std::string& Var::name() const { return get()->name; }
inline DataType Var::dtype() const { return get()->dtype(); }

// Constructors. An immediate operand takes the type of the other operand; int32 next to int64 is widened; any other
// difference of types is a bug of the caller (CHECK). Operands with different lanes: the scalar one is broadcast.
Expr Const(DataType dtype, int64_t value);  // an IntImm or a FloatImm, broadcast to the lanes of dtype
Expr ConstFloat(DataType dtype, double value);
Expr String(std::string value);
Expr True();
Expr False();
Expr MakeBinary(BinaryOp op, Expr a, Expr b);
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr And(Expr a, Expr b);
Expr Or(Expr a, Expr b);
Expr Not(Expr a);
Expr Div(Expr a, Expr b);  // truncating for integers
Expr Mod(Expr a, Expr b);
Expr FloorDiv(Expr a, Expr b);
Expr FloorMod(Expr a, Expr b);
Expr Min(Expr a, Expr b);
Expr Max(Expr a, Expr b);
Expr Select(Expr condition, Expr true_value, Expr false_value);
Expr CastTo(DataType dtype, Expr value);  // the value itself when it has that type; immediates are converted at once
Expr Ramp(Expr base, Expr stride, int lanes);
Expr Broadcast(Expr value, int lanes);
Expr Call(DataType dtype, std::string op, std::vector<Expr> args);
Expr IfThenElse(Expr condition, Expr true_value, Expr false_value);

// The value of an integer (or boolean) immediate, or nothing.
inline std::optional<int64_t> AsInt(const Expr& e) {
  const auto* imm = dyn_cast<IntImmNode>(e);
  return imm == nullptr ? std::nullopt : std::optional<int64_t>(imm->value);
}
inline bool IsInt(const Expr& e, int64_t value) {
  const auto* imm = dyn_cast<IntImmNode>(e);
  return imm != nullptr && imm->value == value;
}
// An absent predicate counts as true.
inline bool IsTrue(const Expr& e) { return !e || (e.dtype().is_bool() && IsInt(e, 1)); }
inline bool IsFalse(const Expr& e) { return e && e.dtype().is_bool() && IsInt(e, 0); }

}  // namespace tilewright
