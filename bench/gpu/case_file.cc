#include "bench/gpu/case_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

namespace tilewright::gpu {
namespace {

bool ReadBytes(const std::string& path, std::string* bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  bytes->assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return true;
}
bool WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  return static_cast<bool>(file.flush());
}

template <class T>
void WriteList(std::ostream& out, const std::vector<T>& list) {
  out << " " << list.size();
  for (const T& element : list) out << " " << element;
}
template <class T>
void ReadList(std::istream& in, std::vector<T>* list) {
  size_t count = 0;
  in >> count;
  list->assign(std::min<size_t>(count, 8), T());
  for (T& element : *list) in >> element;
}

void WriteParam(std::ostream& out, const CaseParam& param) {
  if (param.kind == CaseParam::kArray) {
    out << "array " << param.array << "\n";
  } else if (param.kind == CaseParam::kScalar) {
    out << "scalar";
    for (uint64_t bits : param.bits) out << " " << bits;
    out << "\n";
  } else {
    const cuda::TensorMapSpec& map = param.map;
    out << "map " << param.array << " " << map.type << " " << map.swizzle << " " << map.im2col << " " << map.channels
        << " " << map.pixels;
    WriteList(out, map.extents);
    WriteList(out, map.strides);
    WriteList(out, map.box);
    WriteList(out, map.steps);
    WriteList(out, map.lower);
    WriteList(out, map.upper);
    out << "\n";
  }
}

bool ReadParam(std::istream& in, CaseParam* param) {
  std::string kind;
  in >> kind;
  if (kind == "array") {
    in >> param->array;
  } else if (kind == "scalar") {
    param->kind = CaseParam::kScalar;
    for (uint64_t& bits : param->bits) in >> bits;
  } else if (kind == "map") {
    param->kind = CaseParam::kMap;
    cuda::TensorMapSpec& map = param->map;
    in >> param->array >> map.type >> map.swizzle >> map.im2col >> map.channels >> map.pixels;
    ReadList(in, &map.extents);
    ReadList(in, &map.strides);
    ReadList(in, &map.box);
    ReadList(in, &map.steps);
    ReadList(in, &map.lower);
    ReadList(in, &map.upper);
  } else {
    return false;
  }
  return static_cast<bool>(in);
}

// A floating-point number of `bits` with that many of fraction.
double Number(uint64_t pattern, int bits, int fraction, int bias) {
  const uint64_t sign = pattern >> (bits - 1) & 1;
  const auto exponent = static_cast<int>(pattern >> fraction & ((1u << (bits - 1 - fraction)) - 1));
  const auto rest = static_cast<double>(pattern & ((uint64_t{1} << fraction) - 1));
  const int most = (1 << (bits - 1 - fraction)) - 1;
  double value = exponent == 0 ? std::ldexp(rest, 1 - bias - fraction)
                               : std::ldexp(rest + std::ldexp(1.0, fraction), exponent - bias - fraction);
  const bool e4m3 = fraction == 3;
  if (exponent == most && (!e4m3 || rest == 7)) {
    value = rest == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return sign != 0 ? -value : value;
}

template <class T>
double As(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<double>(value);
}

double Element(const std::string& type, const char* at) {
  if (type == "float32") return As<float>(at);
  if (type == "float64") return As<double>(at);
  if (type == "int8") return As<int8_t>(at);
  if (type == "uint8" || type == "bool") return As<uint8_t>(at);
  if (type == "int16") return As<int16_t>(at);
  if (type == "uint16") return As<uint16_t>(at);
  if (type == "int32") return As<int32_t>(at);
  if (type == "uint32") return As<uint32_t>(at);
  if (type == "int64" || type == "uint64") return As<int64_t>(at);
  uint16_t pattern = 0;
  std::memcpy(&pattern, at, type.find("float8") == 0 ? 1 : 2);
  if (type == "bfloat16") return Number(pattern, 16, 7, 127);
  if (type == "float8_e4m3fn") return Number(pattern, 8, 3, 7);
  if (type == "float8_e5m2") return Number(pattern, 8, 2, 15);
  return Number(pattern, 16, 10, 15);
}

size_t BytesOf(const std::string& type) {
  if (type == "bool" || type == "int8" || type == "uint8" || type.find("float8") == 0) return 1;
  return type.find("16") != std::string::npos ? 2 : type.find("64") != std::string::npos ? 8 : 4;
}

void WriteLaunches(std::ostream& out, const std::vector<CaseLaunch>& launches) {
  out << launches.size() << "\n";
  for (const CaseLaunch& launch : launches) {
    out << launch.kernel;
    for (const auto& extents : {launch.grid, launch.block})
      out << " " << extents[0] << " " << extents[1] << " " << extents[2];
    out << " " << launch.shared_bytes << " " << launch.params.size() << "\n";
    for (const CaseParam& param : launch.params) WriteParam(out, param);
  }
}

bool ReadLaunches(std::istream& in, size_t arrays, std::vector<CaseLaunch>* result) {
  size_t launches = 0;
  in >> launches;
  for (size_t i = 0; i < launches && in; ++i) {
    CaseLaunch launch;
    size_t params = 0;
    in >> launch.kernel;
    for (auto* extents : {&launch.grid, &launch.block}) in >> (*extents)[0] >> (*extents)[1] >> (*extents)[2];
    in >> launch.shared_bytes >> params;
    for (size_t p = 0; p < params; ++p) {
      launch.params.emplace_back();
      if (!ReadParam(in, &launch.params.back()) || launch.params.back().array >= arrays) return false;
    }
    result->push_back(launch);
  }
  return in && result->size() == launches;
}

// The pattern of a number of at most 8 significant bits in a floating-point type of `bits` with that many of fraction.
uint64_t PatternOf(double value, int bits, int fraction, int bias) {
  if (value == 0) return 0;
  int exponent = 0;
  const double significand = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  const auto rest = static_cast<uint64_t>(std::ldexp(significand, fraction + 1)) - (uint64_t{1} << fraction);
  return (value < 0 ? uint64_t{1} << (bits - 1) : 0) | static_cast<uint64_t>(exponent - 1 + bias) << fraction | rest;
}

// The element that a byte stands for.
uint64_t SeededElement(const std::string& type, uint8_t byte) {
  const int value = static_cast<int8_t>(byte);
  if (type == "float32") return PatternOf(value / 128.0, 32, 23, 127);
  if (type == "float64") return PatternOf(value / 128.0, 64, 52, 1023);
  if (type == "float16") return PatternOf(value / 128.0, 16, 10, 15);
  if (type == "bfloat16") return PatternOf(value / 128.0, 16, 7, 127);
  if (type == "float8_e4m3fn") return PatternOf(value / 16 / 8.0, 8, 3, 7);
  if (type == "float8_e5m2") return PatternOf(value / 32 / 4.0, 8, 2, 15);
  if (type == "bool") return byte & 1;
  return type.find("uint") == 0 ? byte : static_cast<uint64_t>(static_cast<int64_t>(value));
}

}  // namespace

bool WriteCase(const std::string& folder, const CaseFile& file) {
  std::ostringstream out;
  out << file.cubin_name << " " << file.tolerance << " " << file.operations << " " << file.traffic << " "
      << file.arrays.size() << "\n";
  for (const CaseArray& array : file.arrays) {
    out << array.name << " " << array.type << " " << array.bytes << " " << array.input << " " << array.expected << " "
        << array.seed << " " << array.same_as << "\n";
  }
  WriteLaunches(out, file.launches);
  WriteLaunches(out, file.reference);
  const std::string path = folder + "/" + file.name;
  return WriteBytes(path + ".case", out.str()) && WriteBytes(folder + "/" + file.cubin_name + ".cubin", file.cubin) &&
         WriteBytes(path + ".bin", file.data);
}

bool ReadCase(const std::string& folder, const std::string& name, CaseFile* file, std::string* error) {
  const std::string path = folder + "/" + name;
  std::string text;
  *error = "the files of the case cannot be read";
  if (!ReadBytes(path + ".case", &text) || !ReadBytes(path + ".bin", &file->data)) return false;
  file->name = name;
  std::istringstream in(text);
  size_t arrays = 0;
  in >> file->cubin_name;
  if (!ReadBytes(folder + "/" + file->cubin_name + ".cubin", &file->cubin)) return false;
  in >> file->tolerance >> file->operations >> file->traffic >> arrays;
  for (size_t i = 0; i < arrays && in; ++i) {
    CaseArray array;
    in >> array.name >> array.type >> array.bytes >> array.input >> array.expected >> array.seed >> array.same_as;
    const auto size = static_cast<int64_t>(file->data.size());
    if (array.bytes < 0 || (array.input >= 0 && array.input + array.bytes > size) ||
        (array.expected >= 0 && array.expected + array.bytes > size) || array.same_as >= static_cast<int64_t>(arrays)) {
      return false;
    }
    file->arrays.push_back(array);
  }
  if (!ReadLaunches(in, file->arrays.size(), &file->launches) ||
      !ReadLaunches(in, file->arrays.size(), &file->reference)) {
    return false;
  }
  error->clear();
  return true;
}

void FillSeeded(const std::string& type, uint64_t seed, char* data, size_t bytes) {
  const size_t element = BytesOf(type);
  uint64_t elements[256];
  for (size_t i = 0; i < 256; ++i) elements[i] = SeededElement(type, static_cast<uint8_t>(i));
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (size_t at = 0; at + element <= bytes; at += element) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(data + at, &elements[state >> 32 & 255], element);
  }
}

ArrayDifference CompareArrays(const std::string& type, const char* got, const char* expected, size_t bytes) {
  ArrayDifference worst;
  const size_t element = BytesOf(type);
  for (size_t at = 0; at + element <= bytes; at += element) {
    if (std::memcmp(got + at, expected + at, element) == 0) continue;
    const double a = Element(type, got + at), b = Element(type, expected + at);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    double error = std::abs(a - b) / std::max({1.0, std::abs(a), std::abs(b)});
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    if (error > worst.error) worst = {error, static_cast<int64_t>(at / element), a, b};
  }
  return worst;
}

}  // namespace tilewright::gpu
