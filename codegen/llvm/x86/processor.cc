#include "codegen/llvm/x86/processor.h"

#include "codegen/llvm/x86/spills.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tilewright::codegen::x86 {
namespace {

class X86 : public Processor {
 public:
  std::string MoreFeatures(const Target& target) const override {
    std::string features;
    // Without this feature of LLVM's own, a processor model that has no AVX-512 gets none of its wide registers.
    if (target.has("avx512f")) features += ",+evex512";
    // A multiply-add of 16-bit integers instead of two instructions, also where it takes a cycle longer.
    if (target.has("avx512vnni")) features += ",+fast-dpwssd";
    // What processors of one maker alone have: a preset says what code needs by its features, whoever made the machine.
    return features + ",-sse4a";
  }

  // GNU's linker takes 4 ms where LLVM's takes 25, most of them for starting. It links for its own machine only.
  std::vector<const char*> Linkers() const override {
#if defined(__x86_64__)
    return {"ld", "ld.lld-19", "ld.lld"};
#else
    return {"ld.lld-19", "ld.lld", "ld"};
#endif
  }

  int CountInnerLoopVectorSpills(std::string_view assembly) const override {
    return tilewright::CountInnerLoopVectorSpills(assembly);
  }

  bool HasScale(const llvm::Type* type, const Target& target) const override {
    const unsigned lanes = LanesOf(type);
    return lanes >= 16 ? lanes % 16 == 0 && target.has("avx512f")
                       : (lanes == 8 || lanes == 4) && target.has("avx512vl");
  }

  llvm::Value* EmitScale(llvm::IRBuilderBase& b, llvm::Value* p, llvm::Value* n) const override {
    const unsigned lanes = LanesOf(p->getType());
    if (lanes > 16) {
      llvm::Value* scaled = llvm::PoisonValue::get(p->getType());
      auto* part = llvm::FixedVectorType::get(b.getFloatTy(), 16);
      for (unsigned first = 0; first < lanes; first += 16) {
        llvm::Value* power = b.CreateExtractVector(part, n, b.getInt64(first));
        power = EmitScale(b, b.CreateExtractVector(part, p, b.getInt64(first)), power);
        scaled = b.CreateInsertVector(p->getType(), scaled, power, b.getInt64(first));
      }
      return scaled;
    }
    switch (lanes) {
      case 16: {
        llvm::Value* rounding = b.getInt32(4);  // that of the other operations
        return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                 {p, n, p, b.getInt16(0xffff), rounding});
      }
      case 8:
        return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_256, {}, {p, n, p, b.getInt8(0xff)});
      case 4:
        return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_128, {}, {p, n, p, b.getInt8(0xff)});
      default:
        return nullptr;
    }
  }

 private:
  static unsigned LanesOf(const llvm::Type* type) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector != nullptr ? vector->getNumElements() : 1;
  }
};

}  // namespace

const Processor& TheProcessor() {
  static const X86 processor;
  return processor;
}

}  // namespace tilewright::codegen::x86
