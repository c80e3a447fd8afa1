#include "codegen/lower/common/verify_lowered.h"

#include "absl/strings/str_cat.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

class Verifier : public Visitor {
 public:
  using Visitor::Visit;
  std::string problem;

 protected:
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    Report(absl::StrCat("block ", op->block->name, " is left"));
  }
  void VisitFor(const ForNode* op) override {
    if (op->kind == ForKind::kVectorized || op->kind == ForKind::kUnrolled) {
      Report(absl::StrCat("loop ", op->var.name(), " is still of kind ", ForKindName(op->kind)));
    }
    Visitor::VisitFor(op);
  }
  void VisitLoad(const LoadNode* op) override {
    CheckFlat(op->buffer);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    CheckFlat(op->buffer);
    Visitor::VisitStore(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    CheckFlat(op->buffer);
    Visitor::VisitAllocate(op);
  }

 private:
  void CheckFlat(const Buffer& buffer) {
    if (buffer->ndim() != 1 || buffer->layout || !buffer->strides.empty() || buffer->elem_offset) {
      Report(absl::StrCat("buffer ", buffer->name, " is not flat"));
    }
  }
  void Report(std::string what) {
    if (problem.empty()) problem = std::move(what);
  }
};

}  // namespace

absl::Status VerifyLowered(const Function& function) {
  Verifier verifier;
  verifier.Visit(function->body);
  if (verifier.problem.empty()) return absl::OkStatus();
  return absl::InternalError(verifier.problem);
}

}  // namespace tilewright
