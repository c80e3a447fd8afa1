#include "graph/onnx/known_values.h"

#include <unordered_map>

#include "ir/arith/analyzer.h"

namespace tilewright::graph {
namespace {

constexpr DataType kInt64 = DataType::Int(64);

// 32- and 64-bit signed integers are computed as int64; narrower and unsigned ones only where they are constants.
bool IsWide(DataType type) { return type.is_int() && type.bits() >= 32; }

class Machine {
 public:
  Machine(const VarMap& scalars, int64_t max_steps) : vars_(scalars), steps_left_(max_steps) {}

  // Nothing where the shape is not constant.
  bool Allocate(const Buffer& buffer, const std::vector<Expr>* elements = nullptr) {
    int64_t size = 1;
    std::vector<int64_t> shape;
    for (const Expr& extent : buffer->shape) {
      const auto value = Number(extent);
      if (!value || *value < 0 || *value > 4096) return false;
      shape.push_back(*value);
      size *= *value;
      if (size > 4096) return false;
    }
    Storage storage{.shape = std::move(shape), .elements = std::vector<Expr>(static_cast<size_t>(size))};
    if (elements != nullptr) {
      if (elements->size() != static_cast<size_t>(size)) return false;
      for (size_t i = 0; i < elements->size(); ++i) storage.elements[i] = FromInt64((*elements)[i], buffer->dtype);
    }
    memory_[buffer->data.get()] = std::move(storage);
    return true;
  }

  std::optional<std::vector<Expr>> Result(const Buffer& buffer) {
    std::vector<Expr> result;
    for (const Expr& element : memory_[buffer->data.get()].elements) {
      if (!element) return std::nullopt;
      const DataType type = element.dtype();
      if (type.is_float()) return std::nullopt;
      if (type.is_bool()) {
        const auto value = AsInt(element);
        result.push_back(value ? Const(kInt64, *value) : Select(element, Const(kInt64, 1), Const(kInt64, 0)));
      } else {
        result.push_back(CastTo(kInt64, element));
      }
    }
    return result;
  }

  bool Run(const Stmt& stmt) {
    switch (stmt->kind()) {
      case Kind::kFor:
        return RunFor(cast<ForNode>(stmt));
      case Kind::kSeq:
        for (const Stmt& part : cast<SeqNode>(stmt)->stmts) {
          if (!Run(part)) return false;
        }
        return true;
      case Kind::kBlockRealize:
        return RunBlock(cast<BlockRealizeNode>(stmt));
      case Kind::kStore:
        return RunStore(cast<StoreNode>(stmt));
      case Kind::kIf: {
        const auto* op = cast<IfNode>(stmt);
        const auto condition = Number(op->condition);
        if (!condition) return false;
        const Stmt& taken = *condition != 0 ? op->then_case : op->else_case;
        return !taken || Run(taken);
      }
      case Kind::kEvaluate:
        return IsNoOp(stmt);
      default:
        return false;
    }
  }

 private:
  struct Storage {
    std::vector<int64_t> shape;
    std::vector<Expr> elements;
  };

  static Expr FromInt64(const Expr& value, DataType type) {
    if (type.is_bool()) return arith::Simplify(value != Const(value.dtype(), 0));
    return IsWide(type) ? CastTo(kInt64, value) : CastTo(type, value);
  }

  bool RunFor(const ForNode* op) {
    const auto min = Number(op->min), extent = Number(op->extent);
    if (!min || !extent) return false;
    for (int64_t i = 0; i < *extent; ++i) {
      vars_[op->var] = Const(kInt64, *min + i);
      if (!Run(op->body)) return false;
    }
    return true;
  }

  bool RunBlock(const BlockRealizeNode* op) {
    const auto predicate = Number(op->predicate);
    if (!predicate) return false;
    if (*predicate == 0) return true;
    const BlockNode& block = *op->block.get();
    bool first = true;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      const auto value = Number(op->bindings[i]), min = Number(iter.domain.min);
      if (!value || !min) return false;
      vars_[iter.var] = Const(kInt64, *value);
      if (iter.kind == IterKind::kReduce) first &= *value == *min;
    }
    if (!block.match_buffers.empty()) return false;
    for (const Buffer& buffer : block.alloc_buffers) {
      if (!Allocate(buffer)) return false;
    }
    if (block.init && first && !Run(block.init)) return false;
    return Run(block.body);
  }

  bool RunStore(const StoreNode* op) {
    if (--steps_left_ < 0) return false;
    Expr* place = Place(op->buffer, op->indices);
    if (place == nullptr || op->predicate) return false;
    Expr value = Evaluate(op->value);
    if (!value) return false;
    *place = std::move(value);
    return true;
  }

  Expr* Place(const Buffer& buffer, const std::vector<Expr>& indices) {
    auto it = memory_.find(buffer->data.get());
    if (it == memory_.end()) return nullptr;
    int64_t position = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      const auto index = Number(indices[i]);
      const int64_t extent = it->second.shape[i];
      if (!index || *index < 0 || *index >= extent) return nullptr;
      position = position * extent + *index;
    }
    return &it->second.elements[static_cast<size_t>(position)];
  }

  std::optional<int64_t> Number(const Expr& e) {
    const Expr value = Evaluate(e);
    return value ? AsInt(value) : std::nullopt;
  }

  // Null where it is not known.
  Expr Evaluate(const Expr& e) {
    switch (e->kind()) {
      case Kind::kIntImm:
        return IsWide(e.dtype()) ? CastTo(kInt64, e) : e;
      case Kind::kFloatImm:
        return e;
      case Kind::kVar: {
        auto it = vars_.find(Var(cast<VarNode>(e)));
        return it == vars_.end() ? Expr() : CastTo(kInt64, it->second);
      }
      case Kind::kBinary:
        return EvaluateBinary(cast<BinaryNode>(e));
      case Kind::kNot: {
        Expr a = Evaluate(cast<NotNode>(e)->a);
        return a ? arith::Simplify(Not(a)) : a;
      }
      case Kind::kSelect: {
        const auto* op = cast<SelectNode>(e);
        return Choose(op->condition, op->true_value, op->false_value);
      }
      case Kind::kCast:
        return EvaluateCast(cast<CastNode>(e));
      case Kind::kLoad: {
        const auto* op = cast<LoadNode>(e);
        const Expr* place = op->predicate ? nullptr : Place(op->buffer, op->indices);
        return place == nullptr ? Expr() : *place;
      }
      case Kind::kCall: {
        const auto* op = cast<CallNode>(e);
        if (op->op == "if_then_else") return Choose(op->args[0], op->args[1], op->args[2]);
        if (op->op == "abs" && op->args.size() == 1 && IsWide(e.dtype())) {
          const Expr a = Evaluate(op->args[0]);
          return a ? arith::Simplify(Max(a, Const(kInt64, 0) - a)) : a;
        }
        return {};
      }
      default:
        return {};
    }
  }

  Expr EvaluateBinary(const BinaryNode* op) {
    Expr a = Evaluate(op->a), b = Evaluate(op->b);
    if (!a || !b || a.dtype() != b.dtype()) return {};
    Expr result = arith::Simplify(MakeBinary(op->op, a, b));
    // What is not computed as int64 is a constant, or unknown.
    if (!IsWide(a.dtype()) && !a.dtype().is_bool() && !AsInt(result) && !isa<FloatImmNode>(result)) return {};
    return result;
  }

  Expr EvaluateCast(const CastNode* op) {
    Expr value = Evaluate(op->value);
    if (!value) return value;
    const DataType from = value.dtype(), to = op->dtype();
    if (IsWide(from) && to == DataType::Int(32) && AsInt(value)) return CastTo(kInt64, CastTo(to, value));
    if (IsWide(from) && IsWide(to)) return value;
    if (from.is_bool() && IsWide(to)) {
      const auto known = AsInt(value);
      return known ? Const(kInt64, *known) : Select(value, Const(kInt64, 1), Const(kInt64, 0));
    }
    if (!AsInt(value) && !isa<FloatImmNode>(value)) return {};
    // Narrower integers wrap.
    if (const auto number = AsInt(value); number && to.is_integer() && to.bits() < 64) {
      const int unused = 64 - to.bits();
      const auto shifted = static_cast<uint64_t>(*number) << unused;
      return Const(to, to.is_int() ? static_cast<int64_t>(shifted) >> unused : static_cast<int64_t>(shifted >> unused));
    }
    Expr result = arith::Simplify(CastTo(to, value));
    if (!AsInt(result) && !isa<FloatImmNode>(result)) return {};
    return IsWide(to) ? CastTo(kInt64, result) : result;
  }

  Expr Choose(const Expr& condition, const Expr& yes, const Expr& no) {
    const Expr known = Evaluate(condition);
    if (!known) return {};
    if (const auto value = AsInt(known)) return Evaluate(*value != 0 ? yes : no);
    const Expr a = Evaluate(yes), b = Evaluate(no);
    if (!a || !b || a.dtype() != b.dtype()) return {};
    return arith::Simplify(Select(known, a, b));
  }

  VarMap vars_;
  std::unordered_map<const VarNode*, Storage> memory_;
  int64_t steps_left_;
};

}  // namespace

std::optional<std::vector<std::vector<Expr>>> RunOnExpressions(const tilewright::Function& program,
                                                               const std::vector<std::vector<Expr>>& inputs,
                                                               const VarMap& scalars, int64_t max_steps) {
  Machine machine(scalars, max_steps);
  std::vector<Buffer> outputs;
  for (size_t i = 0; i < program->params.size(); ++i) {
    const Buffer& buffer = program->params[i].buffer;
    if (!buffer) continue;
    const bool is_input = i < inputs.size();
    if (!machine.Allocate(buffer, is_input ? &inputs[i] : nullptr)) return std::nullopt;
    if (!is_input) outputs.push_back(buffer);
  }
  if (!machine.Run(program->body)) return std::nullopt;
  std::vector<std::vector<Expr>> results;
  for (const Buffer& buffer : outputs) {
    auto result = machine.Result(buffer);
    if (!result) return std::nullopt;
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace tilewright::graph
