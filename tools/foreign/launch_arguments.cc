#include "tools/foreign/launch_arguments.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "codegen/cuda/emulator/generic.h"
#include "codegen/cuda/emulator/tensor_map.h"

namespace tilewright {
namespace {

using foreign::ForeignParameter;
using Kind = LaunchArgument::Kind;
using Of = ForeignParameter::Kind;

constexpr int64_t kMostBytes = int64_t{4} << 30;  // of one array
// As cudaMalloc aligns.
constexpr size_t kAlignment = 256;

absl::Status Refuse(const LaunchArgument& argument, const std::string& reason) {
  return absl::InvalidArgumentError(absl::StrCat(argument.field, " ", reason));
}

// An array with room before and behind it that holds nothing.
absl::StatusOr<NDArray> AllocateApart(const LaunchArgument& argument) {
  int64_t bytes = argument.dtype.bytes();
  for (const int64_t extent : argument.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) bytes = kMostBytes + 1;
    if (bytes > kMostBytes) return Refuse(argument, absl::StrCat("takes more than ", kMostBytes, " bytes"));
  }
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = (static_cast<size_t>(bytes) + page) / page * page;
  const size_t all = size + 2 * emulator::kRoomOfArray;
  void* mapped = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return Refuse(argument, "finds no memory");
  auto* data = static_cast<std::byte*>(mapped) + emulator::kRoomOfArray;
  static_assert(emulator::kRoomOfArray % kAlignment == 0);
  if (mprotect(data, size, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapped, all);
    return Refuse(argument, "finds no memory");
  }
  const std::shared_ptr<std::byte[]> owner(data, [mapped, all](std::byte*) { munmap(mapped, all); });
  return NDArray(argument.dtype, argument.shape, owner);
}

absl::StatusOr<NDArray> MakeArray(const LaunchArgument& argument, const std::string& folder) {
  TW_ASSIGN_OR_RETURN(NDArray array, AllocateApart(argument));
  if (argument.file) {
    const std::filesystem::path path = std::filesystem::path(folder) / *argument.file;
    auto read = ReadNpy(path.string(), argument.dtype);
    if (!read.ok()) return Refuse(argument, absl::StrCat("cannot be read: ", std::string(read.status().message())));
    if (read->shape() != argument.shape) {
      return Refuse(argument, absl::StrCat("has the shape [", absl::StrJoin(argument.shape, ", "), "], its file [",
                                           absl::StrJoin(read->shape(), ", "), "]"));
    }
    std::memcpy(array.data(), read->data(), static_cast<size_t>(array.bytes()));
  } else if (argument.seed) {
    const auto seed = static_cast<uint64_t>(*argument.seed);
    argument.dtype.is_float() ? FillUniform(array, seed) : FillIntegers(array, seed);
  } else if (argument.fill) {
    for (int64_t i = 0; i < array.size(); ++i) {
      argument.dtype.is_float()
          ? array.Set(i, argument.fill->number)
          : array.SetInt(
                i, argument.fill->is_integer ? argument.fill->integer : static_cast<int64_t>(argument.fill->number));
    }
  }
  return array;
}

bool FitsInto(int64_t value, uint64_t bytes) {
  if (bytes >= 8) return true;
  const int64_t most = (int64_t{1} << (bytes * 8)) - 1;
  return value <= most && value >= -(most / 2) - 1;
}

// A number as the bytes of a scalar of the kernel.
absl::Status PutNumber(const LaunchArgument& argument, const LaunchNumber& value, Of kind, uint64_t bytes,
                       std::byte* to) {
  if (kind == Of::kFloat) {
    const DataType type = bytes == 8 ? DataType::Float(64) : bytes == 4 ? DataType::Float(32) : DataType::Float(16);
    const NDArray scalar(type, {});
    scalar.Set(0, value.number);
    std::memcpy(to, scalar.data(), bytes);
    return absl::OkStatus();
  }
  if (kind == Of::kPointer) return Refuse(argument, "is a number where the kernel takes a pointer");
  if (!value.is_integer) return Refuse(argument, "is not a whole number, which the kernel takes");
  if (!FitsInto(value.integer, bytes)) {
    return Refuse(argument, absl::StrCat("is ", value.integer, ", which does not fit into the ", bytes * 8,
                                         " bits of the parameter"));
  }
  std::memcpy(to, &value.integer, std::min<uint64_t>(bytes, 8));
  return absl::OkStatus();
}

absl::StatusOr<emulator::MapType> MapTypeOf(const LaunchArgument& argument, DataType type) {
  using emulator::MapType;
  if (type == DataType::BFloat16()) return MapType::kBf16;
  if (type == DataType::Float(16)) return MapType::kF16;
  if (type == DataType::Float(32)) return MapType::kF32;
  if (type == DataType::Float(64)) return MapType::kF64;
  if (type == DataType::Int(32)) return MapType::kS32;
  if (type == DataType::Int(64)) return MapType::kS64;
  switch (type.bits()) {
    case 8:
      return MapType::kU8;
    case 16:
      return MapType::kU16;
    case 32:
      return MapType::kU32;
    case 64:
      return MapType::kU64;
    default:
      return Refuse(argument, "has elements of a type that no tensor map has");
  }
}

template <class To>
std::vector<To> As(const std::vector<int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

// Puts arguments into their places.
class Marshaller {
 public:
  explicit Marshaller(LaunchArguments* result) : result_(*result) {}

  absl::Status Put(const LaunchArgument& argument, const ForeignParameter& parameter);

 private:
  absl::Status PutPointer(const LaunchArgument& argument, const ForeignParameter& parameter, const void* pointer);
  absl::Status PutScalar(const LaunchArgument& argument, const ForeignParameter& parameter);
  absl::Status PutStruct(const LaunchArgument& argument, const ForeignParameter& parameter);
  absl::Status PutTensorMap(const LaunchArgument& argument, const ForeignParameter& parameter);
  // Names of arrays were checked.
  const NDArray& ArrayOf(const std::string& name) const {
    return std::ranges::find_if(result_.arrays, [&](const LaunchArray& array) { return array.name == name; })->array;
  }
  std::byte* PlaceOf(const ForeignParameter& parameter) { return result_.bytes.data() + parameter.offset; }

  LaunchArguments& result_;
};

absl::Status Marshaller::PutPointer(const LaunchArgument& argument, const ForeignParameter& parameter,
                                    const void* pointer) {
  if (parameter.kind != Of::kPointer) {
    return Refuse(argument,
                  absl::StrCat("is an array, and parameter ", parameter.name, " of the kernel is not a pointer"));
  }
  std::memcpy(PlaceOf(parameter), &pointer, sizeof pointer);
  return absl::OkStatus();
}

absl::Status Marshaller::PutScalar(const LaunchArgument& argument, const ForeignParameter& parameter) {
  if (parameter.kind == Of::kPointer) {
    return Refuse(argument, absl::StrCat("is a number, and parameter ", parameter.name, " of the kernel is a pointer"));
  }
  if (argument.dtype.is_void()) {
    if (parameter.kind != Of::kStruct) {
      return PutNumber(argument, argument.value, parameter.kind, parameter.bytes, PlaceOf(parameter));
    }
    return Refuse(argument,
                  absl::StrCat("is a number, and parameter ", parameter.name, " of the kernel is a struct of ",
                               parameter.fields.size(), " numbers; \"dtype\" says how a number is stored in one"));
  }
  if (static_cast<uint64_t>(argument.dtype.bytes()) != parameter.bytes) {
    return Refuse(argument, absl::StrCat("is a ", argument.dtype.ToString(), " of ", argument.dtype.bytes(),
                                         " bytes, and parameter ", parameter.name, " has ", parameter.bytes));
  }
  const NDArray scalar(argument.dtype, {});
  argument.dtype.is_float() ? scalar.Set(0, argument.value.number) : scalar.SetInt(0, argument.value.integer);
  std::memcpy(PlaceOf(parameter), scalar.data(), parameter.bytes);
  return absl::OkStatus();
}

absl::Status Marshaller::PutStruct(const LaunchArgument& argument, const ForeignParameter& parameter) {
  if (parameter.kind != Of::kStruct) {
    return Refuse(argument, absl::StrCat("is a struct, which parameter ", parameter.name, " of the kernel is not"));
  }
  if (argument.fields.size() != parameter.fields.size()) {
    return Refuse(argument, absl::StrCat("has ", argument.fields.size(), " numbers, and the struct ", parameter.name,
                                         " of the kernel ", parameter.fields.size()));
  }
  for (size_t i = 0; i < argument.fields.size(); ++i) {
    const auto& field = parameter.fields[i];
    TW_RETURN_IF_ERROR(
        PutNumber(argument, argument.fields[i], field.kind, field.bytes, PlaceOf(parameter) + field.offset));
  }
  return absl::OkStatus();
}

absl::Status Marshaller::PutTensorMap(const LaunchArgument& argument, const ForeignParameter& parameter) {
  if (parameter.bytes != sizeof(TwTensorMap)) {
    return Refuse(argument, absl::StrCat("is a tensor map of ", sizeof(TwTensorMap), " bytes, and parameter ",
                                         parameter.name, " of the kernel has ", parameter.bytes));
  }
  const LaunchTensorMap& map = argument.map;
  const NDArray& array = ArrayOf(map.array);
  const DataType dtype = map.dtype.bits() > 0 ? map.dtype : array.dtype();
  TW_ASSIGN_OR_RETURN(const emulator::MapType type, MapTypeOf(argument, dtype));
  std::vector<uint64_t> extents = As<uint64_t>(map.extents), strides = As<uint64_t>(map.strides);
  if (extents.empty()) extents = {array.shape().rbegin(), array.shape().rend()};
  if (strides.empty()) {
    auto stride = static_cast<uint64_t>(dtype.bytes());
    for (size_t i = 0; i + 1 < extents.size(); ++i) strides.push_back(stride *= extents[i]);
  }
  const auto encoded = map.im2col ? emulator::EncodeIm2col({.type = type,
                                                            .address = array.data(),
                                                            .extents = extents,
                                                            .strides = strides,
                                                            .lower = As<int>(map.lower),
                                                            .upper = As<int>(map.upper),
                                                            .channels = static_cast<uint32_t>(map.channels),
                                                            .pixels = static_cast<uint32_t>(map.pixels),
                                                            .steps = As<uint32_t>(map.steps),
                                                            .swizzle_bytes = static_cast<int>(map.swizzle),
                                                            .fill_nan = map.fill_nan})
                                  : emulator::EncodeTiled({.type = type,
                                                           .address = array.data(),
                                                           .extents = extents,
                                                           .strides = strides,
                                                           .box = As<uint32_t>(map.box),
                                                           .steps = As<uint32_t>(map.steps),
                                                           .swizzle_bytes = static_cast<int>(map.swizzle),
                                                           .fill_nan = map.fill_nan});
  if (!encoded.ok()) return Refuse(argument, absl::StrCat("is refused: ", std::string(encoded.status().message())));
  std::memcpy(PlaceOf(parameter), &*encoded, sizeof(TwTensorMap));
  return absl::OkStatus();
}

absl::Status Marshaller::Put(const LaunchArgument& argument, const ForeignParameter& parameter) {
  switch (argument.kind) {
    case Kind::kArray:
      for (const LaunchArray& array : result_.arrays) {
        if (array.argument == &argument) return PutPointer(argument, parameter, array.array.data());
      }
      return Refuse(argument, "is not an array");
    case Kind::kPointer: {
      const NDArray& array = ArrayOf(argument.array);
      if (argument.offset > array.size()) return Refuse(argument, "has an offset beyond the end of its array");
      const int64_t bytes = argument.offset * array.dtype().bytes();
      return PutPointer(argument, parameter, static_cast<const std::byte*>(array.data()) + bytes);
    }
    case Kind::kNull:
      return PutPointer(argument, parameter, nullptr);
    case Kind::kScalar:
      return PutScalar(argument, parameter);
    case Kind::kStruct:
      return PutStruct(argument, parameter);
    case Kind::kTensorMap:
      return PutTensorMap(argument, parameter);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<foreign::ForeignArray> LaunchArguments::ForKernel() const {
  std::vector<foreign::ForeignArray> all;
  for (const LaunchArray& array : arrays) {
    using emulator::GlobalMemory;
    const bool values = array.argument->has_values();
    const auto use = !values                  ? GlobalMemory::kOutput
                     : array.argument->output ? GlobalMemory::kInOut
                                              : GlobalMemory::kInput;
    all.push_back({array.name, array.array.data(), static_cast<size_t>(array.array.bytes()), use});
  }
  return all;
}

absl::StatusOr<LaunchArguments> MakeLaunchArguments(const LaunchFile& file, const foreign::ForeignKernel& kernel,
                                                    const std::string& folder) {
  const auto& parameters = kernel.parameters();
  if (file.arguments.size() != parameters.size()) {
    std::vector<std::string> names;
    for (const ForeignParameter& parameter : parameters) names.push_back(parameter.name);
    return absl::InvalidArgumentError(absl::StrCat("arguments has ", file.arguments.size(), ", and the kernel ",
                                                   kernel.name(), " takes ", parameters.size(), ": ",
                                                   absl::StrJoin(names, ", ")));
  }
  LaunchArguments result;
  const auto make = [&](const LaunchArgument& argument, std::string name) -> absl::Status {
    if (argument.kind != Kind::kArray) return absl::OkStatus();
    TW_ASSIGN_OR_RETURN(NDArray array, MakeArray(argument, folder));
    result.arrays.push_back({&argument, argument.name.empty() ? std::move(name) : argument.name, std::move(array)});
    return absl::OkStatus();
  };
  for (size_t i = 0; i < parameters.size(); ++i) TW_RETURN_IF_ERROR(make(file.arguments[i], parameters[i].name));
  for (const LaunchArgument& array : file.arrays) TW_RETURN_IF_ERROR(make(array, array.field));
  result.bytes.resize(kernel.argument_bytes());
  Marshaller marshaller(&result);
  for (size_t i = 0; i < parameters.size(); ++i) {
    TW_RETURN_IF_ERROR(marshaller.Put(file.arguments[i], parameters[i]));
  }
  return result;
}

}  // namespace tilewright
