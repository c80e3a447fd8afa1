#include "codegen/lower/common/storage_annotations.h"

#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "ir/annotations.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

std::optional<int64_t> AsInteger(const Annotation& annotation) {
  const auto* number = std::get_if<Expr>(&annotation.value);
  return number == nullptr ? std::nullopt : AsInt(*number);
}

using AllocationAnnotations = std::unordered_map<const VarNode*, Annotations>;  // by data pointer

class Collector : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  absl::Status status;
  AllocationAnnotations found;
  std::unordered_map<const VarNode*, std::string> named_by;  // the block whose annotation it is

 protected:
  void VisitBlock(const BlockNode* op) override {
    for (const auto& [key, value] : op->annotations) {
      if (key == kBufferDimAlign) AddAlignments(*op, value);
      if (key == kDoubleBuffer) AddDoubleBuffer(*op, value);
      if (key == kBufferLayout) AddLayouts(*op, value);
    }
    StmtVisitor::VisitBlock(op);
  }

 private:
  void Fail(const BlockNode& block, const char* key, const std::string& reason) {
    if (status.ok()) status = absl::InvalidArgumentError(absl::StrCat("block ", block.name, ": ", key, " ", reason));
  }
  // The buffer that an annotation names by its number; null when there is none.
  const BufferNode* WriteBuffer(const BlockNode& block, const char* key, int64_t number) {
    if (number < 0 || number >= static_cast<int64_t>(block.writes.size())) {
      Fail(block, key, absl::StrCat("names the write buffer ", number, " of ", block.writes.size()));
      return nullptr;
    }
    const BufferNode* buffer = block.writes[number].buffer.get();
    named_by.emplace(buffer->data.get(), block.name);
    return buffer;
  }
  void AddAlignments(const BlockNode& block, const Annotation& annotation) {
    const auto* entries = std::get_if<Annotation::List>(&annotation.value);
    if (entries == nullptr) return Fail(block, kBufferDimAlign, "is not a list");
    for (const Annotation& entry : *entries) {
      const std::optional<std::vector<int64_t>> numbers = AsIntegers(entry);
      if (!numbers || numbers->size() != 4) {
        return Fail(block, kBufferDimAlign, "has an entry that is not [write buffer, axis, factor, offset]");
      }
      const BufferNode* buffer = WriteBuffer(block, kBufferDimAlign, (*numbers)[0]);
      if (buffer == nullptr) return;
      const int64_t axis = (*numbers)[1], factor = (*numbers)[2], offset = (*numbers)[3];
      if (axis < 0 || axis >= static_cast<int64_t>(buffer->ndim())) {
        return Fail(block, kBufferDimAlign,
                    absl::StrCat("names the axis ", axis, " of ", buffer->name, ", which has ", buffer->ndim()));
      }
      if (factor < 1) return Fail(block, kBufferDimAlign, absl::StrCat("has the factor ", factor));
      if (offset < 0) return Fail(block, kBufferDimAlign, absl::StrCat("has the offset ", offset));
      Annotation::List aligned;
      for (int64_t number : {axis, factor, offset}) aligned.push_back(MakeAnnotation(Expr(number)));
      auto& list = found[buffer->data.get()].try_emplace(kBufferDimAlign, Annotation{Annotation::List()}).first->second;
      std::get<Annotation::List>(list.value).push_back({std::move(aligned)});
    }
  }
  void AddDoubleBuffer(const BlockNode& block, const Annotation& annotation) {
    const std::optional<int64_t> number = AsInteger(annotation);
    if (!number) return Fail(block, kDoubleBuffer, "is not the number of a write buffer");
    const BufferNode* buffer = WriteBuffer(block, kDoubleBuffer, *number);
    if (buffer != nullptr) found[buffer->data.get()][kDoubleBuffer] = MakeAnnotation(Expr(1));
  }
  void AddLayouts(const BlockNode& block, const Annotation& annotation) {
    const auto* entries = std::get_if<Annotation::List>(&annotation.value);
    if (entries == nullptr) return Fail(block, kBufferLayout, "is not a list");
    for (const Annotation& entry : *entries) {
      const auto* pair = std::get_if<Annotation::List>(&entry.value);
      const bool two = pair != nullptr && pair->size() == 2;
      const std::optional<int64_t> number = two ? AsInteger((*pair)[0]) : std::nullopt;
      const auto* name = two ? std::get_if<Expr>(&(*pair)[1].value) : nullptr;
      if (!number || name == nullptr || !isa<StringImmNode>(*name)) {
        return Fail(block, kBufferLayout, "has an entry that is not [write buffer, name of a layout]");
      }
      const BufferNode* buffer = WriteBuffer(block, kBufferLayout, *number);
      if (buffer != nullptr) found[buffer->data.get()][kBufferLayout] = MakeAnnotation(*name);
    }
  }
};

class Placer : public StmtMutator {
 public:
  explicit Placer(const AllocationAnnotations& found) : found_(found) {}
  using StmtMutator::Mutate;
  std::unordered_set<const VarNode*> placed;

 protected:
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    Stmt mutated = StmtMutator::MutateAllocate(op, self);
    auto it = found_.find(op->buffer->data.get());
    if (it == found_.end()) return mutated;
    placed.insert(it->first);
    Annotations annotations = op->annotations;
    for (const auto& [key, value] : it->second) annotations[key] = value;
    return Stmt(new AllocateNode(op->buffer, std::move(annotations), cast<AllocateNode>(mutated)->body));
  }

 private:
  const AllocationAnnotations& found_;
};

}  // namespace

std::optional<std::vector<int64_t>> AsIntegers(const Annotation& annotation) {
  const auto* list = std::get_if<Annotation::List>(&annotation.value);
  if (list == nullptr) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Annotation& entry : *list) {
    const std::optional<int64_t> number = AsInteger(entry);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

absl::StatusOr<Function> PlaceStorageAnnotations(const Function& function) {
  Collector collector;
  collector.Visit(function->body);
  if (!collector.status.ok()) return collector.status;
  if (collector.found.empty()) return function;
  Placer placer(collector.found);
  Stmt body = placer.Mutate(function->body);
  for (const auto& [data, block] : collector.named_by) {
    if (placer.placed.contains(data)) continue;
    return absl::InvalidArgumentError(absl::StrCat("block ", block, ": the storage of ", data->name,
                                                   ", about which it has an annotation, is not allocated here"));
  }
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
