#include "bench/operators/extents.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/operators/program.h"
#include "ir/script/printer.h"

namespace tilewright::bench {
namespace {

std::vector<Workload> Workloads(const char* text) {
  std::vector<Workload> workloads;
  const std::vector<Shape> shapes = ParseShapes(text).value();
  for (const Shape& shape : shapes) {
    workloads.push_back({.shape = shape, .dtype = DType::kF32, .problem = MakeProblem(shape).value()});
  }
  return workloads;
}

TEST(Extents, NamesAreExtentsOfSomeWorkload) {
  const std::vector<Workload> workloads = Workloads("GMM:1,2,3,4,C2D:1,5,6,7,8,3,1,1");
  EXPECT_TRUE(CheckSymbolic({"M", "H", "N"}, workloads).ok());
  EXPECT_EQ(CheckSymbolic({"S"}, workloads).message(), "--symbolic: no measured operator has a number S");
  EXPECT_EQ(CheckSymbolic({"k"}, workloads).message(), "--symbolic: k is constant in every program");
}

TEST(Extents, SizesOfAllShapesWithTheSameProgramGoTogether) {
  const std::vector<Workload> workloads =
      Workloads("GMM:1,2,3,4,GMM:1,5,3,4,GMM:1,6,9,4,GMMt:1,7,3,4,GMM:1,2,8,4,SFM:2,3");
  const SizesByName by_rows = {{"M", {2, 5}}};
  EXPECT_EQ(SizesOfSameProgram(workloads[1], workloads, {.symbolic = {"M"}}), by_rows);
  const SizesByName by_both = {{"M", {2, 5, 6, 2}}, {"N", {3, 3, 9, 8}}};
  EXPECT_EQ(SizesOfSameProgram(workloads[0], workloads, {.symbolic = {"M", "N"}}), by_both);
  EXPECT_EQ(SizesOfSameProgram(workloads[5], workloads, {.symbolic = {"M"}}), SizesByName());
}

TEST(Extents, ShapesThatDifferInSymbolicNumbersHaveOneProgram) {
  const std::vector<Workload> workloads = Workloads("GMM:1,2,3,4,GMM:1,5,3,4,TBG:1,5,2,8,TBG:1,7,2,8");
  const Extents extents{.symbolic = {"M", "S"}, .wide = true};
  for (size_t i : {size_t{0}, size_t{2}}) {
    const std::string text = Print(MakeProgram(workloads[i], extents).function);
    EXPECT_EQ(text, Print(MakeProgram(workloads[i + 1], extents).function));
    EXPECT_EQ(text.find("int32()"), std::string::npos) << text;
    EXPECT_NE(Print(MakeProgram(workloads[i]).function), Print(MakeProgram(workloads[i + 1]).function));
  }
}

TEST(Extents, WideProgramsHaveLoopsOf64Bits) {
  for (const char* text : {"GMM:1,2,3,4", "C2D:1,5,6,7,8,3,1,1", "DEP:1,5,6,4,3,1,1", "LN:3,4"}) {
    const Workload workload = Workloads(text)[0];
    EXPECT_NE(Print(MakeProgram(workload, {.wide = true}).function).find("T.int64("), std::string::npos) << text;
    EXPECT_EQ(Print(MakeProgram(workload).function).find("T.int64("), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tilewright::bench
