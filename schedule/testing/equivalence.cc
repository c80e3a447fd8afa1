#include "schedule/testing/equivalence.h"

#include <string>
#include <vector>

#include "base/check.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/ndarray.h"
#include "ir/script/printer.h"
#include "ir/well_formed.h"

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

::testing::AssertionResult SameResults(const Function& before, const Function& after,
                                       const EquivalenceOptions& options) {
  auto failure = [](const Function& function, const std::string& what) {
    return ::testing::AssertionFailure() << what << "\n" << Print(function);
  };
  const std::vector<WellFormedViolation> violations = FindViolations(after);
  if (!violations.empty()) return failure(after, "not well formed: " + violations[0].reason);
  const std::vector<interp::Argument> expected = MakeArguments(before, options), actual = MakeArguments(after, options);
  if (expected.size() != actual.size()) return failure(after, "the numbers of parameters differ");
  interp::CompileOptions checks = interp::CompileOptions::AllChecks();
  checks.check_races = options.check_races;
  checks.check_uninitialized = options.check_uninitialized;
  checks.environment = options.environment;
  absl::Status status = Run(before, expected, {.environment = options.environment});
  if (!status.ok()) return failure(before, "before: " + status.ToString());
  status = Run(after, actual, checks);
  if (!status.ok()) return failure(after, "after: " + status.ToString());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!before->params[i].buffer || BitEqual(expected[i].array, actual[i].array)) continue;
    const ArrayError error = MaxError(expected[i].array, actual[i].array);
    if (options.max_error > 0 && error.max_abs <= options.max_error) continue;
    const int64_t position = error.position;
    return failure(after, "element " + std::to_string(position) + " of " + before->params[i].buffer->name + " is " +
                              std::to_string(actual[i].array.Get(position)) + ", before " +
                              std::to_string(expected[i].array.Get(position)));
  }
  return ::testing::AssertionSuccess();
}

void ExpectEquivalent(const Function& before, const Function& after, const EquivalenceOptions& options) {
  EXPECT_TRUE(SameResults(before, after, options));
}

}  // namespace tilewright::testing
