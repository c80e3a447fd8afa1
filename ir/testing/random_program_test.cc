#include "ir/testing/random_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ir/interp/interp.h"
#include "ir/structural.h"
#include "ir/well_formed.h"

namespace tilewright {
namespace {

void CheckPrograms(const RandomProgramOptions& options, uint64_t seeds) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const Function f = RandomProgram(seed, options);
    EXPECT_TRUE(StructuralEqual(f, RandomProgram(seed, options))) << seed;
    hashes.insert(StructuralHash(f));
    for (const WellFormedViolation& violation : FindViolations(f)) ADD_FAILURE() << seed << ": " << violation.reason;
    std::vector<interp::Argument> arguments;
    for (const Param& param : f->params) {
      std::vector<int64_t> shape;
      for (const Expr& extent : param.buffer->shape) shape.push_back(*AsInt(extent));
      NDArray array(param.buffer->dtype, shape);
      FillIntegers(array, arguments.size());
      arguments.emplace_back(array);
      arguments.back().uninitialized = param.buffer->name[0] != 'i';
    }
    absl::StatusOr<interp::Program> program = interp::Compile(f, interp::CompileOptions::AllChecks());
    ASSERT_TRUE(program.ok()) << seed << ": " << program.status();
    const absl::Status status = program->Run(arguments);
    EXPECT_TRUE(status.ok()) << seed << ": " << status;
    for (const interp::Argument& argument : arguments) {
      for (int64_t i = 0; i < argument.array.size(); ++i) {
        const double value = argument.array.Get(i);
        ASSERT_TRUE(std::floor(value) == value && std::fabs(value) <= 1 << 23) << seed << ": " << value;
      }
    }
  }
  EXPECT_GT(hashes.size(), seeds * 95 / 100);
}

TEST(RandomProgram, IsRight) { CheckPrograms({}, 400); }
TEST(RandomProgram, IsRightWithAllConstructs) { CheckPrograms({.all_constructs = true}, 400); }

}  // namespace
}  // namespace tilewright
