#include "verify/structure/join_digits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "ir/script/printer.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Joined(const std::vector<Expr>& indices,
                                const std::vector<std::pair<Var, Range>>& ranges = {}) {
  arith::Analyzer analyzer;
  for (const auto& [var, range] : ranges) analyzer.Bind(var, range);
  std::vector<std::string> texts;
  for (const Expr& index : JoinDigits(indices, &analyzer)) texts.push_back(Print(index));
  return texts;
}

TEST(JoinDigits, OfOneNumber) {
  const Var m("m"), n("n");
  const Expr sum = m * 16 + n;
  EXPECT_THAT(Joined({FloorDiv(sum, 20), FloorDiv(FloorMod(sum, 20), 5), FloorMod(sum, 5)}), ElementsAre("m * 16 + n"));
  EXPECT_THAT(Joined({FloorMod(sum, 5), n, FloorMod(FloorDiv(sum, 5), 4)}), ElementsAre("(m * 16 + n) % 20", "n"));
  EXPECT_THAT(Joined({FloorDiv(FloorMod(m, 60), 20), FloorDiv(FloorMod(m, 20), 5)}), ElementsAre("m % 60 // 5"));
}

TEST(JoinDigits, ThatAreParts) {
  const Var m("m"), p("p");
  EXPECT_THAT(Joined({FloorDiv(m, 5) * 2 + p, FloorMod(m, 5)}, {{p, {0, 2}}}), ElementsAre("p", "m"));
  EXPECT_THAT(Joined({FloorDiv(m, 5) * 2 + p, FloorMod(m, 5)}, {{p, {0, 3}}}), ElementsAre("m // 5 * 2 + p", "m % 5"));
}

TEST(JoinDigits, BySizes) {
  const Var m("m"), n("n"), h("h"), w("w");
  const std::vector<std::pair<Var, Range>> sizes = {{h, {0, 1000}}, {w, {0, 1000}}};
  const Expr sum = m * 32 + n;
  EXPECT_THAT(Joined({FloorDiv(sum, h * w), FloorMod(FloorDiv(sum, w), h), FloorMod(sum, w)}, sizes),
              ElementsAre("m * 32 + n"));
  EXPECT_THAT(Joined({FloorDiv(sum, w), FloorMod(sum, h)}, sizes),
              ElementsAre("(m * 32 + n) // w", "(m * 32 + n) % h"));
  // One that may be negative.
  EXPECT_THAT(Joined({FloorDiv(m, w), FloorMod(m, w)}, {{w, {-5, 1000}}}), ElementsAre("m // w", "m % w"));
}

// A digit that is missing, of another number, or cut elsewhere.
TEST(JoinDigits, LeavesOthers) {
  const Var m("m"), n("n");
  EXPECT_THAT(Joined({FloorDiv(m, 20), FloorMod(m, 5)}), ElementsAre("m // 20", "m % 5"));
  EXPECT_THAT(Joined({FloorDiv(m, 5), FloorMod(n, 5)}), ElementsAre("m // 5", "n % 5"));
  EXPECT_THAT(Joined({FloorDiv(FloorMod(m, 20), 3), FloorMod(m, 3)}), ElementsAre("m % 20 // 3", "m % 3"));
  EXPECT_THAT(Joined({m, n}), ElementsAre("m", "n"));
}

}  // namespace
}  // namespace tilewright
