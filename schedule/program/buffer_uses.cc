#include "schedule/program/buffer_uses.h"

#include <algorithm>

#include "ir/builtin.h"
#include "ir/mentions.h"

namespace tilewright {
namespace {

class UseCollector : public VisitorOfMentions<Visitor> {
 public:
  explicit UseCollector(const Buffer& buffer) : VisitorOfMentions({buffer->data.get()}), buffer_(buffer) {}
  BufferUses uses;

 protected:
  void VisitBlock(const BlockNode* op) override {
    const BlockNode* around = block_;
    block_ = op;
    for (const Buffer& allocated : op->alloc_buffers) {
      if (allocated.same_as(buffer_)) uses.allocated_by = op;
    }
    for (const MatchBuffer& match : op->match_buffers) {
      if (match.source.buffer.same_as(buffer_)) uses.matched_by = op;
    }
    Visitor::VisitBlock(op);
    block_ = around;
  }
  void VisitVar(const VarNode* op) override {
    if (op == buffer_->data.get()) uses.addressed_by = block_;
  }
  void VisitCall(const CallNode* op) override {
    if (op->op == kAddressOf && op->args.size() == 1) {
      const auto* load = dyn_cast<LoadNode>(op->args[0]);
      if (load != nullptr && load->buffer.same_as(buffer_)) uses.addressed_by = block_;
    }
    Visitor::VisitCall(op);
  }

 private:
  const Buffer& buffer_;
  const BlockNode* block_ = nullptr;
};

// Parts of a buffer, and parts of those.
class PartCollector : public VisitorOfMentions<StmtVisitor> {
 public:
  explicit PartCollector(const Buffer& buffer) : VisitorOfMentions({buffer->data.get()}), whole({buffer}) {}
  std::vector<Buffer> whole;

 protected:
  void VisitBlock(const BlockNode* op) override {
    for (const MatchBuffer& match : op->match_buffers) {
      const bool part = std::ranges::any_of(whole, [&](const Buffer& b) { return b.same_as(match.source.buffer); });
      if (part) whole.push_back(match.buffer);
    }
    StmtVisitor::VisitBlock(op);
  }
};

}  // namespace

std::vector<Buffer> PartsOf(const Function& function, const Buffer& buffer) {
  PartCollector collector(buffer);
  collector.Visit(function->body);
  return {collector.whole.begin() + 1, collector.whole.end()};
}

BufferUses FindBufferUses(const Function& function, const Buffer& buffer) {
  UseCollector collector(buffer);
  collector.Visit(function->body);
  collector.uses.is_param = std::any_of(function->params.begin(), function->params.end(),
                                        [&](const Param& param) { return param.buffer.same_as(buffer); });
  return collector.uses;
}

}  // namespace tilewright
