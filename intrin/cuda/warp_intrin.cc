#include "intrin/cuda/warp_intrin.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace tilewright {

TensorIntrin IntrinOfSums(absl::string_view text, const Words& words, std::string_view name, DataType sum) {
  const MachineInstruction* simplest = nullptr;
  for (const MachineInstruction& row : Instructions()) {
    if (row.family != "mma" || row.c.type != sum) continue;
    const bool simpler = simplest == nullptr || row.FeatureNames().size() < simplest->FeatureNames().size();
    if (simpler) simplest = &row;
  }
  TW_CHECK(simplest != nullptr) << sum.ToString();
  return IntrinFromText(text, words, name, simplest->FeatureNames());
}

std::string FactorOf(const MachineInstruction& row, absl::string_view element) {
  // tf32 is the upper 19 bits of a float.
  if (row.a.format == "tf32") {
    return absl::StrCat("T.reinterpret(\"float32\", T.bitwise_and(T.reinterpret(\"uint32\", ", element,
                        "), T.uint32(4294959104)))");
  }
  if (row.a.type == row.c.type) return std::string(element);
  return absl::StrCat("T.Cast(\"", row.c.type.ToString(), "\", ", element, ")");
}

std::string MmaFunction(const MachineInstruction& row) {
  const std::string sum = row.c.type.is_float() ? absl::StrCat("f", row.c.type.bits()) : "s32";
  // "f16f16f32": both operands, then the sum; the name has equal types of more than a byte once.
  absl::string_view types(row.types.data(), row.types.size() - sum.size());
  if (row.a.type.bits() > 8) types = types.substr(0, types.size() / 2);
  return absl::StrCat("mma_m", row.m, "n", row.n, "k", row.k, "_", sum, "_", types);
}

}  // namespace tilewright
