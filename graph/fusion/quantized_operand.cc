#include "graph/fusion/quantized_operand.h"

#include <algorithm>

#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright::graph {
namespace {

using Iterators = std::vector<tilewright::Var>;

constexpr DataType kI32 = DataType::Int(32), kF32 = DataType::Float(32);

bool IsByte(DataType type) { return type.is_integer() && type.bits() == 8 && type.lanes() == 1; }
bool IsZero(const Expr& e) {
  const auto* number = dyn_cast<FloatImmNode>(e);
  return IsInt(e, 0) || (number != nullptr && number->value == 0);
}

// Which of the iterators an index is; -1 where it is 0, nothing where it is anything else.
std::optional<int> IteratorAt(const Expr& index, const Iterators& v) {
  if (IsInt(index, 0)) return -1;
  const auto found = std::find_if(v.begin(), v.end(), [&](const auto& var) { return var.get() == index.get(); });
  if (found == v.end()) return std::nullopt;
  return static_cast<int>(found - v.begin());
}

// Each index an iterator, no iterator twice.
std::optional<std::vector<int>> PlainIndices(const std::vector<Expr>& indices, const Iterators& v) {
  std::vector<int> dims;
  for (const Expr& index : indices) {
    const std::optional<int> dim = IteratorAt(index, v);
    if (!dim || (*dim >= 0 && std::find(dims.begin(), dims.end(), *dim) != dims.end())) return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}

Iterators IteratorsOf(const BlockNode& block) {
  Iterators v;
  for (const IterVar& iter : block.iter_vars) v.push_back(iter.var);
  return v;
}

// Takes `(int32(byte) - zero) * scale` apart.
class Parser {
 public:
  explicit Parser(const ProgramBlocks& blocks) : blocks_(blocks) {}

  bool Parse(const Expr& e, QuantizedOperand& operand) const {
    if (const auto* call = dyn_cast<tilewright::CallNode>(e); call != nullptr && call->op == kIfThenElse) {
      return ParseInside(call->args[0], call->args[1], call->args[2], operand);
    }
    if (const auto* select = dyn_cast<SelectNode>(e)) {
      return ParseInside(select->condition, select->true_value, select->false_value, operand);
    }
    if (const auto* op = dyn_cast<CastNode>(e)) return ParseCast(*op, operand);
    if (const auto* op = dyn_cast<BinaryNode>(e)) return ParseBinary(*op, operand);
    if (const auto* load = dyn_cast<LoadNode>(e)) return ParseLoad(*load, e, operand);
    return false;
  }

 private:
  bool ParseInside(const Expr& condition, const Expr& value, const Expr& otherwise, QuantizedOperand& operand) const {
    if (!IsZero(otherwise) || operand.inside) return false;
    operand.inside = condition;
    return Parse(value, operand);
  }
  bool ParseCast(const CastNode& op, QuantizedOperand& operand) const {
    const DataType from = op.value.dtype(), to = op.dtype();
    if (to == kF32 && from.is_integer()) operand.is_float = true;
    const bool keeps = (to == kF32 && (from == kI32 || IsByte(from))) || (to == kI32 && IsByte(from));
    return keeps && Parse(op.value, operand);
  }
  bool ParseBinary(const BinaryNode& op, QuantizedOperand& operand) const {
    if (op.op == BinaryOp::kSub && op.dtype() == kI32 && !operand.zero) {
      operand.zero = op.b;
      return Parse(op.a, operand);
    }
    if (op.op != BinaryOp::kMul || op.dtype() != kF32) return false;
    for (const bool first : {true, false}) {
      QuantizedOperand attempt = operand;
      const Expr& scale = first ? op.b : op.a;
      attempt.scale = attempt.scale ? attempt.scale * scale : scale;
      if (Parse(first ? op.a : op.b, attempt)) {
        operand = attempt;
        return true;
      }
    }
    return false;
  }
  bool ParseLoad(const LoadNode& load, const Expr& e, QuantizedOperand& operand) const {
    if (load.predicate) return false;
    if (IsByte(load.dtype())) {
      operand.byte = e;
      return true;
    }
    const ProgramBlocks::Nest* made = blocks_.DefinitionOf(load.buffer);
    if (made == nullptr || made->block->init) return false;
    VarMap values;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const auto* var = dyn_cast<SymbolNode>(made->store->indices[d]);
      if (var != nullptr) values[tilewright::Var(var)] = load.indices[d];
    }
    return Parse(Substitute(made->store->value, values), operand);
  }

  const ProgramBlocks& blocks_;
};

bool Mentions(const Expr& e, const Iterators& v) {
  bool found = false;
  if (!e) return false;
  PreOrder(e, [&](const Expr& part) {
    found |= std::any_of(v.begin(), v.end(), [&](const auto& var) { return var.get() == part.get(); });
    return !found;
  });
  return found;
}

// Makes an operand that is written in the iterators of the sum one of its bytes' array.
bool MoveToBytes(QuantizedOperand& operand, const Iterators& of_sum) {
  const auto* load = cast<LoadNode>(operand.byte);
  operand.shape = load->buffer->shape;
  operand.at = load->indices;
  VarMap values;
  std::vector<Expr> own;
  for (size_t d = 0; d < operand.at.size(); ++d) {
    operand.v.emplace_back("v" + std::to_string(d), operand.at[d].dtype());
    own.emplace_back(operand.v.back());
    const auto* var = dyn_cast<SymbolNode>(operand.at[d]);
    if (var != nullptr) values.try_emplace(tilewright::Var(var), operand.v.back());
  }
  for (Expr* part : {&operand.zero, &operand.scale}) {
    if (*part) *part = Substitute(*part, values);
    if (Mentions(*part, of_sum)) return false;
  }
  operand.byte = load->buffer.Load(own);
  return !operand.inside;
}

}  // namespace

const ProgramBlocks::Nest* ProgramBlocks::DefinitionOf(const Buffer& buffer) const {
  const Nest* found = nullptr;
  for (const Nest& nest : nests) {
    bool writes = false;
    PreOrder(nest.stmt, [&](const Stmt& stmt) {
      const auto* store = dyn_cast<StoreNode>(stmt);
      writes |= store != nullptr && store->buffer.same_as(buffer);
      return true;
    });
    if (!writes) continue;
    if (found != nullptr || nest.store == nullptr) return nullptr;
    if (!PlainIndices(nest.store->indices, IteratorsOf(*nest.block))) return nullptr;
    found = &nest;
  }
  return found;
}

std::optional<ProgramBlocks> BlocksOfProgram(const PrimFunc& program) {
  const auto* root = dyn_cast<BlockRealizeNode>(program->body);
  if (root == nullptr) return std::nullopt;
  std::vector<Stmt> stmts = {root->block->body};
  if (const auto* seq = dyn_cast<tilewright::SeqNode>(root->block->body)) stmts = seq->stmts;
  ProgramBlocks blocks;
  for (const Stmt& stmt : stmts) {
    Stmt inner = stmt;
    while (const auto* loop = dyn_cast<ForNode>(inner)) {
      if (!IsInt(loop->min, 0)) return std::nullopt;
      inner = loop->body;
    }
    const auto* realize = dyn_cast<BlockRealizeNode>(inner);
    if (realize == nullptr) return std::nullopt;
    const auto* store = dyn_cast<StoreNode>(realize->block->body);
    const bool plain = store != nullptr && !store->predicate && IsTrue(realize->predicate);
    blocks.nests.push_back({stmt, realize->block.get(), plain ? store : nullptr});
  }
  return blocks;
}

bool QuantizedOperand::IsPlainBuffer() const {
  const auto* load = cast<LoadNode>(byte);
  if (load->indices.size() != v.size()) return false;
  for (size_t d = 0; d < v.size(); ++d) {
    const bool same = load->indices[d].get() == v[d].get();
    if (!same && !(IsInt(load->indices[d], 0) && IsInt(shape[d], 1))) return false;
  }
  return true;
}

std::optional<QuantizedOperand> QuantizedOperandOf(const Expr& factor, const ProgramBlocks& blocks) {
  Expr e = factor;
  QuantizedOperand operand;
  const auto* load = dyn_cast<LoadNode>(e);
  const ProgramBlocks::Nest* made = load == nullptr ? nullptr : blocks.DefinitionOf(load->buffer);
  if (made != nullptr && !IsByte(load->dtype())) {
    if (load->predicate || made->block->init) return std::nullopt;
    operand.shape = load->buffer->shape;
    operand.at = load->indices;
    VarMap values;
    for (size_t d = 0; d < operand.at.size(); ++d) {
      operand.v.emplace_back("v" + std::to_string(d), made->store->indices[d].dtype());
      const auto* var = dyn_cast<SymbolNode>(made->store->indices[d]);
      if (var != nullptr) values[tilewright::Var(var)] = operand.v.back();
    }
    if (!Parser(blocks).Parse(Substitute(made->store->value, values), operand)) return std::nullopt;
    return operand;
  }
  if (!Parser(blocks).Parse(e, operand)) return std::nullopt;
  Iterators of_sum;
  PreOrder(factor, [&](const Expr& part) {
    if (const auto* var = dyn_cast<SymbolNode>(part)) of_sum.emplace_back(var);
    return true;
  });
  if (!MoveToBytes(operand, of_sum)) return std::nullopt;
  return operand;
}

std::optional<PlainLoad> PlainLoadOf(const Expr& e, const std::vector<tilewright::Var>& v) {
  if (const auto* op = dyn_cast<CastNode>(e)) {
    return op->dtype().is_integer() && op->value.dtype().is_integer() ? PlainLoadOf(op->value, v) : std::nullopt;
  }
  const auto* load = dyn_cast<LoadNode>(e);
  if (load == nullptr || load->predicate) return std::nullopt;
  const std::optional<std::vector<int>> dims = PlainIndices(load->indices, v);
  if (!dims) return std::nullopt;
  return PlainLoad{load->buffer, *dims};
}

}  // namespace tilewright::graph
