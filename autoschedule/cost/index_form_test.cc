#include "autoschedule/cost/index_form.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

class IndexFormTest : public testing::Test {
 protected:
  IndexForm Form(const Expr& e) const {
    return ToIndexForm(e, [this](const VarNode* var) { return Lookup(var); });
  }
  double Share(const Expr& e) const {
    return ShareTrue(e, [this](const VarNode* var) { return Lookup(var); });
  }
  // i is loop 0 with extent 32, j loop 1 with extent 16.
  Var i_{"i"}, j_{"j"}, unknown_{"unknown"};

 private:
  const IndexForm* Lookup(const VarNode* var) const {
    return var == i_.get() ? &form_i_ : var == j_.get() ? &form_j_ : nullptr;
  }
  const IndexForm form_i_ = {{{0, 1, 32, 1}}, 0, true}, form_j_ = {{{1, 1, 16, 1}}, 0, true};
};

void ExpectTerms(const IndexForm& form, std::vector<std::vector<int64_t>> terms, int64_t base) {
  ASSERT_EQ(form.terms.size(), terms.size());
  for (size_t t = 0; t < terms.size(); ++t) {
    const IndexTerm& term = form.terms[t];
    EXPECT_EQ((std::vector<int64_t>{term.loop, term.lower, term.extent, term.scale}), terms[t]) << t;
  }
  EXPECT_EQ(form.base, base);
}

TEST_F(IndexFormTest, Sums) {
  const IndexForm form = Form(i_ * 16 + j_ * 2 - 3 + j_);
  ExpectTerms(form, {{0, 1, 32, 16}, {1, 1, 16, 3}}, -3);
  EXPECT_TRUE(form.exact);
  EXPECT_EQ(form.Min(), -3);
  EXPECT_EQ(form.Max(), 31 * 16 + 45 - 3);
  EXPECT_TRUE(Form(i_ - i_).terms.empty());
}

TEST_F(IndexFormTest, Divisions) {
  ExpectTerms(Form(FloorDiv(Expr(i_), 8)), {{0, 8, 4, 1}}, 0);
  ExpectTerms(Form(FloorMod(Expr(i_), 8)), {{0, 1, 8, 1}}, 0);
  ExpectTerms(Form(FloorDiv(i_ * 16 + j_, 16)), {{0, 1, 32, 1}}, 0);
  ExpectTerms(Form(FloorMod(i_ * 16 + j_, 16)), {{1, 1, 16, 1}}, 0);
  ExpectTerms(Form(FloorMod(FloorDiv(i_ * 16 + j_, 64), 2)), {{0, 4, 2, 1}}, 0);
  EXPECT_TRUE(Form(FloorDiv(i_ * 16 + j_, 64)).exact);
}

TEST_F(IndexFormTest, WhatHasNoSuchFormIsNotExact) {
  EXPECT_FALSE(Form(unknown_ + i_).exact);
  ExpectTerms(Form(unknown_ + i_), {{0, 1, 32, 1}}, 0);
  EXPECT_FALSE(Form(i_ * j_).exact);
  EXPECT_FALSE(Form(FloorDiv(i_ * 3, 7)).exact);
  EXPECT_EQ(Form(FloorDiv(i_ * 3, 7)).Max(), 13);  // 93 / 7
}

TEST_F(IndexFormTest, SharesAreCounted) {
  EXPECT_DOUBLE_EQ(Share(i_ < 8), 0.25);
  EXPECT_DOUBLE_EQ(Share(Expr(8) <= i_), 0.75);
  EXPECT_DOUBLE_EQ(Share(i_ == 5), 1.0 / 32);
  EXPECT_DOUBLE_EQ(Share(Or(i_ < 8, Not(i_ < 8))), 0.25 + 0.75 * 0.75);  // taken as independent
  // The border of a convolution: 1 <= i + k of 34 with k of 3.
  const IndexForm form = {{{0, 1, 32, 1}, {1, 1, 3, 1}}, -1, true};
  EXPECT_DOUBLE_EQ(ShareNotNegative(form), 95.0 / 96);
  EXPECT_DOUBLE_EQ(Share(unknown_ < 8), 1);  // nothing known: 0 < 8
}

TEST_F(IndexFormTest, LongSumsAreTakenAsUniform) {
  const IndexForm form = {{{0, 1, 1000000, 1}}, -250000, true};
  EXPECT_NEAR(ShareNotNegative(form), 0.75, 1e-5);
}

}  // namespace
}  // namespace tilewright
