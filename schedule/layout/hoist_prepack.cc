#include "schedule/layout/hoist_prepack.h"

#include <algorithm>
#include <optional>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/loop_tree.h"
#include "verify/structure/constant_params.h"

namespace tilewright {
namespace {

Refusal No(const char* reason, uint32_t block, const std::string& name = {}) {
  Refusal refusal{"hoist_prepack", reason, {block}};
  if (!name.empty()) refusal.texts.push_back(name);
  return refusal;
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

// The block that packs, and what is around it.
struct Packing {
  uint32_t id;
  std::vector<const BlockRealizeNode*> around;  // outermost first, from the root
  std::vector<Var> changing;                    // iterators and loops that the nest is in
  Stmt nest;                                    // the block with its own loops
  const BlockNode* block;
  Buffer packed;
};

Outcome<Packing> FindPacking(const Function& function, uint32_t block) {
  const Path path = FindPath(function, block);
  if (path.empty()) return No("the block no longer exists", block);
  if (path.size() == 1 || !isa<BlockRealizeNode>(path[0])) return No("{block0} is the root block", block);
  Packing packing{.id = block, .block = cast<BlockRealizeNode>(path.back())->block.get()};
  size_t scope = 0;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (isa<BlockRealizeNode>(path[i])) scope = i;
  }
  for (size_t i = 0; i <= scope; ++i) {
    if (const auto* loop = dyn_cast<ForNode>(path[i])) {
      packing.changing.push_back(loop->var);
      continue;
    }
    packing.around.push_back(cast<BlockRealizeNode>(path[i]));
    for (const IterVar& iter : packing.around.back()->block->iter_vars) packing.changing.push_back(iter.var);
  }
  packing.nest = path[scope + 1];
  if (BlocksBelow(packing.nest).size() != 1) return No("other blocks share loops with {block0}", block);
  if (packing.block->writes.size() != 1) return No("{block0} does not write exactly one buffer", block);
  packing.packed = packing.block->writes[0].buffer;
  if (ChildBlocks(*packing.around.back()->block).size() == 1) return No("{block0} is the only block", block);
  return packing;
}

// Whether something besides the packing and the declarations of what is around it uses the buffer, or writes it.
bool IsUsedBesides(const Stmt& rest, const Packing& packing, const Buffer& buffer, bool only_writes) {
  bool used = false;
  PreOrder(rest, [&](const Stmt& stmt) {
    if (const auto* store = dyn_cast<StoreNode>(stmt)) used |= store->buffer.same_as(buffer);
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize == nullptr) return !used;
    const BlockNode& block = *realize->block;
    const bool around =
        std::ranges::any_of(packing.around, [&](const auto* other) { return other->block->id == block.id; });
    used |= !around && Mentions(block.writes, buffer);
    used |= !around && !only_writes && Mentions(block.reads, buffer);
    for (const MatchBuffer& match : block.match_buffers) used |= match.source.buffer.same_as(buffer);
    return !used;
  });
  if (used || only_writes) return used;
  PreOrderExprs(rest, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    used |= load != nullptr && load->buffer.same_as(buffer);
    return !used;
  });
  return used;
}

// Why the packing cannot run ahead of time; nothing where it can.
std::optional<Refusal> WhyNotAhead(const Function& function, const Packing& packing, const Stmt& rest) {
  const uint32_t block = packing.id;
  const Buffer& packed = packing.packed;
  const auto allocates = [&](const auto* realize) { return Contains(realize->block->alloc_buffers, packed); };
  if (std::ranges::none_of(packing.around, allocates)) {
    return No("{block0} writes {text0}, which no block around it allocates", block, packed->name);
  }
  if (packed->scope.kind() != MemoryKind::kGlobal) return No("{text0} is not in global memory", block, packed->name);
  const std::vector<Buffer> constants = ConstantParams(function);
  for (const BufferRegion& read : packing.block->reads) {
    if (!Contains(constants, read.buffer)) {
      return No("{block0} reads {text0}, which is not a constant parameter", block, read.buffer->name);
    }
  }
  // What loops alone decide would be a parameter that no caller has.
  if (packing.block->reads.empty()) return No("{block0} reads no constant parameter", block);
  const auto depends = [&](const Var& var) {
    return UsesVar(packing.nest, var) ||
           std::ranges::any_of(packed->shape, [&](const Expr& extent) { return UsesVar(extent, var); });
  };
  for (const Var& var : packing.changing) {
    if (depends(var)) return No("{block0} depends on {text0} around it", block, var.name());
  }
  for (const Var& scalar : Scalars(function)) {
    const auto has = [&](const BufferRegion& read) { return HasExtent(read.buffer, scalar); };
    if (depends(scalar) && std::ranges::none_of(packing.block->reads, has)) {
      return No("{block0} depends on {text0}, which is not known ahead of time", block, scalar.name());
    }
  }
  if (IsUsedBesides(rest, packing, packed, true)) {
    return No("another block writes {text0}, too", block, packed->name);
  }
  return std::nullopt;
}

// A buffer like `packed` with a name that no parameter of the two functions has.
Buffer WithOwnName(const Buffer& packed, const FunctionNode::Fields& main, const FunctionNode::Fields& prepack) {
  const auto taken = [&](const std::string& name) {
    return ParamNamed(main, name) != nullptr || ParamNamed(prepack, name) != nullptr;
  };
  if (!taken(packed->name)) return packed;
  BufferNode::Fields fields = packed->fields();
  for (int number = 1; taken(fields.name); ++number) fields.name = packed->name + "_" + std::to_string(number);
  fields.data = Var(fields.name, DataType::Handle());
  return Buffer(std::move(fields));
}

// The function ahead, with the packing after what it holds; it has buffers of its own.
Outcome<Function> AddPacking(const Function& function, const Function& before, FunctionNode::Fields prepack,
                             const Packing& packing, const Buffer& named) {
  BlockNode::Fields root = {.id = packing.around[0]->block->id, .name = "root"};
  Stmt earlier;
  if (before) {
    root = cast<BlockRealizeNode>(before->body)->block->fields();
    earlier = cast<BlockRealizeNode>(before->body)->block->body;
  }
  prepack.name = PrepackName(*function.get());
  prepack.attrs[kPrepackOf] = MakeAnnotation(function->name);
  prepack.next_id = std::max(function->next_id, prepack.next_id);
  BufferMap buffers;
  for (const BufferRegion& read : packing.block->reads) {
    if (buffers.contains(read.buffer)) continue;
    const Param* known = ParamNamed(prepack, read.buffer->name);
    if (known != nullptr &&
        (known->buffer->dtype != read.buffer->dtype || !StructuralEqual(known->buffer->shape, read.buffer->shape))) {
      return No("{text0} is another tensor in the function ahead", packing.id, read.buffer->name);
    }
    buffers.emplace(read.buffer, known != nullptr ? known->buffer : AddParam(prepack, read.buffer));
  }
  buffers.emplace(packing.packed, AddParam(prepack, named));
  const Stmt moved = Substitute(packing.nest, {}, buffers);
  root.body = earlier ? Sequence({earlier, moved}) : moved;
  prepack.body = Realize({}, True(), Block(std::move(root)));
  return Function(new FunctionNode(std::move(prepack)));
}

// What the blocks around the packing declare without it: they read what is packed, and constants only where something
// else of them does.
class Declarations : public StmtMutator {
 public:
  explicit Declarations(const Packing& packing) : packing_(packing) {}

  Block MutateBlock(const Block& block) override {
    const Block inner = StmtMutator::MutateBlock(block);
    if (std::ranges::none_of(packing_.around, [&](const auto* r) { return r->block->id == block->id; })) return inner;
    BlockNode::Fields fields = inner->fields();
    const bool declares = !fields.reads.empty();
    std::erase_if(fields.alloc_buffers, [&](const Buffer& buffer) { return buffer.same_as(packing_.packed); });
    std::erase_if(fields.writes, [&](const BufferRegion& r) { return r.buffer.same_as(packing_.packed); });
    std::erase_if(fields.reads, [&](const BufferRegion& region) {
      return region.buffer.same_as(packing_.packed) || (Mentions(packing_.block->reads, region.buffer) &&
                                                        !IsUsedBesides(inner->body, packing_, region.buffer, false));
    });
    // A root block that declares nothing reads what it reads.
    if (declares) fields.reads.push_back(BufferRegion::Full(packing_.packed));
    return Block(std::move(fields));
  }

 private:
  const Packing& packing_;
};

// The function without the packing: what is packed is a parameter.
Function WithoutPacking(const Function& function, const Packing& packing, const Stmt& rest, const Buffer& named) {
  const std::vector<Buffer> constants = ConstantParams(function);
  FunctionNode::Fields main = function->fields();
  main.attrs.erase(kConstantParams);
  Annotation::List still_constant;
  bool placed = false;
  std::vector<Param> params;
  for (const Param& param : main.params) {
    const bool constant = param.buffer && Contains(constants, param.buffer);
    if (constant && Mentions(packing.block->reads, param.buffer) &&
        !IsUsedBesides(rest, packing, param.buffer, false)) {
      if (!placed) params.push_back(ParamOf(named));
      placed = true;
      continue;
    }
    if (constant) still_constant.push_back(MakeAnnotation(Expr(static_cast<int>(params.size()))));
    params.push_back(param);
  }
  if (!placed) params.push_back(ParamOf(named));
  main.params = std::move(params);
  main.body = Declarations(packing).Mutate(rest);
  if (!named.same_as(packing.packed)) main.body = Substitute(main.body, {}, {{packing.packed, named}});
  if (!still_constant.empty()) main.attrs[kConstantParams] = Annotation{std::move(still_constant)};
  return Function(new FunctionNode(std::move(main)));
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
  TW_ASSIGN_OR_RETURN(const Packing packing, FindPacking(function, block));
  const Stmt rest = RemoveFrom(function, packing.nest.get())->body;
  if (std::optional<Refusal> refusal = WhyNotAhead(function, packing, rest)) return *std::move(refusal);
  if (before && !isa<BlockRealizeNode>(before->body)) {
    return No("the body of {text0} is not a block", block, before->name);
  }
  FunctionNode::Fields ahead = before ? before->fields() : FunctionNode::Fields{};
  const Buffer named = WithOwnName(packing.packed, function->fields(), ahead);
  HoistPrepackResult result;
  TW_ASSIGN_OR_RETURN(result.prepack, AddPacking(function, before, std::move(ahead), packing, named));
  result.function = WithoutPacking(function, packing, rest, named);
  return result;
}

}  // namespace tilewright
