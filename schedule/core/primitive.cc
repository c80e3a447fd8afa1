#include "schedule/core/primitive.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tilewright {
namespace {

bool IsRef(const Value& value) { return value.As<LoopRef>() != nullptr || value.As<BlockRef>() != nullptr; }

// Primitives take numbers, positions and limits as int.
bool IsSmallInt(const Value& value) {
  const auto* integer = value.As<int64_t>();
  return integer != nullptr && *integer >= INT32_MIN && *integer <= INT32_MAX;
}

template <class T>
bool IsListOf(const Value& value) {
  const auto* list = value.As<Value::List>();
  return list != nullptr &&
         std::all_of(list->begin(), list->end(), [](const Value& v) { return v.As<T>() != nullptr; });
}

bool ToFloats(Value& value) {
  auto* list = std::get_if<Value::List>(&value.data);
  if (list == nullptr) return false;
  for (Value& entry : *list) {
    if (const auto* integer = entry.As<int64_t>()) entry = Value(static_cast<double>(*integer));
    if (entry.As<double>() == nullptr) return false;
  }
  return true;
}

bool IsFactors(const Value& value) {
  const auto* list = value.As<Value::List>();
  return list != nullptr && std::all_of(list->begin(), list->end(),
                                        [](const Value& v) { return v.is_none() || v.As<int64_t>() != nullptr; });
}

bool IsAnnotation(const Value& value) {
  if (const auto* list = value.As<Value::List>()) return std::all_of(list->begin(), list->end(), IsAnnotation);
  if (const auto* dict = value.As<Value::Dict>()) {
    return std::all_of(dict->begin(), dict->end(), [](const auto& entry) { return IsAnnotation(entry.second); });
  }
  return value.As<bool>() || value.As<int64_t>() || value.As<double>() || value.As<std::string>();
}

// The results are indices.
bool IsIntegerMap(const Value& value) {
  const auto* map = value.As<IndexMap>();
  return map != nullptr && std::ranges::all_of((*map)->outputs, [](const Expr& e) { return e.dtype().is_index(); });
}

bool IsBufferIndex(const Value& value) {
  if (IsSmallInt(value) || value.As<std::string>()) return true;
  const auto* pair = value.As<Value::List>();
  if (pair == nullptr || pair->size() != 2) return false;
  const auto* side = (*pair)[0].As<std::string>();
  return side != nullptr && (*side == "read" || *side == "write") && IsSmallInt((*pair)[1]);
}

uint32_t IdOf(const Value& value) {
  if (const auto* loop = value.As<LoopRef>()) return loop->id;
  const auto* block = value.As<BlockRef>();
  TW_CHECK(block != nullptr);
  return block->id;
}

}  // namespace

const char* ArgKindName(ArgKind kind) {
  switch (kind) {
    case ArgKind::kLoop:
      return "a loop";
    case ArgKind::kBlock:
      return "a block";
    case ArgKind::kLoopOrBlock:
      return "a loop or block";
    case ArgKind::kLoops:
      return "loops";
    case ArgKind::kBlocks:
      return "a list of blocks";
    case ArgKind::kTarget:
      return "a loop, block or list of blocks";
    case ArgKind::kInt:
      return "an integer";
    case ArgKind::kInts:
      return "a list of integers";
    case ArgKind::kFloats:
      return "a list of numbers";
    case ArgKind::kFactors:
      return "a list of integers or None";
    case ArgKind::kBool:
      return "a truth value";
    case ArgKind::kString:
      return "a text";
    case ArgKind::kOptionalString:
      return "a text or None";
    case ArgKind::kBufferIndex:
      return "an integer, (\"read\" or \"write\", integer) or name";
    case ArgKind::kIndexMap:
      return "an index map";
    case ArgKind::kAnnotation:
      return "a number, text, list or dictionary";
    case ArgKind::kPadValue:
      return "None, number or index map";
  }
  TW_UNREACHABLE();
}

bool FitsKind(ArgKind kind, Value& value) {
  switch (kind) {
    case ArgKind::kLoop:
      return value.As<LoopRef>() != nullptr;
    case ArgKind::kBlock:
      return value.As<BlockRef>() != nullptr;
    case ArgKind::kLoopOrBlock:
      return IsRef(value);
    case ArgKind::kLoops:
      return IsListOf<LoopRef>(value);
    case ArgKind::kBlocks:
      if (value.is_none()) value = Value(Value::List{});
      if (value.As<BlockRef>()) value = Value(Value::List{value});
      return IsListOf<BlockRef>(value);
    case ArgKind::kTarget:
      return IsRef(value) || IsListOf<BlockRef>(value);
    case ArgKind::kInt:
      return IsSmallInt(value);
    case ArgKind::kInts:
      return IsListOf<int64_t>(value);
    case ArgKind::kFloats:
      return ToFloats(value);
    case ArgKind::kFactors:
      return IsFactors(value);
    case ArgKind::kBool:
      if (const auto* integer = value.As<int64_t>(); integer && (*integer == 0 || *integer == 1)) {
        value = Value(*integer == 1);
      }
      return value.As<bool>() != nullptr;
    case ArgKind::kString:
      return value.As<std::string>() != nullptr;
    case ArgKind::kOptionalString:
      return value.is_none() || value.As<std::string>() != nullptr;
    case ArgKind::kBufferIndex:
      return IsBufferIndex(value);
    case ArgKind::kIndexMap:
      return IsIntegerMap(value);
    case ArgKind::kAnnotation:
      return IsAnnotation(value);
    case ArgKind::kPadValue:
      return value.is_none() || value.As<int64_t>() || value.As<double>() || value.As<IndexMap>();
  }
  TW_UNREACHABLE();
}

uint32_t Application::Id(size_t i) const { return IdOf(arg(i)); }

std::vector<uint32_t> Application::Ids(size_t i) const {
  std::vector<uint32_t> ids;
  for (const Value& value : *arg(i).As<Value::List>()) ids.push_back(IdOf(value));
  return ids;
}
std::vector<int64_t> Application::Ints(size_t i) const {
  std::vector<int64_t> ints;
  for (const Value& value : *arg(i).As<Value::List>()) ints.push_back(*value.As<int64_t>());
  return ints;
}
std::vector<double> Application::Floats(size_t i) const {
  std::vector<double> floats;
  for (const Value& value : *arg(i).As<Value::List>()) floats.push_back(*value.As<double>());
  return floats;
}
std::vector<Expr> Application::Factors(size_t i) const {
  std::vector<Expr> factors;
  for (const Value& value : *arg(i).As<Value::List>()) {
    factors.push_back(value.is_none() ? Expr() : Expr(*value.As<int64_t>()));
  }
  return factors;
}

Applied Application::Changed(Function function) const {
  Applied applied{module_, {}, {}};
  applied.module.Set(std::move(function));
  return applied;
}
Applied Application::WithLoops(Function function, const std::vector<uint32_t>& loops) const {
  const std::string name = function->name;
  Applied applied = Changed(std::move(function));
  for (uint32_t id : loops) applied.results.push_back(LoopRef{name, id});
  return applied;
}
Applied Application::WithLoop(Function function, uint32_t loop) const {
  return WithLoops(std::move(function), std::vector<uint32_t>{loop});
}
Applied Application::WithBlocks(Function function, const std::vector<uint32_t>& blocks) const {
  const std::string name = function->name;
  Applied applied = Changed(std::move(function));
  for (uint32_t id : blocks) applied.results.push_back(BlockRef{name, id});
  return applied;
}
Applied Application::WithBlock(Function function, uint32_t block) const {
  return WithBlocks(std::move(function), std::vector<uint32_t>{block});
}

}  // namespace tilewright
