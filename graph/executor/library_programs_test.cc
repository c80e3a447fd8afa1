// Models loaded for a library have a plan, and give what the host's functions give.
#include "graph/executor/library_programs.h"

#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using testing::HasSubstr;

struct TopKCase {
  int32_t type;
  std::vector<int> shape;
  int64_t axis, k;
  bool largest;
  bool is_symbolic = false;
};

ModelWriter ModelOf(const TopKCase& c) {
  ModelWriter m(17);
  std::vector<ModelWriter::Dim> dims(c.shape.begin(), c.shape.end());
  if (c.is_symbolic) dims[static_cast<size_t>(c.axis)] = "n";
  m.Input("x", c.type, dims);
  m.Int64s("k", {c.k});
  auto* node = m.Node("TopK", {"x", "k"}, {"values", "places"});
  ModelWriter::SetInt(node, "axis", c.axis);
  ModelWriter::SetInt(node, "largest", c.largest ? 1 : 0);
  m.Output("values");
  m.Output("places");
  return m;
}

// Few different numbers, so that many are equal, and where there are floats also NaN, infinities and both zeros.
NDArray Drawn(const TopKCase& c, uint32_t seed) {
  NDArray x(*ElementType(c.type), {c.shape.begin(), c.shape.end()});
  std::mt19937 random(seed);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double special[] = {-0.0, kInf, -kInf, std::numeric_limits<double>::quiet_NaN()};
  for (int64_t i = 0; i < x.size(); ++i) {
    const auto number = static_cast<double>(random() % 9);
    if (!x.dtype().is_float()) {
      x.SetInt(i, static_cast<int64_t>(number));
    } else {
      x.Set(i, random() % 5 == 0 ? special[random() % 4] : number - 4);
    }
  }
  return x;
}

TEST(LibraryPrograms, TopK) {
  const TopKCase cases[] = {
      {TensorProto::FLOAT, {3, 20}, 1, 5, true},    {TensorProto::FLOAT, {20, 3}, 0, 1, false},
      {TensorProto::FLOAT16, {2, 9}, 1, 9, true},   {TensorProto::BFLOAT16, {7}, 0, 3, false},
      {TensorProto::INT64, {2, 8, 3}, 1, 4, false}, {TensorProto::UINT8, {1, 40}, 1, 2, true},
      {TensorProto::DOUBLE, {4, 1}, 1, 1, true},    {TensorProto::FLOAT, {2, 30}, 1, 4, true, true}};
  for (const TopKCase& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.type, " k ", c.k));
    const ModelWriter m = ModelOf(c);
    const auto host = OnnxModel::Load(*m.File(), {}), library = OnnxModel::Load(*m.File(), {.as_library = true});
    ASSERT_TRUE(host.ok()) << host.status();
    ASSERT_TRUE(library.ok()) << library.status();
    EXPECT_EQ((*host)->executor().planned(), nullptr);
    EXPECT_NE((*library)->executor().planned(), nullptr);
    for (uint32_t seed = 0; seed < 8; ++seed) {
      const OnnxModel::Inputs inputs = {{"x", {Item::Kind::kTensor, {Drawn(c, seed)}}}};
      const auto wanted = (*host)->Run(inputs), got = (*library)->Run(inputs);
      ASSERT_TRUE(wanted.ok()) << wanted.status();
      ASSERT_TRUE(got.ok()) << got.status();
      for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(BitEqual((*got)[i].arrays[0], (*wanted)[i].arrays[0])) << i;
    }
  }
}

TEST(LibraryPrograms, MoreThanThereAreIsAnError) {
  const TopKCase c{TensorProto::FLOAT, {2, 30}, 1, 4, true, true};
  const auto library = OnnxModel::Load(*ModelOf(c).File(), {.as_library = true});
  ASSERT_TRUE(library.ok()) << library.status();
  TopKCase narrow = c;
  narrow.shape = {2, 3};
  EXPECT_FALSE((*library)->Run({{"x", {Item::Kind::kTensor, {Drawn(narrow, 1)}}}}).ok());
}

TEST(LibraryPrograms, NumbersOfTheRunAreRefused) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {4});
  m.Input("k", TensorProto::INT64, {1});
  m.Node("TopK", {"x", "k"}, {"values", "places"});
  m.Output("values");
  const auto library = OnnxModel::Load(*m.File(), {.as_library = true});
  EXPECT_THAT(std::string(library.status().message()),
              HasSubstr("TopK in a library takes a constant k of at least 1, not one of the run"));
}

}  // namespace
}  // namespace tilewright::graph
