#include "autoschedule/program/sizes.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// The size of a variable that nobody named. Schedules for 512 do well from some dozens on.
constexpr int64_t kTypicalSize = 512;
// What parameters and temporaries of typical sizes take together: more is slow to make and to compare.
constexpr double kTypicalBytes = 64e6;

// An extent where its variables have the values that `value` gives; `otherwise` where that is not a number.
template <class Value>
int64_t ValueOf(const Expr& extent, const Value& value, int64_t otherwise) {
  if (const auto constant = AsInt(extent)) return *constant;
  VarMap values;
  PreOrder(extent, [&](const Expr& e) {
    if (const auto* var = dyn_cast<VarNode>(e)) values[Var(var)] = Const(e.dtype(), value(var->name));
    return true;
  });
  arith::Analyzer analyzer;
  return std::max<int64_t>(1, AsInt(analyzer.Simplify(Substitute(extent, values))).value_or(otherwise));
}

// The variables of these names in the parameters and their shapes. Loops may have the same names.
VarMap SizesOf(const std::vector<Param>& params, const std::map<std::string, int64_t>& sizes) {
  VarMap values;
  const auto add = [&](const Expr& e) {
    if (!e) return;
    PreOrder(e, [&](const Expr& part) {
      const auto* var = dyn_cast<VarNode>(part);
      if (var == nullptr || !var->dtype().is_index()) return true;
      const auto size = sizes.find(var->name);
      if (size != sizes.end()) values.emplace(Var(var), Const(var->dtype(), size->second));
      return true;
    });
  };
  for (const Param& param : params) {
    if (!param.buffer) {
      add(param.var);
      continue;
    }
    for (const Expr& extent : param.buffer->shape) add(extent);
    for (const Expr& stride : param.buffer->strides) add(stride);
    add(param.buffer->elem_offset);
  }
  return values;
}

// Binds variables, also in the shapes of buffers.
class SizeBinder : public Mutator {
 public:
  explicit SizeBinder(const VarMap& values) : values_(values) {}

  Buffer MutateBuffer(const Buffer& buffer) override {
    const auto [known, is_new] = buffers_.try_emplace(buffer, buffer);
    if (!is_new) return known->second;
    BufferNode::Fields fields = buffer->fields();
    for (std::vector<Expr>* list : {&fields.shape, &fields.strides}) {
      for (Expr& e : *list) e = arith::Simplify(Mutate(e));
    }
    if (fields.elem_offset) fields.elem_offset = arith::Simplify(Mutate(fields.elem_offset));
    const Buffer bound(std::move(fields));
    buffers_[buffer] = bound;
    return bound;
  }
  using Mutator::Mutate;

 protected:
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    const auto value = values_.find(Var(op));
    return value == values_.end() ? self : value->second;
  }
  // (n + 63) // 64 iterations are a number, too.
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const Stmt bound = Mutator::MutateFor(op, self);
    const auto* loop = cast<ForNode>(bound);
    if (loop->extent.same_as(op->extent) || AsInt(loop->extent)) return bound;
    ForNode::Fields fields = loop->fields();
    fields.extent = arith::Simplify(loop->extent);
    return For(std::move(fields));
  }

 private:
  const VarMap& values_;
  std::unordered_map<Buffer, Buffer, IdentityHash, IdentityEqual> buffers_;
};

}  // namespace

Function AtSizes(const Function& function, const std::map<std::string, int64_t>& sizes) {
  FunctionNode::Fields fields = function->fields();
  const VarMap values = SizesOf(fields.params, sizes);
  SizeBinder binder(values);
  for (Param& param : fields.params) {
    if (param.buffer) param.buffer = binder.MutateBuffer(param.buffer);
  }
  fields.body = binder.Mutate(fields.body);
  return Function(std::move(fields));
}

std::vector<std::string> SymbolicExtents(const Function& function) {
  std::vector<std::string> names;
  for (const Param& param : function->params) {
    if (!param.buffer) continue;
    for (const Expr& extent : param.buffer->shape) {
      PreOrder(extent, [&](const Expr& e) {
        const auto* var = dyn_cast<VarNode>(e);
        if (var != nullptr && std::ranges::find(names, var->name) == names.end()) names.push_back(var->name);
        return true;
      });
    }
  }
  return names;
}

Function WithLikelySizes(const Function& function, const SizesByName& sizes) {
  if (sizes.empty()) return function;
  Annotation::Dict named;
  for (const auto& [name, values] : sizes) {
    Annotation::List list;
    for (const int64_t value : values) list.push_back({Const(DataType::Int(64), value)});
    named[name] = {std::move(list)};
  }
  FunctionNode::Fields fields = function->fields();
  fields.attrs[kLikelySizes] = {std::move(named)};
  return Function(std::move(fields));
}

LikelySizes LikelySizes::Of(const Function& function) {
  LikelySizes result;
  const auto attribute = function->attrs.find(kLikelySizes);
  if (attribute == function->attrs.end()) return result;
  const auto* named = std::get_if<Annotation::Dict>(&attribute->second.value);
  if (named == nullptr) return result;
  for (const auto& [variable, annotation] : *named) {
    const auto add = [&result, &name = variable](const Annotation& size) {
      const auto* value = std::get_if<Expr>(&size.value);
      const auto number = value == nullptr ? std::nullopt : AsInt(*value);
      if (number && *number > 0) result.sizes_[name].push_back(*number);
    };
    const auto* list = std::get_if<Annotation::List>(&annotation.value);
    if (list == nullptr) {
      add(annotation);
    } else {
      std::ranges::for_each(*list, add);
    }
  }
  return result;
}

bool SameLikelySizes(const Function& a, const Function& b) {
  if (!a->attrs.contains(kLikelySizes) && !b->attrs.contains(kLikelySizes)) return true;
  return LikelySizes::Of(a).named() == LikelySizes::Of(b).named();
}

int64_t LikelySizes::Largest(const std::string& name) const {
  const auto named = sizes_.find(name);
  return named == sizes_.end() ? kTypicalSize : *std::ranges::max_element(named->second);
}

int64_t LikelySizes::Likely(const Expr& extent) const {
  return ValueOf(extent, [&](const std::string& name) { return Largest(name); }, kTypicalSize);
}

Function LikelySizes::Bind(const Function& function) const {
  std::map<std::string, int64_t> sizes;
  for (const std::string& name : SymbolicExtents(function)) sizes[name] = Largest(name);
  return sizes.empty() ? function : AtSizes(function, sizes);
}

int64_t LikelySizes::Least(const Expr& extent) const {
  const auto least = [&](const std::string& name) {
    const auto named = sizes_.find(name);
    return named == sizes_.end() ? 1 : *std::ranges::min_element(named->second);
  };
  return ValueOf(extent, least, 1);
}

namespace {

// The parameters and all temporaries: scores of attention take more than queries and keys.
std::vector<Buffer> AllBuffers(const Function& function) {
  std::vector<Buffer> buffers;
  for (const Param& param : function->params) {
    if (param.buffer) buffers.push_back(param.buffer);
  }
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
      buffers.insert(buffers.end(), realize->block->alloc_buffers.begin(), realize->block->alloc_buffers.end());
    }
    return true;
  });
  return buffers;
}

}  // namespace

SizesByName WithTypicalSizes(const Function& function, SizesByName sizes) {
  std::vector<std::string> missing = SymbolicExtents(function);
  std::erase_if(missing, [&](const std::string& name) { return sizes.contains(name); });
  const std::vector<Buffer> buffers = AllBuffers(function);
  for (int64_t size = kTypicalSize; !missing.empty(); size /= 2) {
    for (const std::string& name : missing) sizes[name] = {size};
    const LikelySizes likely = LikelySizes::Of(WithLikelySizes(function, sizes));
    double bytes = 0;
    for (const Buffer& buffer : buffers) {
      double of_buffer = buffer->dtype.bytes();
      for (const Expr& extent : buffer->shape) of_buffer *= static_cast<double>(likely.Likely(extent));
      bytes += of_buffer;
    }
    if (bytes <= kTypicalBytes || size == 1) break;
  }
  return sizes;
}

bool Divides(int64_t divisor, const Expr& extent) {
  if (const auto constant = AsInt(extent)) return *constant % divisor == 0;
  arith::Analyzer analyzer;
  return IsInt(analyzer.Simplify(FloorMod(extent, Const(extent.dtype(), divisor))), 0);
}

}  // namespace tilewright
