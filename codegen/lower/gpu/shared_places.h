// Compares where the elements of a buffer in shared memory lie with the forms in which instructions read and write
// tiles of it.
//
// Nothing is inferred from how a layout is written: places are evaluated element by element, so that any layout is
// accepted that puts them where the instruction looks for them.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/buffer.h"

namespace tilewright {

// The patterns of swizzles, by the bytes of a row; 0: none.
inline constexpr int64_t kSwizzleSpans[] = {128, 64, 32, 0};

// The byte at which bulk copies and wgmma look for a byte of rows of `span` bytes: the layout of that name, of bytes
// (ir/named_layouts.h). It is its own inverse.
class Swizzle {
 public:
  explicit Swizzle(int64_t span);
  int64_t operator()(int64_t byte) const {
    const auto period = static_cast<int64_t>(places_.size());
    return byte - byte % period + places_[static_cast<size_t>(byte % period)];
  }

 private:
  std::vector<int64_t> places_ = {0};  // of the bytes after which it repeats
};

// Bytes from the beginning of a buffer of the elements of each of its parts: a part has the last two dimensions.
class SharedPlaces {
 public:
  // InvalidArgument: an extent is not a constant, the layout is not a function of integers, or places are beyond what a
  // block can have.
  static absl::StatusOr<SharedPlaces> Of(const Buffer& buffer);

  int64_t parts() const { return parts_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t element_bytes() const { return element_bytes_; }
  int64_t At(int64_t part, int64_t row, int64_t column) const {
    return bytes_[static_cast<size_t>((part * rows_ + row) * columns_ + column)];
  }

 private:
  int64_t parts_ = 1, rows_ = 1, columns_ = 1, element_bytes_ = 1;
  std::vector<int64_t> bytes_;
};

// What a descriptor of wgmma says of an operand besides its address.
struct OperandForm {
  int64_t span = 0;  // of the swizzle
  int64_t leading_bytes = 16, stride_bytes = 16;
  friend bool operator==(const OperandForm&, const OperandForm&) = default;
};

// The form that finds each tile of `rows` x `columns` which begins at multiples of these in the buffer. `along_k`: K
// runs along the rows (they are M or N), otherwise along the columns. InvalidArgument: there is none.
absl::StatusOr<OperandForm> FindOperandForm(const Buffer& buffer, int64_t rows, int64_t columns, bool along_k);

}  // namespace tilewright
