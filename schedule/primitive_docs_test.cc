#include "schedule/primitive_docs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace tilewright {
namespace {

TEST(PrimitiveDocs, ThePageIsUpToDate) {
  std::ifstream file("docs/primitives.md");
  ASSERT_TRUE(file.good());
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), PrimitiveDocs()) << "bazel run //schedule:print_primitive_docs > docs/primitives.md";
}

}  // namespace
}  // namespace tilewright
