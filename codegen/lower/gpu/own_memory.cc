#include "codegen/lower/gpu/own_memory.h"

#include <unordered_map>
#include <utility>

#include "ir/functor.h"
#include "verify/structure/own_memory.h"

namespace tilewright {
namespace {

class Replacer : public Mutator {
 public:
  explicit Replacer(std::unordered_map<const VarNode*, Scope> scopes) : scopes_(std::move(scopes)) {}
  using Mutator::Mutate;

 protected:
  Buffer MutateBuffer(const Buffer& buffer) override {
    const auto scope = scopes_.find(buffer->data.get());
    if (scope == scopes_.end()) return buffer;
    Buffer& replaced = replaced_[buffer.get()];
    if (!replaced) {
      BufferNode::Fields fields = buffer->fields();
      fields.scope = scope->second;
      replaced = Buffer(std::move(fields));
    }
    return replaced;
  }

 private:
  const std::unordered_map<const VarNode*, Scope> scopes_;
  std::unordered_map<const BufferNode*, Buffer> replaced_;
};

}  // namespace

Function GiveOwnMemory(const Function& function) {
  OwnGlobalMemory own = FindOwnGlobalMemory(function);
  if (own.scopes.empty()) return function;
  return function.WithBody(Replacer(std::move(own.scopes)).Mutate(function->body), function->next_id);
}

}  // namespace tilewright
