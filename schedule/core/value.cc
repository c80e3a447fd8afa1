#include "schedule/core/value.h"

#include <algorithm>

#include "ir/structural.h"

namespace tilewright {
namespace {

bool Same(std::monostate, std::monostate) { return true; }
bool Same(bool a, bool b) { return a == b; }
bool Same(int64_t a, int64_t b) { return a == b; }
bool Same(double a, double b) { return a == b; }
bool Same(const std::string& a, const std::string& b) { return a == b; }
bool Same(Rv a, Rv b) { return a.index == b.index; }
bool Same(const LoopRef& a, const LoopRef& b) { return a.id == b.id && a.function == b.function; }
bool Same(const BlockRef& a, const BlockRef& b) { return a.id == b.id && a.function == b.function; }
bool Same(const IndexMap& a, const IndexMap& b) { return StructuralEqual(a, b); }
bool Same(const Value::List& a, const Value::List& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameValue);
}
bool Same(const Value::Dict& a, const Value::Dict& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && SameValue(x.second, y.second); });
}

}  // namespace

bool SameValue(const Value& a, const Value& b) {
  if (a.data.index() != b.data.index()) return false;
  return std::visit([&](const auto& value) { return Same(value, std::get<std::decay_t<decltype(value)>>(b.data)); },
                    a.data);
}

}  // namespace tilewright
