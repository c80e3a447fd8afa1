#include "verify/memory/stored_elements.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/regions.h"

namespace tilewright {
namespace {

constexpr int64_t kTooMany = std::numeric_limits<int64_t>::max();

std::optional<int64_t> AsInteger(const Annotation& annotation) {
  const auto* number = std::get_if<Expr>(&annotation.value);
  return number == nullptr ? std::nullopt : AsInt(*number);
}

// Empty when it is not a list of integers.
std::vector<int64_t> AsIntegers(const Annotation& annotation) {
  std::vector<int64_t> numbers;
  const auto* list = std::get_if<Annotation::List>(&annotation.value);
  if (list == nullptr) return {};
  for (const Annotation& entry : *list) {
    const std::optional<int64_t> number = AsInteger(entry);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<int64_t> IntegersOf(const ForNode& loop, const char* key) {
  const auto it = loop.annotations.find(key);
  return it == loop.annotations.end() ? std::vector<int64_t>() : AsIntegers(it->second);
}

// The statements of a pipelined loop: those of the sequence it holds, also in a block that is alone in it.
std::vector<Stmt> StatementsOf(const ForNode& loop) {
  Stmt body = loop.body;
  while (const auto* realize = dyn_cast<BlockRealizeNode>(body)) {
    if (!IsTrue(realize->predicate) || realize->block->init) break;
    body = realize->block->body;
  }
  const auto* seq = dyn_cast<SeqNode>(body);
  return seq != nullptr ? seq->stmts : std::vector<Stmt>{body};
}

bool Uses(const Stmt& statement, const BufferNode& buffer) {
  const AccessRegions regions = DetectRegions(statement);
  const auto is_it = [&](const BufferRegion& region) { return region.buffer->data.get() == buffer.data.get(); };
  return std::any_of(regions.reads.begin(), regions.reads.end(), is_it) ||
         std::any_of(regions.writes.begin(), regions.writes.end(), is_it);
}

}  // namespace

class CollectStorageAnnotations : public StmtVisitor {
 public:
  explicit CollectStorageAnnotations(StoredElements* stored) : stored_(stored) {}
  using StmtVisitor::Visit;

 protected:
  void VisitBlock(const BlockNode* op) override {
    const auto data_of = [&](int64_t number) -> const VarNode* {
      const bool exists = number >= 0 && number < static_cast<int64_t>(op->writes.size());
      return exists ? op->writes[static_cast<size_t>(number)].buffer->data.get() : nullptr;
    };
    for (const auto& [key, value] : op->annotations) {
      if (key == kDoubleBuffer) stored_->double_buffered_.insert(data_of(AsInteger(value).value_or(-1)));
      const auto* entries = std::get_if<Annotation::List>(&value.value);
      if (key != kBufferDimAlign || entries == nullptr) continue;
      for (const Annotation& entry : *entries) {
        const std::vector<int64_t> numbers = AsIntegers(entry);
        if (numbers.size() != 4 || numbers[2] < 1) continue;
        stored_->alignments_[data_of(numbers[0])][numbers[1]] = {numbers[2], numbers[3]};
      }
    }
    StmtVisitor::VisitBlock(op);
  }

 private:
  StoredElements* stored_;
};

StoredElements::StoredElements(const Function& function) {
  CollectStorageAnnotations collect(this);
  collect.Visit(function->body);
}

int64_t StoredElements::Of(const BufferNode& buffer, const std::vector<int64_t>& extents, const ForNode* loop) const {
  const auto aligned = alignments_.find(buffer.data.get());
  int64_t elements = 1;  // the stride of the dimension, then with all of the dimension
  for (size_t d = extents.size(); d-- > 0;) {
    if (aligned != alignments_.end()) {
      if (const auto it = aligned->second.find(static_cast<int64_t>(d)); it != aligned->second.end()) {
        const auto [factor, offset] = it->second;
        elements += ((offset - elements) % factor + factor) % factor;
      }
    }
    if (__builtin_mul_overflow(elements, std::max<int64_t>(extents[d], 0), &elements)) return kTooMany;
  }
  return __builtin_mul_overflow(elements, Versions(buffer, loop), &elements) ? kTooMany : elements;
}

// As many as iterations of the pipeline have it in use at the same time.
int64_t StoredElements::Versions(const BufferNode& buffer, const ForNode* loop) const {
  int64_t versions = double_buffered_.contains(buffer.data.get()) ? 2 : 1;
  if (loop == nullptr) return versions;
  const std::vector<int64_t> stages = IntegersOf(*loop, kPipelineStage), order = IntegersOf(*loop, kPipelineOrder);
  if (stages.empty()) return versions;
  const std::vector<Stmt> statements = StatementsOf(*loop);
  if (stages.size() != statements.size() || order.size() != statements.size()) return versions;
  std::vector<size_t> users;
  for (size_t i = 0; i < statements.size(); ++i) {
    if (Uses(statements[i], buffer)) users.push_back(i);
  }
  for (const size_t a : users) {
    for (const size_t b : users) {
      if (a == b) continue;
      // b writes the version again when a has used it.
      versions = std::max(versions, stages[a] - stages[b] + (order[a] < order[b] ? 0 : 1));
    }
  }
  return versions;
}

}  // namespace tilewright
