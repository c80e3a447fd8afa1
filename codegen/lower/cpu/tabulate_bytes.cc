#include "codegen/lower/cpu/tabulate_bytes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "intrin/instructions.h"
#include "intrin/lookup.h"
#include "ir/builtin.h"
#include "ir/changes/may_change.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "target/costs.h"

namespace tilewright {
namespace {

constexpr DataType kU8 = DataType::UInt(8), kS8 = DataType::Int(8), kS32 = DataType::Int(32);
constexpr int kBytes = 256;  // different ones

// Most bytes in an expression that is tried as a function of each of them.
constexpr size_t kMostBytes = 8;
// Cycles of an instruction that is neither a quotient nor a function: two start at once.
constexpr double kSimpleCycles = 0.5;
// Least ratio of a function's cycles to a lookup's. The estimate is coarse, and filling the table takes time.
constexpr double kLeastGain = 1.5;
// The iterations of a loop of unknown length.
constexpr double kUnknownIterations = 1 << 16;

bool IsByte(DataType type) { return type == kU8 || type == kS8; }

bool IsOneInstruction(std::string_view op) {
  static constexpr std::string_view kSimple[] = {
      "floor",      "ceil",        "trunc",       "round",      "nearbyint",   "copysign", "abs",         "isnan",
      "shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor", "fma",      "bitwise_not", kIfThenElse};
  return std::ranges::find(kSimple, op) != std::end(kSimple);
}

// Cycles for a vector of as many elements as a register has bytes.
double CyclesOf(const Expr& e, const CpuCosts& costs) {
  double cycles = 0;
  PreOrder(e, [&](const Expr& part) {
    DataType type = part.dtype();
    double here = 0;
    if (const auto* op = dyn_cast<BinaryNode>(part)) {
      type = op->a.dtype();
      here = op->op == BinaryOp::kDiv && type.is_float() ? costs.divide_cycles : kSimpleCycles;
    } else if (const auto* conversion = dyn_cast<CastNode>(part)) {
      if (type.bits() < conversion->value.dtype().bits()) type = conversion->value.dtype();
      here = kSimpleCycles;
    } else if (const auto* call = dyn_cast<CallNode>(part)) {
      const bool root = call->op == "sqrt" || call->op == "rsqrt";
      // Calls that compute integers are of a few instructions.
      const bool simple = IsOneInstruction(call->op) || !type.is_float();
      here = simple ? kSimpleCycles : root ? costs.divide_cycles : costs.function_cycles;
    } else if (isa<SelectNode>(part) || isa<NotNode>(part)) {
      here = kSimpleCycles;
    }
    cycles += here * std::max(1, type.bits() / kU8.bits());
    return !isa<LoadNode>(part);
  });
  return cycles;
}

// Whether an expression may be evaluated for every byte, wherever its variables have values: it does not have effects,
// read outside of a buffer, or divide integers by zero.
bool IsAlwaysDefined(const Expr& e) {
  bool defined = true;
  PreOrder(e, [&](const Expr& part) {
    if (const auto* load = dyn_cast<LoadNode>(part)) {
      const auto at = load->indices.size() == 1 ? AsInt(load->indices[0]) : std::nullopt;
      const auto size = AsInt(load->buffer->shape[0]);
      defined &= !load->predicate && at && size && *at >= 0 && *at < *size;
    }
    if (const auto* call = dyn_cast<CallNode>(part)) {
      defined &= EffectOf(call->op) == CallEffect::kPure && call->op != kCallPureExtern && call->op != kAddressOf &&
                 call->op != kAccessPtr && !call->op.starts_with("call_llvm");
    }
    if (const auto* op = dyn_cast<BinaryNode>(part)) {
      const bool divides = op->dtype().is_integer() && op->op >= BinaryOp::kDiv && op->op <= BinaryOp::kFloorMod;
      defined &= !divides || AsInt(op->b).value_or(0) > 0;
    }
    defined &= part.dtype().is_scalar();
    return defined;
  });
  return defined;
}

class ByteTabulator : public StmtMutator {
 public:
  ByteTabulator(const MachineInstruction& row, const CpuCosts& costs, uint32_t next_id)
      : width_(row.n), lookup_(kSimpleCycles * InstructionsToLookUp(row, kBytes)), costs_(costs), next_id_(next_id) {}
  using StmtMutator::Mutate;
  uint32_t next_id() const { return next_id_; }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    bound_[op->var.get()] = loops_.size() + 1;
    loops_.push_back({.loop = op});
    Stmt result = StmtMutator::MutateFor(op, self);
    const std::vector<Table> tables = std::move(loops_.back().tables);
    loops_.pop_back();
    for (const Table& table : tables) result = WithTable(table, std::move(result));
    return result;
  }
  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt& self) override {
    bound_[op->var.get()] = loops_.size();
    return StmtMutator::MutateLetStmt(op, self);
  }
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    bound_[op->buffer->data.get()] = loops_.size();
    return StmtMutator::MutateAllocate(op, self);
  }

  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (!IsByte(op->value.dtype()) || op->predicate || loops_.empty()) return self;
    if (CyclesOf(op->value, costs_) < kLeastGain * lookup_) return self;
    const std::vector<Expr> bytes = BytesIn(op->value);
    // The byte that most is computed of is the one furthest inside.
    for (size_t i = bytes.size(); i-- > 0;) {
      if (const Buffer table = TableFor(op->value, bytes[i])) {
        const Expr number = CastTo(kS32, CastTo(kU8, bytes[i]));
        return Store(table, op->buffer, number, op->indices);
      }
    }
    return self;
  }

 private:
  struct Table {
    Expr function;  // of `byte_`
    Buffer values;
  };
  struct Loop {
    const ForNode* loop;
    std::vector<Table> tables = {};  // that are filled in front of it
    std::optional<StoredMemory> stored = {};
  };

  static Stmt Store(const Buffer& table, const Buffer& to, const Expr& number, const std::vector<Expr>& indices) {
    return tilewright::Store(to, table.Load({number}), indices);
  }

  // The different bytes inside of a value, outermost first; the value itself is not one.
  static std::vector<Expr> BytesIn(const Expr& value) {
    std::vector<Expr> bytes;
    PreOrder(value, [&](const Expr& part) {
      const bool constant = AsInt(part).has_value();
      const auto same = [&](const Expr& other) { return StructuralEqual(part, other); };
      if (!part.same_as(value) && IsByte(part.dtype()) && !constant && std::ranges::none_of(bytes, same)) {
        bytes.push_back(part);
      }
      return bytes.size() <= kMostBytes && !isa<LoadNode>(part);
    });
    if (bytes.size() > kMostBytes) bytes.clear();
    return bytes;
  }

  // The table of the value as a function of `byte`, or null.
  Buffer TableFor(const Expr& value, const Expr& byte) {
    const Var& variable = byte.dtype() == kU8 ? unsigned_ : signed_;
    const Expr function = RewriteExpr(value, [&](const Expr& e) {
      return e.dtype() == byte.dtype() && StructuralEqual(e, byte) ? Expr(variable) : e;
    });
    if (!IsAlwaysDefined(function)) return {};
    const double cycles = CyclesOf(function, costs_);
    if (cycles < kLeastGain * lookup_) return {};
    const std::optional<size_t> place = PlaceOf(function), place_of_byte = PlaceOf(byte);
    if (!place || (place_of_byte && *place_of_byte <= *place)) return {};
    if (Iterations(*place) * (cycles - lookup_) < kLeastGain * kBytes * cycles) return {};
    std::vector<Table>& tables = loops_[*place].tables;
    for (const Table& table : tables) {
      if (StructuralEqual(table.function, function)) return table.values;
    }
    tables.push_back({function, Buffer("values", {Expr(kBytes)}, value.dtype())});
    return tables.back().values;
  }

  // The outermost loop that the function does not depend on; nothing if there is none.
  std::optional<size_t> PlaceOf(const Expr& function) {
    size_t place = 0;
    PreOrder(function, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      const auto bound = bound_.find(load != nullptr ? load->buffer->data.get() : dyn_cast<VarNode>(e));
      if (bound != bound_.end()) place = std::max(place, bound->second);
      return true;
    });
    const auto in_place = [](ForKind kind) { return kind == ForKind::kSerial || kind == ForKind::kParallel; };
    for (size_t outer = 0; outer < std::min(place, loops_.size()); ++outer) {
      if (!in_place(loops_[outer].loop->kind)) return std::nullopt;
    }
    for (; place < loops_.size(); ++place) {
      Loop& loop = loops_[place];
      if (!loop.stored) loop.stored.emplace(Stmt(loop.loop));
      if (!loop.stored->MayChange(function)) return place;
      if (!in_place(loop.loop->kind)) return std::nullopt;
    }
    return std::nullopt;
  }

  // How often the loops from one on run what is innermost.
  double Iterations(size_t first) const {
    double iterations = 1;
    for (size_t i = first; i < loops_.size(); ++i) {
      const auto extent = AsInt(loops_[i].loop->extent);
      iterations *= extent ? static_cast<double>(*extent) : kUnknownIterations;
    }
    return iterations;
  }

  Stmt WithTable(const Table& table, Stmt loop) {
    const Var part("part", kS32), lane("lane", kS32);
    const Expr number = Expr(part) * Expr(width_) + Expr(lane);
    const Expr value = Substitute(table.function, {{unsigned_, CastTo(kU8, number)}, {signed_, CastTo(kS8, number)}});
    ForNode::Fields lanes;
    lanes.id = next_id_++;
    lanes.var = lane;
    lanes.extent = Expr(width_);
    lanes.kind = ForKind::kVectorized;
    lanes.body = tilewright::Store(table.values, value, {number});
    ForNode::Fields parts;
    parts.id = next_id_++;
    parts.var = part;
    parts.extent = Expr(kBytes / width_);
    parts.body = For(std::move(lanes));
    return Stmt(new AllocateNode(table.values, {}, Sequence({For(std::move(parts)), std::move(loop)})));
  }

  const int width_;
  const double lookup_;  // cycles of a vector
  const CpuCosts& costs_;
  uint32_t next_id_;
  const Var unsigned_{"byte", kU8}, signed_{"byte", kS8};
  std::vector<Loop> loops_;                           // around the statement at hand, outermost first
  std::unordered_map<const VarNode*, size_t> bound_;  // loops around the places where variables are defined
};

}  // namespace

Function TabulateBytes(const Function& function, const Target& target) {
  const MachineInstruction* row = FindInstruction(target, "lookup", kU8, kU8, kU8);
  if (row == nullptr) return function;
  ByteTabulator tabulator(*row, CpuCostsOf(target), function->next_id);
  Stmt body = tabulator.Mutate(function->body);
  return function.WithBody(std::move(body), tabulator.next_id());
}

}  // namespace tilewright
