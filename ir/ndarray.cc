#include "ir/ndarray.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "base/check.h"
#include "ir/float_format.h"

namespace tilewright {
namespace {

constexpr std::align_val_t kAlignment{64};

// SplitMix64 (Steele, Lea, Flood 2014): a good generator of one 64-bit word of state.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  int64_t Integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Next() % (static_cast<uint64_t>(high - low) + 1));
  }

 private:
  uint64_t state_;
};

// The greatest n such that every integer up to n is a value of the type.
int64_t ExactIntegers(DataType dtype) {
  switch (dtype.code()) {
    case TypeCode::kBool:
      return 1;
    case TypeCode::kInt:
    case TypeCode::kUInt:
      return MaxValue(dtype);
    case TypeCode::kFloat:
      return dtype.bits() == 16 ? 2048 : dtype.bits() == 32 ? int64_t{1} << 24 : int64_t{1} << 53;
    case TypeCode::kBFloat:
      return 256;
    case TypeCode::kE4M3:
      return 16;
    case TypeCode::kE5M2:
      return 8;
    default:
      return 0;
  }
}

// The number without its fraction; outside of the type, where a cast is undefined, its nearest end, and 0 for NaN.
template <class T>
T ToInteger(double value) {
  constexpr T kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  constexpr double kEnd = 2.0 * static_cast<double>(kMax / 2 + 1);
  if (!(value >= static_cast<double>(kMin))) return value < 0 ? kMin : T{0};
  return value < kEnd ? static_cast<T>(value) : kMax;
}

// The product of the extents. An extent of 0 makes it 0, however large the product of the others is.
int64_t ElementsOf(DataType dtype, const std::vector<int64_t>& shape) {
  int64_t elements = std::ranges::find(shape, 0) == shape.end() ? 1 : 0;
  bool fits = true;
  for (int64_t extent : shape) {
    TW_CHECK(extent >= 0) << "extent " << extent;
    if (elements > 0) fits &= !__builtin_mul_overflow(elements, extent, &elements);
  }
  TW_CHECK(fits && elements <= std::numeric_limits<int64_t>::max() / std::max(dtype.bytes(), 1)) << "too many elements";
  return elements;
}

}  // namespace

NDArray::NDArray(DataType dtype, std::vector<int64_t> shape)
    : dtype_(dtype), shape_(std::move(shape)), size_(ElementsOf(dtype, shape_)) {
  TW_CHECK(dtype.is_scalar() && dtype.bytes() > 0 && !dtype.is_handle()) << "array of " << dtype.ToString();
  // One byte past an empty array keeps the pointer valid.
  const auto size = static_cast<size_t>(bytes()) + 1;
  auto* memory = static_cast<std::byte*>(::operator new(size, kAlignment));
  std::memset(memory, 0, size);
  data_ = std::shared_ptr<std::byte[]>(memory, [](std::byte* p) { ::operator delete(p, kAlignment); });
}

NDArray::NDArray(DataType dtype, std::vector<int64_t> shape, std::shared_ptr<std::byte[]> data)
    : dtype_(dtype), shape_(std::move(shape)), size_(ElementsOf(dtype, shape_)), data_(std::move(data)) {}

NDArray NDArray::WithShape(std::vector<int64_t> shape) const {
  NDArray result(dtype_, std::move(shape), data_);
  TW_CHECK(result.size_ == size_) << size_ << " elements as a shape of " << result.size_;
  return result;
}

int64_t NDArray::GetInt(int64_t position) const {
  if (dtype_.is_float()) return ToInteger<int64_t>(Get(position));
  const std::byte* from = data_.get() + position * dtype_.bytes();
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(dtype_.bytes()));
  const int unused = 64 - dtype_.bytes() * 8;
  return dtype_.is_int() ? static_cast<int64_t>(bits << unused) >> unused : static_cast<int64_t>(bits);
}

double NDArray::Get(int64_t position) const {
  if (!dtype_.is_float()) {
    const int64_t value = GetInt(position);
    return dtype_.is_uint() ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, data_.get() + position * dtype_.bytes(), static_cast<size_t>(dtype_.bytes()));
  return FromBits(dtype_, bits);
}

void NDArray::SetInt(int64_t position, int64_t value) const {
  if (dtype_.is_float()) return Set(position, static_cast<double>(value));
  if (dtype_.is_bool()) value = value != 0 ? 1 : 0;
  std::memcpy(data_.get() + position * dtype_.bytes(), &value, static_cast<size_t>(dtype_.bytes()));
}

void NDArray::Set(int64_t position, double value) const {
  if (!dtype_.is_float()) {
    const bool upper_half = dtype_.is_uint() && value >= 0x1p63;
    return SetInt(position, upper_half ? static_cast<int64_t>(ToInteger<uint64_t>(value)) : ToInteger<int64_t>(value));
  }
  const uint64_t bits = ToBits(dtype_, RoundTo(dtype_, value));
  std::memcpy(data_.get() + position * dtype_.bytes(), &bits, static_cast<size_t>(dtype_.bytes()));
}

NDArray NDArray::Clone() const {
  NDArray copy(dtype_, shape_);
  std::memcpy(copy.data(), data(), static_cast<size_t>(bytes()));
  return copy;
}

void FillIntegers(const NDArray& array, uint64_t seed, int64_t magnitude) {
  Random random(seed);
  const int64_t high = std::min(magnitude, ExactIntegers(array.dtype()));
  const int64_t low = array.dtype().is_uint() || array.dtype().is_bool() ? 0 : -high;
  for (int64_t i = 0; i < array.size(); ++i) array.SetInt(i, random.Integer(low, high));
}

void FillUniform(const NDArray& array, uint64_t seed, double low, double high) {
  Random random(seed);
  const bool is_float = array.dtype().is_float();
  for (int64_t i = 0; i < array.size(); ++i) {
    const double value = low + random.Uniform() * (high - low);
    array.Set(i, is_float ? value : std::floor(value));
  }
}

ArrayError MaxError(const NDArray& a, const NDArray& b) {
  TW_CHECK(a.shape() == b.shape());
  ArrayError error;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.Get(i), y = b.Get(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    double abs = std::fabs(x - y);
    if (std::isnan(abs)) abs = std::numeric_limits<double>::infinity();
    const double scale = std::max({std::fabs(x), std::fabs(y), 1e-30});
    const double rel = std::isinf(abs) ? abs : abs / scale;
    if (abs > error.max_abs) {
      error.max_abs = abs;
      error.position = i;
    }
    error.max_rel = std::max(error.max_rel, rel);
  }
  return error;
}

bool BitEqual(const NDArray& a, const NDArray& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

}  // namespace tilewright
