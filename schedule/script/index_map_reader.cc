#include "schedule/script/index_map_reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/analysis.h"

namespace tilewright {
namespace {

using script::PyExpr;
using script::PyStmt;
using Kind = PyExpr::Kind;

class Reader {
 public:
  Reader(const IndexMapName& name, std::optional<size_t> indices) : name_(name), indices_(indices) {}

  IndexMapReading ReadLambda(const PyExpr& lambda) {
    std::vector<Var> inputs;
    if (DefineParameters(lambda, lambda.keywords, &inputs)) ReadResults(*lambda.items[0], std::move(inputs));
    return std::move(result_);
  }

  IndexMapReading ReadFunction(const PyStmt& function) {
    std::vector<Var> inputs;
    std::vector<std::string> names;
    for (const script::PyParameter& parameter : function.parameters) names.push_back(parameter.name);
    PyExpr place;
    place.offset = function.offset;
    if (!DefineParameters(place, names, &inputs)) return std::move(result_);
    for (const PyStmt& stmt : function.body) {
      place.offset = stmt.offset;
      if (stmt.kind == PyStmt::Kind::kReturn && stmt.value) {
        ReadResults(*stmt.value, std::move(inputs));
        return std::move(result_);
      }
      const bool text = stmt.kind == PyStmt::Kind::kExpr && stmt.value->kind == Kind::kString;
      if (stmt.kind == PyStmt::Kind::kAssign && stmt.more_targets.empty()) {
        Assign(*stmt.target, *stmt.value);
      } else if (!text && stmt.kind != PyStmt::Kind::kPass) {
        Error(place, "expected NAME = value or return in a function that is an index map");
      }
      if (!result_.error.empty()) return std::move(result_);
    }
    place.offset = function.offset;
    Error(place, "this function returns no indices");
    return std::move(result_);
  }

 private:
  bool DefineParameters(const PyExpr& at, const std::vector<std::string>& parameters, std::vector<Var>* inputs) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const bool all = parameters[i].starts_with("*");
      const std::string name = parameters[i].substr(all ? 1 : 0);
      if (names_.contains(name) || lists_.contains(name)) Error(at, "parameter " + name + " occurs twice");
      if (all && (!indices_ || i + 1 < parameters.size()))
        Error(at, "how many indices " + name + " takes is not known");
      if (!result_.error.empty()) return false;
      if (!all) {
        inputs->emplace_back(name);
        names_[name] = inputs->back();
        continue;
      }
      std::vector<Expr>& list = lists_[name];
      for (size_t k = i; k < *indices_; ++k) {
        inputs->emplace_back(name + std::to_string(k - i));
        list.push_back(inputs->back());
      }
    }
    return true;
  }

  void ReadResults(const PyExpr& body, std::vector<Var> inputs) {
    std::vector<Expr> outputs;
    if (body.kind == Kind::kTuple || body.kind == Kind::kList) {
      outputs = EvalItems(body);
    } else if (const auto list = EvalList(body)) {
      outputs = *list;
    } else {
      outputs.push_back(Eval(body));
    }
    if (result_.error.empty() && outputs.empty()) Error(body, "the index map has no results");
    if (result_.error.empty()) result_.map = IndexMap(std::move(inputs), std::move(outputs));
  }

  // i, j = index
  void Assign(const PyExpr& target, const PyExpr& value) {
    std::optional<std::vector<Expr>> list = EvalList(value);
    if (!list && value.kind == Kind::kTuple) list = EvalItems(value);
    const auto set = [&](const PyExpr& name, const Expr& e) {
      if (name.kind != Kind::kName) return Error(name, "expected a name");
      lists_.erase(name.text);
      names_[name.text] = e;
      return result_;
    };
    if (!list) {
      set(target, Eval(value));
    } else if (target.kind == Kind::kName) {
      lists_[target.text] = *list;
    } else if (target.items.size() != list->size()) {
      Error(target, "there are " + std::to_string(target.items.size()) + " names for " + std::to_string(list->size()) +
                        " indices");
    } else {
      for (size_t i = 0; i < list->size(); ++i) set(*target.items[i], (*list)[i]);
    }
  }

  // index, index[1:], [a, b]; nothing for what is one index.
  std::optional<std::vector<Expr>> EvalList(const PyExpr& e) {
    if (e.kind == Kind::kList) return EvalItems(e);
    const PyExpr& base = e.kind == Kind::kSubscript ? *e.items[0] : e;
    const auto list = base.kind == Kind::kName ? lists_.find(base.text) : lists_.end();
    if (list == lists_.end()) return std::nullopt;
    if (e.kind != Kind::kSubscript) return list->second;
    if (e.items.size() != 2 || e.items[1]->kind != Kind::kSlice || e.items[1]->items[2]) return std::nullopt;
    const auto size = static_cast<int64_t>(list->second.size());
    int64_t bounds[2] = {0, size};
    for (size_t i = 0; i < 2; ++i) {
      const script::PyExprPtr& bound = e.items[1]->items[i];
      const auto value = bound ? Position(*bound) : std::optional<int64_t>(bounds[i]);
      if (!value) return std::nullopt;
      bounds[i] = std::clamp<int64_t>(*value < 0 ? *value + size : *value, 0, size);
    }
    const auto begin = list->second.begin();
    return std::vector<Expr>(begin + bounds[0], begin + std::max(bounds[0], bounds[1]));
  }

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
      // Separators, by which the peer would split memory into axes of its own: memory is flat here.
      if (item->kind == Kind::kAttribute && item->text == "AXIS_SEPARATOR") continue;
      if (item->kind == Kind::kStarred) {
        const auto spliced = EvalList(*item->items[0]);
        if (!spliced) Error(*item, "expected indices after '*'");
        if (spliced) outputs.insert(outputs.end(), spliced->begin(), spliced->end());
        continue;
      }
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
        if (const std::optional<Expr> known = name_ ? name_(e.text) : std::nullopt) return *known;
        return Fail(e, e.text + " is not a parameter of the lambda");
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
      case Kind::kSubscript:
        return EvalElement(e);
      case Kind::kBool:
        return Expr(e.integer != 0 ? 1 : 0);
      case Kind::kCall:
        return EvalCall(e);
      default:
        return Fail(e, "expected an expression of the lambda's parameters");
    }
  }

  // 2 or -1 in a subscript.
  static std::optional<int64_t> Position(const PyExpr& e) {
    const bool negative = e.kind == Kind::kUnary && e.text == "-";
    const PyExpr& number = negative ? *e.items[0] : e;
    if (number.kind != Kind::kInt || number.integer > INT32_MAX) return std::nullopt;
    return negative ? -static_cast<int64_t>(number.integer) : static_cast<int64_t>(number.integer);
  }

  // index[0]
  Expr EvalElement(const PyExpr& e) {
    const auto list = e.items[0]->kind == Kind::kName ? lists_.find(e.items[0]->text) : lists_.end();
    if (list == lists_.end() || e.items.size() != 2)
      return Fail(e, "expected an expression of the lambda's parameters");
    const auto at = Position(*e.items[1]);
    const auto size = static_cast<int64_t>(list->second.size());
    if (!at || *at < -size || *at >= size) return Fail(*e.items[1], "there are " + std::to_string(size) + " indices");
    return list->second[static_cast<size_t>(*at < 0 ? *at + size : *at)];
  }

  static bool AnyVar(const VarNode*) { return true; }
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
    // A size of the program may have 64 bits.
    if (!a->dtype().is_index() || !b->dtype().is_index() || !UsesVar(*a, AnyVar) || !UsesVar(*b, AnyVar)) return false;
    Expr* narrow = a->dtype().bits() < b->dtype().bits() ? a : b;
    *narrow = CastTo(DataType::Int(64), *narrow);
    return true;
  }

  // T.float32(0), T.floordiv(i, 4), T.floormod(i, 4), T.min(i, j), T.max(i, j)
  Expr EvalCall(const PyExpr& e) {
    const PyExpr& callee = *e.items[0];
    const auto fail = [&] { return Fail(e, "expected an expression of the lambda's parameters"); };
    if (callee.kind != Kind::kAttribute || !e.keywords.empty() || e.items.size() < 2) return fail();
    // T.Cast("int64", i): indices take the type of the buffer's extents in the end.
    const bool cast_call = (callee.text == "Cast" || callee.text == "cast") && e.items.size() == 3;
    const PyExpr* type = callee.text == "astype" ? e.items[1].get()
                         : !cast_call            ? nullptr
                                                 : e.items[callee.text == "Cast" ? 1 : 2].get();
    if (type != nullptr) {
      const std::optional<DataType> dtype = type->kind == Kind::kString ? DataType::Parse(type->text) : std::nullopt;
      if (!dtype || !dtype->is_index()) return Fail(*type, "expected \"int32\" or \"int64\"");
      const PyExpr& value = callee.text == "astype" ? *callee.items[0] : *e.items[callee.text == "Cast" ? 2 : 1];
      return Eval(value);
    }
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
    if (!HaveOneType(&a, &b) || !a.dtype().is_integer()) return Fail(e, "the operands are not integers of one type");
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
      if (!a.dtype().is_integer()) return Fail(e, "the operands are not integers");
      if (divisor && *divisor == 0) return Fail(*e.items[1], "division by zero");
      return e.text == "//" ? FloorDiv(a, b) : FloorMod(a, b);
    }
    return Fail(e, "'" + e.text + "' cannot be used in an index map");
  }

  const IndexMapName& name_;
  const std::optional<size_t> indices_;
  std::map<std::string, Expr> names_;
  std::map<std::string, std::vector<Expr>> lists_;
  IndexMapReading result_;
};

}  // namespace

IndexMapReading ReadIndexMap(const PyExpr& lambda, const IndexMapName& name, std::optional<size_t> indices) {
  return Reader(name, indices).ReadLambda(lambda);
}

IndexMapReading ReadIndexMapFunction(const PyStmt& function, const IndexMapName& name, std::optional<size_t> indices) {
  return Reader(name, indices).ReadFunction(function);
}

}  // namespace tilewright
