#include "codegen/llvm/x86/spills.h"

#include "codegen/llvm/assembly/inner_loop_spills.h"

namespace tilewright {
namespace {

bool IsVectorMove(std::string_view line) {
  const bool is_move = line.starts_with("vmov") || line.starts_with("mova") || line.starts_with("movu");
  return is_move &&
         (line.find("%zmm") != line.npos || line.find("%ymm") != line.npos || line.find("%xmm") != line.npos);
}

// %rbp is any other register where it does not hold the frame.
bool UsesStack(std::string_view line, bool has_frame) {
  return line.find("(%rsp") != line.npos || (has_frame && line.find("(%rbp") != line.npos);
}

// "vmovups %zmm3, 64(%rdi)".
bool IsStore(std::string_view line) {
  const size_t last_register = line.rfind("mm");
  return last_register != line.npos && line.find('(', last_register) != line.npos;
}

}  // namespace

int CountInnerLoopVectorSpills(std::string_view assembly) {
  constexpr AssemblySyntax kSyntax = {.frame_begins = "movq\t%rsp, %rbp",
                                      .is_jump = [](std::string_view line) { return line.starts_with('j'); },
                                      .is_vector_move = IsVectorMove,
                                      .uses_stack = UsesStack,
                                      .is_store = IsStore};
  return CountInnerLoopVectorSpills(assembly, kSyntax);
}

}  // namespace tilewright
