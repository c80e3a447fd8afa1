#include "graph/ir/attrs.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/hash.h"

namespace tilewright::graph {
namespace {

std::string Quote(const std::string& text) { return absl::StrCat("\"", absl::CEscape(text), "\""); }

// What equality and hash see of a value: floats as bits.
uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value); }

struct HashOf {
  uint64_t operator()(bool value) const { return value ? 1 : 0; }
  uint64_t operator()(int64_t value) const { return static_cast<uint64_t>(value); }
  uint64_t operator()(double value) const { return Bits(value); }
  uint64_t operator()(const std::string& value) const { return HashBytes(value); }
  uint64_t operator()(DataType type) const { return HashBytes(type.ToString()); }
  uint64_t operator()(const FunctionName& function) const { return HashBytes(function.name); }
  template <class T>
  uint64_t operator()(const std::vector<T>& list) const {
    uint64_t hash = list.size();
    for (const T& value : list) hash = MixHash(hash, (*this)(value));
    return hash;
  }
};

struct TextOf {
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const { return FloatText(value); }
  std::string operator()(const std::string& value) const { return Quote(value); }
  std::string operator()(DataType value) const { return Quote(value.ToString()); }
  std::string operator()(const IntList& list) const { return absl::StrCat("[", absl::StrJoin(list, ", "), "]"); }
  std::string operator()(const FloatList& list) const {
    return absl::StrCat("[", absl::StrJoin(list, ", ", [](std::string* out, double v) { *out += FloatText(v); }), "]");
  }
  std::string operator()(const StringList& list) const {
    return absl::StrCat(
        "[", absl::StrJoin(list, ", ", [](std::string* out, const std::string& v) { *out += Quote(v); }), "]");
  }
  std::string operator()(const FunctionName& function) const { return absl::StrCat("cls.", function.name); }
};

using Variant = AttrValue::variant;

}  // namespace

const char* NameOf(AttrKind kind) {
  switch (kind) {
    case AttrKind::kBool:
      return "a boolean";
    case AttrKind::kInt:
      return "an integer";
    case AttrKind::kFloat:
      return "a float";
    case AttrKind::kString:
      return "a string";
    case AttrKind::kDataType:
      return "a data type";
    case AttrKind::kInts:
      return "a list of integers";
    case AttrKind::kFloats:
      return "a list of floats";
    case AttrKind::kStrings:
      return "a list of strings";
    case AttrKind::kFunction:
      return "the name of a function";
  }
  return "";
}

std::string FloatText(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string ToString(const AttrValue& value) { return std::visit(TextOf(), static_cast<const Variant&>(value)); }

bool SameAttr(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const double* x = a.As<double>()) return Bits(*x) == Bits(*b.As<double>());
  if (const FloatList* x = a.As<FloatList>()) {
    const FloatList& y = *b.As<FloatList>();
    return x->size() == y.size() &&
           std::equal(x->begin(), x->end(), y.begin(), [](double p, double q) { return Bits(p) == Bits(q); });
  }
  return static_cast<const Variant&>(a) == static_cast<const Variant&>(b);
}

bool SameAttrs(const Attrs& a, const Attrs& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && SameAttr(x.second, y.second);
         });
}

uint64_t HashAttrs(const Attrs& attrs) {
  uint64_t hash = attrs.size();
  for (const auto& [name, value] : attrs) {
    hash = MixHash(MixHash(hash, HashBytes(name)), value.index());
    hash = MixHash(hash, std::visit(HashOf(), static_cast<const Variant&>(value)));
  }
  return hash;
}

}  // namespace tilewright::graph
