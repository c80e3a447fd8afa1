#include "schedule/core/refusal.h"

#include <optional>
#include <string_view>

#include "ir/script/printer.h"

namespace tilewright {
namespace {

// The object as a person knows it: "loop i", "block C".
std::string NameOf(uint32_t id, const Function& function) {
  const Path path = FindPath(function, id);
  if (path.empty()) return "a loop or block that is gone";
  if (const auto* loop = dyn_cast<ForNode>(path.back())) return "loop " + loop->var.name();
  return "block " + cast<BlockRealizeNode>(path.back())->block->name;
}

// What the place "{kindN}" stands for; nothing when there is no such thing.
std::optional<std::string> Fill(std::string_view place, const Refusal& refusal, const Function& function) {
  if (place.empty()) return std::nullopt;
  const size_t n = static_cast<size_t>(place.back() - '0');
  const std::string_view kind = place.substr(0, place.size() - 1);
  if ((kind == "loop" || kind == "block" || kind == "object") && n < refusal.objects.size()) {
    return NameOf(refusal.objects[n], function);
  }
  if (kind == "expr" && n < refusal.exprs.size()) return Print(refusal.exprs[n]);
  if (kind == "text" && n < refusal.texts.size()) return refusal.texts[n];
  if (kind == "num" && n < refusal.numbers.size()) return std::to_string(refusal.numbers[n]);
  return std::nullopt;
}

}  // namespace

std::string RenderLine(const Refusal& refusal, const Function& function) {
  std::string line = std::string(refusal.primitive) + ": ";
  std::string_view rest = refusal.reason;
  while (!rest.empty()) {
    const size_t open = rest.find('{');
    const size_t close = open == rest.npos ? rest.npos : rest.find('}', open);
    if (close == rest.npos) break;
    line += rest.substr(0, open);
    const std::string_view place = rest.substr(open + 1, close - open - 1);
    line += Fill(place, refusal, function).value_or("{" + std::string(place) + "}");
    rest = rest.substr(close + 1);
  }
  return line += rest;
}

std::string Render(const Refusal& refusal, const Function& function) {
  PrintOptions options;
  for (uint32_t id : refusal.objects) {
    const Path path = FindPath(function, id);
    if (path.size() > 1) options.marked.push_back(path.back().get());
  }
  return RenderLine(refusal, function) + "\n" + Print(function, options);
}

}  // namespace tilewright
