// Calls of builtins: the table from a builtin to the function of tw:: that computes it.
#include <algorithm>
#include <iterator>
#include <limits>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/kernel_emitter.h"
#include "codegen/cuda/type_text.h"
#include "codegen/cuda/wrapper_calls.h"
#include "codegen/lower/gpu/bulk_copies.h"
#include "ir/builtin.h"
#include "ir/expand_call.h"
#include "ir/structural.h"

namespace tilewright::cuda {
namespace {

struct Function {
  std::string_view builtin;
  std::string_view wrapper;
};

// Functions of floating-point numbers, all arguments of the result's type.
constexpr Function kMath[] = {
    {"exp", "exp"},
    {"exp2", "exp2"},
    {"exp10", "exp10"},
    {"log", "log"},
    {"log2", "log2"},
    {"log10", "log10"},
    {"log1p", "log1p"},
    {"sqrt", "sqrt"},
    {"rsqrt", "rsqrt"},
    {"sin", "sin"},
    {"cos", "cos"},
    {"tan", "tan"},
    {"asin", "asin"},
    {"acos", "acos"},
    {"atan", "atan"},
    {"sinh", "sinh"},
    {"cosh", "cosh"},
    {"tanh", "tanh"},
    {"asinh", "asinh"},
    {"acosh", "acosh"},
    {"atanh", "atanh"},
    {"erf", "erf"},
    {"sigmoid", "sigmoid"},
    {"floor", "floor"},
    {"ceil", "ceil"},
    {"trunc", "trunc"},
    {"round", "round_even"},
    {"nearbyint", "round_even"},
    {"round_away", "round_away"},
    {"abs", "magnitude"},
    {"pow", "pow"},
    {"atan2", "atan2"},
    {"hypot", "hypot"},
    {"fmod", "fmod"},
    {"copysign", "copysign"},
    {"fma", "multiply_add"},
};

constexpr Function kClasses[] = {{"isnan", "is_nan"}, {"isinf", "is_inf"}, {"isfinite", "is_finite"}};

struct BitOperator {
  std::string_view builtin;
  const char* text;
  Binding binding;
};
constexpr BitOperator kBitOperators[] = {
    {"bitwise_and", " & ", kBitAnd}, {"bitwise_or", " | ", kBitOr}, {"bitwise_xor", " ^ ", kBitOr}};

const Function* Find(std::span<const Function> table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Function::builtin);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

Text KernelEmitter::Call(const CallNode* op) {
  const std::string_view name = op->op;
  if (name == kIfThenElse && op->args.size() == 3) return Choose(op->args[0], op->args[1], op->args[2], op->dtype());
  if (name == "likely" && op->args.size() == 1) return Value(op->args[0]);
  if (name == kAccessPtr || name == kAddressOf) return Address(Expr(op));
  if (name == "tvm_storage_sync") return {"__syncthreads()"};
  if (name == "infinity") return {FloatText(op->dtype(), std::numeric_limits<double>::infinity())};
  if (name == "reinterpret" && op->args.size() == 1) return Reinterpret(op);
  Text result;
  if (WrapperCall(op, &result)) return result;
  if (MathCall(op, &result)) return Rounded(op->dtype(), result);
  if (BitCall(op, &result)) return result;
  if (const Expr whole = ExpandCall(op)) return Value(whole);
  if ((name == kDotAdd && op->args.size() == 3) || (name == kLookup && op->args.size() == 2))
    return Value(CallLanes(op)[0]);
  const auto* callee = op->args.empty() ? nullptr : dyn_cast<StringImmNode>(op->args[0]);
  return Fail(absl::StrCat("no CUDA code for calls of ", callee != nullptr ? callee->value : op->op));
}

// `result` is not rounded yet.
bool KernelEmitter::MathCall(const CallNode* op, Text* result) {
  if (op->args.empty() || !op->args[0].dtype().is_float()) return false;
  const DataType type = op->args[0].dtype();
  if (const Function* known = Find(kClasses, op->op)) {
    *result = {absl::StrCat("tw::", std::string(known->wrapper), "<", TypeText(type, false), ">(",
                            Value(op->args[0]).text, ")")};
    return true;
  }
  const bool same = std::ranges::all_of(op->args, [&](const Expr& arg) { return arg.dtype() == op->dtype(); });
  if (op->op == "nextafter" && same) {
    const std::string args = absl::StrCat("(", Value(op->args[0]).text, ", ", Value(op->args[1]).text, ")");
    *result = {IsNarrow(type) ? absl::StrCat("tw::next_narrow<", TypeText(type, true), ">", args)
                              : "tw::next_after" + args};
    return true;
  }
  if (op->op == "ldexp" && op->dtype() == type && op->args[1].dtype().is_integer()) {
    const std::string value = Value(op->args[0]).text, by = Value(op->args[1]).text;
    *result = {IsNarrow(type) ? absl::StrCat("tw::odd_float(tw::load_exponent(double(", value, "), ", by, "))")
                              : absl::StrCat("tw::load_exponent(", value, ", ", by, ")")};
    return true;
  }
  const Function* known = same ? Find(kMath, op->op) : nullptr;
  if (known == nullptr) return false;
  std::vector<std::string> args;
  // A loaded element is converted: the type says which overload is meant, that of float or that of double.
  for (const Expr& arg : op->args) {
    const Text text = Value(arg);
    args.push_back(isa<LoadNode>(arg) && !IsNarrow(type) ? absl::StrCat(TypeText(type, false), "(", text.text, ")")
                                                         : text.text);
  }
  *result = {absl::StrCat("tw::", std::string(known->wrapper), "(", absl::StrJoin(args, ", "), ")")};
  return true;
}

bool KernelEmitter::BitCall(const CallNode* op, Text* result) {
  if (op->args.empty() || op->args.size() > 2) return false;
  const DataType type = op->args[0].dtype();
  if (!type.is_integer() && !type.is_bool()) return false;
  const std::string name = TypeText(type, true);
  const std::string unsigned_name = TypeText(DataType::UInt(type.bits()), true);
  // The pattern of the bits, without those of a wider C++ type.
  const auto pattern = [&] {
    const std::string bits = absl::StrCat(unsigned_name, "(", Value(op->args[0]).text, ")");
    return HasOddWidth(type) ? absl::StrCat(bits, " & ", (1 << type.bits()) - 1, "u") : bits;
  };
  if (op->args.size() == 1) {
    if (op->op == "abs") {
      *result = type.is_int() ? Wrapped(type, {absl::StrCat("tw::absolute<", name, ">(", Value(op->args[0]).text, ")")})
                              : Value(op->args[0]);
    } else if (op->op == "bitwise_not") {
      *result = type.is_bool() ? Text{"!" + Value(op->args[0]).Within(kUnary), kUnary}
                               : Wrapped(type, {"~" + Value(op->args[0]).Within(kUnary), kUnary});
    } else if (op->op == "popcount") {
      *result = Wrapped(op->dtype(), {absl::StrCat(TypeText(op->dtype(), true), "(tw::count_ones(", pattern(), "))")});
    } else if (op->op == "clz") {
      *result = {absl::StrCat(TypeText(op->dtype(), true), "(tw::leading_zeros(", pattern(), ", ", type.bits(), "))")};
    } else {
      return false;
    }
    return true;
  }
  for (const BitOperator& known : kBitOperators) {
    if (known.builtin != op->op) continue;
    const Text a = Value(op->args[0]), b = Value(op->args[1]);
    const std::string text = absl::StrCat(a.Within(kShift), known.text, b.Within(kShift));
    *result = {absl::StrCat(name, "(", text, ")")};
    return true;
  }
  const bool left = op->op == "shift_left";
  if (!left && op->op != "shift_right") return false;
  const Text a = Value(op->args[0]), b = Value(op->args[1]);
  if (!left) {
    *result = {absl::StrCat(a.Within(kShift), " >> ", b.Within(kSum)), kShift};
  } else {
    *result = Wrapped(type, {absl::StrCat(name, "(", unsigned_name, "(", a.text, ") << ", b.Within(kSum), ")")});
  }
  return true;
}

Text KernelEmitter::Reinterpret(const CallNode* op) {
  const DataType from = op->args[0].dtype(), to = op->dtype();
  if (from.lanes() == 1 && from.bits() == to.bits() && !HasOddWidth(from) && !HasOddWidth(to) && !from.is_bool() &&
      !to.is_bool()) {
    const std::string bits = TypeText(to, true),
                      stored = absl::StrCat(TypeText(from, true), "(", Stored(op->args[0]), ")");
    const std::string cast = absl::StrCat("tw::bit_cast<", bits, ">(", stored, ")");
    return {IsNarrow(to) ? absl::StrCat("tw::widen(", cast, ")") : cast};
  }
  const std::vector<Expr> lanes = CallLanes(op);
  return lanes.size() == 1 && lanes[0].get() != op
             ? Value(lanes[0])
             : Fail(absl::StrCat("reinterpret of ", from.ToString(), " as ", to.ToString()));
}

Text KernelEmitter::Address(const Expr& e) {
  const auto* call = dyn_cast<CallNode>(e);
  if (call != nullptr && IsTensorMap(*call)) return TensorMap(call);
  if (call != nullptr && call->op == kAccessPtr && call->args.size() == 5) {
    const auto* data = dyn_cast<VarNode>(call->args[1]);
    const auto known = data == nullptr ? pointers_.end() : pointers_.find(data);
    if (known != pointers_.end() && known->second.registers > 0) return {AccumulatorText(known->second, call->args[2])};
    if (known != pointers_.end()) {
      const std::string pointer = PointerText(known->second, call->args[0].dtype().element());
      if (IsInt(call->args[2], 0)) return {pointer};
      return {absl::StrCat(pointer, " + ", Value(call->args[2]).Within(kProduct)), kSum};
    }
  }
  if (call != nullptr && call->op == kAddressOf) {
    if (const auto* load = dyn_cast<LoadNode>(call->args[0])) {
      const Pointer* pointer = FindPointer(load->buffer);
      if (pointer == nullptr) return {"0"};
      return {absl::StrCat(PointerText(*pointer, load->buffer->dtype.element()), " + ",
                           Value(load->indices[0]).Within(kProduct)),
              kSum};
    }
  }
  if (const auto* var = dyn_cast<VarNode>(e)) {
    const auto known = pointers_.find(var);
    if (known != pointers_.end()) return {known->second.name};
  }
  return Fail("a pointer that is neither a variable nor the address of an element");
}

// Adds the parameter for a map, once for each description (codegen/lower/gpu/bulk_copies.h).
void KernelEmitter::AddTensorMap(const CallNode* call, bool written) {
  const auto known =
      std::ranges::find_if(maps_, [&](const auto& map) { return StructuralEqual(map.first, Expr(call)); });
  if (known != maps_.end()) return;
  const auto* data = dyn_cast<VarNode>(call->args[0]);
  const auto buffer = data == nullptr ? host_buffers_.end() : host_buffers_.find(data);
  const auto* type = dyn_cast<StringImmNode>(call->args[1]);
  const auto rank = static_cast<size_t>(AsInt(call->args[3]).value_or(0));
  const auto parsed = type == nullptr ? std::nullopt : DataType::Parse(type->value);
  const bool im2col = call->op == kIm2colMap;
  const size_t fields = im2col ? 5 * rank - 1 : 3 + 3 * rank;
  if (buffer == host_buffers_.end() || !parsed || rank == 0 || call->args.size() != fields) {
    Fail("a tensor map that does not describe an array of the host");
    return;
  }
  KernelTensorMap map{.type = *parsed, .span = static_cast<int>(AsInt(call->args[2]).value_or(0))};
  const auto args = call->args.begin() + 4;
  const auto dims = static_cast<ptrdiff_t>(rank);
  map.extents.assign(args, args + dims);
  map.strides.assign(args + dims, args + 2 * dims - 1);
  auto next = args + 2 * dims - 1;
  const auto take = [&](ptrdiff_t count) {
    std::vector<int> values;
    for (const auto end = next + count; next != end; ++next)
      values.push_back(static_cast<int>(AsInt(*next).value_or(0)));
    return values;
  };
  map.box = take(im2col ? 2 : dims);
  if (im2col) {
    map.lower = take(dims - 2);
    map.upper = take(dims - 2);
    map.steps = take(dims - 2);
  }
  const Var var(buffer->second.buffer->name + "_map", DataType::Handle());
  const std::string name = names_.Make(var.name());
  values_[var.get()] = name;
  maps_.emplace_back(Expr(call), name);
  kernel_.params.push_back({var, buffer->second.buffer, written, std::move(map)});
}

Text KernelEmitter::TensorMap(const CallNode* op) {
  for (const auto& [call, name] : maps_) {
    if (StructuralEqual(call, Expr(op))) return {"&" + name, kUnary};
  }
  return Fail("a tensor map that is not a parameter");
}

// Functions of tw:: that programs call by name (wrapper_calls.h): strings are template arguments.
bool KernelEmitter::WrapperCall(const CallNode* op, Text* result) {
  const std::optional<std::string> function = WrapperOf(op->op);
  if (!function) return false;
  std::vector<std::string> template_args, args;
  for (const Expr& arg : op->args) {
    const auto* call = dyn_cast<CallNode>(arg);
    const bool is_pointer =
        arg.dtype().is_handle() || (call != nullptr && (call->op == kAccessPtr || call->op == kAddressOf));
    if (const auto* text = dyn_cast<StringImmNode>(arg)) {
      template_args.push_back(text->value);
    } else if (is_pointer) {
      args.push_back(Address(arg).text);
    } else {
      args.push_back(Value(arg).text);
    }
  }
  const std::string list = template_args.empty() ? "" : absl::StrCat("<", absl::StrJoin(template_args, ", "), ">");
  *result = {absl::StrCat(*function, list, "(", absl::StrJoin(args, ", "), ")")};
  return true;
}

}  // namespace tilewright::cuda
