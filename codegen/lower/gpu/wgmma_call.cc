#include "codegen/lower/gpu/wgmma_call.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "intrin/cuda/call_roles.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

bool DoesNothingElse(const Stmt& s) {
  switch (s->kind()) {
    case Kind::kEvaluate:
      return AsWgmma(s).has_value();
    case Kind::kFor:
      return DoesNothingElse(cast<ForNode>(s)->body);
    case Kind::kAttrStmt:
      return DoesNothingElse(cast<AttrStmtNode>(s)->body);
    case Kind::kSeq:
      return std::ranges::all_of(cast<SeqNode>(s)->stmts, DoesNothingElse);
    default:
      return IsWarpBarrier(s);
  }
}

}  // namespace

std::optional<WgmmaCall> AsWgmma(const Expr& e) {
  const auto* call = dyn_cast<CallNode>(e);
  if (call == nullptr || cuda::RoleOfCall(call->op) != cuda::CallRole::kWarpgroupProduct) return std::nullopt;
  WgmmaCall result{.a_in_registers = call->op == "cuda.wgmma_rs"};
  if (call->args.size() != result.b() + 2) return std::nullopt;
  const auto text = [&](size_t i) {
    const auto* string = dyn_cast<StringImmNode>(call->args[i]);
    return string == nullptr ? std::string() : string->value;
  };
  if (!absl::SimpleAtoi(text(0), &result.columns)) return std::nullopt;
  result.a_along_k = result.a_in_registers || text(4) == "tw::kMajorK";
  result.b_along_k = text(result.sums() - 1) == "tw::kMajorK";
  return result;
}

std::optional<WgmmaCall> AsWgmma(const Stmt& s) {
  const auto* evaluate = dyn_cast<EvaluateNode>(s);
  return evaluate == nullptr ? std::nullopt : AsWgmma(evaluate->value);
}

bool IsWarpBarrier(const Stmt& s) {
  const auto* sync = dyn_cast<SyncNode>(s);
  return sync != nullptr && sync->sync == SyncKind::kBarrier && sync->participants == OwnerLevel::kWarp;
}

bool OnlyMultiplies(const Stmt& s) {
  bool multiplies = false;
  PreOrder(s, [&](const Stmt& part) {
    multiplies |= AsWgmma(part).has_value();
    return !multiplies;
  });
  return multiplies && DoesNothingElse(s);
}

}  // namespace tilewright
