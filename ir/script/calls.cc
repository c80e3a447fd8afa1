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
    {"isnan", "isnan", R::kTest, 1, 1},
    {"isinf", "isinf", R::kTest, 1, 1},
    {"isfinite", "isfinite", R::kTest, 1, 1},
    {"abs", "abs", R::kNumber, 1, 1},
    {"fabs", "abs", R::kNumber, 1, 1},
    {"pow", "pow", R::kNumber, 2, 2},
    {"power", "pow", R::kNumber, 2, 2},
    {"atan2", "atan2", R::kFloat, 2, 2},
    {"hypot", "hypot", R::kFloat, 2, 2},
    {"fmod", "fmod", R::kFloat, 2, 2},
    {"fma", "fma", R::kFloat, 3, 3},
    {"dot_add", "dot_add", R::kFirst, 3, 3},
    {"shift_left", "shift_left", R::kInteger, 2, 2},
    {"shift_right", "shift_right", R::kInteger, 2, 2},
    {"bitwise_and", "bitwise_and", R::kInteger, 2, 2},
    {"bitwise_or", "bitwise_or", R::kInteger, 2, 2},
    {"bitwise_xor", "bitwise_xor", R::kInteger, 2, 2},
    {"bitwise_not", "bitwise_not", R::kInteger, 1, 1},
    {"popcount", "popcount", R::kInteger, 1, 1},
    {"clz", "clz", R::kInteger, 1, 1},
    {"likely", "likely", R::kFirst, 1, 1},
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
    {"prefetch", "prefetch", R::kVoid, 1, -1},
    {"ret", "ret", R::kFirst, 1, 1},
    // Matrix fragments, barriers and shuffles of GPUs.
    {"tvm_fill_fragment", "tvm_fill_fragment", R::kHandle, 6, 6},
    {"tvm_load_matrix_sync", "tvm_load_matrix_sync", R::kHandle, 8, 8},
    {"tvm_store_matrix_sync", "tvm_store_matrix_sync", R::kHandle, 8, 8},
    {"tvm_mma_sync", "tvm_mma_sync", R::kHandle, 8, 8},
    {"tvm_bmma_sync", "tvm_bmma_sync", R::kHandle, 8, 8},
    {"tvm_warp_shuffle", "tvm_warp_shuffle", R::kTypeFirst, 5, 5},
    {"tvm_warp_shuffle_up", "tvm_warp_shuffle_up", R::kTypeFirst, 5, 5},
    {"tvm_warp_shuffle_down", "tvm_warp_shuffle_down", R::kTypeFirst, 5, 5},
    {"tvm_warp_activemask", "tvm_warp_activemask", R::kTypeFirst, 0, 0},
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
    {"tvm_stack_make_array", "tvm_stack_make_array", R::kHandle, 6, 6},
    {"tvm_stack_make_shape", "tvm_stack_make_shape", R::kHandle, 0, -1},
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
      return DataType::Int(32);
    case ResultRule::kTypeFirst:
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
