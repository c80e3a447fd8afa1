#include "bench/operators/shapes.h"

#include <string>
#include <string_view>
#include <vector>

#include "bench/operators/problem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

using ::testing::ElementsAre;

std::string Refusal(std::string_view text) {
  const auto shapes = ParseShapes(text);
  return shapes.ok() ? "accepted" : std::string(shapes.status().message());
}

TensorShapes Tensors(std::string_view text) { return ShapesOf(MakeProblem(ParseShapes(text)->front()).value()); }

double FlopsOf(std::string_view text) { return Flops(MakeProblem(ParseShapes(text)->front()).value()); }

TEST(ParseShapes, ReadsShapesSeparatedInAnyWay) {
  const Shape gmm = {Operator::kGmm, {1, 2, 3, 4}};
  const Shape conv = {Operator::kC2d, {1, 7, 7, 8, 9, 3, 1, 1}};
  EXPECT_THAT(*ParseShapes("GMM:1,2,3,4"), ElementsAre(gmm));
  EXPECT_THAT(*ParseShapes("GMM:1,2,3,4,C2D:1,7,7,8,9,3,1,1"), ElementsAre(gmm, conv));
  EXPECT_THAT(*ParseShapes("GMM:1,2,3,4;C2D:1,7,7,8,9,3,1,1;"), ElementsAre(gmm, conv));
  EXPECT_THAT(*ParseShapes("C2D:1,7,7,8,9,3,1,1 GMM:1,2,3,4"), ElementsAre(conv, gmm));
  EXPECT_THAT(*ParseShapes("GMMt:1,2,3,4"), ElementsAre(Shape{Operator::kGmmT, {1, 2, 3, 4}}));
}

TEST(ParseOperators, AllStandsForEvery) {
  EXPECT_EQ(ParseOperators("all")->size(), 16u);
  EXPECT_THAT(*ParseOperators("SFM,GMM"), ElementsAre(Operator::kSfm, Operator::kGmm));
  EXPECT_FALSE(ParseOperators("GMM,al").ok());
}

TEST(WithBatches, ReplacesTheFirstNumber) {
  const std::vector<Shape> shapes = ParseShapes("GMM:1,2,3,4,SFM:5,6").value();
  EXPECT_EQ(*WithBatches(shapes, ""), shapes);
  EXPECT_THAT(*WithBatches(shapes, "1,16"), ElementsAre(shapes[0], shapes[1], Shape{Operator::kGmm, {16, 2, 3, 4}}));
  EXPECT_EQ(WithBatches(shapes, "x").status().message(), "'x' is not a batch");
  EXPECT_EQ(WithBatches(shapes, "0").status().message(), "GMM:0,2,3,4: B = 0 is not within 1 and 16777216");
}

TEST(WithAttentionNumbers, AddsThemToShapesOfAttention) {
  const std::vector<Shape> shapes = ParseShapes("ATT:1,4,64,8,1,GMM:1,2,3,4,ATT:1,4,64,8,0,2,4,16").value();
  EXPECT_EQ(*WithAttentionNumbers(shapes, {}), shapes);
  EXPECT_THAT(*WithAttentionNumbers(shapes, {.queries = 1, .key_heads = 2}),
              ElementsAre(Shape{Operator::kAtt, {1, 4, 64, 8, 1, 1, 2}}, shapes[1],
                          Shape{Operator::kAtt, {1, 4, 64, 8, 0, 1, 2, 16}}));
  EXPECT_THAT(*WithAttentionNumbers({shapes[0]}, {.window = 3}),
              ElementsAre(Shape{Operator::kAtt, {1, 4, 64, 8, 1, 0, 0, 3}}));
  EXPECT_FALSE(WithAttentionNumbers({shapes[1]}, {.window = 3}).ok());
  EXPECT_EQ(WithAttentionNumbers(shapes, {.key_heads = 3}).status().message(),
            "ATT:1,4,64,8,1,0,3: 3 key heads do not divide the heads");
}

TEST(ParseShapes, RefusalsSayWhy) {
  EXPECT_EQ(Refusal(""), "no shape given");
  EXPECT_EQ(
      Refusal("GEM:1,2"),
      "unknown operator 'GEM'; there are GMM, GMMt, C1D, C2D, C3D, DEP, DIL, GRP, T2D, CBR, TBG, ATT, SFM, NRM, LN, "
      "GELU");
  EXPECT_EQ(Refusal("1,2,3,4"), "'1,2,3,4' does not begin with an operator, such as GMM:1,512,512,512");
  EXPECT_EQ(Refusal("GMM:1,2,x,4"), "'x' in 'GMM:1,2,x,4' is not a number");
  EXPECT_EQ(Refusal("GMM:"), "'' in 'GMM:' is not a number");
  EXPECT_EQ(Refusal("GMM:1,2,3"), "GMM:1,2,3 has 3 numbers; GMM takes 4: B,M,N,K");
  EXPECT_EQ(Refusal("GMM:1,2,3,4,5"), "GMM:1,2,3,4,5 has 5 numbers; GMM takes 4: B,M,N,K");
  EXPECT_EQ(Refusal("GMM:1,0,3,4"), "GMM:1,0,3,4: M = 0 is not within 1 and 16777216");
  EXPECT_EQ(Refusal("GMM:1,2,-3,4"), "GMM:1,2,-3,4: N = -3 is not within 1 and 16777216");
  EXPECT_EQ(Refusal("GMM:1,2,3,99999999999999999999"),
            "'99999999999999999999' in 'GMM:1,2,3,99999999999999999999' is not a number");
  EXPECT_EQ(Refusal("GMM:1,1000000,1000000,1"), "GMM:1,1000000,1000000,1: a tensor has more than 4e+09 elements");
  EXPECT_EQ(Refusal("C2D:1,7,7,8,8,3,1,-1"), "C2D:1,7,7,8,8,3,1,-1: p = -1 is not within 0 and 16777216");
  EXPECT_EQ(Refusal("C2D:1,2,2,8,8,5,1,1"), "C2D:1,2,2,8,8,5,1,1: the kernel does not fit into the padded input");
  EXPECT_EQ(Refusal("ATT:1,2,3,4"),
            "ATT:1,2,3,4 has 4 numbers; ATT takes 5 to 8: B,heads,S,dim,causal,queries,key_heads,window");
  EXPECT_EQ(Refusal("ATT:1,2,3,4,2"), "ATT:1,2,3,4,2: causal is 0 or 1");
  EXPECT_EQ(Refusal("ATT:1,2,0,4,1"), "ATT:1,2,0,4,1: S = 0 is not within 1 and 16777216");
  EXPECT_EQ(Refusal("ATT:1,4,8,4,1,0,3"), "ATT:1,4,8,4,1,0,3: 3 key heads do not divide the heads");
  EXPECT_EQ(Refusal("ATT:1,4,8,4,1,9"),
            "ATT:1,4,8,4,1,9: the first queries see no key: there are more queries than keys");
  EXPECT_EQ(Refusal("ATT:1,4,8,4,0,9"), "accepted");
  EXPECT_EQ(Refusal("GRP:1,7,7,8,9,3,1,1,4"), "GRP:1,7,7,8,9,3,1,1,4: 4 groups do not divide the channels");
}

TEST(ParseOperators, ReadsAListAndRefusesUnknownNames) {
  EXPECT_THAT(*ParseOperators("GMM,C2D"), ElementsAre(Operator::kGmm, Operator::kC2d));
  EXPECT_FALSE(ParseOperators("GMM,").ok());
  EXPECT_FALSE(ParseOperators("gmm").ok());
}

TEST(StandardShapes, EveryOperatorHasValidOnes) {
  for (std::string_view name :
       {"GMM", "GMMt", "C1D", "C2D", "C3D", "DEP", "DIL", "GRP", "T2D", "CBR", "TBG", "ATT", "SFM", "NRM", "LN"}) {
    const Operator op = ParseOperators(name)->front();
    EXPECT_EQ(Name(op), name);
    for (const Shape& shape : StandardShapes(op)) {
      EXPECT_EQ(ParseShapes(std::string(name) + ":" + NumbersText(shape))->front(), shape);
    }
  }
  EXPECT_EQ(DefaultShapes().size(), 10u);
}

TEST(Problem, TensorShapes) {
  EXPECT_THAT(Tensors("GMM:2,3,4,5").weight, ElementsAre(2, 5, 4));
  EXPECT_THAT(Tensors("GMMt:2,3,4,5").weight, ElementsAre(2, 4, 5));
  EXPECT_THAT(Tensors("C2D:1,224,224,3,64,7,2,3").output, ElementsAre(1, 112, 112, 64));
  EXPECT_THAT(Tensors("C2D:1,224,224,3,64,7,2,3").weight, ElementsAre(7, 7, 3, 64));
  EXPECT_THAT(Tensors("C1D:1,256,64,128,3,2,1").output, ElementsAre(1, 128, 128));
  EXPECT_THAT(Tensors("C3D:1,16,14,14,8,9,3,1,1").weight, ElementsAre(3, 3, 3, 8, 9));
  EXPECT_THAT(Tensors("DEP:1,112,112,32,3,2,1").weight, ElementsAre(3, 3, 1, 32));
  EXPECT_THAT(Tensors("DEP:1,112,112,32,3,2,1").output, ElementsAre(1, 56, 56, 32));
  EXPECT_THAT(Tensors("DIL:1,14,14,8,8,3,1,1,2").output, ElementsAre(1, 12, 12, 8));
  EXPECT_THAT(Tensors("GRP:1,14,14,8,16,3,1,1,4").weight, ElementsAre(3, 3, 2, 16));
  EXPECT_THAT(Tensors("T2D:1,4,4,512,256,4,2,1").output, ElementsAre(1, 8, 8, 256));
  EXPECT_THAT(Tensors("TBG:1,128,12,64").activation, ElementsAre(1, 128, 12, 64));
  EXPECT_THAT(Tensors("TBG:1,128,12,64").output, ElementsAre(12, 128, 128));
  EXPECT_THAT(Tensors("ATT:2,12,128,64,0").activation, ElementsAre(2, 12, 128, 64));
  EXPECT_THAT(Tensors("ATT:2,12,128,64,1,3,4").output, ElementsAre(2, 12, 3, 64));
  EXPECT_THAT(Tensors("ATT:2,12,128,64,1,3,4").weight, ElementsAre(2, 4, 128, 64));
}

TEST(Problem, Flops) {
  EXPECT_EQ(FlopsOf("GMM:2,3,4,5"), 2.0 * 2 * 3 * 4 * 5);
  EXPECT_EQ(FlopsOf("C2D:1,56,56,64,64,3,1,1"), 2.0 * 56 * 56 * 64 * 64 * 9);
  EXPECT_EQ(FlopsOf("DEP:1,112,112,32,3,1,1"), 2.0 * 112 * 112 * 32 * 9);
  EXPECT_EQ(FlopsOf("GRP:1,14,14,8,16,3,1,1,4"), 2.0 * 14 * 14 * 2 * 16 * 9);
  EXPECT_EQ(FlopsOf("T2D:1,4,4,512,256,4,2,1"), 2.0 * 4 * 4 * 512 * 256 * 16);
  EXPECT_EQ(FlopsOf("TBG:1,128,12,64"), 2.0 * 12 * 128 * 128 * 64);
  EXPECT_EQ(FlopsOf("ATT:2,3,10,4,0"), 4.0 * 2 * 3 * 4 * 10 * 10);
  EXPECT_EQ(FlopsOf("ATT:2,3,10,4,0,7"), 4.0 * 2 * 3 * 4 * 7 * 10);
  // Keys up to the query's: one to ten; of the last two queries nine and ten.
  EXPECT_EQ(FlopsOf("ATT:2,3,10,4,1"), 4.0 * 2 * 3 * 4 * 55);
  EXPECT_EQ(FlopsOf("ATT:2,3,10,4,1,2"), 4.0 * 2 * 3 * 4 * 19);
  EXPECT_EQ(FlopsOf("ATT:2,3,10,4,1,0,0,2"), 4.0 * 2 * 3 * 4 * 19);
  EXPECT_EQ(FlopsOf("ATT:2,3,10,4,0,0,0,2"), 4.0 * 2 * 3 * 4 * 28);
}

TEST(Problem, BytesCountEveryTensorOnce) {
  const auto bytes = [](std::string_view text, DType dtype) {
    const Shape shape = ParseShapes(text)->front();
    return Bytes({.shape = shape, .dtype = dtype, .problem = MakeProblem(shape).value()});
  };
  EXPECT_EQ(bytes("GMM:1,2,3,4", DType::kF32), 4 * (8 + 12 + 6));
  EXPECT_EQ(bytes("GMM:1,2,3,4", DType::kBf16), 2 * (8 + 12) + 4 * 6);
  EXPECT_EQ(bytes("GMM:1,2,3,4", DType::kF16H), 2 * (8 + 12 + 6));
  EXPECT_EQ(bytes("GMM:1,2,3,4", DType::kInt8), 8 + 12 + 4 * 6);
  EXPECT_EQ(bytes("GMM:1,2,3,4", DType::kInt8Q), 8 + 12 + 6);
  EXPECT_EQ(bytes("CBR:1,2,2,3,5,1,1,0", DType::kInt8), 12 + 15 + 4 * 20);
  EXPECT_EQ(bytes("CBR:1,2,2,3,5,1,1,0", DType::kS8S8Q), 12 + 15 + 20);
  EXPECT_EQ(bytes("ATT:1,4,8,2,0,3,2", DType::kBf16), 2 * (4 * 3 * 2 + 2 * 2 * 8 * 2) + 4 * 4 * 3 * 2);
  EXPECT_EQ(bytes("SFM:4,8", DType::kBf16), (2 + 2) * 32);
  EXPECT_EQ(bytes("SFM:4,8", DType::kInt8), (1 + 4) * 32);
  EXPECT_EQ(bytes("NRM:4,8", DType::kInt8Q), 32 + 4);
}

}  // namespace
}  // namespace tilewright::bench
