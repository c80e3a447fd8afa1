#include "verify/threads/separate_nests.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "ir/arith/same_expr.h"
#include "ir/substitute.h"
#include "verify/structure/own_memory.h"

namespace tilewright {
namespace {

// The touches of one buffer.
class Nests {
 public:
  explicit Nests(std::vector<const Touch*> touches) : touches_(std::move(touches)) {
    // Lanes of a nest may be of several warps: then those of any other one are lanes of one of them.
    for (const Touch* touch : touches_) {
      for (const ForNode* loop : touch->loops) {
        if (HasOwnMemory(touch->region.buffer, *loop)) own_.insert(loop->thread_tag);
      }
    }
    for (const Touch* touch : touches_) {
      for (const ForNode* loop : touch->loops) {
        if (IsOwn(*touch, *loop)) Add(*touch, loop);
      }
    }
  }

  void FindSeparate(std::vector<SeparateNests>* found) const {
    for (const auto& [tag, loop] : longest_) {
      const Touch* outside = Outside(tag);
      if (outside == nullptr && !separate_.contains(tag)) continue;
      SeparateNests nests{loop, {}, outside};
      for (const Touch* touch : touches_) nests.touches.push_back(InLongest(*touch));
      found->push_back(std::move(nests));
    }
  }

 private:
  // What threads combine into a buffer all of them have.
  static bool IsCombined(const Touch& touch, const ForNode& loop) {
    const auto is_it = [&](const BufferRegion& write) { return write.buffer.same_as(touch.region.buffer); };
    return std::ranges::find(touch.reduces_over, &loop) != touch.reduces_over.end() &&
           std::ranges::any_of(touch.block->writes, is_it);
  }
  bool IsOwn(const Touch& touch, const ForNode& loop) const {
    return !IsInt(loop.extent, 1) && own_.contains(loop.thread_tag) && !IsCombined(touch, loop);
  }

  void Add(const Touch& touch, const ForNode* loop) {
    const auto [known, is_new] = longest_.emplace(loop->thread_tag, loop);
    if (is_new || known->second == loop) return;
    separate_.insert(loop->thread_tag);
    const Expr &extent = known->second->extent, &other = loop->extent;
    if (arith::SameExpr(extent, other)) return;
    if (!AsInt(extent) || !AsInt(other)) {
      incomparable_.emplace(loop->thread_tag, &touch);
    } else if (*AsInt(other) > *AsInt(extent)) {
      known->second = loop;
    }
  }

  const Touch* Outside(const std::string& tag) const {
    if (const auto known = incomparable_.find(tag); known != incomparable_.end()) return known->second;
    const auto is_inside = [&](const Touch* touch) {
      return std::ranges::any_of(touch->loops,
                                 [&](const ForNode* loop) { return loop->thread_tag == tag && IsOwn(*touch, *loop); });
    };
    const bool written = std::ranges::any_of(touches_, [&](const Touch* t) { return t->write && is_inside(t); });
    const auto read = std::ranges::find_if(touches_, [&](const Touch* t) { return !t->write && !is_inside(t); });
    return written && read != touches_.end() ? *read : nullptr;
  }

  // The kernel's loops come first, so that the iterations of the others count as those of one thread.
  Touch InLongest(const Touch& touch) const {
    Touch result = touch;
    result.loops.clear();
    result.phase = 0;
    VarMap values;
    std::vector<const ForNode*> inner;
    for (const ForNode* loop : touch.loops) {
      if (!IsOwn(touch, *loop)) {
        inner.push_back(loop);
        continue;
      }
      const ForNode* longest = longest_.find(loop->thread_tag)->second;
      result.loops.push_back(longest);
      if (longest != loop) values[loop->var] = CastTo(loop->var.dtype(), longest->var);
    }
    result.loops.insert(result.loops.end(), inner.begin(), inner.end());
    if (!values.empty()) result.region = Substitute(result.region, values);
    result.place = result.region;
    if (values.empty()) return result;
    if (result.predicate) result.predicate = Substitute(result.predicate, values);
    return result;
  }

  std::vector<const Touch*> touches_;
  std::set<std::string> own_;                         // tags of which each index has memory of its own
  std::map<std::string, const ForNode*> longest_;     // by tag
  std::set<std::string> separate_;                    // tags of several loops
  std::map<std::string, const Touch*> incomparable_;  // by tag
};

}  // namespace

std::vector<SeparateNests> FindSeparateNests(const std::vector<Touch>& touches) {
  std::vector<std::vector<const Touch*>> by_buffer;
  std::unordered_map<const BufferNode*, size_t> places;
  for (const Touch& touch : touches) {
    const OwnerLevel owner = touch.region.buffer->scope.owner();
    if (owner == OwnerLevel::kDevice || owner == OwnerLevel::kCore) continue;
    const auto [place, is_new] = places.try_emplace(touch.region.buffer.get(), by_buffer.size());
    if (is_new) by_buffer.emplace_back();
    by_buffer[place->second].push_back(&touch);
  }
  std::vector<SeparateNests> found;
  for (std::vector<const Touch*>& of_one : by_buffer) Nests(std::move(of_one)).FindSeparate(&found);
  return found;
}

}  // namespace tilewright
