#include "verify/structure/constant_params.h"

#include <optional>
#include <string>
#include <unordered_set>
#include <variant>

#include "ir/annotations.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// The memory that statements and blocks' declared regions write.
class WrittenMemory : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  std::unordered_set<const VarNode*> written;

 protected:
  void VisitStore(const StoreNode* op) override { written.insert(op->buffer->data.get()); }
  void VisitBlock(const BlockNode* op) override {
    for (const BufferRegion& region : op->writes) written.insert(region.buffer->data.get());
    StmtVisitor::VisitBlock(op);
  }
};

// Why the parameter at `position` is not constant; empty where it may be one.
std::string WhyNotConstant(const Function& function, int64_t position, const WrittenMemory& memory) {
  const auto count = static_cast<int64_t>(function->params.size());
  if (position < 0 || position >= count) {
    return "there is no parameter " + std::to_string(position) + ": " + function->name + " has " +
           std::to_string(count) + ", the first of which is 0";
  }
  const Param& param = function->params[static_cast<size_t>(position)];
  if (!param.buffer) return "parameter " + std::to_string(position) + ", " + param.var.name() + ", is not a buffer";
  if (!memory.written.contains(param.buffer->data.get())) return "";
  return "parameter " + std::to_string(position) + ", " + param.buffer->name +
         ", is written, so its contents are not the same in every call";
}

}  // namespace

std::vector<Buffer> ConstantParams(const Function& function) {
  std::vector<Buffer> buffers;
  const auto attr = function->attrs.find(kConstantParams);
  if (attr == function->attrs.end()) return buffers;
  const auto* list = std::get_if<Annotation::List>(&attr->second.value);
  if (list == nullptr) return buffers;
  for (const Annotation& entry : *list) {
    const auto* expr = std::get_if<Expr>(&entry.value);
    const auto position = expr == nullptr ? std::nullopt : AsInt(*expr);
    if (!position || *position < 0 || *position >= std::ssize(function->params)) continue;
    if (const Buffer& buffer = function->params[static_cast<size_t>(*position)].buffer) buffers.push_back(buffer);
  }
  return buffers;
}

Diagnostics CheckConstantParams(const Function& function) {
  const auto attr = function->attrs.find(kConstantParams);
  if (attr == function->attrs.end()) return {};
  Diagnostics diagnostics;
  const auto refute = [&](const std::string& reason) {
    diagnostics.push_back({Verdict::kRefuted, "constant parameters", 0, std::string(kConstantParams) + ": " + reason});
  };
  const auto* positions = std::get_if<Annotation::List>(&attr->second.value);
  if (positions == nullptr) {
    refute("the value is not a list of positions");
    return diagnostics;
  }
  WrittenMemory memory;
  memory.Visit(function->body);
  for (const Annotation& entry : *positions) {
    const auto* expr = std::get_if<Expr>(&entry.value);
    const auto position = expr == nullptr ? std::nullopt : AsInt(*expr);
    const std::string reason = position ? WhyNotConstant(function, *position, memory)
                                        : "an entry of the list is not a position of a parameter";
    if (!reason.empty()) refute(reason);
  }
  return diagnostics;
}

}  // namespace tilewright
