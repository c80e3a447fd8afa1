#include "verify/memory/vector_access.h"

#include <bit>
#include <set>
#include <string>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/threads/touches.h"

namespace tilewright {
namespace {

class Checker {
 public:
  explicit Checker(const Target& target) : target_(target) {}
  Diagnostics diagnostics;

  void Check(const Touch& touch) {
    for (const ForNode* loop : touch.loops) {
      if (loop->kind == ForKind::kVectorized && !IsInt(loop->extent, 1)) Check(touch, loop);
    }
  }

 private:
  void Check(const Touch& touch, const ForNode* loop) {
    const Buffer& buffer = touch.region.buffer;
    if (buffer->ndim() == 0 || buffer->layout || buffer->scope.kind() == MemoryKind::kFragment) return;
    arith::Analyzer analyzer;
    for (const ForNode* outer : touch.loops) {
      if (outer != loop) analyzer.Bind(outer->var, {outer->min, outer->extent});
    }
    analyzer.Bind(loop->var, {loop->min, loop->extent});
    std::vector<Expr> first, second;
    for (const Range& range : touch.region.region) {
      first.push_back(Substitute(range.min, {{loop->var, loop->min}}));
      second.push_back(Substitute(range.min, {{loop->var, loop->min + 1}}));
    }
    const Expr offset = ElementOffset(buffer, first);
    if (!analyzer.CanProveEqual(ElementOffset(buffer, second), offset + 1)) return;
    const auto extent = AsInt(loop->extent);
    const int64_t bits = extent.value_or(0) * buffer->dtype.bits() * buffer->dtype.lanes();
    const int64_t most = 8 * int64_t{target_.gpu_part().max_access_bytes};
    if (!extent || bits > most || !std::has_single_bit(static_cast<uint64_t>(bits))) {
      Refuse(touch, loop,
             "loop " + loop->var.name() + " is vectorized over " + Print(loop->extent) + " elements of " +
                 buffer->dtype.ToString() + " of " + buffer->name + ": " + target_.name +
                 " loads and stores 8, 16, 32, 64 or " + std::to_string(most) + " bits at once");
    }
  }

  void Refuse(const Touch& touch, const ForNode* loop, std::string reason) {
    if (!refused_.insert({loop, touch.region.buffer.get()}).second) return;
    diagnostics.push_back({Verdict::kRefuted, "vector access", loop->id, std::move(reason)});
  }

  const Target& target_;
  std::set<std::pair<const ForNode*, const BufferNode*>> refused_;  // each once
};

}  // namespace

Diagnostics CheckVectorAccess(const Function& function, const Target* target) {
  if (target == nullptr || !target->is_gpu()) return {};
  Checker checker(*target);
  for (const Touch& touch : CollectTouches(function).touches) checker.Check(touch);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright
