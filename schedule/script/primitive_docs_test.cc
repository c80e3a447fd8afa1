#include "schedule/script/primitive_docs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/golden.h"
#include "ir/script/printer.h"
#include "schedule/core/primitive.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

std::vector<PrimitiveExample> Examples() {
  const auto examples = ReadPrimitiveExamples(kPrimitiveExamples);
  EXPECT_TRUE(examples.ok()) << examples.status();
  return examples.ok() ? *examples : std::vector<PrimitiveExample>();
}

TEST(PrimitiveDocs, ThePageIsUpToDate) { EXPECT_TRUE(MatchesGolden("docs/primitives.md", PrimitiveDocs(Examples()))); }

TEST(PrimitiveDocs, EveryTransformationHasAnExample) {
  const std::vector<PrimitiveExample> examples = Examples();
  for (const Primitive& primitive : AllPrimitives()) {
    const bool changes = primitive.role == Primitive::Role::kTransform;
    EXPECT_EQ(std::ranges::count(examples, std::string(primitive.name), &PrimitiveExample::primitive), changes ? 1 : 0)
        << primitive.name;
  }
  for (const PrimitiveExample& example : examples) {
    const size_t last = example.calls.rfind('\n', example.calls.size() - 2) + 1;
    EXPECT_NE(example.calls.find("sch." + example.primitive + "(", last), std::string::npos) << example.calls;
  }
}

TEST(PrimitiveDocs, ProgramsBeforeAndAfterComputeTheSame) {
  for (const PrimitiveExample& example : Examples()) {
    // One takes other parameters, the other declares less than the interpreter sees; their own tests run both.
    if (example.primitive == "hoist_prepack" || example.primitive == "unsafe_hide_buffer_access") continue;
    SCOPED_TRACE(example.primitive);
    testing::ExpectEquivalent(example.before.Main(), example.after.Main());
    const bool changes = example.primitive != "enter_postproc" && example.primitive != "unannotate";
    EXPECT_EQ(Print(example.before) != Print(example.after), changes);
  }
}

}  // namespace
}  // namespace tilewright
