// Arrays in memory: what programs are run on.
//
//   NDArray a(DataType::Float(32), {128, 64});
//   FillIntegers(a, /*seed=*/1, 4);                    // the same numbers on every machine
//   double x = a.Get(5);                               // element 5 in row-major order
//   ArrayError error = MaxError(a, b);
//
// Elements are compact and row-major, bytes are aligned to 64. Types of under 8 bits take a byte each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/data_type.h"

namespace tilewright {

class NDArray {
 public:
  NDArray() = default;
  // Zeros. `dtype` is scalar, extents are not negative.
  NDArray(DataType dtype, std::vector<int64_t> shape);
  // Over memory that exists already; `data` keeps it alive.
  NDArray(DataType dtype, std::vector<int64_t> shape, std::shared_ptr<std::byte[]> data);

  DataType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const { return size_; }  // in elements
  int64_t bytes() const { return size_ * dtype_.bytes(); }
  void* data() const { return data_.get(); }

  // The element at a row-major position; integers outside of +-2^53 need GetInt.
  double Get(int64_t position) const;
  int64_t GetInt(int64_t position) const;
  // Rounds to the element's type; integers wrap.
  void Set(int64_t position, double value) const;
  void SetInt(int64_t position, int64_t value) const;

  NDArray Clone() const;
  // The same elements, shared, under another shape of as many.
  NDArray WithShape(std::vector<int64_t> shape) const;

 private:
  DataType dtype_;
  std::vector<int64_t> shape_;
  int64_t size_ = 0;
  std::shared_ptr<std::byte[]> data_;  // copies of the array share it
};

// Integers in [-magnitude, magnitude] (from 0 for unsigned types), cut to what the type holds exactly: sums of products
// of such numbers are exact in any order, so results can be compared bit for bit.
void FillIntegers(const NDArray& array, uint64_t seed, int64_t magnitude = 4);
// Floating-point types: uniform in [low, high), rounded. Integer types: uniform over the integers in that interval.
void FillUniform(const NDArray& array, uint64_t seed, double low = -1, double high = 1);

struct ArrayError {
  double max_abs = 0, max_rel = 0;  // relative to the larger magnitude of the two elements, and at least 1e-30
  int64_t position = -1;            // of the largest absolute error; -1: none
};
// Shapes are equal (CHECK). Equal infinities and two NaNs count as equal; a NaN next to a number is an infinite error.
ArrayError MaxError(const NDArray& a, const NDArray& b);
// The same shape, type and bytes.
bool BitEqual(const NDArray& a, const NDArray& b);

// The .npy format. Files are written as version 1.0, little-endian, in C order; versions 1.0 to 3.0, both byte orders,
// and C and Fortran order are read. bfloat16 and fp8, which NumPy lacks, are written as "<V2" and "|V1": reading such a
// file gives the type named by `as`, which otherwise must be the file's.
absl::Status WriteNpy(const NDArray& array, const std::string& path);
absl::StatusOr<NDArray> ReadNpy(const std::string& path, DataType as = DataType());

}  // namespace tilewright
