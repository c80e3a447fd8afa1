#include "codegen/lower/gpu/wgmma_call.h"

#include <string>

#include "absl/strings/numbers.h"
#include "ir/functor.h"

namespace tilewright {

std::optional<WgmmaCall> AsWgmma(const Expr& e) {
  const auto* call = dyn_cast<CallNode>(e);
  if (call == nullptr || call->op != "cuda.wgmma" || call->args.size() != 10) return std::nullopt;
  const auto text = [&](size_t i) {
    const auto* string = dyn_cast<StringImmNode>(call->args[i]);
    return string == nullptr ? std::string() : string->value;
  };
  WgmmaCall result;
  if (!absl::SimpleAtoi(text(0), &result.columns)) return std::nullopt;
  result.a_along_k = text(4) == "tw::kMajorK";
  result.b_along_k = text(5) == "tw::kMajorK";
  return result;
}

std::optional<WgmmaCall> AsWgmma(const Stmt& s) {
  const auto* evaluate = dyn_cast<EvaluateNode>(s);
  return evaluate == nullptr ? std::nullopt : AsWgmma(evaluate->value);
}

}  // namespace tilewright
