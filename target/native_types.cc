#include "target/native_types.h"

namespace tilewright {

bool HasArithmeticOf(const Target& target, std::string_view type) {
  if (type == "float32" || type == "float64") return true;
  if (target.is_gpu()) return type == "float16" || type == "bfloat16";
  return type == "float16" && (target.has("avx512fp16") || target.has("fullfp16"));
}

bool ShiftsBytes(const Target& target) { return target.has("neon"); }

bool HasGatherOf(const Target& target, int bits) { return target.has("avx2") && bits >= 32; }

}  // namespace tilewright
