#include "codegen/lower/common/place_layouts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/named_layouts.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

const std::string& NameOf(const Annotation& annotation) {
  const auto* text = std::get_if<Expr>(&annotation.value);
  TW_CHECK(text != nullptr && isa<StringImmNode>(*text)) << "PlaceStorageAnnotations makes these texts";
  return cast<StringImmNode>(*text)->value;
}

class LayoutPlacer : public Mutator {
 public:
  using Mutator::Mutate;
  absl::Status status;
  Buffer MutateBuffer(const Buffer& buffer) override {
    auto it = placed_.find(buffer);
    return it == placed_.end() ? buffer : it->second;
  }

 protected:
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    auto annotation = op->annotations.find(kBufferLayout);
    if (annotation == op->annotations.end()) return Mutator::MutateAllocate(op, self);
    const Buffer& buffer = op->buffer;
    const std::string& name = NameOf(annotation->second);
    absl::StatusOr<Layout> layout = LayoutNamed(name, buffer->shape, buffer->dtype);
    if (buffer->layout || !buffer->strides.empty()) {
      layout = absl::InvalidArgumentError(
          absl::StrCat(buffer->layout ? "a layout" : "strides of its own", " cannot become ", name));
    }
    if (!layout.ok()) {
      status = absl::InvalidArgumentError(
          absl::StrCat("buffer ", buffer->name, ": ", std::string(layout.status().message())));
      return self;
    }
    BufferNode::Fields fields = buffer->fields();
    fields.layout = *std::move(layout);
    fields.alignment = std::max(fields.alignment, static_cast<int>(kSwizzleRows * SwizzleSpan(name).value_or(1)));
    const Buffer placed(std::move(fields));
    placed_[buffer] = placed;
    Annotations annotations = op->annotations;
    annotations.erase(kBufferLayout);
    return Stmt(new AllocateNode(placed, std::move(annotations), Mutate(op->body)));
  }

 private:
  BufferMap placed_;
};

}  // namespace

absl::StatusOr<Function> PlaceLayouts(const Function& function) {
  LayoutPlacer placer;
  Stmt body = placer.Mutate(function->body);
  if (!placer.status.ok()) return placer.status;
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
