#include "codegen/lower/gpu/thread_digits.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

const DataType kI32 = DataType::Int(32);

// A block of x * y threads.
struct Threads {
  Threads(int64_t x, int64_t y) : extents{x, y} {
    for (int i = 0; i < 2; ++i) {
      ForNode::Fields fields;
      fields.var = vars[i];
      fields.min = Expr(0);
      fields.extent = Expr(extents[i]);
      fields.kind = ForKind::kThreadBound;
      fields.thread_tag = i == 0 ? "threadIdx.x" : "threadIdx.y";
      fields.body = Sequence({});
      statements.push_back(For(std::move(fields)));
    }
  }
  // Outermost first, as they stand around.
  std::vector<const ForNode*> loops() const { return {cast<ForNode>(statements[1]), cast<ForNode>(statements[0])}; }
  int64_t ValueOf(const Expr& e, int64_t x, int64_t y) const {
    const Expr value = arith::Simplify(Substitute(e, {{vars[0], Expr(x)}, {vars[1], Expr(y)}}));
    return *AsInt(value);
  }

  int64_t extents[2];
  Var vars[2] = {Var("tx", kI32), Var("ty", kI32)};
  std::vector<Stmt> statements;
};

// Every thread has a number, those that reduce together have one group and all numbers in it, and one of them leads.
void ExpectDigits(const Threads& threads, const std::vector<Expr>& reduced, const std::vector<Expr>& spatial,
                  int64_t members, bool neighbours) {
  std::string problem;
  const auto digits = FindThreadDigits(threads.loops(), reduced, spatial, &problem);
  ASSERT_TRUE(digits.has_value()) << problem;
  EXPECT_EQ(digits->members, members);
  EXPECT_EQ(digits->threads, threads.extents[0] * threads.extents[1]);
  EXPECT_EQ(digits->neighbours, neighbours);
  std::map<int64_t, std::set<int64_t>> groups;
  std::map<int64_t, std::set<std::vector<int64_t>>> places;
  for (int64_t y = 0; y < threads.extents[1]; ++y) {
    for (int64_t x = 0; x < threads.extents[0]; ++x) {
      EXPECT_EQ(threads.ValueOf(digits->Thread(), x, y), y * threads.extents[0] + x);
      const int64_t group = threads.ValueOf(digits->Group(), x, y), member = threads.ValueOf(digits->Member(), x, y);
      EXPECT_TRUE(groups[group].insert(member).second);
      EXPECT_EQ(threads.ValueOf(digits->IsLeader(), x, y), member == 0 ? 1 : 0);
      std::vector<int64_t> place;
      for (const Expr& e : spatial) place.push_back(threads.ValueOf(e, x, y));
      places[group].insert(place);
    }
  }
  EXPECT_EQ(static_cast<int64_t>(groups.size()) * members, digits->threads);
  for (const auto& [group, numbers] : groups) {
    EXPECT_EQ(static_cast<int64_t>(numbers.size()), members);
    EXPECT_EQ(*numbers.rbegin(), members - 1);
    EXPECT_EQ(places[group].size(), 1u) << "a group computes one place";
  }
}

TEST(ThreadDigits, AreLoopsOrTheirParts) {
  const Threads threads(32, 4);
  const Expr x = threads.vars[0], y = threads.vars[1];
  ExpectDigits(threads, {x}, {y}, 32, true);
  ExpectDigits(threads, {y}, {x}, 4, false);
  ExpectDigits(threads, {x, y}, {}, 128, true);
  ExpectDigits(threads, {x + y * Expr(32)}, {}, 128, true);
  ExpectDigits(threads, {}, {x, y}, 1, true);
  ExpectDigits(threads, {FloorMod(x, Expr(8))}, {FloorDiv(x, Expr(8)), y}, 8, true);
  ExpectDigits(threads, {FloorDiv(x, Expr(8))}, {FloorMod(x, Expr(8)), y}, 4, false);
  ExpectDigits(threads, {FloorDiv(x, Expr(4)), y}, {FloorMod(x, Expr(4))}, 32, false);
  ExpectDigits(Threads(1, 4), {}, {}, 1, true);
}

// A loop of one thread neither reduces nor stands between others.
TEST(ThreadDigits, LoopsOfOneThreadSayNothing) {
  const Threads threads(1, 8);
  ExpectDigits(threads, {threads.vars[1]}, {threads.vars[0]}, 8, true);
}

TEST(ThreadDigits, ThreadsThatDoBothAreNamed) {
  const Threads threads(32, 4);
  const Expr x = threads.vars[0];
  std::string problem;
  EXPECT_FALSE(FindThreadDigits(threads.loops(), {x}, {x}, &problem));
  EXPECT_EQ(problem, "tx");
  EXPECT_FALSE(FindThreadDigits(threads.loops(), {FloorMod(x, Expr(8))}, {FloorMod(x, Expr(16))}, &problem));
  EXPECT_FALSE(FindThreadDigits(threads.loops(), {FloorMod(x, Expr(5))}, {FloorDiv(x, Expr(5))}, &problem));
}

}  // namespace
}  // namespace tilewright
