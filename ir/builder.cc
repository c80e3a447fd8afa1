#include "ir/builder.h"

#include <cmath>

#include "base/check.h"
#include "ir/annotations.h"
#include "ir/regions.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

Expr Add(Expr a, Expr b) { return std::move(a) + std::move(b); }
Expr Multiply(Expr a, Expr b) { return std::move(a) * std::move(b); }

double GreatestFloat(DataType dtype) {
  switch (dtype.code()) {
    case TypeCode::kBFloat:
      return std::ldexp(2.0 - std::ldexp(1.0, -7), 127);
    case TypeCode::kE4M3:
      return 448;
    case TypeCode::kE5M2:
      return 57344;
    default:
      if (dtype.bits() == 16) return 65504;
      return dtype.bits() == 32 ? static_cast<double>(std::numeric_limits<float>::max())
                                : std::numeric_limits<double>::max();
  }
}

}  // namespace

ComputeBody Sum(Expr value, std::vector<ReduceAxis> axes) {
  Expr zero = Const(value.dtype(), 0);
  return {std::move(value), std::move(axes), std::move(zero), Add};
}
ComputeBody Product(Expr value, std::vector<ReduceAxis> axes) {
  Expr one = Const(value.dtype(), 1);
  return {std::move(value), std::move(axes), std::move(one), Multiply};
}
ComputeBody MaxOver(Expr value, std::vector<ReduceAxis> axes) {
  Expr least = LeastValue(value.dtype());
  return {std::move(value), std::move(axes), std::move(least), Max};
}
ComputeBody MinOver(Expr value, std::vector<ReduceAxis> axes) {
  Expr greatest = GreatestValue(value.dtype());
  return {std::move(value), std::move(axes), std::move(greatest), Min};
}

Expr LeastValue(DataType dtype) {
  return dtype.is_float() ? ConstFloat(dtype, -GreatestFloat(dtype)) : Const(dtype, MinValue(dtype));
}
Expr GreatestValue(DataType dtype) {
  return dtype.is_float() ? ConstFloat(dtype, GreatestFloat(dtype)) : Const(dtype, MaxValue(dtype));
}

Var BlockBuilder::Spatial(Expr extent, Expr binding, std::string name) {
  Range domain{Const(extent.dtype(), 0), extent};
  return Iterator(IterKind::kSpatial, std::move(domain), std::move(binding), std::move(name));
}
Var BlockBuilder::Reduce(Expr extent, Expr binding, std::string name) {
  Range domain{Const(extent.dtype(), 0), extent};
  return Iterator(IterKind::kReduce, std::move(domain), std::move(binding), std::move(name));
}
Var BlockBuilder::Opaque(Expr extent, Expr binding, std::string name) {
  Range domain{Const(extent.dtype(), 0), extent};
  return Iterator(IterKind::kOpaque, std::move(domain), std::move(binding), std::move(name));
}
Var BlockBuilder::Iterator(IterKind kind, Range domain, Expr binding, std::string name) {
  Var var(std::move(name), domain.extent.dtype());
  fields_.iter_vars.push_back({var, std::move(domain), kind});
  bindings_.push_back(std::move(binding));
  return var;
}
void BlockBuilder::Reads(std::vector<BufferRegion> regions) {
  fields_.reads = std::move(regions);
  has_reads_ = true;
}
void BlockBuilder::Writes(std::vector<BufferRegion> regions) {
  fields_.writes = std::move(regions);
  has_writes_ = true;
}
void BlockBuilder::Init(const std::function<void()>& body) { fields_.init = function_->Collect(body); }
void BlockBuilder::Match(Buffer buffer, BufferRegion source) {
  fields_.match_buffers.push_back({std::move(buffer), std::move(source)});
}

FunctionBuilder::FunctionBuilder(std::string name) : levels_(1), allocations_(1) {
  fields_.name = std::move(name);
  fields_.attrs[kNoAlias] = MakeAnnotation(True());
}

Buffer FunctionBuilder::Input(std::string name, std::vector<Expr> shape, DataType dtype) {
  return Input(Buffer(std::move(name), std::move(shape), dtype));
}
Buffer FunctionBuilder::Input(Buffer buffer) {
  fields_.params.push_back({buffer->data, buffer});
  return buffer;
}
Var FunctionBuilder::Scalar(std::string name, DataType dtype) {
  Var var(std::move(name), dtype);
  fields_.params.push_back({var, Buffer()});
  return var;
}

void FunctionBuilder::Store(const Buffer& buffer, Expr value, std::vector<Expr> indices) {
  Add(tilewright::Store(buffer, std::move(value), std::move(indices)));
}

Stmt FunctionBuilder::Collect(const std::function<void()>& body) {
  levels_.emplace_back();
  body();
  std::vector<Stmt> stmts = std::move(levels_.back());
  levels_.pop_back();
  return Sequence(std::move(stmts));
}

void FunctionBuilder::Loop(std::string name, Expr extent, const std::function<void(Var)>& body, ForKind kind,
                           std::string thread_tag) {
  ForNode::Fields loop;
  loop.var = Var(std::move(name), extent.dtype());
  loop.min = Const(extent.dtype(), 0);
  loop.extent = std::move(extent);
  loop.kind = kind;
  loop.thread_tag = std::move(thread_tag);
  loop.body = Collect([&] { body(loop.var); });
  Add(For(std::move(loop)));
}

void FunctionBuilder::Grid(const std::vector<Expr>& extents, const std::function<void(const std::vector<Var>&)>& body) {
  std::vector<Var> vars;
  const std::function<void()> nest = [&] {
    if (vars.size() == extents.size()) return body(vars);
    const size_t depth = vars.size();
    Loop("i" + std::to_string(depth), extents[depth], [&](Var var) {
      vars.push_back(std::move(var));
      nest();
    });
  };
  nest();
}

void FunctionBuilder::If(Expr condition, const std::function<void()>& then_case,
                         const std::function<void()>& else_case) {
  Stmt then_stmt = Collect(then_case);
  Stmt else_stmt = else_case ? Collect(else_case) : Stmt();
  Add(tilewright::If(std::move(condition), std::move(then_stmt), std::move(else_stmt)));
}

void FunctionBuilder::While(Expr condition, const std::function<void()>& body) {
  Stmt stmt = Collect(body);
  Add(tilewright::While(std::move(condition), std::move(stmt)));
}

void FunctionBuilder::Block(std::string name, const std::function<void(BlockBuilder&)>& body) {
  BlockBuilder builder(this);
  allocations_.emplace_back();
  builder.fields_.name = std::move(name);
  builder.fields_.body = Collect([&] { body(builder); });
  builder.fields_.alloc_buffers = std::move(allocations_.back());
  allocations_.pop_back();
  tilewright::Block block(std::move(builder.fields_));
  if (!builder.has_reads_ || !builder.has_writes_) {
    AccessRegions regions = DetectRegions(*block);
    BlockNode::Fields fields = block->fields();
    if (!builder.has_reads_) fields.reads = std::move(regions.reads);
    if (!builder.has_writes_) fields.writes = std::move(regions.writes);
    block = tilewright::Block(std::move(fields));
  }
  Add(Realize(std::move(builder.bindings_), std::move(builder.predicate_), std::move(block)));
}

Buffer FunctionBuilder::Alloc(std::string name, std::vector<Expr> shape, DataType dtype, Scope scope) {
  Buffer buffer(std::move(name), std::move(shape), dtype, std::move(scope));
  allocations_.back().push_back(buffer);
  return buffer;
}

Buffer FunctionBuilder::ComputeImpl(std::string name, std::vector<Expr> shape,
                                    const std::function<ComputeBody(const std::vector<Var>&)>& element,
                                    std::vector<std::string> names) {
  TW_CHECK(names.empty() || names.size() == shape.size()) << "names of the loops of " << name;
  // The element is asked for in terms of the block's iterators; a reduction's axes are replaced by fresh iterators,
  // since one axis may serve several reductions.
  std::vector<Var> iterators;
  std::vector<std::string> loop_names = std::move(names);
  std::vector<Expr> extents = shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (loop_names.size() == i) loop_names.push_back("i" + std::to_string(i));
    iterators.emplace_back("v_" + loop_names[i], shape[i].dtype());
  }
  ComputeBody body = element(iterators);
  VarMap fresh;
  for (const ReduceAxis& axis : body.axes) {
    iterators.emplace_back("v_" + axis.name(), axis.dtype());
    fresh[axis] = iterators.back();
    loop_names.push_back(axis.name());
    extents.push_back(axis.extent());
  }
  Expr value = Substitute(body.value, fresh);
  Buffer buffer(name, shape, value.dtype());
  std::vector<Expr> indices(iterators.begin(), iterators.begin() + static_cast<std::ptrdiff_t>(shape.size()));

  std::vector<Var> loops;
  const std::function<void()> nest = [&] {
    const size_t depth = loops.size();
    if (depth < extents.size()) {
      return Loop(loop_names[depth], extents[depth], [&](Var var) {
        loops.push_back(std::move(var));
        nest();
      });
    }
    Block(name, [&](BlockBuilder& block) {
      for (size_t i = 0; i < iterators.size(); ++i) {
        const IterKind kind = i < shape.size() ? IterKind::kSpatial : IterKind::kReduce;
        block.fields_.iter_vars.push_back({iterators[i], {Const(extents[i].dtype(), 0), extents[i]}, kind});
        block.bindings_.push_back(loops[i]);
      }
      if (body.combine != nullptr) {
        block.Init([&] { Store(buffer, body.identity, indices); });
        value = body.combine(buffer.Load(indices), value);
      }
      Store(buffer, value, indices);
    });
  };
  nest();
  allocations_.front().push_back(buffer);
  return buffer;
}

void FunctionBuilder::CheckRank(size_t arity, size_t rank) {
  TW_CHECK(arity == rank) << "a function of " << arity << " indices for a buffer of " << rank << " dimensions";
}

Function FunctionBuilder::Build(const std::vector<Buffer>& outputs) {
  TW_CHECK(levels_.size() == 1) << "Build is called inside a loop or block";
  BlockNode::Fields root;
  root.name = "root";
  for (const Buffer& output : outputs) fields_.params.push_back({output->data, output});
  for (Buffer& buffer : allocations_.front()) {
    bool is_output = false;
    for (const Buffer& output : outputs) is_output |= output.same_as(buffer);
    if (!is_output) root.alloc_buffers.push_back(std::move(buffer));
  }
  root.body = Sequence(std::move(levels_.back()));
  fields_.body = Realize({}, True(), tilewright::Block(std::move(root)));
  return Function(std::move(fields_));
}

}  // namespace tilewright
