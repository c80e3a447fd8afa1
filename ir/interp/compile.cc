#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ir/interp/compiler.h"
#include "ir/interp/machine.h"
#include "ir/iteration_buffers.h"

namespace tilewright::interp {
namespace internal {

Compiler::Compiler(const Function& function, const CompileOptions& options) : options_(options) {
  code_.function = function;
  code_.shadow_init = options.check_uninitialized;
  code_.shadow_races = options.check_races;
  code_.values_unknown = options.values_unknown;
}

absl::StatusOr<Code> Compiler::Compile() {
  iteration_buffers_ = BuffersOfParallelIterations(code_.function->body);
  thread_sums_ = FindThreadSums(code_.function->body);
  BindParams();
  Statement(code_.function->body);
  Emit(Op::kReturn, 0);
  if (!error_.ok()) return error_;
  Finish();
  return std::move(code_);
}

// Scalars first: they may be extents. Then extents that are variables take the values of the first array that has them.
void Compiler::BindParams() {
  const auto& params = code_.function->params;
  code_.params.resize(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    ParamCode& param = code_.params[i];
    if (params[i].buffer) continue;
    param.dtype = params[i].var.dtype();
    param.name = params[i].var.name();
    param.slot = NewReg();
    vars_[params[i].var.get()] = {param.slot};
  }
  for (size_t i = 0; i < params.size(); ++i) {
    const Buffer& buffer = params[i].buffer;
    if (!buffer) continue;
    ParamCode& param = code_.params[i];
    param.is_buffer = true;
    param.dtype = buffer->dtype;
    param.name = buffer->name;
    param.slot = NewReg(3);
    for (size_t dim = 0; dim < buffer->ndim(); ++dim) param.extents.push_back(NewReg());
    for (size_t dim = 0; dim < buffer->strides.size(); ++dim) param.strides.push_back(NewReg());
    for (size_t dim = 0; dim < buffer->ndim(); ++dim) {
      const auto* var = dyn_cast<VarNode>(buffer->shape[dim]);
      if (var != nullptr && vars_.count(var) == 0) vars_[var] = {param.extents[dim]};
    }
    slots_[buffer->data.get()] = param.slot;
    if (params[i].var) slots_[params[i].var.get()] = param.slot;
    buffers_[buffer->data.get()] = buffer;
  }
  for (size_t i = 0; i < params.size(); ++i) {
    const Buffer& buffer = params[i].buffer;
    if (!buffer) continue;
    const std::vector<Reg>& extents = code_.params[i].extents;
    for (size_t dim = 0; dim < extents.size(); ++dim) {
      if (Value(buffer->shape[dim])[0] == extents[dim]) continue;
      Emit(Op::kCheckEqual, 0, ScalarValue(buffer->shape[dim]), extents[dim], 0,
           MessageIndex(absl::StrCat("extent ", dim, " of buffer ", buffer->name, " and of its argument")));
    }
    BindStrides(buffer, code_.params[i]);
    const auto* offset = dyn_cast<VarNode>(buffer->elem_offset);
    if (offset != nullptr && vars_.count(offset) == 0) vars_[offset] = {Constant(0)};
  }
}

// Strides that are variables take those of the argument's memory; others have to be these where the extent is not one.
void Compiler::BindStrides(const Buffer& buffer, const ParamCode& param) {
  for (size_t dim = param.strides.size(); dim-- > 0;) {
    const auto* var = dyn_cast<VarNode>(buffer->strides[dim]);
    if (var != nullptr && vars_.count(var) == 0) {
      vars_[var] = {param.strides[dim]};
      continue;
    }
    const Reg single = EmitValue(Op::kEq, param.extents[dim], Constant(1));
    const size_t skip = Emit(Op::kJumpIfNotZero, 0, single);
    const size_t cached = cache_.size();
    Emit(Op::kCheckEqual, 0, ScalarValue(buffer->strides[dim]), param.strides[dim], 0,
         MessageIndex(absl::StrCat("stride ", dim, " of buffer ", buffer->name, " and of its argument")));
    cache_.resize(cached);
    PatchToHere(skip);
  }
}

size_t Compiler::Emit(Op op, Reg dst, Reg a, Reg b, Reg c, int imm, int t) {
  code_.instructions.push_back({op, static_cast<uint16_t>(t), dst, a, b, c, imm});
  return code_.instructions.size() - 1;
}

Reg Compiler::EmitValue(Op op, Reg a, Reg b, Reg c, int imm) {
  const Reg dst = NewReg();
  Emit(op, dst, a, b, c, imm);
  return dst;
}

Reg Compiler::NewReg(int count) {
  const Reg first = next_;
  next_ += count;
  most_ = std::max(most_, next_);
  if (next_ >= kFirstConstant) {
    Error(absl::ResourceExhaustedError("the program is too large"));
    next_ = 0;
  }
  return first;
}

Reg Compiler::Constant(int64_t value) {
  auto [it, is_new] = integer_constants_.emplace(static_cast<uint64_t>(value), 0);
  if (is_new) {
    it->second = kFirstConstant + static_cast<Reg>(constants_.size());
    constants_.push_back({.i = value});
    constant_is_integer_.push_back(true);
  }
  return it->second;
}

Reg Compiler::FloatConstant(double value) {
  auto [it, is_new] = float_constants_.emplace(std::bit_cast<uint64_t>(value), 0);
  if (is_new) {
    it->second = kFirstConstant + static_cast<Reg>(constants_.size());
    constants_.push_back({.f = value});
    constant_is_integer_.push_back(false);
  }
  return it->second;
}

std::optional<int64_t> Compiler::ConstantValue(Reg reg) const {
  const auto index = static_cast<size_t>(reg - kFirstConstant);
  if (reg < kFirstConstant || !constant_is_integer_[index]) return std::nullopt;
  return constants_[index].i;
}

int Compiler::TypeIndex(DataType type) {
  auto found = std::find(code_.types.begin(), code_.types.end(), type);
  if (found == code_.types.end()) found = code_.types.insert(found, type);
  return static_cast<int>(found - code_.types.begin());
}

int Compiler::MessageIndex(std::string message) {
  code_.messages.push_back(std::move(message));
  return static_cast<int>(code_.messages.size()) - 1;
}

void Compiler::Error(absl::Status status) {
  if (error_.ok()) error_ = std::move(status);
}

void Compiler::Finish() {
  // Field c of a fork is a number of a loop, below kFirstConstant like everything else that is not a register.
  const auto move = [&](Reg& reg) {
    if (reg >= kFirstConstant) reg = most_ + (reg - kFirstConstant);
  };
  for (Instruction& instruction : code_.instructions) {
    move(instruction.dst);
    move(instruction.a);
    move(instruction.b);
    move(instruction.c);
  }
  for (Access& access : code_.accesses) {
    for (Reg& index : access.indices) move(index);
  }
  for (ExternCall& call : code_.calls) {
    for (ExternCall::Arg& arg : call.args) move(arg.first);
  }
  for (Allocation& allocation : code_.allocations) move(allocation.thread_register);
  code_.registers.assign(static_cast<size_t>(most_), Scalar{.i = 0});
  code_.registers.insert(code_.registers.end(), constants_.begin(), constants_.end());
}

}  // namespace internal

absl::StatusOr<Program> Compile(const Function& function, const CompileOptions& options) {
  TW_ASSIGN_OR_RETURN(internal::Code code, internal::Compiler(function, options).Compile());
  return Program(std::make_shared<const internal::Code>(std::move(code)));
}

absl::Status Program::Run(absl::Span<const Argument> arguments, const RunOptions& options) const {
  return internal::Machine(*code_, options).Run(arguments);
}

const std::vector<Param>& Program::params() const { return code_->function->params; }

}  // namespace tilewright::interp
