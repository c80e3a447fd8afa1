#include "ir/interp/interp.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/ops/matmul.h"

namespace tilewright::interp {
namespace {

absl::Status RunOnce(const Function& function, std::initializer_list<Argument> arguments,
                     const CompileOptions& options = CompileOptions::AllChecks(), const RunOptions& run = {}) {
  absl::StatusOr<Program> program = Compile(function, options);
  if (!program.ok()) return program.status();
  return program->Run(arguments, run);
}

TEST(Interp, Matmul) {
  for (const char* types : {"f32", "bf16", "f16", "f16f32", "u8s8", "s8s8"}) {
    const ops::OperandTypes operands = *ops::OperandTypes::Parse(types);
    Function f = ops::Matmul(7, 5, 9, operands);
    NDArray a(operands.input, {7, 9}), b(operands.weight, {9, 5}), c(operands.output, {7, 5});
    FillIntegers(a, 1);
    FillIntegers(b, 2);
    Argument out(c);
    out.uninitialized = true;
    const absl::Status status = RunOnce(f, {a, b, out});
    ASSERT_TRUE(status.ok()) << types << status;
    for (int64_t i = 0; i < 7; ++i) {
      for (int64_t j = 0; j < 5; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < 9; ++k) sum += a.Get(i * 9 + k) * b.Get(k * 5 + j);
        EXPECT_EQ(c.Get(i * 5 + j), sum) << types;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::interp
