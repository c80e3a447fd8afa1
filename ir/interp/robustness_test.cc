// Programs that are well typed but do anything: running them ends with an answer, never with a crash.
#include <algorithm>
#include <map>

#include "ir/interp/testing.h"
#include "ir/script/random_program.h"

namespace tilewright::interp {
namespace {

TEST(Robustness, AnyProgramEndsWithAnAnswer) {
  std::map<absl::StatusCode, int> answers;
  // What the programs call.
  Environment environment;
  for (const char* name : {"f", "func\"tion", "some.intrinsic", "exp2"}) {
    environment.externs[name] = [](absl::Span<const ExternArg>, DataType, absl::Span<Scalar> result) {
      std::fill(result.begin(), result.end(), Scalar{.i = 0});
      return absl::OkStatus();
    };
  }
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Module module = RandomProgram(seed);
    for (const Function& f : module.functions()) {
      for (CompileOptions options : {CompileOptions(), CompileOptions::AllChecks()}) {
        options.environment = environment;
        absl::StatusOr<Program> program = Compile(f, options);
        if (!program.ok()) {
          ++answers[program.status().code()];
          continue;
        }
        std::vector<Argument> arguments;
        for (const Param& param : f->params) {
          if (!param.buffer) {
            arguments.emplace_back(3);
            continue;
          }
          std::vector<int64_t> shape;
          for (const Expr& extent : param.buffer->shape)
            shape.push_back(std::clamp<int64_t>(AsInt(extent).value_or(5), 0, 64));
          arguments.emplace_back(NDArray(param.buffer->dtype, shape));
        }
        ++answers[program->Run(arguments, {.max_steps = 10000, .max_memory = 1 << 24}).code()];
      }
    }
  }
  EXPECT_GT(answers[absl::StatusCode::kOk], 50);
  EXPECT_GT(answers[absl::StatusCode::kOutOfRange], 50);
}

}  // namespace
}  // namespace tilewright::interp
