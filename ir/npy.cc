// The .npy file format: a magic number, a version, the length of a header, the header (a Python dictionary as text),
// then the elements.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ir/ndarray.h"

namespace tilewright {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6;
constexpr int64_t kMaxElements = int64_t{1} << 33;

struct FileCloser {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, FileCloser>;

std::string Description(DataType dtype) {
  const std::string order = dtype.bytes() == 1 ? "|" : "<";
  switch (dtype.code()) {
    case TypeCode::kBool:
      return "|b1";
    case TypeCode::kInt:
      return absl::StrCat(order, "i", dtype.bytes());
    case TypeCode::kUInt:
      return absl::StrCat(order, "u", dtype.bytes());
    case TypeCode::kFloat:
      return absl::StrCat(order, "f", dtype.bytes());
    default:
      return absl::StrCat(order, "V", dtype.bytes());
  }
}

// Whether a description is one of elements of `type`. Formats that NumPy lacks come as bytes, under whatever name the
// package that has them gives (ml_dtypes writes "<f1" for some).
bool Describes(std::string_view text, DataType type) {
  if (type.code() != TypeCode::kBFloat && type.code() != TypeCode::kE4M3 && type.code() != TypeCode::kE5M2) {
    return text == Description(type);
  }
  if (text.size() != 3 || text[0] == '>') return false;
  const std::string_view kinds = type.bytes() == 1 ? "Vfu" : "Vu";
  return kinds.find(text[1]) != std::string_view::npos && text[2] == static_cast<char>('0' + type.bytes());
}

// The type that a description names; void where it is opaque bytes or nothing we know.
DataType ParseDescription(std::string_view text) {
  if (text.size() < 3 || text[0] == '>') return DataType();
  int bytes = 0;
  if (!absl::SimpleAtoi(absl::string_view(text.data() + 2, text.size() - 2), &bytes)) return DataType();
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return DataType();
  switch (text[1]) {
    case 'b':
      return DataType::Bool();
    case 'i':
      return DataType::Int(bytes * 8);
    case 'u':
      return DataType::UInt(bytes * 8);
    case 'f':
      return bytes == 1 ? DataType() : DataType::Float(bytes * 8);
    default:
      return DataType();
  }
}

// The text after `'key':` in the header, blanks skipped; empty when the key is absent.
std::string_view ValueOf(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  size_t from = header.find(':', at);
  if (from == std::string_view::npos) return {};
  for (++from; from < header.size() && header[from] == ' ';) ++from;
  return header.substr(from);
}

bool ParseShape(std::string_view text, std::vector<int64_t>* shape) {
  if (text.empty() || text[0] != '(') return false;
  int64_t elements = 1;
  for (size_t i = 1; i < text.size() && text[i] != ')';) {
    if (text[i] == ' ' || text[i] == ',') {
      ++i;
      continue;
    }
    int64_t extent = 0;
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) return false;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0; ++i) {
      extent = extent * 10 + (text[i] - '0');
      if (extent > kMaxElements) return false;
    }
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > kMaxElements) return false;
    shape->push_back(extent);
  }
  return true;
}

// Most-significant-byte-first elements in the order of this machine.
void SwapBytes(const NDArray& array) {
  auto* bytes = static_cast<unsigned char*>(array.data());
  const auto size = static_cast<int64_t>(array.dtype().bytes());
  for (int64_t at = 0; at < array.bytes(); at += size) std::reverse(bytes + at, bytes + at + size);
}

// The row-major array whose elements `columns` holds with the first index fastest.
NDArray FromColumns(const NDArray& columns) {
  NDArray rows(columns.dtype(), columns.shape());
  const auto size = static_cast<size_t>(columns.dtype().bytes());
  const auto* from = static_cast<const unsigned char*>(columns.data());
  auto* to = static_cast<unsigned char*>(rows.data());
  const std::vector<int64_t>& shape = columns.shape();
  std::vector<int64_t> index(shape.size(), 0), strides(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d) strides[d] = strides[d - 1] * shape[d - 1];
  int64_t source = 0;
  for (int64_t at = 0; at < rows.size(); ++at) {
    std::memcpy(to + static_cast<size_t>(at) * size, from + static_cast<size_t>(source) * size, size);
    for (size_t d = shape.size(); d-- > 0;) {
      source += strides[d];
      if (++index[d] < shape[d]) break;
      source -= shape[d] * strides[d];
      index[d] = 0;
    }
  }
  return rows;
}

}  // namespace

absl::Status WriteNpy(const NDArray& array, const std::string& path) {
  std::string header = absl::StrCat("{'descr': '", Description(array.dtype()), "', 'fortran_order': False, 'shape': (");
  for (int64_t extent : array.shape()) absl::StrAppend(&header, extent, ",");
  header += "), }";
  // The elements start at a multiple of 64 bytes.
  while ((kMagicSize + 4 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) return absl::NotFoundError(absl::StrCat("cannot write ", path));
  const unsigned char prefix[4] = {1, 0, static_cast<unsigned char>(header.size() & 0xff),
                                   static_cast<unsigned char>(header.size() >> 8)};
  const auto bytes = static_cast<size_t>(array.bytes());
  const bool written = std::fwrite(kMagic, 1, kMagicSize, file.get()) == kMagicSize &&
                       std::fwrite(prefix, 1, 4, file.get()) == 4 &&
                       std::fwrite(header.data(), 1, header.size(), file.get()) == header.size() &&
                       std::fwrite(array.data(), 1, bytes, file.get()) == bytes && std::fflush(file.get()) == 0;
  return written ? absl::OkStatus() : absl::DataLossError(absl::StrCat("writing ", path, " failed"));
}

absl::StatusOr<NDArray> ReadNpy(const std::string& path, DataType as) {
  const auto error = [&](std::string_view reason) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", absl::string_view(reason.data(), reason.size())));
  };
  File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  unsigned char start[kMagicSize + 6];
  if (std::fread(start, 1, kMagicSize + 4, file.get()) != kMagicSize + 4 ||
      std::memcmp(start, kMagic, kMagicSize) != 0) {
    return error("not an .npy file");
  }
  size_t header_size = start[8] | static_cast<size_t>(start[9]) << 8;
  if (start[6] >= 2) {
    if (std::fread(start + 10, 1, 2, file.get()) != 2) return error("the header is cut off");
    header_size |= static_cast<size_t>(start[10]) << 16 | static_cast<size_t>(start[11]) << 24;
  }
  if (header_size > 1 << 20) return error("the header is too long");
  std::string header(header_size, '\0');
  if (std::fread(header.data(), 1, header_size, file.get()) != header_size) return error("the header is cut off");

  const std::string_view description = ValueOf(header, "'descr'");
  if (description.size() < 2) return error("the header names no element type");
  const size_t quote = description.find(description[0], 1);
  if (quote == std::string_view::npos) return error("the header names no element type");
  std::string type_text(description.substr(1, quote - 1));
  const bool is_swapped = type_text.size() > 2 && type_text[0] == '>' && type_text[1] != 'V';
  if (is_swapped) type_text[0] = '<';
  DataType dtype = ParseDescription(type_text);
  if (!as.is_void()) {
    if (!Describes(type_text, as)) {
      return error(absl::StrCat("elements are ", type_text, ", not ", as.ToString()));
    }
    dtype = as;
  }
  if (dtype.is_void()) return error("unknown element type");
  const std::string_view order = ValueOf(header, "'fortran_order'");
  const bool by_columns = order.substr(0, 4) == "True";
  if (!by_columns && order.substr(0, 5) != "False") return error("fortran_order is neither True nor False");
  std::vector<int64_t> shape;
  if (!ParseShape(ValueOf(header, "'shape'"), &shape)) return error("bad shape");

  // The file's length is looked at before memory of the size it claims is taken.
  const long data_start = std::ftell(file.get());
  std::fseek(file.get(), 0, SEEK_END);
  int64_t elements = 1;
  for (int64_t extent : shape) elements *= extent;
  if (std::ftell(file.get()) - data_start < elements * dtype.bytes()) return error("elements are missing");
  std::fseek(file.get(), data_start, SEEK_SET);
  NDArray array(dtype, std::move(shape));
  const auto bytes = static_cast<size_t>(array.bytes());
  if (std::fread(array.data(), 1, bytes, file.get()) != bytes) return error("elements are missing");
  if (is_swapped) SwapBytes(array);
  return by_columns ? FromColumns(array) : array;
}

}  // namespace tilewright
