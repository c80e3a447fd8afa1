#include "codegen/lower/common/align_strides.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "codegen/lower/common/storage_annotations.h"
#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

struct Alignment {
  int64_t factor = 1, offset = 0;
};

// By axis.
std::map<int64_t, Alignment> AlignmentsOf(const Annotation& annotation) {
  std::map<int64_t, Alignment> alignments;
  for (const Annotation& entry : std::get<Annotation::List>(annotation.value)) {
    const std::optional<std::vector<int64_t>> numbers = AsIntegers(entry);
    TW_CHECK(numbers && numbers->size() == 3) << "PlaceStorageAnnotations makes these lists";
    alignments[(*numbers)[0]] = {(*numbers)[1], (*numbers)[2]};
  }
  return alignments;
}

std::vector<Expr> AlignedStrides(const Buffer& buffer, const std::map<int64_t, Alignment>& alignments) {
  std::vector<Expr> strides(buffer->ndim());
  Expr stride = Const(buffer->shape.back().dtype(), 1);
  for (size_t d = buffer->ndim(); d-- > 0;) {
    if (auto it = alignments.find(static_cast<int64_t>(d)); it != alignments.end()) {
      const Expr factor = Const(stride.dtype(), it->second.factor), offset = Const(stride.dtype(), it->second.offset);
      stride = arith::Simplify(stride + FloorMod(offset - stride, factor));
    }
    strides[d] = stride;
    stride = arith::Simplify(stride * CastTo(stride.dtype(), buffer->shape[d]));
  }
  return strides;
}

class Aligner : public Mutator {
 public:
  using Mutator::Mutate;
  absl::Status status;
  Buffer MutateBuffer(const Buffer& buffer) override {
    auto it = aligned_.find(buffer);
    return it == aligned_.end() ? buffer : it->second;
  }

 protected:
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    auto annotation = op->annotations.find(kBufferDimAlign);
    if (annotation == op->annotations.end()) return Mutator::MutateAllocate(op, self);
    const Buffer& buffer = op->buffer;
    if (buffer->layout || !buffer->strides.empty()) {
      status = absl::InvalidArgumentError(absl::StrCat("buffer ", buffer->name, " has ",
                                                       buffer->layout ? "a layout" : "strides of its own", ", which ",
                                                       kBufferDimAlign, " cannot change"));
      return self;
    }
    BufferNode::Fields fields = buffer->fields();
    fields.strides = AlignedStrides(buffer, AlignmentsOf(annotation->second));
    const Buffer aligned(std::move(fields));
    aligned_[buffer] = aligned;
    Annotations annotations = op->annotations;
    annotations.erase(kBufferDimAlign);
    return Stmt(new AllocateNode(aligned, std::move(annotations), Mutate(op->body)));
  }

 private:
  BufferMap aligned_;
};

}  // namespace

absl::StatusOr<Function> AlignStrides(const Function& function) {
  Aligner aligner;
  Stmt body = aligner.Mutate(function->body);
  if (!aligner.status.ok()) return aligner.status;
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
