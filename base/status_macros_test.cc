#include "base/status_macros.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace tilewright {
namespace {

absl::StatusOr<int> Positive(int n) {
  if (n <= 0) return absl::InvalidArgumentError("not positive");
  return n;
}

absl::Status Check(int n) { return Positive(n).status(); }

absl::StatusOr<std::string> Twice(int n) {
  TW_RETURN_IF_ERROR(Check(n));
  TW_ASSIGN_OR_RETURN(const int value, Positive(n));
  return std::to_string(2 * value);
}

TEST(StatusMacrosTest, PassStatusesOn) {
  EXPECT_EQ(*Twice(4), "8");
  EXPECT_EQ(Twice(0).status(), absl::InvalidArgumentError("not positive"));
}

TEST(StatusMacrosTest, MoveValues) {
  const auto both = [](int n) -> absl::StatusOr<std::unique_ptr<int>> {
    std::unique_ptr<int> value;
    TW_ASSIGN_OR_RETURN(value, absl::StatusOr<std::unique_ptr<int>>(std::make_unique<int>(n)));
    return value;
  };
  EXPECT_EQ(**both(3), 3);
}

// A result with a refusal in place of a status, as primitives of schedules have.
struct Answer {
  bool ok() const { return why == 0; }
  int refusal() const { return why; }
  std::string value() && { return "made"; }
  int why = 0;
};

std::string Ask(int why) {
  const auto answer = [&]() -> std::string {
    const auto refused = [&]() -> int {
      TW_RETURN_IF_ERROR(Answer{why});
      return 0;
    };
    return refused() == 0 ? "yes" : "no";
  };
  return answer();
}

TEST(StatusMacrosTest, PassRefusalsOn) {
  EXPECT_EQ(Ask(0), "yes");
  EXPECT_EQ(Ask(7), "no");
}

}  // namespace
}  // namespace tilewright
