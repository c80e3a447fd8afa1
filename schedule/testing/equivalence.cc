#include "schedule/testing/equivalence.h"

#include <gtest/gtest.h>

#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/check.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/printer.h"

namespace tilewright::testing {
namespace {

int64_t Evaluate(const Expr& extent, const EquivalenceOptions& options) {
  const Expr value = arith::Simplify(RewriteExpr(extent, [&](const Expr& e) -> Expr {
    const auto* var = dyn_cast<VarNode>(e);
    if (var == nullptr) return e;
    auto known = options.dims.find(var->name);
    return Const(var->dtype(), known == options.dims.end() ? 7 : known->second);
  }));
  TW_CHECK(AsInt(value).has_value()) << "extent " << Print(extent);
  return *AsInt(value);
}

std::vector<interp::Argument> MakeArguments(const Function& function, const EquivalenceOptions& options) {
  std::vector<interp::Argument> arguments;
  for (const Param& param : function->params) {
    if (!param.buffer) {
      arguments.emplace_back(Evaluate(param.var, options));
      continue;
    }
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(Evaluate(extent, options));
    NDArray array(param.buffer->dtype, std::move(shape));
    FillIntegers(array, options.seed * 1000 + arguments.size());
    arguments.emplace_back(std::move(array));
  }
  return arguments;
}

absl::Status Run(const Function& function, const std::vector<interp::Argument>& arguments,
                 const interp::CompileOptions& compile_options) {
  absl::StatusOr<interp::Program> program = interp::Compile(function, compile_options);
  return program.ok() ? program->Run(arguments) : program.status();
}

}  // namespace

void ExpectEquivalent(const Function& before, const Function& after, const EquivalenceOptions& options) {
  const std::vector<interp::Argument> expected = MakeArguments(before, options), actual = MakeArguments(after, options);
  const absl::Status reference = Run(before, expected, {});
  ASSERT_TRUE(reference.ok()) << reference << "\n" << Print(before);
  const absl::Status status = Run(after, actual, interp::CompileOptions::AllChecks());
  ASSERT_TRUE(status.ok()) << status << "\n" << Print(after);
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!before->params[i].buffer) continue;
    EXPECT_TRUE(BitEqual(expected[i].array, actual[i].array))
        << "parameter " << before->params[i].buffer->name << " differs\n"
        << Print(after);
  }
}

}  // namespace tilewright::testing
