// Random loop nests over a producer and a consumer with a halo: every way to split, cut, vectorize, unroll and run them
// in parallel computes what the interpreter computes. A failing program is printed with its seed.
#include <gtest/gtest.h>

#include <random>

#include "base/math.h"
#include "codegen/testing/equivalence.h"
#include "ir/builder.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

class ProgramMaker {
 public:
  explicit ProgramMaker(uint32_t seed) : random_(seed), f_("main") {}

  //   for each tile of B:                      (split with a remainder, random kinds of loops)
  //     X over the tile and its halo = A, zero outside, times two
  //     B over the tile = sums of X
  Function Make() {
    const int64_t rank = Pick(1, 2);
    std::vector<Expr> shape;
    for (int64_t d = 0; d < rank; ++d) extents_.push_back(Pick(1, 40));
    for (int64_t extent : extents_) shape.push_back(Expr(extent));
    type_ = std::vector<DataType>{DataType::Float(32), DataType::Float(64), DataType::Int(32), DataType::Int(8),
                                  DataType::BFloat16()}[static_cast<size_t>(Pick(0, 4))];
    halo_ = Pick(0, 3);
    a_ = f_.Input("A", shape, type_);
    b_ = f_.Input("B", shape, type_);
    std::vector<Expr> padded;
    for (int64_t extent : extents_) padded.push_back(Expr(extent + 2 * halo_ + 16));
    x_ = f_.Alloc("X", padded, type_, Scope::Parse(Pick(0, 1) == 0 ? "global" : "local"));
    for (int64_t d = 0; d < rank; ++d) tiles_.push_back(Pick(1, 16));
    Outer(0);
    return f_.Build();
  }

 private:
  int64_t Pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  ForKind InnerKind() {
    const int64_t kind = Pick(0, 3);
    return kind == 0 ? ForKind::kVectorized : kind == 1 ? ForKind::kUnrolled : ForKind::kSerial;
  }

  void Outer(size_t d) {
    if (d == extents_.size()) return Tile();
    const ForKind kind = d == 0 && Pick(0, 1) == 0 ? ForKind::kParallel : ForKind::kSerial;
    f_.Loop(
        "o" + std::to_string(d), Expr(CeilDiv(extents_[d], tiles_[d])),
        [&](Var o) {
          outer_.push_back(o);
          Outer(d + 1);
          outer_.pop_back();
        },
        kind);
  }

  // Loops over the tile plus `extra` in each dimension.
  void Inner(size_t d, int64_t extra, std::vector<Var>* inner, const std::function<void()>& body) {
    if (d == extents_.size()) return body();
    const bool last = d + 1 == extents_.size();
    const ForKind kind = last ? InnerKind() : Pick(0, 3) == 0 ? ForKind::kUnrolled : ForKind::kSerial;
    f_.Loop(
        "i" + std::to_string(d), Expr(tiles_[d] + extra),
        [&](Var i) {
          inner->push_back(i);
          Inner(d + 1, extra, inner, body);
          inner->pop_back();
        },
        kind);
  }

  void Tile() {
    std::vector<Var> inner;
    Inner(0, 2 * halo_, &inner, [&] {
      f_.Block("X", [&](BlockBuilder& block) {
        std::vector<Expr> at, from;
        Expr inside = True();
        for (size_t d = 0; d < extents_.size(); ++d) {
          Var v = block.Spatial(x_->shape[d], outer_[d] * Expr(tiles_[d]) + inner[d]);
          at.push_back(v);
          Expr index = v - Expr(halo_);
          from.push_back(index);
          inside = And(inside, And(Expr(0) <= index, index < Expr(extents_[d])));
        }
        f_.Store(x_, IfThenElse(inside, a_.Load(from) + a_.Load(from), Const(type_, 0)), at);
      });
    });
    Inner(0, 0, &inner, [&] {
      f_.Block("B", [&](BlockBuilder& block) {
        std::vector<Expr> at, shifted;
        Expr inside = True();
        for (size_t d = 0; d < extents_.size(); ++d) {
          Expr index = outer_[d] * Expr(tiles_[d]) + inner[d];
          inside = And(inside, index < Expr(extents_[d]));
          Var v = block.Spatial(Expr(extents_[d]), index);
          at.push_back(v);
          shifted.push_back(v + Expr(2 * halo_));
        }
        block.Where(inside);
        f_.Store(b_, x_.Load(at) + x_.Load(shifted) * Const(type_, 3), at);
      });
    });
  }

  std::mt19937 random_;
  FunctionBuilder f_;
  std::vector<int64_t> extents_, tiles_;
  std::vector<Var> outer_;
  DataType type_;
  int64_t halo_ = 0;
  Buffer a_, b_, x_;
};

TEST(RandomPrograms, ComputeWhatTheInterpreterComputes) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const Function function = ProgramMaker(seed).Make();
    const std::string problem =
        testing::CompareWithInterpreter(Module(function), {.seed = seed, .tolerance = -1, .parallel = seed % 4 == 0});
    ASSERT_EQ(problem, "") << "seed " << seed << "\n" << Print(function);
  }
}

}  // namespace
}  // namespace tilewright
