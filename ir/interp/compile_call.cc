#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/builtin.h"
#include "ir/expand_call.h"
#include "ir/float_format.h"
#include "ir/interp/amx.h"
#include "ir/interp/compiler.h"
#include "ir/interp/math_functions.h"

namespace tilewright::interp::internal {
namespace {

template <DataType (*type)()>
double NextAfterOf(double x, double y) {
  return NextAfter(type(), x, y);
}
DataType Float16() { return DataType::Float(16); }
DataType Float32() { return DataType::Float(32); }
DataType Float64() { return DataType::Float(64); }
DataType BFloat16() { return DataType::BFloat16(); }
DataType E4M3() { return DataType(TypeCode::kE4M3, 8); }
DataType E5M2() { return DataType(TypeCode::kE5M2, 8); }

Math2Function NextAfterIn(DataType type) {
  switch (type.code()) {
    case TypeCode::kBFloat:
      return NextAfterOf<BFloat16>;
    case TypeCode::kE4M3:
      return NextAfterOf<E4M3>;
    case TypeCode::kE5M2:
      return NextAfterOf<E5M2>;
    default:
      return type.bits() == 16 ? NextAfterOf<Float16> : type.bits() == 32 ? NextAfterOf<Float32> : NextAfterOf<Float64>;
  }
}

// ldexp; beyond 5000 doublings or halvings every number is infinite or zero.
double LoadExponent(double x, double n) { return std::ldexp(x, static_cast<int>(std::clamp(n, -5000.0, 5000.0))); }

constexpr int kMaxCallDepth = 16;

// What the pointer of an access_ptr call points to; a byte for other expressions.
DataType PointedType(const Expr& pointer) {
  const auto* call = dyn_cast<CallNode>(pointer);
  return call != nullptr && call->op == kAccessPtr ? call->args[0].dtype() : DataType::UInt(8);
}

}  // namespace

Lanes Compiler::CallValue(const CallNode* op) {
  const std::string_view name = op->op;
  Lanes result;
  if (name == kIfThenElse && op->args.size() == 3) return Choose(op->args[0], op->args[1], op->args[2], op->dtype());
  if ((name == "likely" || name == "assume") && op->args.size() == 1) return Value(op->args[0]);
  if (name == kAccessPtr || name == kAddressOf) return {Pointer(Expr(op))};
  if (name == "infinity") return {FloatConstant(std::numeric_limits<double>::infinity())};
  if (name == kTypeAnnotation || name == "prefetch") return {Constant(0)};
  if (name == "tvm_storage_sync" && !op->args.empty()) {
    const auto* scope = dyn_cast<StringImmNode>(op->args[0]);
    Barrier(scope != nullptr && scope->value == "warp");
    return {Constant(0)};
  }
  if (name == kDotAdd && op->args.size() == 3) return DotAdd(op);
  if (MathCall(op, &result) || BitCall(op, &result)) return result;
  if (const Expr whole = ExpandCall(op)) return Value(whole);
  return ExternCallValue(op);
}

// Lanes of other widths are made of neighbours, the lowest bits first.
bool Compiler::Reinterpret(const CallNode* op, Lanes* result) {
  const DataType from = op->args[0].dtype(), to = op->dtype();
  if (from.bits() * from.lanes() != to.bits() * to.lanes() || from.bits() < 8 || to.bits() < 8) return false;
  const auto low_bits = [&](Reg x, int bits) { return bits < 64 ? EmitValue(Op::kZeroExtend, x, 0, 0, bits) : x; };
  Lanes patterns;
  for (Reg value : Value(op->args[0])) {
    const Reg bits = from.is_float() ? EmitValue(Op::kToBits, value, 0, 0, TypeIndex(from.element())) : value;
    patterns.push_back(low_bits(bits, from.bits()));
  }
  Lanes pieces;
  for (size_t i = 0; i < static_cast<size_t>(to.lanes()); ++i) {
    const size_t first_bit = i * static_cast<size_t>(to.bits()), width = static_cast<size_t>(from.bits());
    Reg piece = patterns[first_bit / width];
    if (const size_t shift = first_bit % width; shift != 0) {
      piece = EmitValue(Op::kShrU, piece, Constant(static_cast<int64_t>(shift)), 0, 64);
    }
    for (size_t bit = width; bit < static_cast<size_t>(to.bits()); bit += width) {
      const Reg next =
          EmitValue(Op::kShl, patterns[(first_bit + bit) / width], Constant(static_cast<int64_t>(bit)), 0, 64);
      piece = EmitValue(Op::kOr, piece, next);
    }
    pieces.push_back(piece);
  }
  for (Reg piece : pieces) {
    // FromBits reads the low bits only of what was zero-extended.
    result->push_back(to.is_float()
                          ? EmitValue(Op::kFromBits, low_bits(piece, to.bits()), 0, 0, TypeIndex(to.element()))
                          : Wrap(to.element(), piece));
  }
  return true;
}

Lanes Compiler::DotAdd(const CallNode* op) {
  const DataType type = op->dtype().element();
  const DataType a_type = op->args[1].dtype().element(), b_type = op->args[2].dtype().element();
  Lanes sums = Value(op->args[0]);
  const Lanes a = Value(op->args[1]), b = Value(op->args[2]);
  if (a.size() != b.size() || a.size() % sums.size() != 0 || op->args[0].dtype() != op->dtype()) {
    Error(absl::InvalidArgumentError(absl::StrCat("dot_add of ", op->args[0].dtype().ToString(), ", ",
                                                  op->args[1].dtype().ToString(), " and ",
                                                  op->args[2].dtype().ToString())));
    return sums;
  }
  const size_t terms = a.size() / sums.size();
  for (size_t i = 0; i < a.size(); ++i) {
    Reg& sum = sums[i / terms];
    const Reg product = BinaryLane(BinaryOp::kMul, type, CastLane(a_type, type, a[i]), CastLane(b_type, type, b[i]));
    sum = BinaryLane(BinaryOp::kAdd, type, sum, product, /*wraps=*/true);
  }
  return sums;
}

bool Compiler::MathCall1(const CallNode* op, DataType element, Lanes* result) {
  if (op->op == "isnan") {
    for (Reg x : Value(op->args[0])) result->push_back(EmitValue(Op::kNeF, x, x));
    return true;
  }
  if (op->op == "isinf" || op->op == "isfinite") {
    code_.math1.push_back([](double x) { return std::fabs(x); });
    const int function = static_cast<int>(code_.math1.size()) - 1;
    const Reg infinity = FloatConstant(std::numeric_limits<double>::infinity());
    const Op compare = op->op == "isinf" ? Op::kEqF : Op::kLtF;
    for (Reg x : Value(op->args[0])) {
      result->push_back(EmitValue(compare, EmitValue(Op::kMath1, x, 0, 0, function), infinity));
    }
    return true;
  }
  if (const Math1Function math = FindMath1(op->op)) {
    code_.math1.push_back(math);
    const int function = static_cast<int>(code_.math1.size()) - 1;
    for (Reg x : Value(op->args[0])) {
      result->push_back(Round(element, EmitValue(Op::kMath1, x, 0, 0, function)));
    }
    return true;
  }
  return false;
}

bool Compiler::MathCall2(const CallNode* op, DataType element, Lanes* result) {
  if (const Math2Function math = FindMath2(op->op)) {
    code_.math2.push_back(math);
    const int function = static_cast<int>(code_.math2.size()) - 1;
    const Lanes a = Value(op->args[0]), b = Value(op->args[1]);
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      result->push_back(Round(element, EmitValue(Op::kMath2, a[i], b[i], 0, function)));
    }
    return true;
  }
  if (op->op == "nextafter" || op->op == "ldexp") {
    const bool scales = op->op == "ldexp";
    code_.math2.push_back(scales ? LoadExponent : NextAfterIn(element));
    const int function = static_cast<int>(code_.math2.size()) - 1;
    const Lanes a = Value(op->args[0]);
    Lanes b = Value(op->args[1]);
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      const DataType type = op->args[1].dtype().element();
      if (scales) b[i] = CastLane(type, DataType::Float(64), b[i]);
      result->push_back(Round(element, EmitValue(Op::kMath2, a[i], b[i], 0, function)));
    }
    return true;
  }
  return false;
}

bool Compiler::MathCall(const CallNode* op, Lanes* result) {
  if (op->args.empty() || !op->args[0].dtype().is_float()) return false;
  const DataType element = op->args[0].dtype().element();
  if (op->args.size() == 1 && MathCall1(op, element, result)) return true;
  if (op->args.size() == 2 && MathCall2(op, element, result)) return true;
  if (op->op == "fma" && op->args.size() == 3) {
    const Lanes a = Value(op->args[0]), b = Value(op->args[1]), c = Value(op->args[2]);
    for (size_t i = 0; i < a.size() && i < b.size() && i < c.size(); ++i) {
      result->push_back(EmitValue(Op::kFma, a[i], b[i], c[i], TypeIndex(element)));
    }
    return true;
  }
  return false;
}

bool Compiler::BitCall(const CallNode* op, Lanes* result) {
  if (op->args.empty() || op->args.size() > 2) return false;
  const std::string_view name = op->op;
  const DataType dtype = op->args[0].dtype().element();
  if (name == "vectorlow" || name == "vectorhigh" || name == "vectorcombine") {
    Lanes lanes = Value(op->args[0]);
    const auto half = static_cast<std::ptrdiff_t>(lanes.size() / 2);
    if (name == "vectorcombine") {
      const Lanes more = Value(op->args.back());
      lanes.insert(lanes.end(), more.begin(), more.end());
    } else if (name == "vectorlow") {
      lanes.resize(static_cast<size_t>(half));
    } else {
      lanes.erase(lanes.begin(), lanes.begin() + half);
    }
    *result = lanes;
    return true;
  }
  if (name == "reinterpret") return Reinterpret(op, result);
  if (dtype.is_float()) return false;
  const auto unary = [&](auto&& lane) {
    for (Reg x : Value(op->args[0])) result->push_back(lane(x));
    return true;
  };
  const auto binary = [&](auto&& lane) {
    const Lanes a = Value(op->args[0]), b = Value(op->args[1]);
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) result->push_back(lane(a[i], b[i]));
    return true;
  };
  if (op->args.size() == 1) {
    const auto pattern = [&](Reg x) {
      return dtype.bits() < 64 ? EmitValue(Op::kZeroExtend, x, 0, 0, dtype.bits()) : x;
    };
    if (name == "abs") {
      if (!dtype.is_int()) return unary([](Reg x) { return x; });
      const int width = options_.wrap_signed ? 0 : dtype.bits();
      return unary([&](Reg x) { return Wrap(dtype, EmitValue(Op::kAbsS, x, 0, 0, width)); });
    }
    if (name == "bitwise_not") return unary([&](Reg x) { return Wrap(dtype, EmitValue(Op::kBitNot, x)); });
    if (name == kFlipSignBit) {
      const Reg sign = Constant(WithSignBitFlipped(0, dtype.bits(), dtype.is_int()));
      return unary([&](Reg x) { return EmitValue(Op::kXor, x, sign); });
    }
    if (name == "popcount") return unary([&](Reg x) { return EmitValue(Op::kPopcount, pattern(x)); });
    if (name == "clz") return unary([&](Reg x) { return EmitValue(Op::kClz, pattern(x), 0, 0, dtype.bits()); });
    return false;
  }
  if (name == "shift_left") {
    return binary([&](Reg a, Reg b) { return Wrap(dtype, EmitValue(Op::kShl, a, b, 0, dtype.bits())); });
  }
  if (name == "shift_right") {
    return binary(
        [&](Reg a, Reg b) { return EmitValue(dtype.is_int() ? Op::kShrS : Op::kShrU, a, b, 0, dtype.bits()); });
  }
  if (name == "bitwise_and") return binary([&](Reg a, Reg b) { return EmitValue(Op::kAnd, a, b); });
  if (name == "bitwise_or") return binary([&](Reg a, Reg b) { return EmitValue(Op::kOr, a, b); });
  if (name == "bitwise_xor") return binary([&](Reg a, Reg b) { return EmitValue(Op::kXor, a, b); });
  return false;
}

Reg Compiler::Pointer(const Expr& e, Buffer* buffer) {
  const auto handle = [&](const VarNode* data, Reg offset, int bytes) {
    auto slot = slots_.find(data);
    if (slot == slots_.end()) {
      Error(absl::InvalidArgumentError(absl::StrCat("pointer ", data->name, " is not defined")));
      return 0;
    }
    if (auto known = buffers_.find(data); known != buffers_.end() && buffer != nullptr) *buffer = known->second;
    return EmitValue(Op::kHandle, slot->second, offset, 0, bytes);
  };
  if (const auto* var = dyn_cast<VarNode>(e)) return handle(var, Constant(0), 1);
  if (const auto* call = dyn_cast<CallNode>(e)) {
    if (call->op == kAccessPtr && call->args.size() == 5) {
      if (const auto* data = dyn_cast<VarNode>(call->args[1])) {
        const DataType type = call->args[0].dtype();
        return handle(data, ScalarValue(call->args[2]), std::max(1, type.bytes() * type.lanes()));
      }
    }
    if (call->op == kAddressOf && call->args.size() == 1) {
      if (const auto* load = dyn_cast<LoadNode>(call->args[0])) {
        std::vector<Reg> at;
        for (const Expr& index : load->indices) at.push_back(Value(index)[0]);
        const DataType type = load->buffer->dtype;
        return handle(load->buffer->data.get(), Offset(load->buffer, at), type.bytes() * type.lanes());
      }
    }
  }
  Error(absl::UnimplementedError("a pointer that is neither a variable nor the address of an element"));
  return 0;
}

ExternCall::Arg Compiler::ExternArg(const Expr& e) {
  ExternCall::Arg arg{e.dtype()};
  if (const auto* text = dyn_cast<StringImmNode>(e)) {
    arg.text = text->value;
  } else if (e.dtype().is_handle()) {
    const auto* pointer = dyn_cast<CallNode>(e);
    const auto mask = pointer != nullptr && pointer->op == kAccessPtr ? AsInt(pointer->args.back()) : std::nullopt;
    arg.access = static_cast<int>(mask.value_or(kAccessRead | kAccessWrite));
    arg.first = Pointer(e);
  } else {
    // The function wants the lanes one after the other.
    const Lanes lanes = Value(e);
    arg.first = NewReg(static_cast<int>(lanes.size()));
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      Emit(Op::kMove, arg.first + static_cast<Reg>(lane), lanes[lane]);
    }
  }
  return arg;
}

Lanes Compiler::ExternCallValue(const CallNode* op) {
  std::string name = op->op;
  size_t first = 0;
  if (name == kCallExtern || name == kCallPureExtern || name == "call_llvm_pure_intrin" || name == "call_llvm_intrin") {
    const auto* text = op->args.empty() ? nullptr : dyn_cast<StringImmNode>(op->args[0]);
    if (text == nullptr) {
      Error(absl::UnimplementedError(absl::StrCat(name, " of a function without a name")));
      return Lanes(static_cast<size_t>(std::max(1, op->dtype().lanes())), 0);
    }
    // Peers of some versions put the number of types of the signature second.
    const bool llvm = name != kCallExtern && name != kCallPureExtern;
    first = llvm && op->args.size() > 1 && isa<IntImmNode>(op->args[1]) && op->args[1].dtype() == DataType::UInt(32)
                ? 2
                : 1;
    name = text->value;
  }
  ExternFunction function;
  if (auto found = options_.environment.externs.find(name); found != options_.environment.externs.end()) {
    function = found->second;
  } else if (name == "amx_dot_add" && op->args.size() == 12) {
    function = AmxDotAdd(PointedType(op->args[3]), PointedType(op->args[6]));
  } else if (name == "amx_zero" && op->args.size() == 6) {
    function = AmxZero();
  } else {
    const Function callee = options_.environment.find_function ? options_.environment.find_function(name) : Function();
    if (callee) {
      InlineCall(op, callee, first);
    } else {
      Error(absl::UnimplementedError(absl::StrCat("a call of ", name, ", of which no meaning is known")));
    }
    return {Constant(0)};
  }
  ExternCall call{name, std::move(function), op->dtype()};
  for (size_t i = first; i < op->args.size(); ++i) call.args.push_back(ExternArg(op->args[i]));
  const int lanes = op->dtype().is_void() ? 1 : op->dtype().lanes();
  call.result = NewReg(lanes);
  Emit(Op::kCallExtern, 0, 0, 0, 0, static_cast<int>(code_.calls.size()));
  Lanes result;
  for (int i = 0; i < lanes; ++i) result.push_back(call.result + i);
  code_.calls.push_back(std::move(call));
  return result;
}

void Compiler::InlineCall(const CallNode* op, const Function& callee, size_t first_arg) {
  const size_t count = op->args.size() - first_arg;
  if (callee->params.size() != count) {
    return Error(absl::InvalidArgumentError(
        absl::StrCat("a call of ", callee->name, " with ", count, " arguments; it takes ", callee->params.size())));
  }
  if (call_depth_ == kMaxCallDepth) {
    return Error(absl::InvalidArgumentError(absl::StrCat("calls of ", callee->name, " go too deep")));
  }
  // The variables of the callee may have values from an earlier call, which must not be taken for this one's.
  const auto vars = vars_;
  const auto slots = slots_;
  auto cache = std::exchange(cache_, {});
  auto offset_cache = std::exchange(offset_cache_, {});
  struct Pointed {
    Buffer buffer, argument;
    Reg handle;
  };
  std::vector<Pointed> pointed;
  std::vector<std::pair<const VarNode*, Lanes>> scalars;
  for (size_t i = 0; i < count; ++i) {
    const Param& param = callee->params[i];
    const Expr& arg = op->args[first_arg + i];
    if (!param.buffer) {
      scalars.emplace_back(param.var.get(), Value(arg));
      continue;
    }
    Buffer argument;
    const Reg handle = Pointer(arg, &argument);
    pointed.push_back({param.buffer, argument, handle});
  }
  std::vector<std::vector<Reg>> strides;
  for (const Pointed& p : pointed) strides.push_back(p.argument ? Strides(p.argument) : std::vector<Reg>());
  for (const auto& [var, lanes] : scalars) vars_[var] = lanes;
  for (size_t i = 0; i < pointed.size(); ++i) {
    const Buffer& buffer = pointed[i].buffer;
    const Reg slot = SlotFromHandle(pointed[i].handle);
    slots_[buffer->data.get()] = slot;
    buffers_[buffer->data.get()] = buffer;
    if (const auto* offset = dyn_cast<VarNode>(buffer->elem_offset)) vars_[offset] = {Constant(0)};
    for (size_t d = 0; d < buffer->strides.size(); ++d) {
      const auto* stride = dyn_cast<VarNode>(buffer->strides[d]);
      const size_t from_end = buffer->strides.size() - d;
      if (stride == nullptr || vars_.count(stride) != 0 || strides[i].size() < from_end) continue;
      vars_[stride] = {strides[i][strides[i].size() - from_end]};
    }
  }
  cache_.clear();
  offset_cache_.clear();
  ++call_depth_;
  blocks_.emplace_back();
  NewStatement(callee->body);
  blocks_.pop_back();
  --call_depth_;
  vars_ = vars;
  slots_ = slots;
  cache_ = std::move(cache);
  offset_cache_ = std::move(offset_cache);
}

}  // namespace tilewright::interp::internal
