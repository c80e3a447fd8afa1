#include "schedule/layout/hoist_prepack.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {
namespace {

Refusal No(const char* reason, uint32_t block, const std::string& name = {}) {
  Refusal refusal{"hoist_prepack", reason, {block}};
  if (!name.empty()) refusal.texts.push_back(name);
  return refusal;
}

// The buffers of the parameters that the attribute names; positions out of range name none.
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

bool Contains(const std::vector<Buffer>& buffers, const Buffer& buffer) {
  return std::any_of(buffers.begin(), buffers.end(), [&](const Buffer& b) { return b.same_as(buffer); });
}

bool HasExtent(const Buffer& buffer, const Var& var) {
  return std::ranges::any_of(buffer->shape, [&](const Expr& extent) { return extent.get() == var.get(); });
}

// The scalars and extents that the function's parameters give values to.
std::vector<Var> Scalars(const Function& function) {
  std::vector<Var> scalars;
  for (const Param& param : function->params) {
    if (!param.buffer) {
      scalars.push_back(param.var);
      continue;
    }
    for (const Expr& extent : param.buffer->shape) {
      if (isa<VarNode>(extent)) scalars.emplace_back(cast<VarNode>(extent));
    }
  }
  return scalars;
}

Param ParamOf(const Buffer& buffer) { return {buffer->data, buffer}; }

const Param* ParamNamed(const FunctionNode::Fields& function, const std::string& name) {
  const auto it = std::ranges::find_if(function.params,
                                       [&](const Param& param) { return param.buffer && param.buffer->name == name; });
  return it == function.params.end() ? nullptr : &*it;
}

// A parameter like `buffer`, of its own.
Buffer AddParam(FunctionNode::Fields& function, const Buffer& buffer) {
  BufferNode::Fields fields = buffer->fields();
  fields.data = Var(buffer->data.name(), DataType::Handle());
  const Buffer own(std::move(fields));
  function.params.push_back(ParamOf(own));
  return own;
}

}  // namespace

Function MarkConstant(const Function& function, const std::vector<int>& params) {
  Annotation::List positions;
  for (int param : params) positions.push_back(MakeAnnotation(Expr(param)));
  FunctionNode::Fields fields = function->fields();
  fields.attrs[kConstantParams] = Annotation{std::move(positions)};
  return Function(new FunctionNode(std::move(fields)));
}

bool IsConstantParam(const Function& function, const Buffer& buffer) {
  return Contains(ConstantParams(function), buffer);
}

std::string PrepackName(const FunctionNode& function) { return function.name + "_prepack"; }

Outcome<HoistPrepackResult> HoistPrepack(const Function& function, uint32_t block, const Function& before) {
  const Path path = FindPath(function, block);
  if (path.empty()) return No("the block no longer exists", block);
  if (path.size() == 1) return No("{block0} is the root block", block);
  const auto* root = dyn_cast<BlockRealizeNode>(path[0]);
  if (root == nullptr || ScopeOf(path) != root) return No("{block0} is not directly in the root block", block);
  const Stmt& nest = path[1];
  if (BlocksBelow(nest).size() != 1) return No("other blocks share loops with {block0}", block);

  const BlockNode& packing = *cast<BlockRealizeNode>(path.back())->block;
  if (packing.writes.size() != 1) return No("{block0} does not write exactly one buffer", block);
  const Buffer packed = packing.writes[0].buffer;
  if (!Contains(root->block->alloc_buffers, packed)) {
    return No("{block0} writes {text0}, which the root block does not allocate", block, packed->name);
  }
  if (packed->scope.kind() != MemoryKind::kGlobal) return No("{text0} is not in global memory", block, packed->name);
  const std::vector<Buffer> constants = ConstantParams(function);
  for (const BufferRegion& read : packing.reads) {
    if (!Contains(constants, read.buffer)) {
      return No("{block0} reads {text0}, which is not a constant parameter", block, read.buffer->name);
    }
  }
  // What loops alone decide would be a parameter that no caller has.
  if (packing.reads.empty()) return No("{block0} reads no constant parameter", block);
  for (const Var& scalar : Scalars(function)) {
    const bool used = UsesVar(nest, scalar) ||
                      std::ranges::any_of(packed->shape, [&](const Expr& extent) { return UsesVar(extent, scalar); });
    if (used &&
        std::ranges::none_of(packing.reads, [&](const BufferRegion& read) { return HasExtent(read.buffer, scalar); })) {
      return No("{block0} depends on {text0}, which is not known ahead of time", block, scalar.name());
    }
  }
  const std::vector<const BlockRealizeNode*> children = ChildBlocks(*root->block);
  if (children.size() == 1) return No("{block0} is the only block", block);
  auto others = [&](const Buffer& buffer, bool only_writes) {
    return std::any_of(children.begin(), children.end(), [&](const BlockRealizeNode* child) {
      if (child->block->id == block) return false;
      return Mentions(child->block->writes, buffer) || (!only_writes && Mentions(child->block->reads, buffer));
    });
  };
  if (others(packed, true)) return No("another block writes {text0}, too", block, packed->name);

  // The function ahead has buffers of its own.
  HoistPrepackResult result;
  FunctionNode::Fields prepack;
  Stmt earlier;
  BlockNode::Fields prepack_root = {.id = root->block->id, .name = "root"};
  if (before) {
    const auto* before_root = dyn_cast<BlockRealizeNode>(before->body);
    if (before_root == nullptr) return No("the body of {text0} is not a block", block, before->name);
    prepack = before->fields();
    prepack_root = before_root->block->fields();
    earlier = before_root->block->body;
  }
  prepack.name = PrepackName(*function.get());
  prepack.attrs[kPrepackOf] = MakeAnnotation(function->name);
  prepack.next_id = std::max(function->next_id, prepack.next_id);
  BufferMap buffers;
  for (const BufferRegion& read : packing.reads) {
    if (buffers.contains(read.buffer)) continue;
    const Param* known = ParamNamed(prepack, read.buffer->name);
    if (known != nullptr &&
        (known->buffer->dtype != read.buffer->dtype || !StructuralEqual(known->buffer->shape, read.buffer->shape))) {
      return No("{text0} is another tensor in the function ahead", block, read.buffer->name);
    }
    buffers.emplace(read.buffer, known != nullptr ? known->buffer : AddParam(prepack, read.buffer));
  }
  if (ParamNamed(prepack, packed->name) != nullptr) {
    return No("the function ahead has a parameter {text0} already", block, packed->name);
  }
  buffers.emplace(packed, AddParam(prepack, packed));
  const Stmt moved = Substitute(nest, {}, buffers);
  prepack_root.body = earlier ? Sequence({earlier, moved}) : moved;
  prepack.body = Realize({}, True(), Block(std::move(prepack_root)));
  result.prepack = Function(new FunctionNode(std::move(prepack)));

  const Function without = RemoveFrom(function, nest.get());
  const auto* rest = cast<BlockRealizeNode>(without->body);
  BlockNode::Fields root_fields = rest->block->fields();
  std::erase_if(root_fields.alloc_buffers, [&](const Buffer& b) { return b.same_as(packed); });
  FunctionNode::Fields main = without->fields();
  main.attrs.erase(kConstantParams);
  Annotation::List still_constant;
  bool placed = false;
  std::vector<Param> params;
  for (const Param& param : main.params) {
    const bool constant = param.buffer && Contains(constants, param.buffer);
    if (constant && Mentions(packing.reads, param.buffer) && !others(param.buffer, false)) {
      if (!placed) params.push_back(ParamOf(packed));
      placed = true;
      const auto of_param = [&](const BufferRegion& region) { return region.buffer.same_as(param.buffer); };
      std::erase_if(root_fields.reads, of_param);
      continue;
    }
    if (constant) still_constant.push_back(MakeAnnotation(Expr(static_cast<int>(params.size()))));
    params.push_back(param);
  }
  if (!placed) params.push_back(ParamOf(packed));
  main.params = std::move(params);
  // A root block that declares nothing reads what it reads.
  if (!root->block->reads.empty()) root_fields.reads.push_back(BufferRegion::Full(packed));
  main.body = Realize(rest->bindings, rest->predicate, Block(std::move(root_fields)));
  if (!still_constant.empty()) main.attrs[kConstantParams] = Annotation{std::move(still_constant)};
  result.function = Function(new FunctionNode(std::move(main)));
  return result;
}

}  // namespace tilewright
