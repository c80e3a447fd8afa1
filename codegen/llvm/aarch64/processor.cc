#include "codegen/llvm/aarch64/processor.h"

#include "codegen/llvm/aarch64/spills.h"

namespace tilewright::codegen::aarch64 {
namespace {

class AArch64 : public Processor {
 public:
  std::string MoreFeatures(const Target&) const override { return ""; }
  std::vector<const char*> Linkers() const override { return {"ld.lld-19", "ld.lld", "ld"}; }
  int CountInnerLoopVectorSpills(std::string_view assembly) const override {
    return tilewright::aarch64::CountInnerLoopVectorSpills(assembly);
  }
};

}  // namespace

const Processor& TheProcessor() {
  static const AArch64 processor;
  return processor;
}

}  // namespace tilewright::codegen::aarch64
