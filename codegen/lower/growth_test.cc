// No pass may multiply a program: twice the text gives at most 2.5 times the nodes after each pass.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "codegen/lower/growing_programs.h"
#include "codegen/lower/pipeline.h"
#include "ir/iterations.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

constexpr double kMostGrowth = 2.5;
constexpr int kSize = 12;

// The nodes of a program after each pass that changed it.
std::map<std::string, int64_t> NodesAfterPasses(const std::string& program, const Target& target) {
  std::map<std::string, int64_t> nodes;
  const LowerOptions options = {.after_pass = [&](std::string_view pass, const Function&, const Function& after) {
    nodes[std::string(pass)] = CountNodes(after);
  }};
  const auto lowered = Lower(Module({ParseFunctionOrDie(program)}), target, options);
  EXPECT_TRUE(lowered.ok()) << lowered.status().message() << "\n" << program;
  return nodes;
}

class Growth : public ::testing::TestWithParam<std::string> {};

TEST_P(Growth, OfEveryPass) {
  const Target target = *NamedTarget(GetParam());
  for (const auto& [name, program] : GrowingPrograms()) {
    const auto once = NodesAfterPasses(program(kSize), target);
    const auto twice = NodesAfterPasses(program(2 * kSize), target);
    for (const auto& [pass, nodes] : twice) {
      const auto before = once.find(pass);
      if (before == once.end()) continue;
      EXPECT_LE(nodes, kMostGrowth * before->second) << name << " after " << pass << ": " << before->second << " nodes";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Growth, ::testing::Values("x86-znver3", "x86-sapphirerapids", "arm-neoverse-n1"));

}  // namespace
}  // namespace tilewright
