// What checks of the blocks of one scope share: a walk over all scopes of a function.
//
//   class Checker : public ScopeChecker {
//     void CheckScope(const BlockScope& scope) override { ... Refute("init order", child.id(), "block C may ..."); }
//   };
//   return DiagnosticsOf<Checker>(function);
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "ir/function.h"
#include "ir/functor.h"
#include "verify/structure/block_scope.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

class ScopeChecker : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  Diagnostics diagnostics;

 protected:
  virtual void CheckScope(const BlockScope& scope) = 0;
  void VisitBlock(const BlockNode* block) override {
    CheckScope(BlockScope::Of(block));
    StmtVisitor::VisitBlock(block);
  }
  void Refute(const char* check, uint32_t object, std::string reason) {
    diagnostics.push_back({Verdict::kRefuted, check, object, std::move(reason)});
  }
};

template <class Checker>
Diagnostics DiagnosticsOf(const Function& function) {
  Checker checker;
  checker.Visit(function->body);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright
