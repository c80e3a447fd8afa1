#include <gtest/gtest.h>

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

namespace tilewright {
namespace {

TEST(LlvmTest, HasTheTargetsThatCodegenEmitsFor) {
  llvm::InitializeAllTargetInfos();
  for (const char* triple : {"x86_64-linux-gnu", "aarch64-linux-gnu", "nvptx64-nvidia-cuda"}) {
    std::string error;
    EXPECT_NE(llvm::TargetRegistry::lookupTarget(triple, error), nullptr) << error;
  }
}

TEST(LlvmTest, HeadersAndLibraryAreOneVersion) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  EXPECT_EQ(LLVM_VERSION_MAJOR, 19);
  EXPECT_TRUE(module.empty());
}

}  // namespace
}  // namespace tilewright
