#include "codegen/lower/cpu/tabulate.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "intrin/instructions.h"
#include "ir/arith/linear.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

constexpr DataType kF16 = DataType::Float(16), kF32 = DataType::Float(32), kS32 = DataType::Int(32);
constexpr DataType kU8 = DataType::UInt(8);
constexpr int kBytes = 256;  // different ones

// The number that is in all lanes.
std::optional<int64_t> AsNumber(const Expr& e) {
  const auto* broadcast = dyn_cast<BroadcastNode>(e);
  return broadcast == nullptr ? std::nullopt : AsInt(broadcast->value);
}

// Whether all lanes are one element of a vector, or one number.
bool IsOneElement(const ShuffleNode* op) {
  for (const int lane : op->indices) {
    if (lane != op->indices[0]) return false;
  }
  return true;
}

// What the lanes of a vector may be.
struct Values {
  enum Kind : uint8_t {
    kAny,
    kOne,  // the same in all lanes
    kFew,  // what is computed of `digit` and of what is the same in all lanes
  };
  Kind kind = kAny;
  Expr digit;  // integers, not negative and smaller than the entries of a table

  static Values Joined(const Values& a, const Values& b) {
    if (a.kind == kAny || b.kind == kAny) return {};
    if (a.kind == kOne || b.kind == kOne) return a.kind == kOne ? b : a;
    return StructuralEqual(a.digit, b.digit) ? a : Values();
  }
};

class Tabulator : public Mutator {
 public:
  explicit Tabulator(int entries) : entries_(entries) {}
  using Mutator::Mutate;

  Expr Mutate(const Expr& e) override {
    if (!e) return e;
    const DataType type = e.dtype();
    if (type.lanes() % entries_ != 0 || !type.is_float() || type.bits() > kF32.bits()) return Mutator::Mutate(e);
    const Values values = Of(e);
    if (values.kind != Values::kFew) return Mutator::Mutate(e);
    // Halves have no table of so few entries.
    const DataType held = type.element() == kF16 ? kF32 : type.element();
    const Expr numbers = CastTo(kS32.with_lanes(type.lanes()), Mutate(Numbers(values.digit)));
    const Expr table = CastTo(held.with_lanes(entries_), Table(e));
    return CastTo(type, Call(held.with_lanes(type.lanes()), std::string(kLookup), {table, numbers}));
  }

 private:
  // A number of few bits that memory holds, which names the entries of a table.
  bool IsDigit(const Expr& e) const { return IsSmall(e) && IsFromMemory(e); }

  static bool IsFromMemory(const Expr& e) {
    bool loads = false;
    PreOrder(e, [&](const Expr& part) {
      loads |= isa<LoadNode>(part) || (isa<VarNode>(part) && part.dtype().lanes() > 1);
      return !loads;
    });
    return loads;
  }

  bool IsSmall(const Expr& e) const {
    if (!e.dtype().is_integer()) return false;
    if (const auto* mod = dyn_cast<BinaryNode>(e); mod != nullptr && mod->op == BinaryOp::kFloorMod) {
      const auto divisor = AsNumber(mod->b);
      return divisor && *divisor > 0 && *divisor <= entries_;
    }
    const auto* call = dyn_cast<CallNode>(e);
    if (call == nullptr || call->args.size() != 2) return false;
    if (call->op == "bitwise_and") return Kept(call).has_value();
    const auto number = AsNumber(call->args[1]);
    return number && *number >= 0 && call->op == "shift_right" && e.dtype().is_uint() && *number < e.dtype().bits() &&
           (uint64_t{1} << (e.dtype().bits() - *number)) <= static_cast<uint64_t>(entries_);
  }

  // A mask that leaves only indices of a table, and the value under the mask.
  std::optional<std::pair<int64_t, Expr>> Kept(const CallNode* op) const {
    for (size_t side = 0; side < 2; ++side) {
      const auto mask = AsNumber(op->args[side]);
      if (mask && *mask >= 0 && *mask < entries_) return std::pair(*mask, op->args[1 - side]);
    }
    return std::nullopt;
  }

  // A vector with the digit in its low bits; a lookup ignores the others.
  Expr Numbers(const Expr& digit) const {
    const auto* call = dyn_cast<CallNode>(digit);
    const auto kept = call != nullptr && call->op == "bitwise_and" ? Kept(call) : std::nullopt;
    return kept && kept->first == entries_ - 1 ? kept->second : digit;
  }

  Values Of(const Expr& e) {
    const auto [known, is_new] = known_.try_emplace(e.get());
    if (!is_new) return known->second;
    const Values values = Computed(e);
    return known_[e.get()] = values;
  }

  Values OfAll(const std::vector<Expr>& parts, int lanes) {
    Values values{Values::kOne, {}};
    for (const Expr& part : parts) {
      if (part.dtype().lanes() != lanes) return {};
      values = Values::Joined(values, Of(part));
      if (values.kind == Values::kAny) break;
    }
    return values;
  }

  Values Computed(const Expr& e) {
    const int lanes = e.dtype().lanes();
    if (const auto* broadcast = dyn_cast<BroadcastNode>(e)) {
      return broadcast->value.dtype().lanes() == 1 ? Values{Values::kOne, {}} : Values();
    }
    if (const auto* shuffle = dyn_cast<ShuffleNode>(e)) {
      return IsOneElement(shuffle) ? Values{Values::kOne, {}} : Values();
    }
    if (IsDigit(e)) return {Values::kFew, e};
    if (const auto* conversion = dyn_cast<CastNode>(e)) return OfAll({conversion->value}, lanes);
    if (const auto* select = dyn_cast<SelectNode>(e)) {
      return OfAll({select->condition, select->true_value, select->false_value}, lanes);
    }
    if (const auto* op = dyn_cast<BinaryNode>(e)) {
      // An integer quotient may trap in lanes that no number names.
      const bool divides = op->op >= BinaryOp::kDiv && op->op <= BinaryOp::kFloorMod;
      return divides && !op->a.dtype().is_float() ? Values() : OfAll({op->a, op->b}, lanes);
    }
    if (const auto* call = dyn_cast<CallNode>(e)) return IsOfLanes(call) ? OfAll(call->args, lanes) : Values();
    if (const auto* load = dyn_cast<LoadNode>(e)) return OfElements(load);
    return {};
  }

  // Whether each lane of a call depends on that lane of the arguments alone.
  static bool IsOfLanes(const CallNode* call) {
    static constexpr std::string_view kOthers[] = {
        "call_pure_extern", "call_llvm_pure_intrin", "vectorlow", "vectorhigh",
        "vectorcombine",    "reinterpret",           kLookup,     kDotAdd};
    if (EffectOf(call->op) != CallEffect::kPure) return false;
    for (const std::string_view other : kOthers) {
      if (call->op == other) return false;
    }
    return true;
  }

  // The elements of a buffer that a digit selects; the buffer contains all entries.
  Values OfElements(const LoadNode* op) {
    if (op->predicate || op->indices.size() != 1 || op->buffer->dtype.lanes() != 1) return {};
    const auto extent = AsInt(op->buffer->shape[0]);
    const Values values = extent && *extent % entries_ == 0 ? Of(op->indices[0]) : Values();
    return values.kind == Values::kFew && FirstEntry(op->indices[0]) ? values : Values();
  }

  // Whether the values are those of a digit, in whatever type.
  bool IsConvertedDigit(const Expr& e) const {
    const auto* conversion = dyn_cast<CastNode>(e);
    return IsDigit(e) || (conversion != nullptr && e.dtype().bits() >= 8 && IsConvertedDigit(conversion->value));
  }

  // The index of the element that the digit 0 picks, where the digit is added to it; nothing for other indices. Sums of
  // few bits wrap.
  std::optional<Expr> FirstEntry(const Expr& index) const {
    if (IsConvertedDigit(index)) return Expr(0);
    if (index.dtype().bits() < kS32.bits()) return std::nullopt;
    if (const auto* conversion = dyn_cast<CastNode>(index)) return FirstEntry(conversion->value);
    const auto* sum = dyn_cast<BinaryNode>(index);
    if (sum == nullptr || sum->op != BinaryOp::kAdd) return std::nullopt;
    for (const auto& [first, digit] : {std::pair(sum->a, sum->b), std::pair(sum->b, sum->a)}) {
      const auto* broadcast = dyn_cast<BroadcastNode>(first);
      const bool aligned = broadcast != nullptr && arith::WrittenDivisor(broadcast->value) % entries_ == 0;
      if (aligned && IsConvertedDigit(digit)) return broadcast->value;
    }
    return std::nullopt;
  }

  // The values of `e` where the digit is 0, 1, and so on.
  Expr Table(const Expr& e) const {
    const DataType type = e.dtype().with_lanes(entries_);
    if (const auto* broadcast = dyn_cast<BroadcastNode>(e)) return Broadcast(broadcast->value, entries_);
    if (const auto* shuffle = dyn_cast<ShuffleNode>(e)) {
      return Expr(
          new ShuffleNode(shuffle->vectors, std::vector<int>(static_cast<size_t>(entries_), shuffle->indices[0])));
    }
    if (IsDigit(e)) return CastTo(type, Ramp(Expr(0), Expr(1), entries_));
    if (const auto* load = dyn_cast<LoadNode>(e)) {
      const Expr first = *FirstEntry(load->indices[0]);
      return load->buffer.Load({Ramp(first, Const(first.dtype(), 1), entries_)});
    }
    if (const auto* conversion = dyn_cast<CastNode>(e)) return CastTo(type, Table(conversion->value));
    if (const auto* select = dyn_cast<SelectNode>(e)) {
      return Expr(new SelectNode(Table(select->condition), Table(select->true_value), Table(select->false_value)));
    }
    if (const auto* op = dyn_cast<BinaryNode>(e)) return Expr(new BinaryNode(op->op, Table(op->a), Table(op->b)));
    const auto* call = cast<CallNode>(e);
    std::vector<Expr> args;
    for (const Expr& arg : call->args) args.push_back(Table(arg));
    return Call(type, call->op, std::move(args));
  }

  const int entries_;
  std::unordered_map<const ExprNode*, Values> known_;
};

// Elements of tables of all bytes that bytes pick from memory are looked up in registers.
class ByteTables : public Mutator {
 public:
  using Mutator::Mutate;

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const DataType type = op->dtype();
    const Expr byte = op->indices.size() == 1 ? ByteOf(op->indices[0]) : Expr();
    const bool table = op->buffer->dtype == type.element() && type.is_integer() && type.bits() == kU8.bits() &&
                       IsInt(op->buffer->shape[0], kBytes);
    if (!byte || !table || type.lanes() < kLeastLanes) return Mutator::MutateLoad(op, self);
    const Expr whole = op->buffer.Load({Ramp(Expr(0), Expr(1), kBytes)});
    const Expr found = Call(type, std::string(kLookup), {whole, Mutate(byte)});
    // Lanes that the mask leaves out hold zeros.
    return op->predicate ? Expr(new SelectNode(Mutate(op->predicate), found, Const(type, 0))) : found;
  }

 private:
  // Shorter vectors are looked up in memory.
  static constexpr int kLeastLanes = 8;

  // The vector of unsigned bytes that an index is; null for others.
  static Expr ByteOf(const Expr& index) {
    if (index.dtype().element() == kU8) return index;
    const auto* conversion = dyn_cast<CastNode>(index);
    const bool keeps = conversion != nullptr && index.dtype().is_integer() && index.dtype().bits() > kU8.bits();
    return keeps ? ByteOf(conversion->value) : Expr();
  }
};

}  // namespace

Function Tabulate(const Function& function, const Target& target) {
  Stmt body = function->body;
  if (FindInstruction(target, "lookup", kU8, kU8, kU8) != nullptr) body = ByteTables().Mutate(body);
  if (const MachineInstruction* row = FindInstruction(target, "lookup", kF32, kS32, kF32)) {
    body = Tabulator(row->n).Mutate(body);
  }
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
