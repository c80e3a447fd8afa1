#include "ir/count_nodes.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

constexpr char kCopy[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]
)";

TEST(CountNodes, CountsWhatIsWritten) {
  const Function once = ParseFunctionOrDie(kCopy);
  // The loop with its two bounds, the store with its index, and the load with its own.
  EXPECT_EQ(CountNodes(once), 7);
  EXPECT_EQ(CountNodes(Module(once)), 7);
  const Stmt twice = Sequence({once->body, once->body});
  EXPECT_EQ(CountNodes(twice), 15);  // shared parts count as often as they stand there
}

}  // namespace
}  // namespace tilewright
