#include "graph/fusion/integer_form.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <unordered_set>

#include "graph/fusion/program_form.h"
#include "graph/fusion/quantized_operand.h"
#include "graph/rewrite/lowering.h"
#include "ir/arith/analyzer.h"
#include "ir/builder.h"
#include "ir/functor.h"
#include "ir/ndarray.h"
#include "ir/ops/structured.h"
#include "ir/substitute.h"
#include "schedule/program/sum_form.h"

namespace tilewright::graph {
namespace {

using ops::StructuredOp;
using Iterators = std::vector<tilewright::Var>;

constexpr DataType kI32 = DataType::Int(32), kF32 = DataType::Float(32), kS8 = DataType::Int(8);
constexpr int64_t kMostSum = (int64_t{1} << 31) - 1;
constexpr int64_t kMostWholeFloat = int64_t{1} << 24;  // up to which f32 holds every whole number
// Columns that a number of x has to meet, where they are known, for instructions that multiply bytes.
constexpr int64_t kLeastColumns = 4;
constexpr int64_t kLargestByte = 255;

bool Mentions(const Expr& e, const Iterators& v) {
  bool found = false;
  if (e) {
    PreOrder(e, [&](const Expr& part) {
      found |= std::any_of(v.begin(), v.end(), [&](const auto& var) { return var.get() == part.get(); });
      return !found;
    });
  }
  return found;
}
bool MentionsAny(const std::vector<Expr>& all, const tilewright::Var& var) {
  return std::any_of(all.begin(), all.end(), [&](const Expr& e) { return Mentions(e, {var}); });
}

// Whether other elements are read for most steps of the iterator: not those of a group of filters.
bool Distinguishes(const std::vector<Expr>& at, const tilewright::Var& var) {
  return std::any_of(at.begin(), at.end(), [&](const Expr& index) {
    const Expr without_groups = RewriteExpr(index, [&](const Expr& e) {
      const auto* op = dyn_cast<BinaryNode>(e);
      const bool group = op != nullptr && op->op == BinaryOp::kFloorDiv && op->a.get() == var.get();
      return group && AsInt(op->b).value_or(0) >= kLeastColumns ? Const(e.dtype(), 0) : e;
    });
    return Mentions(without_groups, {var});
  });
}

int64_t Elements(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// The constants that parameters are.
class Constants {
 public:
  Constants(const PrimFunc& program, const std::vector<const ConstantNode*>& all) : program_(program), all_(all) {}

  const ConstantNode* Of(const Buffer& buffer) const {
    for (size_t i = 0; i < all_.size(); ++i) {
      if (program_->params[i].buffer.same_as(buffer)) return all_[i];
    }
    return nullptr;
  }
  // An expression of constants alone; null is one.
  bool AreAll(const Expr& e) const {
    bool all = true;
    if (e) {
      PreOrder(e, [&](const Expr& part) {
        const auto* load = dyn_cast<LoadNode>(part);
        all &= load == nullptr || Of(load->buffer) != nullptr;
        return all;
      });
    }
    return all;
  }
  // The number that an expression of integers is: 0 where it is null, nothing where it is not the same everywhere.
  std::optional<int64_t> NumberOf(const Expr& e) const {
    if (!e) return 0;
    if (const std::optional<int64_t> number = AsInt(e)) return number;
    const std::optional<PlainLoad> load = PlainLoadOf(e, {});
    const ConstantNode* constant = load ? Of(load->buffer) : nullptr;
    if (constant == nullptr) return std::nullopt;
    return constant->ToNDArray().GetInt(0);
  }

 private:
  const PrimFunc& program_;
  const std::vector<const ConstantNode*>& all_;
};

// The elements of a constant that a plain load reads, in row-major order of `extents`.
std::vector<int64_t> Gather(const PlainLoad& load, const ConstantNode& constant, const std::vector<int64_t>& extents) {
  const NDArray array = constant.ToNDArray();
  std::vector<int64_t> steps(extents.size(), 0);
  int64_t step = 1;
  for (size_t d = load.dims.size(); d-- > 0;) {
    if (load.dims[d] >= 0) steps[static_cast<size_t>(load.dims[d])] = step;
    step *= constant.shape[d];
  }
  std::vector<int64_t> result(static_cast<size_t>(Elements(extents))), at(extents.size(), 0);
  int64_t position = 0;
  for (int64_t& element : result) {
    element = array.GetInt(position);
    for (size_t d = extents.size(); d-- > 0;) {
      position += steps[d];
      if (++at[d] < extents[d]) break;
      position -= steps[d] * extents[d];
      at[d] = 0;
    }
  }
  return result;
}

// Constant weights without their zero points, and the sums of what each result multiplies.
struct Weights {
  Value value;                   // of int8, of the extents of the operand
  Buffer buffer;                 // that stands for it
  std::vector<int> columns;      // iterators of the product along which the sums lie
  std::vector<int64_t> extents;  // of these
  std::vector<int64_t> sums;
  int64_t largest = 0;  // the largest sum of magnitudes
};

class Writer {
 public:
  Writer(const PrimFunc& program, const std::vector<const ConstantNode*>& constants, bool floats)
      : program_(program),
        constants_(program, constants),
        inputs_(constants.size()),
        floats_(floats),
        f_(program->name) {}

  std::optional<IntegerForm> Run() {
    if (!IsRegular(program_)) return std::nullopt;
    std::optional<ProgramBlocks> blocks = BlocksOfProgram(program_);
    if (!blocks) return std::nullopt;
    blocks_ = *std::move(blocks);
    if (!FindProduct() || !FindOperands()) return std::nullopt;
    if (has_weights_ && !ReadWeights()) return std::nullopt;
    if (!has_weights_ && !DynamicFits()) return std::nullopt;
    return Write();
  }

 private:
  // The only reduction: a sum of products of two factors.
  bool FindProduct() {
    for (const ProgramBlocks::Nest& nest : blocks_.nests) {
      if (!nest.block->init) continue;
      if (product_ != nullptr) return false;
      product_ = &nest;
    }
    if (product_ == nullptr || product_->store == nullptr) return false;
    const std::optional<SumForm> sum = AsSum(*product_->block);
    const auto* init = dyn_cast<StoreNode>(product_->block->init);
    if (!sum || init == nullptr || !IsZero(init->value)) return false;
    op_.name = product_->block->name;
    for (const IterVar& iter : product_->block->iter_vars) {
      if (!IsInt(iter.domain.min, 0) || (iter.kind != IterKind::kSpatial && iter.kind != IterKind::kReduce))
        return false;
      op_.iterators.push_back({iter.var, iter.domain.extent, iter.kind});
    }
    op_.outputs.resize(1);
    op_.outputs[0].buffer = product_->store->buffer;
    op_.outputs[0].at = product_->store->indices;
    factors_ = FactorsOf(sum->term);
    for (Expr& factor : factors_) factor = arith::Simplify(factor);
    const DataType type = op_.outputs[0].buffer->dtype;
    is_float_ = type == kF32;
    if (factors_.size() != 2 || (type != kI32 && !(is_float_ && floats_))) return false;
    for (const StructuredOp::Iterator& iterator : op_.iterators) {
      iterators_.push_back(iterator.var);
      if (iterator.kind == IterKind::kReduce) reduced_.push_back(iterator.var);
    }
    return blocks_.nests.size() < 64 && PlainLoadOf(op_.outputs[0].buffer.Load(op_.outputs[0].at), iterators_);
  }
  static bool IsZero(const Expr& init) {
    const auto* number = dyn_cast<FloatImmNode>(init);
    return IsInt(init, 0) || (number != nullptr && number->value == 0);
  }

  bool FindOperands() {
    std::optional<QuantizedOperand> operands[2];
    bool constant[2];
    for (size_t i = 0; i < 2; ++i) {
      operands[i] = QuantizedOperandOf(factors_[i], blocks_);
      if (!operands[i] || operands[i]->is_float != is_float_) return false;
      constant[i] = constants_.AreAll(operands[i]->byte) && constants_.AreAll(operands[i]->zero);
      for (const Expr& part : {operands[i]->zero, operands[i]->scale}) {
        if (Mentions(AtProduct(*operands[i], part), reduced_)) return false;
      }
    }
    if (constant[0] && constant[1]) return false;
    has_weights_ = constant[0] || constant[1];
    x_ = *std::move(operands[constant[0] ? 1 : 0]);
    w_ = *std::move(operands[constant[0] ? 0 : 1]);
    if (w_.inside || (!has_weights_ && (x_.inside || !is_float_))) return false;
    by_bytes_ = std::any_of(iterators_.begin(), iterators_.end(),
                            [&](const auto& var) { return MentionsAny(w_.at, var) && !Distinguishes(x_.at, var); });
    const bool plain = !is_float_ && !x_.zero && !w_.zero && !x_.inside && x_.IsPlainBuffer();
    return by_bytes_ ? !plain : has_weights_;
  }

  // An expression of an operand's array, at the element that the product reads.
  static Expr AtProduct(const QuantizedOperand& operand, const Expr& e) {
    if (!e) return e;
    VarMap values;
    for (size_t d = 0; d < operand.v.size(); ++d) values[operand.v[d]] = operand.at[d];
    return Substitute(e, values);
  }

  bool ReadWeights() {
    const std::optional<PlainLoad> byte = PlainLoadOf(w_.byte, w_.v);
    const std::optional<PlainLoad> zero = w_.zero ? PlainLoadOf(w_.zero, w_.v) : std::nullopt;
    if (!byte || (w_.zero && !zero && !AsInt(w_.zero))) return false;
    std::vector<int64_t> shape;
    for (const Expr& extent : w_.shape) {
      const std::optional<int64_t> number = AsInt(extent);
      if (!number) return false;
      shape.push_back(*number);
    }
    const ConstantNode& bytes = *constants_.Of(byte->buffer);
    std::vector<int64_t> values = Gather(*byte, bytes, shape);
    if (zero) {
      const std::vector<int64_t> zeros = Gather(*zero, *constants_.Of(zero->buffer), shape);
      for (size_t i = 0; i < values.size(); ++i) values[i] -= zeros[i];
    } else if (w_.zero) {
      for (int64_t& value : values) value -= *AsInt(w_.zero);
    }
    const auto is_byte = [](int64_t value) { return value >= -128 && value <= 127; };
    if (by_bytes_ && !std::all_of(values.begin(), values.end(), is_byte)) return false;
    const NDArray array(WeightType(), shape);
    for (size_t i = 0; i < values.size(); ++i) array.SetInt(static_cast<int64_t>(i), values[i]);
    weights_.value = Constant(array);
    if (!SumWeights(values, shape)) return false;
    // Neither the sum of the products nor what is added to it leaves its type.
    return weights_.largest <= (by_bytes_ ? kMostSum / 2 : kMostWholeFloat) / kLargestByte;
  }
  DataType WeightType() const { return by_bytes_ ? kS8 : kF32; }
  DataType SumType() const { return by_bytes_ ? kI32 : kF32; }

  bool SumWeights(const std::vector<int64_t>& values, const std::vector<int64_t>& shape) {
    weights_.buffer = Buffer("weights", w_.shape, WeightType());
    const std::optional<PlainLoad> at = PlainLoadOf(weights_.buffer.Load(w_.at), iterators_);
    if (!at) return false;
    std::vector<int64_t> steps(shape.size(), 0);
    int64_t size = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      const int iterator = at->dims[d];
      if (iterator < 0 || op_.iterators[static_cast<size_t>(iterator)].kind == IterKind::kReduce) continue;
      steps[d] = size;
      size *= shape[d];
      weights_.columns.insert(weights_.columns.begin(), iterator);
      weights_.extents.insert(weights_.extents.begin(), shape[d]);
    }
    weights_.sums.assign(static_cast<size_t>(size), 0);
    std::vector<int64_t> magnitudes(static_cast<size_t>(size), 0), index(shape.size(), 0);
    for (const int64_t value : values) {
      int64_t place = 0;
      for (size_t d = 0; d < shape.size(); ++d) place += steps[d] * index[d];
      weights_.sums[static_cast<size_t>(place)] += value;
      magnitudes[static_cast<size_t>(place)] += std::abs(value);
      for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
    }
    for (const int64_t magnitude : magnitudes) weights_.largest = std::max(weights_.largest, magnitude);
    return true;
  }

  bool DynamicFits() const {
    int64_t depth = 1;
    for (const StructuredOp::Iterator& iterator : op_.iterators) {
      if (iterator.kind != IterKind::kReduce) continue;
      const std::optional<int64_t> extent = AsInt(iterator.extent);
      if (!extent || __builtin_mul_overflow(depth, *extent, &depth)) return false;
    }
    return depth <= kMostSum / (2 * kLargestByte * kLargestByte);
  }

  std::optional<IntegerForm> Write() {
    const std::vector<const ProgramBlocks::Nest*> needed = NeededNests();
    IntegerForm form;
    AddInputs(form);
    const Buffer& sums = op_.outputs[0].buffer;
    for (const Buffer& buffer : cast<BlockRealizeNode>(program_->body)->block->alloc_buffers) {
      if (!buffer.same_as(sums) && written_.contains(buffer.get())) Allocate(buffer);
    }
    for (size_t i = inputs_; i < program_->params.size(); ++i) {
      const Buffer& result = program_->params[i].buffer;
      if (result && !result.same_as(sums)) Allocate(result);
    }
    for (const ProgramBlocks::Nest* nest : needed) {
      if (nest == product_) {
        AddProduct();
      } else {
        f_.Add(Substitute(nest->stmt, {}, buffers_));
      }
    }
    std::vector<Buffer> results;
    for (size_t i = inputs_; i < program_->params.size(); ++i) {
      if (program_->params[i].buffer) results.push_back(buffers_.at(program_->params[i].buffer));
    }
    const PrimFunc built = f_.Build(results);
    uint32_t next_id = 1;
    const Stmt body = CopyWithFreshNames(built->body, &next_id);
    form.program = WithSymbolParams(built.WithBody(body, next_id), &form.symbols);
    return form;
  }

  void Allocate(const Buffer& buffer) { buffers_[buffer] = f_.Alloc(buffer->name, buffer->shape, buffer->dtype); }

  // Those that the results need, and `written_` and `read_`: the buffers that these write and read.
  std::vector<const ProgramBlocks::Nest*> NeededNests() {
    for (size_t i = inputs_; i < program_->params.size(); ++i) {
      if (program_->params[i].buffer) read_.insert(program_->params[i].buffer.get());
    }
    std::vector<const ProgramBlocks::Nest*> needed;
    for (size_t i = blocks_.nests.size(); i-- > 0;) {
      const ProgramBlocks::Nest& nest = blocks_.nests[i];
      bool is_needed = false;
      PreOrder(nest.stmt, [&](const Stmt& stmt) {
        const auto* store = dyn_cast<StoreNode>(stmt);
        if (store == nullptr || !read_.contains(store->buffer.get())) return true;
        is_needed = true;
        written_.insert(store->buffer.get());
        return true;
      });
      if (!is_needed) continue;
      needed.insert(needed.begin(), &nest);
      if (&nest != product_) {
        PreOrderExprs(nest.block->body, [&](const Expr& e) { return NoteRead(e); });
        continue;
      }
      for (const Expr& e : {x_.byte, x_.zero, x_.scale, x_.inside, w_.scale}) Note(e);
      if (!has_weights_) Note(w_.byte), Note(w_.zero);
    }
    return needed;
  }
  bool NoteRead(const Expr& e) {
    if (const auto* load = dyn_cast<LoadNode>(e)) read_.insert(load->buffer.get());
    return true;
  }
  void Note(const Expr& e) {
    if (e) PreOrder(e, [&](const Expr& part) { return NoteRead(part); });
  }

  void AddInputs(IntegerForm& form) {
    for (size_t i = 0; i < inputs_; ++i) {
      if (!read_.contains(program_->params[i].buffer.get())) continue;
      f_.Input(program_->params[i].buffer);
      form.kept.push_back(i);
    }
    if (!has_weights_) return;
    f_.Input(weights_.buffer);
    form.constants.push_back(weights_.value);
    if (!x_.zero || !by_bytes_) return;
    // The offsets, or the sums that a zero point is multiplied by which is not known.
    zero_ = constants_.NumberOf(x_.zero);
    const NDArray offsets(kI32, weights_.extents);
    for (size_t i = 0; i < weights_.sums.size(); ++i) {
      offsets.SetInt(static_cast<int64_t>(i), zero_ ? -*zero_ * weights_.sums[i] : weights_.sums[i]);
    }
    std::vector<Expr> shape(weights_.extents.begin(), weights_.extents.end());
    offsets_ = f_.Input("offsets", shape, kI32);
    form.constants.push_back(Constant(offsets));
  }

  // The bytes of an operand as the product reads them, or the numbers that they stand for.
  Buffer NumbersOf(const QuantizedOperand& operand, const std::string& name) {
    if (by_bytes_ && !operand.inside && operand.IsPlainBuffer()) return Mapped(cast<LoadNode>(operand.byte)->buffer);
    return f_.Compute(name, operand.shape, [&](const std::vector<tilewright::Var>& v) {
      VarMap values;
      for (size_t d = 0; d < v.size(); ++d) values[operand.v[d]] = CastTo(operand.v[d].dtype(), v[d]);
      const auto at = [&](const Expr& e) { return Substitute(e, values, buffers_); };
      if (!by_bytes_) {
        const Expr byte = CastTo(kI32, at(operand.byte)), zero = Const(kF32, 0);
        const Expr number = CastTo(kF32, operand.zero ? byte - at(operand.zero) : byte);
        return operand.inside ? IfThenElse(at(operand.inside), number, zero) : number;
      }
      if (!operand.inside) return at(operand.byte);
      const std::optional<int64_t> number = constants_.NumberOf(operand.zero);
      const Expr border = number ? Const(operand.type(), *number) : CastTo(operand.type(), at(operand.zero));
      return IfThenElse(at(operand.inside), at(operand.byte), border);
    });
  }
  Buffer Mapped(const Buffer& buffer) const {
    const auto known = buffers_.find(buffer);
    return known == buffers_.end() ? buffer : known->second;
  }

  void AddProduct() {
    const Buffer sums = op_.outputs[0].buffer;
    const Buffer x = NumbersOf(x_, "padded"), w = has_weights_ ? weights_.buffer : NumbersOf(w_, "columns");
    StructuredOp product = op_;
    product.inputs = {{x, x_.at, tilewright::Var("x", x->dtype)}, {w, w_.at, tilewright::Var("w", w->dtype)}};
    StructuredOp::Output& out = product.outputs[0];
    out.buffer = f_.Alloc(sums->name + "_sums", sums->shape, SumType());
    out.element = tilewright::Var("sum", SumType());
    out.init = Const(SumType(), 0);
    const auto factor = [&](const QuantizedOperand& operand, const Expr& element) {
      const Expr number = CastTo(SumType(), element);
      if (has_weights_ || !operand.zero) return number;
      return number - Substitute(AtProduct(operand, operand.zero), {}, buffers_);
    };
    out.value = out.element + factor(x_, product.inputs[0].element) * factor(w_, product.inputs[1].element);
    ops::AddStructured(f_, product);
    buffers_[sums] = AddScaling(out.buffer, sums);
  }

  // What the sums of bytes become: sums of the old program.
  Buffer AddScaling(const Buffer& from, const Buffer& sums) {
    const std::vector<Expr>& stored_at = op_.outputs[0].at;
    return f_.Compute(sums->name, sums->shape, [&](const std::vector<tilewright::Var>& v) {
      VarMap values;
      std::vector<Expr> at;
      for (size_t d = 0; d < v.size(); ++d) {
        at.emplace_back(v[d]);
        const auto* var = dyn_cast<SymbolNode>(stored_at[d]);
        if (var != nullptr) values[tilewright::Var(var)] = CastTo(var->dtype(), v[d]);
      }
      const auto here = [&](const QuantizedOperand& operand, const Expr& e) {
        return e ? Substitute(AtProduct(operand, e), values, buffers_) : e;
      };
      Expr value = from.Load(at);
      if (offsets_) {
        std::vector<Expr> column;
        for (const int iterator : weights_.columns) {
          column.push_back(Substitute(Expr(iterators_[static_cast<size_t>(iterator)]), values));
        }
        const Expr offset = offsets_.Load(column);
        value = zero_ ? value + offset : value - here(x_, x_.zero) * offset;
      }
      if (!is_float_) return CastTo(kI32, value);
      const Expr of_x = here(x_, x_.scale), of_w = here(w_, w_.scale);
      value = CastTo(kF32, value);
      if (!of_x || !of_w) return of_x ? value * of_x : of_w ? value * of_w : value;
      return value * (of_x * of_w);
    });
  }

  const PrimFunc& program_;
  const Constants constants_;
  const size_t inputs_;  // how many of the parameters are read
  const bool floats_;
  FunctionBuilder f_;
  ProgramBlocks blocks_;
  const ProgramBlocks::Nest* product_ = nullptr;
  StructuredOp op_;
  std::vector<Expr> factors_;
  Iterators iterators_, reduced_;
  bool is_float_ = false, has_weights_ = false;
  bool by_bytes_ = false;  // each number of x meets several columns of weights: instructions for bytes pay
  QuantizedOperand x_, w_;
  Weights weights_;
  std::optional<int64_t> zero_;  // the zero point of x, where it is one number
  Buffer offsets_;
  BufferMap buffers_;  // of the new program, by buffer of the old
  std::unordered_set<const BufferNode*> read_, written_;
};

}  // namespace

std::optional<IntegerForm> IntegerFormOf(const PrimFunc& program, const std::vector<const ConstantNode*>& constants,
                                         bool floats) {
  return Writer(program, constants, floats).Run();
}

bool IsDequantization(const PrimFunc& program) {
  if (!IsRegular(program)) return false;
  const std::optional<ProgramBlocks> blocks = BlocksOfProgram(program);
  if (!blocks || blocks->nests.size() != 1) return false;
  const ProgramBlocks::Nest& nest = blocks->nests[0];
  if (nest.store == nullptr || nest.block->init) return false;
  return isa<LoadNode>(nest.store->value) || QuantizedOperandOf(nest.store->value, *blocks).has_value();
}

}  // namespace tilewright::graph
