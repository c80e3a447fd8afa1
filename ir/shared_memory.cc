#include "ir/shared_memory.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ir/mentions.h"

namespace tilewright {
namespace {

using Names = std::unordered_map<const VarNode*, std::vector<Buffer>>;

class NameCollector : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  // `only`: the memory of interest; all where there is none.
  NameCollector(Names* names, std::vector<const VarNode*> only) : names_(*names), only_(std::move(only)) {}

  void Add(const Buffer& buffer) {
    const VarNode* memory = buffer->data.get();
    if (!sources_.empty()) {
      const auto part = sources_.find(memory);
      if (part != sources_.end()) memory = part->second;
    }
    if (!only_.empty() && std::ranges::find(only_, memory) == only_.end()) return;
    std::vector<Buffer>& known = names_[memory];
    if (std::ranges::none_of(known, [&](const Buffer& other) { return other.same_as(buffer); }))
      known.push_back(buffer);
  }

 protected:
  void VisitSeq(const SeqNode* op) override {
    // Entries know nothing of parts that are matched around the list.
    if (only_.empty() || in_list_ || !sources_.empty()) return StmtVisitor::VisitSeq(op);
    in_list_ = true;
    for (const size_t place : EntriesThatDeclare(*op, only_)) Visit(op->stmts[place]);
    in_list_ = false;
  }
  void VisitAllocate(const AllocateNode* op) override {
    Add(op->buffer);
    StmtVisitor::VisitAllocate(op);
  }
  void VisitDeclBuffer(const DeclBufferNode* op) override {
    Add(op->buffer);
    StmtVisitor::VisitDeclBuffer(op);
  }
  void VisitBlock(const BlockNode* op) override {
    for (const Buffer& buffer : op->alloc_buffers) Add(buffer);
    for (const MatchBuffer& match : op->match_buffers) {
      const VarNode* source = match.source.buffer->data.get();
      const auto outer = sources_.find(source);
      sources_[match.buffer->data.get()] = outer == sources_.end() ? source : outer->second;
      if (match.buffer->dtype != match.source.buffer->dtype) Add(match.buffer);
    }
    StmtVisitor::VisitBlock(op);
  }

 private:
  Names& names_;
  const std::vector<const VarNode*> only_;
  bool in_list_ = false;
  std::unordered_map<const VarNode*, const VarNode*> sources_;  // of matched parts: the memory that they lie in
};

std::vector<const VarNode*> MemoryOf(const std::vector<Buffer>& buffers) {
  std::vector<const VarNode*> memory;
  for (const Buffer& buffer : buffers) memory.push_back(buffer->data.get());
  std::ranges::sort(memory);
  memory.erase(std::unique(memory.begin(), memory.end()), memory.end());
  return memory;
}

}  // namespace

bool MayShareMemory(const Buffer& a, const Buffer& b) { return a->data.same_as(b->data); }

bool MayOverlapItself(const Buffer& buffer) {
  std::vector<std::pair<int64_t, int64_t>> dimensions;  // stride and extent
  for (size_t d = 0; d < buffer->strides.size(); ++d) {
    const auto stride = AsInt(buffer->strides[d]), extent = AsInt(buffer->shape[d]);
    if (extent && *extent <= 1) continue;
    if (!stride || !extent) return stride == 0;
    if (*stride == std::numeric_limits<int64_t>::min()) return true;
    dimensions.emplace_back(*stride < 0 ? -*stride : *stride, *extent);
  }
  std::ranges::sort(dimensions);
  int64_t span = 1;  // elements from the first to the last of the dimensions so far
  for (const auto& [stride, extent] : dimensions) {
    int64_t reach = 0;
    if (stride < span || __builtin_mul_overflow(stride, extent - 1, &reach) ||
        __builtin_add_overflow(span, reach, &span)) {
      return true;
    }
  }
  return false;
}

SharedMemory::SharedMemory(const Function& function) : SharedMemory(function, {}) {}

SharedMemory::SharedMemory(const Function& function, const std::vector<Buffer>& of) {
  NameCollector collector(&names_, MemoryOf(of));
  for (const Param& param : function->params) {
    if (param.buffer) collector.Add(param.buffer);
  }
  collector.Visit(function->body);
  any_ = std::ranges::any_of(names_, [](const auto& entry) {
    return entry.second.size() > 1 || std::ranges::any_of(entry.second, MayOverlapItself);
  });
}

std::vector<Buffer> SharedMemory::NamesOf(const Buffer& buffer) const {
  const auto found = names_.find(buffer->data.get());
  return found == names_.end() ? std::vector<Buffer>{buffer} : found->second;
}

std::vector<Buffer> SharedMemory::Views() const {
  std::vector<Buffer> views;
  for (const auto& [data, names] : names_) views.insert(views.end(), names.begin() + 1, names.end());
  std::ranges::sort(views, {}, [](const Buffer& view) { return view->name; });
  return views;
}

bool SharedMemory::IsShared(const Buffer& buffer) const {
  const std::vector<Buffer> names = NamesOf(buffer);
  return names.size() > 1 || std::ranges::any_of(names, MayOverlapItself);
}

}  // namespace tilewright
