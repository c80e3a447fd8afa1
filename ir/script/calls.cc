#include "ir/script/calls.h"

#include <unordered_map>

namespace tilewright::script {
namespace {

using R = ResultRule;

// The first line that names an op is how it is printed.
constexpr CallSpelling kSpellings[] = {
    {"exp", "exp", R::kFloat, 1, 1},
    {"exp2", "exp2", R::kFloat, 1, 1},
    {"exp10", "exp10", R::kFloat, 1, 1},
    {"log", "log", R::kFloat, 1, 1},
    {"log2", "log2", R::kFloat, 1, 1},
    {"log10", "log10", R::kFloat, 1, 1},
    {"log1p", "log1p", R::kFloat, 1, 1},
    {"sqrt", "sqrt", R::kFloat, 1, 1},
    {"rsqrt", "rsqrt", R::kFloat, 1, 1},
    {"sin", "sin", R::kFloat, 1, 1},
    {"cos", "cos", R::kFloat, 1, 1},
    {"tan", "tan", R::kFloat, 1, 1},
    {"asin", "asin", R::kFloat, 1, 1},
    {"acos", "acos", R::kFloat, 1, 1},
    {"atan", "atan", R::kFloat, 1, 1},
    {"sinh", "sinh", R::kFloat, 1, 1},
    {"cosh", "cosh", R::kFloat, 1, 1},
    {"tanh", "tanh", R::kFloat, 1, 1},
    {"asinh", "asinh", R::kFloat, 1, 1},
    {"acosh", "acosh", R::kFloat, 1, 1},
    {"atanh", "atanh", R::kFloat, 1, 1},
    {"erf", "erf", R::kFloat, 1, 1},
    {"sigmoid", "sigmoid", R::kFloat, 1, 1},
    {"floor", "floor", R::kFloat, 1, 1},
    {"ceil", "ceil", R::kFloat, 1, 1},
    {"trunc", "trunc", R::kFloat, 1, 1},
    {"round", "round", R::kFloat, 1, 1},
    {"nearbyint", "nearbyint", R::kFloat, 1, 1},
    {"round_away", "round_away", R::kFloat, 1, 1},
    {"isnan", "isnan", R::kTest, 1, 1},
    {"isinf", "isinf", R::kTest, 1, 1},
    {"isfinite", "isfinite", R::kTest, 1, 1},
    {"abs", "abs", R::kNumber, 1, 1},
    {"fabs", "abs", R::kNumber, 1, 1},
    {"pow", "pow", R::kNumber, 2, 2},
    {"power", "pow", R::kNumber, 2, 2},
    {"atan2", "atan2", R::kNumber, 2, 2},
    {"hypot", "hypot", R::kFloat, 2, 2},
    {"fmod", "fmod", R::kFloat, 2, 2},
    {"copysign", "copysign", R::kFloat, 2, 2},
    {"nextafter", "nextafter", R::kFloat, 2, 2},
    {"ldexp", "ldexp", R::kFirst, 2, 2},
    {"fma", "fma", R::kFloat, 3, 3},
    {"dot_add", "dot_add", R::kFirst, 3, 3},
    {"shift_left", "shift_left", R::kInteger, 2, 2},
    {"shift_right", "shift_right", R::kInteger, 2, 2},
    {"bitwise_and", "bitwise_and", R::kInteger, 2, 2},
    {"bitwise_or", "bitwise_or", R::kInteger, 2, 2},
    {"bitwise_xor", "bitwise_xor", R::kInteger, 2, 2},
    {"bitwise_not", "bitwise_not", R::kInteger, 1, 1},
    {"flip_sign_bit", "flip_sign_bit", R::kInteger, 1, 1},
    {"lookup", "lookup", R::kTypeFirst, 2, 2},
    {"popcount", "popcount", R::kInteger, 1, 1},
    {"clz", "clz", R::kInteger, 1, 1},
    {"q_multiply_shift", "q_multiply_shift", R::kFirst, 4, 4},
    {"q_multiply_shift_per_axis", "q_multiply_shift_per_axis", R::kFirst, 7, 7},
    {"dp4a", "dp4a", R::kInt32, 3, 3},
    {"likely", "likely", R::kFirst, 1, 1},
    {"assume", "assume", R::kBool, 1, 1},
    {"ignore_loop_partition", "ignore_loop_partition", R::kFirst, 1, 1},
    {"tvm_thread_invariant", "tvm_thread_invariant", R::kFirst, 1, 1},
    {"undef", "undef", R::kInt32, 0, 0},
    {"vscale", "vscale", R::kInt32, 0, 0},
    {"get_active_lane_mask", "get_active_lane_mask", R::kTypeFirst, 2, 2},
    {"masked_load", "masked_load", R::kTypeFirst, 3, 3},
    {"masked_store", "masked_store", R::kVoid, 3, 4},
    {"break_loop", "break_loop", R::kVoid, 0, 0},
    {"continue_loop", "continue_loop", R::kVoid, 0, 0},
    {"thread_return", "thread_return", R::kVoid, 0, 0},
    {"address_of", "address_of", R::kHandle, 1, 1},
    {"tvm_access_ptr", "tvm_access_ptr", R::kHandle, 5, 5},
    {"reinterpret", "reinterpret", R::kTypeFirst, 1, 1},
    {"type_annotation", "type_annotation", R::kTypeFirst, 0, 0},
    {"vectorlow", "vectorlow", R::kTypeFirst, 1, 1},
    {"vectorhigh", "vectorhigh", R::kTypeFirst, 1, 1},
    {"vectorcombine", "vectorcombine", R::kTypeFirst, 2, 2},
    {"call_extern", "call_extern", R::kTypeFirst, 1, -1},
    {"call_pure_extern", "call_pure_extern", R::kTypeFirst, 1, -1},
    {"call_llvm_intrin", "call_llvm_intrin", R::kTypeFirst, 1, -1},
    {"call_llvm_pure_intrin", "call_llvm_pure_intrin", R::kTypeFirst, 1, -1},
    {"amx_dot_add", "amx_dot_add", R::kInt32, 12, 12},
    {"amx_zero", "amx_zero", R::kInt32, 6, 6},
    {"prefetch", "prefetch", R::kVoid, 1, -1},
    {"ret", "ret", R::kFirst, 1, 1},
    // Matrix fragments, barriers and shuffles of GPUs.
    {"tvm_fill_fragment", "tvm_fill_fragment", R::kHandle, 6, 6},
    {"tvm_load_matrix_sync", "tvm_load_matrix_sync", R::kHandle, 8, 8},
    {"tvm_store_matrix_sync", "tvm_store_matrix_sync", R::kHandle, 8, 8},
    {"tvm_mma_sync", "tvm_mma_sync", R::kHandle, 8, 8},
    {"tvm_bmma_sync", "tvm_bmma_sync", R::kHandle, 8, 8},
    {"tvm_warp_shuffle", "tvm_warp_shuffle", R::kSecond, 5, 5},
    {"tvm_warp_shuffle_up", "tvm_warp_shuffle_up", R::kSecond, 5, 5},
    {"tvm_warp_shuffle_down", "tvm_warp_shuffle_down", R::kSecond, 5, 5},
    {"tvm_warp_shuffle_xor", "tvm_warp_shuffle_xor", R::kSecond, 5, 5},
    {"tvm_warp_activemask", "tvm_warp_activemask", R::kUInt32, 0, 0},
    {"cuda.__shfl_sync", "cuda.__shfl_sync", R::kSecond, 4, 4},
    {"cuda.__shfl_up_sync", "cuda.__shfl_up_sync", R::kSecond, 4, 4},
    {"cuda.__shfl_down_sync", "cuda.__shfl_down_sync", R::kSecond, 4, 4},
    {"cuda.__shfl_xor_sync", "cuda.__shfl_xor_sync", R::kSecond, 4, 4},
    {"cuda.__activemask", "cuda.__activemask", R::kUInt32, 0, 0},
    {"tvm_thread_allreduce", "tvm_thread_allreduce", R::kHandle, 4, -1},
    {"mma_store", "mma_store", R::kTypeFirst, 6, 6},
    {"mma_fill", "mma_fill", R::kTypeFirst, 3, 3},
    {"ptx_mma", "ptx_mma", R::kTypeFirst, 13, -1},
    {"ptx_ldmatrix", "ptx_ldmatrix", R::kTypeFirst, 7, 7},
    {"ptx_cp_async", "ptx_cp_async", R::kTypeFirst, 5, -1},
    {"ptx_legacy.mma", "ptx_legacy.mma", R::kHandle, 13, -1},
    {"ptx_legacy.ldmatrix", "ptx_legacy.ldmatrix", R::kHandle, 7, 7},
    {"cuda.mma_store_legacy", "cuda.mma_store_legacy", R::kHandle, 6, 6},
    {"cuda.mma_fill_legacy", "cuda.mma_fill_legacy", R::kHandle, 3, 3},
    {"create_barriers", "create_barriers", R::kVoid, 1, 1},
    // Calls of functions that are found by name at run time.
    {"call_packed", "call_packed", R::kInt32, 1, -1},
    {"call_packed_lowered", "call_packed_lowered", R::kInt32, 1, -1},
    {"call_cpacked", "call_cpacked", R::kInt32, 1, -1},
    {"call_cpacked_lowered", "call_cpacked_lowered", R::kInt32, 1, -1},
    {"tvm_call_packed", "call_packed", R::kInt32, 1, -1},
    {"tvm_call_packed_lowered", "call_packed_lowered", R::kInt32, 1, -1},
    {"tvm_call_cpacked", "call_cpacked", R::kInt32, 1, -1},
    {"tvm_call_cpacked_lowered", "call_cpacked_lowered", R::kInt32, 1, -1},
    {"call_ffi_kernel", "call_ffi_kernel", R::kStatus, 1, -1},
    {"keyword", "keyword", R::kHandle, 1, -1},
    {"tvm_stack_make_array", "tvm_stack_make_array", R::kHandle, 6, 6},
    {"tvm_stack_make_shape", "tvm_stack_make_shape", R::kHandle, 0, -1},
    {"tvm_stack_alloca", "tvm_stack_alloca", R::kHandle, 2, 2},
    {"tvm_struct_get", "tvm_struct_get", R::kTypeLast, 3, 3},
    {"tvm_struct_set", "tvm_struct_set", R::kInt32, 4, 4},
    {"tvm_throw_last_error", "tvm_throw_last_error", R::kHandle, 0, 0},
    {"tvm_tuple", "tvm_tuple", R::kHandle, 0, -1},
    {"isnullptr", "isnullptr", R::kBool, 1, 1},
    {"handle_add_byte_offset", "handle_add_byte_offset", R::kHandle, 2, 2},
    {"lookup_param", "lookup_param", R::kHandle, 1, 1},
    {"anylist_getitem", "anylist_getitem", R::kHandle, 2, 2},
    {"anylist_resetitem", "anylist_resetitem", R::kInt32, 2, 2},
    {"anylist_setitem_call_packed", "anylist_setitem_call_packed", R::kInt32, 3, -1},
    {"anylist_setitem_call_cpacked", "anylist_setitem_call_cpacked", R::kInt32, 3, -1},
    {"start_profile_intrinsic", "start_profile_intrinsic", R::kHandle, 1, 1},
    {"end_profile_intrinsic", "end_profile_intrinsic", R::kHandle, 1, 1},
    {"TVMBackendAllocWorkspace", "TVMBackendAllocWorkspace", R::kHandle, 5, 5},
    {"TVMBackendFreeWorkspace", "TVMBackendFreeWorkspace", R::kInt32, 3, 3},
};

}  // namespace

const CallSpelling* FindSpelling(std::string_view name) {
  static const auto* const table = [] {
    auto* map = new std::unordered_map<std::string_view, const CallSpelling*>;
    for (const CallSpelling& spelling : kSpellings) map->emplace(spelling.name, &spelling);
    return map;
  }();
  auto it = table->find(name);
  return it == table->end() ? nullptr : it->second;
}

std::vector<std::string> SpellingNames() {
  std::vector<std::string> names;
  for (const CallSpelling& spelling : kSpellings) names.emplace_back(spelling.name);
  return names;
}

const CallSpelling* SpellingOf(std::string_view op) {
  static const auto* const table = [] {
    auto* map = new std::unordered_map<std::string_view, const CallSpelling*>;
    for (const CallSpelling& spelling : kSpellings) map->emplace(spelling.op, &spelling);
    return map;
  }();
  auto it = table->find(op);
  return it == table->end() ? nullptr : it->second;
}

std::optional<DataType> ResultType(ResultRule rule, const std::vector<Expr>& args) {
  switch (rule) {
    case ResultRule::kHandle:
      return DataType::Handle();
    case ResultRule::kVoid:
      return DataType::Void();
    case ResultRule::kInt32:
    case ResultRule::kStatus:
      return DataType::Int(32);
    case ResultRule::kBool:
      return DataType::Bool();
    case ResultRule::kUInt32:
      return DataType::UInt(32);
    case ResultRule::kSecond:
      if (args.size() < 2) return std::nullopt;
      return args[1].dtype();
    case ResultRule::kTypeFirst:
    case ResultRule::kTypeLast:
      return std::nullopt;
    default:
      break;
  }
  if (args.empty()) return std::nullopt;
  const DataType type = args[0].dtype();
  if (rule == ResultRule::kFirst) return type;
  for (const Expr& arg : args) {
    if (arg.dtype() != type) return std::nullopt;
  }
  if (rule == ResultRule::kFloat || rule == ResultRule::kTest) {
    if (!type.is_float()) return std::nullopt;
    return rule == ResultRule::kTest ? DataType::Bool(type.lanes()) : type;
  }
  if (type.is_integer() || (rule == ResultRule::kNumber && type.is_float())) return type;
  return std::nullopt;
}

}  // namespace tilewright::script
