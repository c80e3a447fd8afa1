#include "graph/onnx/model_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/wire_scan.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using Bytes = absl::Span<const std::byte>;

// Types that the installed messages do not name.
constexpr int32_t kUInt4 = 21, kInt4 = 22;

// Floats of eight bits whose only zero is positive; they have no infinity. Tensors of them are read as f16.
constexpr int32_t kE4M3Fnuz = 18, kE5M2Fnuz = 20;
bool IsFnuz(int32_t type) { return type == kE4M3Fnuz || type == kE5M2Fnuz; }

// The f16 of a number that f16 holds exactly.
uint16_t HalfOf(double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  --exponent;
  if (exponent < -14) return static_cast<uint16_t>(sign | static_cast<int>(std::ldexp(magnitude, 24)));
  const int fraction = static_cast<int>((std::ldexp(magnitude, -exponent) - 1) * 1024);
  return static_cast<uint16_t>(sign | (exponent + 15) << 10 | fraction);
}

uint16_t HalfOfFnuz(int32_t type, unsigned byte) {
  constexpr uint16_t kNaN = 0x7E00;
  if (byte == 0x80) return kNaN;
  const int fraction_bits = type == kE4M3Fnuz ? 3 : 2, bias = type == kE4M3Fnuz ? 8 : 16;
  const int exponent = static_cast<int>((byte & 0x7F) >> fraction_bits);
  const int fraction = static_cast<int>(byte & ((1u << fraction_bits) - 1));
  const int whole = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
  const double magnitude = std::ldexp(whole, std::max(exponent, 1) - bias - fraction_bits);
  return HalfOf((byte & 0x80) != 0 ? -magnitude : magnitude);
}

// How the elements of a tensor are stored, and what they become.
struct Storage {
  DataType type;        // of the tensor
  DataType stored;      // of an element in the file
  bool packed = false;  // two of them in a byte

  int64_t BytesOf(int64_t count) const { return packed ? (count + 1) / 2 : count * stored.bytes(); }
};
absl::StatusOr<Storage> StorageOf(int32_t onnx_type) {
  if (IsFnuz(onnx_type)) return Storage{DataType::Float(16), DataType::UInt(8)};
  TW_ASSIGN_OR_RETURN(const DataType type, ElementType(onnx_type));
  return Storage{type, type, NarrowBits(onnx_type) == 4};
}

// Two elements lie in a byte, the first in its low half; `count` of them as bytes.
std::shared_ptr<std::string> UnpackFours(Bytes packed, int64_t count, bool is_signed) {
  auto result = std::make_shared<std::string>(static_cast<size_t>(count), '\0');
  for (size_t i = 0; i < result->size(); ++i) {
    const auto byte = static_cast<unsigned>(packed[i / 2]);
    const unsigned half = i % 2 == 0 ? byte & 15 : byte >> 4;
    (*result)[i] = static_cast<char>(is_signed && half > 7 ? half | 0xF0u : half);
  }
  return result;
}

Bytes BytesOf(const std::string& text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

absl::Status TensorError(const TensorProto& tensor, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("tensor \"", tensor.name(), "\": ", what));
}

// The extents and the bytes that the elements take.
absl::StatusOr<std::vector<int64_t>> ShapeOf(const TensorProto& tensor, DataType type, int64_t* bytes) {
  std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  *bytes = type.bytes();
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0) return TensorError(tensor, absl::StrCat("an extent is ", extent));
    empty |= extent == 0;
    if (extent > 0 && __builtin_mul_overflow(*bytes, extent, bytes)) {
      return TensorError(tensor, "its extents are too large");
    }
  }
  if (empty) *bytes = 0;
  return shape;
}

// Elements in a typed field, each as wide as the tensor's type.
template <class Field>
void Narrow(const Field& field, DataType type, std::byte* to) {
  for (const auto& element : field) {
    const auto value = element;
    if (static_cast<size_t>(type.bytes()) <= sizeof(value)) {
      std::memcpy(to, &value, static_cast<size_t>(type.bytes()));
    }
    to += type.bytes();
  }
}

// The elements where they are not raw: `count` is how many the shape asks for.
absl::StatusOr<std::shared_ptr<std::string>> TypedElements(const TensorProto& tensor, DataType type, int64_t bytes) {
  const int64_t count = bytes / type.bytes();
  const auto copy = [&](const auto& field) -> absl::StatusOr<std::shared_ptr<std::string>> {
    if (field.size() != count) {
      return TensorError(tensor, absl::StrCat("it has ", field.size(), " elements, its extents ask for ", count));
    }
    auto result = std::make_shared<std::string>(static_cast<size_t>(bytes), '\0');
    Narrow(field, type, reinterpret_cast<std::byte*>(result->data()));
    return result;
  };
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      return copy(tensor.float_data());
    case TensorProto::DOUBLE:
      return copy(tensor.double_data());
    case TensorProto::INT64:
      return copy(tensor.int64_data());
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      return copy(tensor.uint64_data());
    default:
      return copy(tensor.int32_data());
  }
}

// The elements as programs have them, from those of the file.
void Decode(const Storage& storage, int32_t onnx_type, int64_t count, TensorView* view) {
  std::shared_ptr<std::string> elements;
  if (storage.packed) {
    elements = UnpackFours(view->bytes, count, view->dtype.is_int());
  } else if (IsFnuz(onnx_type)) {
    elements = std::make_shared<std::string>(static_cast<size_t>(2 * count), '\0');
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const uint16_t half = HalfOfFnuz(onnx_type, static_cast<unsigned>(view->bytes[i]));
      std::memcpy(elements->data() + 2 * i, &half, sizeof(half));
    }
  } else {
    return;
  }
  view->bytes = BytesOf(*elements);
  view->owner = std::move(elements);
}

bool HasTypedElements(const TensorProto& tensor) {
  return tensor.float_data_size() + tensor.double_data_size() + tensor.int64_data_size() + tensor.uint64_data_size() +
             tensor.int32_data_size() >
         0;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return absl::NotFoundError(absl::StrCat("cannot open: ", std::strerror(errno)));
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    return absl::InvalidArgumentError("it is not a regular file");
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (data == MAP_FAILED) return absl::ResourceExhaustedError(absl::StrCat("cannot map: ", std::strerror(errno)));
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const std::byte*>(data), size));
}

// The mapping is read-only, so there is nothing to lose.
void MappedFile::Release() const {
  if (data_ != nullptr) madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

absl::StatusOr<DataType> ElementType(int32_t onnx_type) {
  switch (onnx_type) {
    case TensorProto::FLOAT:
      return DataType::Float(32);
    case TensorProto::UINT8:
      return DataType::UInt(8);
    case TensorProto::INT8:
      return DataType::Int(8);
    case TensorProto::UINT16:
      return DataType::UInt(16);
    case TensorProto::INT16:
      return DataType::Int(16);
    case TensorProto::INT32:
      return DataType::Int(32);
    case TensorProto::INT64:
      return DataType::Int(64);
    case TensorProto::BOOL:
      return DataType::Bool();
    case TensorProto::FLOAT16:
      return DataType::Float(16);
    case TensorProto::DOUBLE:
      return DataType::Float(64);
    case TensorProto::UINT32:
      return DataType::UInt(32);
    case TensorProto::UINT64:
      return DataType::UInt(64);
    case TensorProto::BFLOAT16:
      return DataType::BFloat16();
    case kUInt4:
      return DataType::UInt(8);
    case kInt4:
      return DataType::Int(8);
    case 17:
      return DataType(TypeCode::kE4M3, 8);
    case 19:
      return DataType(TypeCode::kE5M2, 8);
    default:
      return absl::UnimplementedError(absl::StrCat("elements of type ", OnnxTypeName(onnx_type)));
  }
}

int NarrowBits(int32_t onnx_type) { return onnx_type == kUInt4 || onnx_type == kInt4 ? 4 : 0; }

std::string OnnxTypeName(int32_t onnx_type) {
  const std::string name = TensorProto::DataType_Name(static_cast<TensorProto::DataType>(onnx_type));
  return name.empty() ? absl::StrCat("number ", onnx_type) : name;
}

absl::StatusOr<std::unique_ptr<ModelFile>> ModelFile::Open(const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto file, MappedFile::Open(path));
  auto model = FromBytes(file, file->bytes(), std::filesystem::path(path).parent_path().string());
  if (model.ok()) (*model)->mapped_ = std::move(file);
  return model;
}

void ModelFile::Release() const {
  if (mapped_ != nullptr) mapped_->Release();
  for (const auto& [location, file] : external_) file->Release();
}

absl::StatusOr<std::unique_ptr<ModelFile>> ModelFile::FromBytes(std::shared_ptr<const void> owner, Bytes bytes,
                                                                std::string directory) {
  TW_ASSIGN_OR_RETURN(auto messages, StripTensors(bytes));
  if (messages.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return absl::InvalidArgumentError("its messages take more than 2 GiB without the elements of tensors");
  }
  std::unique_ptr<ModelFile> file(new ModelFile);
  if (!file->model_.ParseFromArray(messages.data(), static_cast<int>(messages.size()))) {
    return absl::InvalidArgumentError("it is not an ONNX model: a message does not parse");
  }
  if (!file->model_.has_graph()) return absl::InvalidArgumentError("it is not an ONNX model: it has no graph");
  file->owner_ = std::move(owner);
  file->bytes_ = bytes;
  file->directory_ = std::move(directory);
  return file;
}

absl::StatusOr<Bytes> ModelFile::ExternalBytes(const TensorProto& tensor, uint64_t needed,
                                               std::shared_ptr<const void>* owner) {
  std::string location;
  uint64_t offset = 0, length = needed;
  for (const auto& entry : tensor.external_data()) {
    uint64_t number = 0;
    if (entry.key() == "location") location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    if (!absl::SimpleAtoi(entry.value(), &number)) {
      return TensorError(tensor, absl::StrCat("the ", entry.key(), " of its external data is \"", entry.value(), "\""));
    }
    (entry.key() == "offset" ? offset : length) = number;
  }
  if (length != needed) {
    return TensorError(tensor, absl::StrCat("it has ", length, " bytes, its extents ask for ", needed));
  }
  Bytes bytes = bytes_;
  *owner = owner_;
  if (location != kThisFile) {
    const std::filesystem::path path = std::filesystem::path(location).lexically_normal();
    if (location.empty() || path.is_absolute() || path.begin()->string() == "..") {
      return TensorError(tensor,
                         absl::StrCat("external data lies at \"", location, "\", outside of the model's folder"));
    }
    auto& file = external_[location];
    if (file == nullptr) {
      auto opened = MappedFile::Open((std::filesystem::path(directory_) / path).string());
      if (!opened.ok()) {
        return TensorError(tensor, absl::StrCat("external data \"", location, "\": ", opened.status().message()));
      }
      file = *std::move(opened);
    }
    bytes = file->bytes();
    *owner = file;
  }
  if (offset > bytes.size() || length > bytes.size() - offset) {
    return TensorError(tensor, absl::StrCat("external data at ", offset, " of ", length,
                                            " bytes lies outside of a file of ", bytes.size()));
  }
  return bytes.subspan(offset, length);
}

absl::StatusOr<TensorView> ModelFile::Tensor(const TensorProto& tensor) {
  if (tensor.data_location() != TensorProto::EXTERNAL) return TensorOf(tensor);
  const auto storage = StorageOf(tensor.data_type());
  if (!storage.ok()) return TensorError(tensor, storage.status().message());
  int64_t bytes = 0;
  TW_ASSIGN_OR_RETURN(auto shape, ShapeOf(tensor, storage->type, &bytes));
  TensorView view{.dtype = storage->type, .shape = std::move(shape)};
  const int64_t count = bytes / storage->type.bytes();
  TW_ASSIGN_OR_RETURN(view.bytes, ExternalBytes(tensor, static_cast<uint64_t>(storage->BytesOf(count)), &view.owner));
  Decode(*storage, tensor.data_type(), count, &view);
  return view;
}

absl::StatusOr<TensorView> TensorOf(const TensorProto& tensor) {
  const auto storage = StorageOf(tensor.data_type());
  if (!storage.ok()) return TensorError(tensor, storage.status().message());
  int64_t bytes = 0;
  TW_ASSIGN_OR_RETURN(auto shape, ShapeOf(tensor, storage->type, &bytes));
  TensorView view{.dtype = storage->type, .shape = std::move(shape)};
  const int64_t count = bytes / storage->type.bytes(), stored = storage->BytesOf(count);
  if (tensor.has_raw_data() && !HasTypedElements(tensor)) {
    if (static_cast<int64_t>(tensor.raw_data().size()) != stored) {
      return TensorError(tensor,
                         absl::StrCat("it has ", tensor.raw_data().size(), " bytes, its extents ask for ", stored));
    }
    auto copy = std::make_shared<std::string>(tensor.raw_data());
    view.bytes = BytesOf(*copy);
    view.owner = copy;
  } else {
    TW_ASSIGN_OR_RETURN(auto copy, TypedElements(tensor, storage->stored, stored));
    view.bytes = BytesOf(*copy);
    view.owner = copy;
  }
  Decode(*storage, tensor.data_type(), count, &view);
  return view;
}

std::string DimensionName(const onnx::ValueInfoProto& input, int i) {
  const std::string& name = input.type().tensor_type().shape().dim(i).dim_param();
  const bool is_name = !name.empty() && (absl::ascii_isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_');
  return is_name && name != "None" ? name : absl::StrCat(input.name(), "_", i);
}

}  // namespace tilewright::graph
