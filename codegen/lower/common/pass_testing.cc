#include "codegen/lower/common/pass_testing.h"

#include "codegen/lower/common/lower_blocks.h"
#include "codegen/lower/common/lower_init.h"
#include "codegen/lower/common/plan_allocations.h"
#include "codegen/lower/common/substitute_iterators.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright::testing {

std::string Body(const Function& function) {
  const std::string text = Print(function);
  const size_t signature = text.find("def ");
  return text.substr(text.find('\n', signature) + 1);
}

Function Opaque(const std::string& text) {
  return LowerBlocks(SubstituteIterators(LowerInit(PlanAllocations(ParseFunctionOrDie(text))).value()));
}

}  // namespace tilewright::testing
