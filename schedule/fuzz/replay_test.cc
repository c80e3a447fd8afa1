#include "schedule/fuzz/replay.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::fuzz {
namespace {

constexpr const char* kSums = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), S: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0
            S[vi] = S[vi] + A[vi, vk]
)";

TEST(Replay, JudgesWhatComesOut) {
  const absl::StatusOr<Judgement> right = Replay(kSums, "sch.split(sch.get_loops(\"S\")[1], [None, 3])");
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_TRUE(right->accepted && right->right && right->sound());

  // The block declares less than it reads.
  std::string text = kSums;
  text.insert(text.find("            with T.init"), "            T.reads(A[vi, 0])\n");
  const absl::StatusOr<Judgement> wrong = Replay(text, "sch.split(sch.get_loops(\"S\")[1], [None, 3])");
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  EXPECT_FALSE(wrong->right);
  EXPECT_FALSE(wrong->accepted);
  EXPECT_EQ(wrong->check, "declared regions");
}

TEST(Replay, SaysWhichPrimitiveRefuses) {
  const absl::StatusOr<Judgement> refused = Replay(kSums, "sch.parallel(sch.get_loops(\"S\")[1])");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.status().message().find("parallel: "), std::string::npos) << refused.status();
  EXPECT_EQ(Replay("not a program", "").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Replay(kSums, "sch.split(").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tilewright::fuzz
