// Attributes of calls, operators and functions: constants with a name.
//
//   Attrs attrs = {{"axes", IntList{0, -1}}, {"keepdims", true}, {"epsilon", 1e-5}};
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "ir/data_type.h"

namespace tilewright::graph {

// The name of a function of the module, as the value of an attribute (the body of a loop): passes that look for uses
// of functions find it.
struct FunctionName {
  std::string name;
  friend bool operator==(const FunctionName&, const FunctionName&) = default;
};

using IntList = std::vector<int64_t>;
using FloatList = std::vector<double>;
using StringList = std::vector<std::string>;

// In the order of AttrKind.
class AttrValue
    : public std::variant<bool, int64_t, double, std::string, DataType, IntList, FloatList, StringList, FunctionName> {
 public:
  using variant::variant;
  AttrValue(int value) : variant(static_cast<int64_t>(value)) {}
  AttrValue(const char* value) : variant(std::string(value)) {}

  template <class T>
  const T* As() const {
    return std::get_if<T>(this);
  }
};

enum class AttrKind : uint8_t { kBool, kInt, kFloat, kString, kDataType, kInts, kFloats, kStrings, kFunction };
inline AttrKind KindOf(const AttrValue& value) { return static_cast<AttrKind>(value.index()); }
// "an integer", "a list of floats", ...
const char* NameOf(AttrKind kind);

using Attrs = std::map<std::string, AttrValue>;

// As Python writes it: True, 3, 1e-05, "same", [0, -1]; types as strings. Floats are written with as many digits as
// reading them back needs; infinities and NaN as float("inf"), float("-inf"), float("nan").
std::string ToString(const AttrValue& value);
std::string FloatText(double value);

// Floats compare by bits, so that NaN equals itself and the two zeros differ.
bool SameAttr(const AttrValue& a, const AttrValue& b);
bool SameAttrs(const Attrs& a, const Attrs& b);
uint64_t HashAttrs(const Attrs& attrs);

}  // namespace tilewright::graph
