#include "codegen/lower/common/pass_testing.h"

#include <gtest/gtest.h>

#include <vector>

#include "codegen/lower/common/lower_blocks.h"
#include "codegen/lower/common/lower_init.h"
#include "codegen/lower/common/plan_allocations.h"
#include "codegen/lower/common/substitute_iterators.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
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

void ExpectSameAtAllSizes(const Function& before, const Function& after) {
  for (int64_t size = 0; size <= 20; ++size) {
    SCOPED_TRACE(size);
    std::vector<NDArray> results;
    for (const Function& function : {before, after}) {
      const auto program = interp::Compile(function, {.check_bounds = true});
      ASSERT_TRUE(program.ok()) << program.status();
      std::vector<interp::Argument> arguments;
      for (const Param& param : function->params) {
        std::vector<int64_t> shape;
        for (const Expr& extent : param.buffer->shape) shape.push_back(AsInt(extent).value_or(size));
        results.emplace_back(param.buffer->dtype, shape);
        FillIntegers(results.back(), arguments.size());
        arguments.emplace_back(results.back());
      }
      const absl::Status status = program->Run(arguments);
      ASSERT_TRUE(status.ok()) << status << Body(function);
    }
    EXPECT_TRUE(BitEqual(results[before->params.size() - 1], results.back())) << Body(after);
  }
}

}  // namespace tilewright::testing
