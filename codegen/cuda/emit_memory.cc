// Loads, stores and vectors. Buffers are flat: one dimension, no strides, no layout.
#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/call_lanes.h"
#include "codegen/cuda/kernel_emitter.h"
#include "codegen/cuda/type_text.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright::cuda {
namespace {

// The widest access of one thread.
constexpr int kMostAccessBytes = 16;

// The base of a vector of adjacent indices, or null.
const Expr* AdjacentBase(const Expr& index) {
  const auto* ramp = dyn_cast<RampNode>(index);
  return ramp != nullptr && IsInt(ramp->stride, 1) ? &ramp->base : nullptr;
}

Expr Plus(const Expr& base, int64_t offset) {
  return offset == 0 ? base : arith::Simplify(base + Const(base.dtype(), offset));
}

bool LoadsFrom(const Expr& e, const VarNode* data) {
  bool found = false;
  PreOrder(e, [&](const Expr& sub) {
    if (const auto* load = dyn_cast<LoadNode>(sub)) found = found || load->buffer->data.get() == data;
    return !found;
  });
  return found;
}

// Whether naming the value is worth a line: it is not a variable, a constant or what these are plain sums of.
bool IsWorthNaming(const Expr& e) {
  bool found = false;
  PreOrder(e, [&](const Expr& sub) {
    found = found || isa<LoadNode>(sub) || isa<CallNode>(sub);
    return !found;
  });
  return found;
}

// Whether two sums of a product lie in one register.
bool SharesRegisters(DataType type) { return type.bits() == 16; }

}  // namespace

const KernelEmitter::Pointer* KernelEmitter::FindPointer(const Buffer& buffer) {
  const auto known = pointers_.find(buffer->data.get());
  if (buffer->dtype.lanes() != 1) Fail(absl::StrCat("buffer ", buffer->name, " has vectors for elements"));
  if (known != pointers_.end()) return &known->second;
  Fail(absl::StrCat("buffer ", buffer->name, " is neither a parameter nor allocated"));
  return nullptr;
}

// The pointer, cast to one to elements of the type.
std::string KernelEmitter::PointerText(const Pointer& pointer, DataType type) const {
  if (pointer.type == type) return pointer.name;
  const auto stored = StoredType(type);
  const std::string name = stored.ok() ? *stored : "int";
  if (pointer.space == Space::kLocal) return absl::StrCat("reinterpret_cast<", name, "*>(", pointer.name, ")");
  return absl::StrCat("tw::Cast<", name, ">(", pointer.name, ")");
}

std::string KernelEmitter::ElementText(const Buffer& buffer, const Expr& index) {
  const Pointer* pointer = FindPointer(buffer);
  if (pointer == nullptr) return "0";
  if (pointer->registers > 0) {
    const Expr element = FloorMod(index, Const(index.dtype(), pointer->registers));
    const std::string object = AccumulatorText(*pointer, index);
    const auto text = [&](const Expr& e) { return absl::StrCat("[", Value(analyzer_.Simplify(e)).text, "]"); };
    if (!SharesRegisters(pointer->type)) return absl::StrCat(object, text(element));
    const Expr two = Const(index.dtype(), 2);
    return absl::StrCat("reinterpret_cast<", TypeText(pointer->type, true), "*>(&", object,
                        text(FloorDiv(element, two)), ")", text(FloorMod(element, two)));
  }
  return absl::StrCat(PointerText(*pointer, buffer->dtype.element()), "[", Value(index).text, "]");
}

// The object that holds a register.
std::string KernelEmitter::AccumulatorText(const Pointer& pointer, const Expr& index) {
  const Expr object = FloorDiv(index, Const(index.dtype(), pointer.registers));
  return absl::StrCat(pointer.name, "[", Value(analyzer_.Simplify(object)).text, "]");
}

// Registers that products write asynchronously are objects, of which the emulator knows when they are touched.
void KernelEmitter::EmitAccumulator(const AllocateNode* op, const std::string& name, int64_t count) {
  const auto* value = std::get_if<Expr>(&op->annotations.at(kCudaAccumulator).value);
  const int64_t registers = value == nullptr ? 0 : AsInt(*value).value_or(0);
  if (registers <= 0 || count % registers != 0) {
    Fail(absl::StrCat("buffer ", op->buffer->name, " of ", count, " registers does not consist of tiles of ",
                      registers));
    return;
  }
  const DataType type = op->buffer->dtype.element();
  pointers_[op->buffer->data.get()] = {name, type, Space::kLocal, registers};
  const bool shares = SharesRegisters(type);
  Line(absl::StrCat("tw::Acc<", shares ? "uint32_t" : TypeText(type, true), ", ", shares ? registers / 2 : registers,
                    "> ", name, "[", count / registers, "];"));
  Statement(op->body);
}

Text KernelEmitter::Load(const LoadNode* op, bool stored) {
  const DataType type = op->dtype();
  if (op->indices.size() != 1) return Fail(absl::StrCat("buffer ", op->buffer->name, " is not flat"));
  const std::string element = ElementText(op->buffer, op->indices[0]);
  const std::string value = !stored && IsNarrow(type) ? absl::StrCat("tw::widen(", element, ")") : element;
  if (!op->predicate || IsTrue(op->predicate)) return {value};
  const std::string name = TypeText(type, stored);
  return {absl::StrCat(Condition(op->predicate).Within(kOr), " ? ", name, "(", value, ") : ", name, "{}"), kTernary};
}

// How many lanes one access takes: as many as the alignment of the first is known to allow.
int KernelEmitter::AccessLanes(const Buffer& buffer, const Expr& first, int lanes) const {
  const auto known = pointers_.find(buffer->data.get());
  if (known == pointers_.end() || known->second.space == Space::kLocal) return 1;
  const int64_t bytes = buffer->dtype.bytes();
  int64_t divisor = arith::WrittenDivisor(first);  // 0: of zero
  if (divisor == 0) divisor = kMostAccessBytes;
  const int64_t aligned = std::gcd(divisor * bytes, static_cast<int64_t>(std::max(buffer->alignment, 1)));
  int access = 1;
  while (access * 2 <= lanes && lanes % (access * 2) == 0 && access * 2 * bytes <= kMostAccessBytes &&
         aligned % (access * 2 * bytes) == 0) {
    access *= 2;
  }
  return access;
}

// A buffer of this thread whose elements are the lanes, so that each lane is a load from it.
std::vector<Expr> KernelEmitter::LoadLanes(const LoadNode* op) {
  const int lanes = op->dtype().lanes();
  const Expr& index = op->indices[0];
  const DataType type = op->dtype().element();
  const bool masked = op->predicate && !IsTrue(op->predicate);
  std::vector<Expr> result;
  const Expr* base = AdjacentBase(index);
  if (base != nullptr && !masked && !lanes_apart_) {
    const int access = AccessLanes(op->buffer, *base, lanes);
    if (access > 1) {
      const Pointer* pointer = FindPointer(op->buffer);
      const std::string vec = absl::StrCat("tw::Vec<", TypeText(type, true), ", ", access, ">");
      for (int first = 0; first < lanes; first += access) {
        const Buffer part(absl::StrCat(op->buffer->name, "_vec"), {Expr(access)}, type, Scope::Parse("local"));
        const std::string name = names_.Make(part->name);
        const std::string under =
            lanes_under_ ? absl::StrCat(Condition(lanes_under_).Within(kOr), " ? ") : std::string();
        Line(absl::StrCat("const ", vec, " ", name, " = ", under, "tw::Load<", vec, ">(", PointerText(*pointer, type),
                          " + ", Value(Plus(*base, first)).Within(kProduct), ")",
                          lanes_under_ ? absl::StrCat(" : ", vec, "{}") : "", ";"));
        pointers_[part->data.get()] = {name, type, Space::kLocal, 0, static_cast<size_t>(access)};
        for (int i = 0; i < access; ++i) result.push_back(part(i));
      }
      return result;
    }
  }
  const std::vector<Expr> indices = Lanes(index);
  const std::vector<Expr> predicates = masked ? Lanes(op->predicate) : std::vector<Expr>();
  for (size_t i = 0; i < static_cast<size_t>(lanes); ++i) {
    if (indices.size() != static_cast<size_t>(lanes)) break;
    const Expr load = op->buffer.Load({indices[i]});
    result.push_back(masked ? IfThenElse(predicates[i], load, CastTo(type, Const(DataType::Int(32), 0))) : load);
  }
  return result;
}

Expr KernelEmitter::NamedLane(const Expr& scalar, const std::string& name) {
  // A statement of its own would evaluate the value where the branch does not.
  if (!IsWorthNaming(scalar) || lanes_apart_ || lanes_under_) return scalar;
  const Var var(name, scalar.dtype());
  values_[var.get()] = Named(scalar.dtype(), name, Value(scalar).text);
  return var;
}

std::vector<Expr> KernelEmitter::ShuffleLanes(const ShuffleNode* op) {
  std::vector<Expr> all, result;
  for (const Expr& part : op->vectors) {
    const std::vector<Expr> lanes = Lanes(part);
    all.insert(all.end(), lanes.begin(), lanes.end());
  }
  for (int index : op->indices) result.push_back(all.at(static_cast<size_t>(index)));
  return result;
}

// The lanes of a value in which a scalar has a name.
std::vector<Expr> KernelEmitter::LetLanes(const LetNode* op) {
  if (lanes_apart_ || lanes_under_) return Lanes(Substitute(op->body, VarMap{{op->var, op->value}}));
  values_[op->var.get()] = Named(op->var.dtype(), op->var.name(), Value(op->value).text);
  return Lanes(op->body);
}

std::vector<Expr> KernelEmitter::Lanes(const Expr& e) {
  const auto count = static_cast<size_t>(e.dtype().lanes());
  if (count == 1 && !isa<ShuffleNode>(e)) return {e};
  std::vector<Expr> result;
  const auto each = [&](auto&& lane) {
    for (size_t i = 0; i < count; ++i) result.push_back(lane(i));
    return result;
  };
  switch (e->kind()) {
    case Kind::kRamp: {
      const auto* op = cast<RampNode>(e);
      return each([&](size_t i) {
        return arith::Simplify(op->base + op->stride * Const(op->base.dtype(), static_cast<int64_t>(i)));
      });
    }
    case Kind::kBroadcast: {
      std::vector<Expr> inner = Lanes(cast<BroadcastNode>(e)->value);
      for (Expr& lane : inner) lane = NamedLane(lane, "each");
      return each([&](size_t i) { return inner[i % inner.size()]; });
    }
    case Kind::kBinary: {
      const auto* op = cast<BinaryNode>(e);
      const std::vector<Expr> a = Lanes(op->a), b = Lanes(op->b);
      return each([&](size_t i) { return MakeBinary(op->op, a[i], b[i]); });
    }
    case Kind::kNot: {
      const std::vector<Expr> a = Lanes(cast<NotNode>(e)->a);
      return each([&](size_t i) { return Not(a[i]); });
    }
    case Kind::kSelect: {
      const auto* op = cast<SelectNode>(e);
      const std::vector<Expr> chosen = Lanes(op->condition), a = Lanes(op->true_value), b = Lanes(op->false_value);
      return each([&](size_t i) { return Select(chosen[chosen.size() == 1 ? 0 : i], a[i], b[i]); });
    }
    case Kind::kCast: {
      const auto* op = cast<CastNode>(e);
      const std::vector<Expr> a = Lanes(op->value);
      return each([&](size_t i) { return CastTo(e.dtype().element(), a[i]); });
    }
    case Kind::kLoad:
      return LoadLanes(cast<LoadNode>(e));
    case Kind::kLet:
      if (cast<LetNode>(e)->var.dtype().lanes() == 1) return LetLanes(cast<LetNode>(e));
      break;
    case Kind::kShuffle:
      return ShuffleLanes(cast<ShuffleNode>(e));
    case Kind::kCall:
      return CallLanes(cast<CallNode>(e));
    case Kind::kVar:
      if (const auto known = lanes_of_.find(cast<VarNode>(e)); known != lanes_of_.end()) return known->second;
      break;
    default:
      break;
  }
  Fail(absl::StrCat("a vector of ", e.dtype().ToString(), " that CUDA code has no text for"));
  return std::vector<Expr>(count, CastTo(e.dtype().element(), Const(DataType::Int(32), 0)));
}

// A branch loads vectors under its condition where that is one for all lanes; else each lane loads its element.
std::vector<Expr> KernelEmitter::ChosenLanes(const CallNode* op) {
  const auto count = static_cast<size_t>(op->dtype().lanes());
  std::vector<Expr> chosen = Lanes(op->args[0]);
  bool one = true;
  for (Expr& lane : chosen) {
    lane = arith::Simplify(lane);
    one = one && arith::SameExpr(lane, chosen[0]);
  }
  const auto branch = [&](size_t arg, const Expr& condition) {
    const Expr outer_under = lanes_under_;
    const bool outer_apart = lanes_apart_;
    if (one) {
      lanes_under_ = lanes_under_ ? And(lanes_under_, condition) : condition;
    } else {
      lanes_apart_ = true;
    }
    std::vector<Expr> lanes = Lanes(op->args[arg]);
    lanes_under_ = outer_under;
    lanes_apart_ = outer_apart;
    return lanes;
  };
  const std::vector<Expr> a = branch(1, chosen[0]);
  // A vector that is loaded under the condition is zero elsewhere.
  const auto* load = dyn_cast<LoadNode>(op->args[1]);
  if (one && load != nullptr && IsZero(op->args[2]) && std::ranges::all_of(a, [&](const Expr& lane) {
        const auto* part = dyn_cast<LoadNode>(lane);
        return part != nullptr && !part->buffer->data.same_as(load->buffer->data);
      })) {
    return a;
  }
  const std::vector<Expr> b = branch(2, Not(chosen[0]));
  std::vector<Expr> result;
  for (size_t i = 0; i < count; ++i) {
    const auto lane = [i](const std::vector<Expr>& lanes) { return lanes[lanes.size() == 1 ? 0 : i]; };
    result.push_back(IfThenElse(lane(chosen), lane(a), lane(b)));
  }
  return result;
}

std::vector<Expr> KernelEmitter::CallLanes(const CallNode* op) {
  if (op->op == kIfThenElse) return ChosenLanes(op);
  const auto count = static_cast<size_t>(op->dtype().lanes());
  const DataType type = op->dtype().element();
  std::vector<std::vector<Expr>> args;
  for (const Expr& arg : op->args) args.push_back(Lanes(arg));
  std::vector<Expr> result;
  if (op->op == "vectorlow" || op->op == "vectorhigh" || op->op == "vectorcombine") {
    std::vector<Expr> all = args[0];
    if (args.size() > 1) all.insert(all.end(), args[1].begin(), args[1].end());
    const size_t first = op->op == "vectorhigh" ? count : 0;
    for (size_t i = 0; i < count; ++i) result.push_back(all.at(first + i));
    return result;
  }
  if (op->op == kDotAdd) return DotLanes(type, args[0], args[1], args[2]);
  if (op->op == kLookup) {
    if (!std::has_single_bit(args[0].size()) || args[1].size() != count) {
      Fail(absl::StrCat("lookup in ", op->args[0].dtype().ToString(), " by ", op->args[1].dtype().ToString()));
    }
    return LookupLanes(args[0], args[1]);
  }
  if (op->op == "reinterpret") {
    const DataType from = op->args[0].dtype().element();
    if (from.bits() >= 8 && type.bits() >= 8) return ReinterpretLanes(type, count, args[0]);
    Fail(absl::StrCat("reinterpret of ", from.ToString(), " as ", type.ToString()));
    return std::vector<Expr>(count, CastTo(type, Const(DataType::Int(32), 0)));
  }
  if (EffectOf(op->op) != CallEffect::kPure) {
    Fail(absl::StrCat("no CUDA code for vectors of calls of ", op->op));
    return std::vector<Expr>(count, CastTo(type, Const(DataType::Int(32), 0)));
  }
  for (size_t i = 0; i < count; ++i) {
    std::vector<Expr> lane;
    for (const std::vector<Expr>& arg : args) lane.push_back(arg[arg.size() == 1 ? 0 : i]);
    result.push_back(tilewright::Call(type, op->op, std::move(lane)));
  }
  return result;
}

void KernelEmitter::EmitStore(const StoreNode* op) {
  if (op->indices.size() != 1) {
    Fail(absl::StrCat("buffer ", op->buffer->name, " is not flat"));
    return;
  }
  if (op->indices[0].dtype().lanes() != 1 || op->value.dtype().lanes() != 1) return StoreLanes(op);
  const bool masked = op->predicate && !IsTrue(op->predicate);
  if (masked) Open(absl::StrCat("if (", Condition(op->predicate).text, ")"));
  const std::string value = Stored(op->value);
  Line(absl::StrCat(ElementText(op->buffer, op->indices[0]), " = ", value, ";"));
  if (masked) Close();
}

// The name of a loaded vector of that type whose elements, all of them in order, are the lanes; empty for others.
std::string KernelEmitter::LoadedVector(std::span<const Expr> lanes, DataType type) const {
  const Pointer* found = nullptr;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const auto* load = dyn_cast<LoadNode>(lanes[i]);
    if (load == nullptr || !IsInt(load->indices[0], static_cast<int64_t>(i))) return "";
    const auto known = pointers_.find(load->buffer->data.get());
    if (known == pointers_.end() || (found != nullptr && found != &known->second)) return "";
    found = &known->second;
  }
  const bool whole = found != nullptr && found->loaded_lanes == lanes.size() && found->type == type;
  return whole ? found->name : "";
}

// All lanes are read before the first is written.
void KernelEmitter::StoreLanes(const StoreNode* op) {
  const int lanes = op->value.dtype().lanes();
  const bool masked = op->predicate && !IsTrue(op->predicate);
  const DataType type = op->buffer->dtype.element();
  std::vector<Expr> values = Lanes(op->value);
  if (!status_.ok()) return;
  const Expr* base = AdjacentBase(op->indices[0]);
  const int access = base != nullptr && !masked ? AccessLanes(op->buffer, *base, lanes) : 1;
  if (access < lanes) {
    for (Expr& value : values) {
      if (LoadsFrom(value, op->buffer->data.get())) value = NamedLane(value, op->buffer->name + "_new");
    }
  }
  const std::vector<Expr> predicates = masked ? Lanes(op->predicate) : std::vector<Expr>();
  const Pointer* pointer = FindPointer(op->buffer);
  if (pointer == nullptr) return;
  if (access > 1) {
    for (int first = 0; first < lanes; first += access) {
      const std::span<const Expr> stored(values.data() + first, static_cast<size_t>(access));
      std::string vector = LoadedVector(stored, type);
      if (vector.empty()) {
        std::vector<std::string> elements;
        for (const Expr& value : stored) elements.push_back(Stored(value));
        for (std::string& element : elements) {
          if (type.is_integer() || type.is_bool()) element = absl::StrCat(TypeText(type, true), "(", element, ")");
        }
        vector =
            absl::StrCat("tw::Vec<", TypeText(type, true), ", ", access, ">{{", absl::StrJoin(elements, ", "), "}}");
      }
      Line(absl::StrCat("tw::Store(", PointerText(*pointer, type), " + ", Value(Plus(*base, first)).Within(kProduct),
                        ", ", vector, ");"));
    }
    return;
  }
  const std::vector<Expr> indices = Lanes(op->indices[0]);
  for (size_t i = 0; i < values.size() && indices.size() == values.size(); ++i) {
    if (masked) Open(absl::StrCat("if (", Condition(predicates[predicates.size() == 1 ? 0 : i]).text, ")"));
    const std::string value = Stored(values[i]);
    Line(absl::StrCat(ElementText(op->buffer, indices[i]), " = ", value, ";"));
    if (masked) Close();
  }
}

bool KernelEmitter::PointsToRegisters(const CallNode* pointer) const {
  const auto* data = dyn_cast<VarNode>(pointer->args[1]);
  const auto known = data == nullptr ? pointers_.end() : pointers_.find(data);
  // Buffers that are not known yet are allocated inside of the loop: only memory of threads is allocated there.
  return known == pointers_.end() || (known->second.space != Space::kShared && known->second.space != Space::kGlobal);
}

// The line before a loop: registers have no addresses, so loops over them are unrolled, and loops over operands of
// instructions in memory so that their addresses are one register and constants. Empty for others.
Unrolling KernelEmitter::UnrollingOf(const ForNode* op) const {
  const std::optional<int64_t> extent = AsInt(op->extent);
  if (!extent || *extent > kMostUnrolled) return Unrolling::kNone;
  bool registers = false, addresses = false;
  const auto check = [&](const Buffer& buffer, const std::vector<Expr>& indices) {
    const MemoryKind kind = buffer->scope.kind();
    if (kind != MemoryKind::kLocal && kind != MemoryKind::kRegister && kind != MemoryKind::kFragment) return;
    for (const Expr& index : indices) registers = registers || UsesVar(index, op->var);
  };
  PreOrder(op->body, [&](const Stmt& s) {
    if (const auto* store = dyn_cast<StoreNode>(s)) check(store->buffer, store->indices);
    return !registers;
  });
  PreOrderExprs(op->body, [&](const Expr& e) {
    if (const auto* load = dyn_cast<LoadNode>(e)) check(load->buffer, load->indices);
    const auto* call = dyn_cast<CallNode>(e);
    if (call != nullptr && call->op == kAccessPtr && UsesVar(call->args[2], op->var)) {
      (PointsToRegisters(call) ? registers : addresses) = true;
    }
    return !registers;
  });
  return registers ? Unrolling::kRegisters : addresses ? Unrolling::kAddresses : Unrolling::kNone;
}

}  // namespace tilewright::cuda
