// Calls of C functions whose signature is known only now.
//
// In the calling conventions of x86-64 and AArch64, integers and pointers on one side and floats on the other are
// numbered separately, and further integers go to the stack in 64-bit slots, in order. So one call with twelve integers
// and eight floats, of which the callee looks at its own, serves every signature.
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ir/interp/interp.h"

namespace tilewright::interp {
namespace {

#if defined(__x86_64__)
constexpr int kIntegerRegisters = 6;
#else
constexpr int kIntegerRegisters = 8;
#endif

using I = int64_t;
template <class Result>
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
Result
Invoke(void* address, const I* i, const double* d) {
  if constexpr (kIntegerRegisters == 6) {
    using F =
        Result (*)(I, I, I, I, I, I, double, double, double, double, double, double, double, double, I, I, I, I, I, I);
    return reinterpret_cast<F>(address)(i[0], i[1], i[2], i[3], i[4], i[5], d[0], d[1], d[2], d[3], d[4], d[5], d[6],
                                        d[7], i[6], i[7], i[8], i[9], i[10], i[11]);
  } else {
    using F =
        Result (*)(I, I, I, I, I, I, I, I, double, double, double, double, double, double, double, double, I, I, I, I);
    return reinterpret_cast<F>(address)(i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], d[0], d[1], d[2], d[3], d[4],
                                        d[5], d[6], d[7], i[8], i[9], i[10], i[11]);
  }
}

}  // namespace

ExternFunction NativeFunction(void* address) {
  return [address](absl::Span<const ExternArg> args, DataType result_type, absl::Span<Scalar> result) {
    int64_t integers[12] = {};
    double floats[8] = {};
    size_t next_integer = 0, next_float = 0;
    for (const ExternArg& arg : args) {
      if (!arg.dtype.is_scalar()) return absl::UnimplementedError("a vector is given to a C function");
      if (arg.dtype.is_float()) {
        if (next_float == 8) return absl::UnimplementedError("more than 8 floats are given to a C function");
        const double value = arg.lanes[0].f;
        if (arg.dtype == DataType::Float(32)) {
          // A float sits in the lower half of its register.
          const auto narrow = static_cast<float>(value);
          std::memcpy(&floats[next_float++], &narrow, sizeof narrow);
        } else if (arg.dtype == DataType::Float(64)) {
          floats[next_float++] = value;
        } else {
          return absl::UnimplementedError(absl::StrCat("a ", arg.dtype.ToString(), " is given to a C function"));
        }
        continue;
      }
      if (next_integer == 12) return absl::UnimplementedError("more than 12 integers are given to a C function");
      integers[next_integer++] = !arg.text.empty()       ? reinterpret_cast<int64_t>(arg.text.c_str())
                                 : arg.dtype.is_handle() ? reinterpret_cast<int64_t>(arg.lanes[0].p)
                                                         : arg.lanes[0].i;
    }
    if (result_type == DataType::Float(32)) {
      result[0].f = static_cast<double>(Invoke<float>(address, integers, floats));
    } else if (result_type == DataType::Float(64)) {
      result[0].f = Invoke<double>(address, integers, floats);
    } else if (result_type.is_integer() || result_type.is_bool()) {
      const auto bits = static_cast<uint64_t>(Invoke<int64_t>(address, integers, floats));
      const int unused = 64 - result_type.bits();
      result[0].i = result_type.is_int() ? static_cast<int64_t>(bits << unused) >> unused
                                         : static_cast<int64_t>(bits << unused >> unused);
    } else if (result_type.is_void() || result_type.is_handle()) {
      Invoke<int64_t>(address, integers, floats);
    } else {
      return absl::UnimplementedError(absl::StrCat("a C function returns ", result_type.ToString()));
    }
    return absl::OkStatus();
  };
}

}  // namespace tilewright::interp
