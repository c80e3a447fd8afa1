#include "tools/arrays/compare_outputs.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// A call that no bound is known of, in float32; its result is stored as a float64 and as an integer.
constexpr char kWithoutBound[] = R"(
@T.prim_func
def main(A: T.Buffer((2,), "float32"), C: T.Buffer((2,), "float64"), D: T.Buffer((2,), "int32")):
    for i in range(2):
        with T.block("C"):
            vi = T.axis.spatial(2, i)
            C[vi] = T.Cast("float64", T.nextafter(A[vi], T.float32(9)))
            D[vi] = T.Cast("int32", T.nextafter(A[vi], T.float32(9)))
)";

NDArray Filled(DataType type, double value) {
  const NDArray array(type, {2});
  for (int64_t i = 0; i < 2; ++i) array.Set(i, value);
  return array;
}

TEST(Tolerances, AreThoseOfTheNarrowestTypeThatIsComputedIn) {
  const DataType f32 = DataType::Float(32), f64 = DataType::Float(64), i32 = DataType::Int(32);
  const NDArray a = Filled(f32, 1), c = Filled(f64, 0), d = Filled(i32, 0);
  const Tolerances tolerances({ParseFunctionOrDie(kWithoutBound)},
                              {interp::Argument(a), interp::Argument(c), interp::Argument(d)});
  EXPECT_EQ(tolerances.Compare(1, "C", Filled(f64, 1), Filled(f64, 1 + 0x1p-23)).failure, "");
  EXPECT_NE(tolerances.Compare(1, "C", Filled(f64, 1), Filled(f64, 1.01)).failure, "");
  EXPECT_NE(tolerances.Compare(2, "D", Filled(i32, 1), Filled(i32, 2)).failure, "");
}

}  // namespace
}  // namespace tilewright
