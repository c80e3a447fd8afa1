#include "schedule/script/index_map_reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright {
namespace {

using script::PyExpr;
using Kind = PyExpr::Kind;

using NumberOf = std::function<std::optional<int64_t>(const std::string& name)>;

class Reader {
 public:
  explicit Reader(const NumberOf& number) : number_(number) {}
  IndexMapReading Read(const PyExpr& lambda) {
    std::vector<Var> inputs;
    for (const std::string& name : lambda.keywords) {
      if (names_.contains(name)) return Error(lambda, "parameter " + name + " occurs twice");
      inputs.emplace_back(name);
      names_[name] = inputs.back();
    }
    const PyExpr& body = *lambda.items[0];
    std::vector<Expr> outputs;
    if (body.kind == Kind::kTuple || body.kind == Kind::kList) {
      outputs = EvalItems(body);
    } else {
      outputs.push_back(Eval(body));
    }
    if (result_.error.empty() && outputs.empty()) Error(body, "the index map has no results");
    if (result_.error.empty()) result_.map = IndexMap(std::move(inputs), std::move(outputs));
    return std::move(result_);
  }

 private:
  IndexMapReading& Error(const PyExpr& at, std::string message) {
    if (result_.error.empty()) {
      result_.offset = at.offset;
      result_.error = std::move(message);
    }
    return result_;
  }
  Expr Fail(const PyExpr& at, std::string message) {
    Error(at, std::move(message));
    return Expr(0);
  }

  static bool IsPair(const PyExpr& e) {
    return (e.kind == Kind::kTuple || e.kind == Kind::kList) && e.items.size() == 2;
  }
  // Expressions; or ranges, some of them pairs of begin and end, and the others one index by itself.
  std::vector<Expr> EvalItems(const PyExpr& list) {
    const bool ranges =
        std::any_of(list.items.begin(), list.items.end(), [](const script::PyExprPtr& item) { return IsPair(*item); });
    std::vector<Expr> outputs;
    for (const script::PyExprPtr& item : list.items) {
      // Where the peer would split memory into axes of its own: memory is flat here.
      if (item->kind == Kind::kAttribute && item->text == "AXIS_SEPARATOR") continue;
      const bool pair = IsPair(*item);
      outputs.push_back(Eval(pair ? *item->items[0] : *item));
      if (ranges) outputs.push_back(pair ? Eval(*item->items[1]) : outputs.back() + 1);
    }
    return outputs;
  }

  Expr Eval(const PyExpr& e) {
    switch (e.kind) {
      case Kind::kName: {
        if (auto var = names_.find(e.text); var != names_.end()) return var->second;
        const std::optional<int64_t> number = number_ ? number_(e.text) : std::nullopt;
        if (number && static_cast<int32_t>(*number) == *number) return Expr(static_cast<int>(*number));
        return Fail(e, e.text + " is no parameter of the lambda");
      }
      case Kind::kInt:
        if (e.integer > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
          return Fail(e, "the number is too large");
        return Expr(static_cast<int>(e.integer));
      case Kind::kFloat:
        return ConstFloat(DataType::Float(32), e.real);
      case Kind::kUnary: {
        Expr a = Eval(*e.items[0]);
        if (e.text == "-") return -a;
        if (e.text == "+") return a;
        return Fail(e, "'" + e.text + "' cannot be used in an index map");
      }
      case Kind::kBinary:
        return EvalBinary(e);
      case Kind::kCall:
        return EvalCall(e);
      default:
        return Fail(e, "expected an expression of the lambda's parameters");
    }
  }

  // Parameters have 32 bits here. Constants beside 64-bit ones may be written as such, T.int64(16): they take the type
  // of the other operand where it holds their value.
  static bool HaveOneType(Expr* a, Expr* b) {
    if (a->dtype() == b->dtype()) return true;
    for (auto [constant, other] : {std::pair{b, a}, std::pair{a, b}}) {
      const std::optional<int64_t> value = AsInt(*constant);
      if (!value || !other->dtype().is_int() || !constant->dtype().is_int()) continue;
      const Expr converted = CastTo(other->dtype(), *constant);
      if (!IsInt(converted, *value)) continue;
      *constant = converted;
      return true;
    }
    return false;
  }

  // T.float32(0), T.floordiv(i, 4), T.floormod(i, 4), T.min(i, j), T.max(i, j)
  Expr EvalCall(const PyExpr& e) {
    const PyExpr& callee = *e.items[0];
    const auto fail = [&] { return Fail(e, "expected an expression of the lambda's parameters"); };
    if (callee.kind != Kind::kAttribute || !e.keywords.empty() || e.items.size() < 2) return fail();
    Expr a = Eval(*e.items[1]);
    if (!result_.error.empty()) return a;
    if (e.items.size() == 2) {
      const std::optional<DataType> dtype = DataType::Parse(callee.text);
      const bool constant = isa<IntImmNode>(a) || isa<FloatImmNode>(a);
      return dtype && dtype->is_scalar() && constant ? CastTo(*dtype, a) : fail();
    }
    if (e.items.size() != 3) return fail();
    Expr b = Eval(*e.items[2]);
    if (!result_.error.empty()) return b;
    if (!HaveOneType(&a, &b) || !a.dtype().is_integer()) return Fail(e, "the operands are no integers of one type");
    if (callee.text == "min") return Min(a, b);
    if (callee.text == "max") return Max(a, b);
    if (callee.text != "floordiv" && callee.text != "floormod") return fail();
    if (IsInt(b, 0)) return Fail(*e.items[2], "division by zero");
    return callee.text == "floordiv" ? FloorDiv(a, b) : FloorMod(a, b);
  }

  Expr EvalBinary(const PyExpr& e) {
    Expr a = Eval(*e.items[0]), b = Eval(*e.items[1]);
    if (!result_.error.empty()) return a;
    if (!HaveOneType(&a, &b)) return Fail(e, "the operands have different types");
    if (e.text == "+") return a + b;
    if (e.text == "-") return a - b;
    if (e.text == "*") return a * b;
    const auto divisor = AsInt(b);
    if (e.text == "//" || e.text == "%") {
      if (!a.dtype().is_integer()) return Fail(e, "the operands are no integers");
      if (divisor && *divisor == 0) return Fail(*e.items[1], "division by zero");
      return e.text == "//" ? FloorDiv(a, b) : FloorMod(a, b);
    }
    return Fail(e, "'" + e.text + "' cannot be used in an index map");
  }

  const NumberOf& number_;
  std::map<std::string, Var> names_;
  IndexMapReading result_;
};

}  // namespace

IndexMapReading ReadIndexMap(const PyExpr& lambda, const NumberOf& number) { return Reader(number).Read(lambda); }

}  // namespace tilewright
