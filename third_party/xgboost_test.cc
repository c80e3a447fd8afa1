#include <gtest/gtest.h>
#include <xgboost/c_api.h>

TEST(XgBoost, CreatesAMatrix) {
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  DMatrixHandle matrix = nullptr;
  ASSERT_EQ(XGDMatrixCreateFromMat(numbers, 2, 3, -1, &matrix), 0) << XGBGetLastError();
  bst_ulong rows = 0;
  EXPECT_EQ(XGDMatrixNumRow(matrix, &rows), 0);
  EXPECT_EQ(rows, 2u);
  EXPECT_EQ(XGDMatrixFree(matrix), 0);
}
