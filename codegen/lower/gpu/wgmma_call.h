// Calls of wgmma in programs, as the intrinsics are made of them (intrin/cuda/wgmma.h):
//
//   T.cuda.wgmma("128", "float", "tw::f16", "tw::f16", "tw::kMajorK", "tw::kMajorMN", C, A, B, 1)
//
// columns; types of C, A and B; along what A and B are contiguous; a pointer to registers of C; the addresses of A and
// B (later their descriptors); whether the sums that C has are added to. With A in registers:
//
//   T.cuda.wgmma_rs("128", "float", "tw::f16", "tw::f16", "tw::kMajorMN", C, A, B, 1)
//
// B alone is contiguous along something, and A is a pointer to registers.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/expr.h"
#include "ir/stmt.h"

namespace tilewright {

struct WgmmaCall {
  int64_t columns = 0;
  bool a_in_registers = false;
  bool a_along_k = true, b_along_k = true;
  // Places of arguments.
  size_t sums() const { return a_in_registers ? 5 : 6; }
  size_t a() const { return sums() + 1; }
  size_t b() const { return sums() + 2; }
};

// Nothing when the expression is no such call.
std::optional<WgmmaCall> AsWgmma(const Expr& e);
// The same of a statement that is the call.
std::optional<WgmmaCall> AsWgmma(const Stmt& s);
bool IsWarpBarrier(const Stmt& s);
// Whether `s` does nothing but multiply by such calls, barriers of warps aside: lanes of a warp start one together.
bool OnlyMultiplies(const Stmt& s);

}  // namespace tilewright
