#include "ir/script/random_program.h"

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <unordered_set>

#include "ir/regions.h"

namespace tilewright {
namespace {

// Declares the whole of what the block touches and does not declare: the parser adds nothing then.
Block Declaring(const Block& block) {
  const Block all = WithUndeclaredRegions(block);
  BlockNode::Fields fields = block->fields();
  const auto add = [](const std::vector<BufferRegion>& touched, std::vector<BufferRegion>* declared) {
    for (size_t i = declared->size(); i < touched.size(); ++i) {
      const Buffer& buffer = touched[i].buffer;
      const bool is_new =
          std::ranges::none_of(*declared, [&](const BufferRegion& region) { return region.buffer.same_as(buffer); });
      if (is_new) declared->push_back(BufferRegion::Full(buffer));
    }
  };
  add(all->reads, &fields.reads);
  add(all->writes, &fields.writes);
  if (fields.init) {  // a reduction does not list what it writes among its reads
    std::erase_if(fields.reads, [&](const BufferRegion& read) {
      return std::ranges::any_of(fields.writes,
                                 [&](const BufferRegion& write) { return write.buffer.same_as(read.buffer); });
    });
  }
  return Block(std::move(fields));
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Module Run() {
    Module module;
    const int functions = 1 + Pick(2);
    for (int i = 0; i < functions; ++i) module.Set(MakeFunction("f" + std::to_string(i)));
    if (Pick(3) == 0) module.set_attrs(MakeAnnotations());
    return module;
  }

 private:
  int Pick(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  bool Chance(int percent) { return Pick(100) < percent; }
  template <class T>
  const T& One(const std::vector<T>& items) {
    return items[static_cast<size_t>(Pick(static_cast<int>(items.size())))];
  }
  // Few names, so that they clash.
  std::string Name() { return One(std::vector<std::string>{"i", "A", "v0", "T", "x y", "1", "for", "A_1"}); }

  DataType NumberType() {
    return One(std::vector<DataType>{DataType::Float(32), DataType::Float(16), DataType::Float(64),
                                     DataType::BFloat16(), DataType::Int(8), DataType::UInt(8), DataType::Int(32),
                                     DataType::Int(64), DataType::UInt(64), DataType::Bool(),
                                     *DataType::Parse("float8_e4m3fn"), *DataType::Parse("float8_e5m2")});
  }
  DataType IndexType() { return DataType::Int(Chance(20) ? 64 : 32); }

  Buffer MakeBuffer(const char* scope) {
    BufferNode::Fields fields;
    fields.name = Name();
    fields.dtype = NumberType();
    const DataType index = IndexType();
    for (int i = Pick(4); i > 0; --i) fields.shape.push_back(Const(index, 1 + Pick(64)));
    fields.scope = Scope::Parse(scope);
    if (Chance(20)) fields.alignment = 128;
    if (Chance(20)) {
      for (size_t i = 0; i < fields.shape.size(); ++i) fields.strides.push_back(Const(index, 1 + Pick(100)));
    }
    if (Chance(10) && !fields.shape.empty()) {
      std::vector<Var> inputs;
      std::vector<Expr> outputs;
      for (size_t i = 0; i < fields.shape.size(); ++i) inputs.emplace_back(Name(), index);
      for (size_t i = 0; i < fields.shape.size(); ++i) outputs.push_back(FloorMod(inputs[i] + Const(index, 3), 8));
      fields.layout = {IndexMap(inputs, outputs), Pick(static_cast<int>(outputs.size()) + 1),
                       std::vector<Expr>(outputs.size(), Const(index, 8))};
    }
    return Buffer(std::move(fields));
  }
  // A buffer whose sizes, strides and offset are variables that it defines.
  Buffer MakeSymbolicBuffer(size_t ndim, DataType dtype, const Scope& scope, bool symbolic_shape) {
    BufferNode::Fields fields;
    fields.name = Name();
    fields.dtype = dtype;
    fields.scope = scope;
    for (size_t i = 0; i < ndim; ++i) {
      fields.shape.push_back(symbolic_shape && Chance(50) ? Expr(Var("n")) : Expr(1 + Pick(64)));
      fields.strides.push_back(Chance(50) ? Expr(Var("s", IndexType())) : Expr(1 + Pick(64)));
    }
    if (Chance(50)) {
      fields.elem_offset = Var("o", IndexType());
      fields.offset_factor = 1 + Pick(16);
    }
    return Buffer(std::move(fields));
  }

  Function MakeFunction(std::string name) {
    FunctionNode::Fields fields;
    fields.name = std::move(name);
    fields.is_private = Chance(20);
    vars_.clear();
    buffers_.clear();
    for (int i = Pick(3); i >= 0; --i) {
      Buffer buffer = Chance(30) ? MakeSymbolicBuffer(2, NumberType(), Scope(), true) : MakeBuffer("global");
      for (const Expr& extent : buffer->shape) {
        if (const auto* var = dyn_cast<VarNode>(extent)) vars_.emplace_back(var);
      }
      buffers_.push_back(buffer);
      fields.params.push_back({Var("var_" + buffer->name, DataType::Handle()), buffer});
    }
    if (Chance(50)) {
      Var n("n", IndexType());
      vars_.push_back(n);
      fields.params.push_back({n, Buffer()});
    }
    if (Chance(30)) fields.attrs = MakeAnnotations();
    fields.body = MakeStmt(4);
    if (Chance(60)) {  // a root block
      BlockNode::Fields root;
      root.name = Chance(80) ? "root" : "other";
      root.body = std::move(fields.body);
      if (Chance(30)) root.alloc_buffers.push_back(MakeBuffer("shared"));
      if (Chance(20)) root.reads.push_back(MakeRegion());
      const Block block(std::move(root));
      fields.body = Realize({}, True(), block->name == "root" ? block : Declaring(block));
    }
    return Function(std::move(fields));
  }

  // What the parser makes of a body: a root block around it where it has blocks.
  Annotations MakeAnnotations() {
    Annotations out;
    for (int i = Pick(3); i >= 0; --i) {
      Annotation value = MakeAnnotation(Expr(Pick(100) - 50));
      switch (Pick(5)) {
        case 0:
          value = MakeAnnotation(std::string("a\"b\\c\n\x01\xc3\xa9"));
          break;
        case 1:
          value.value = Annotation::List{MakeAnnotation(Expr(1)), MakeAnnotation(True())};
          break;
        case 2:
          value.value = Annotation::Dict{{"k", MakeAnnotation(ConstFloat(DataType::Float(Chance(50) ? 32 : 64), 0.1))}};
          break;
        case 3:
          value = MakeAnnotation(Const(DataType::Int(64), 5));
          break;
        default:
          break;
      }
      out["key" + std::to_string(i)] = std::move(value);
    }
    return out;
  }

  // --- Expressions.
  Expr MakeIndex(DataType type, int depth) {
    if (depth == 0 || Chance(30)) {
      std::vector<Expr> choices = {Const(type, Pick(20) - 5)};
      for (const Var& var : vars_) {
        if (var.dtype() == type) choices.push_back(var);
      }
      return One(choices);
    }
    static const std::vector<BinaryOp> ops = {BinaryOp::kAdd,      BinaryOp::kSub,      BinaryOp::kMul,
                                              BinaryOp::kFloorDiv, BinaryOp::kFloorMod, BinaryOp::kMin,
                                              BinaryOp::kMax,      BinaryOp::kDiv,      BinaryOp::kMod};
    Expr a = MakeIndex(type, depth - 1), b = MakeIndex(type, depth - 1);
    if (Chance(10)) return Select(MakeCondition(depth - 1), a, b);
    if (Chance(10)) return Call(type, "shift_left", {a, ShiftBy(b)});
    return Expr(new BinaryNode(One(ops), a, b));
  }
  // Constants are less than the width: others are refused.
  Expr ShiftBy(const Expr& e) { return AsInt(e) ? Const(e.dtype(), Pick(32)) : e; }
  Expr MakeCondition(int depth) {
    static const std::vector<BinaryOp> ops = {BinaryOp::kEQ, BinaryOp::kNE, BinaryOp::kLT,
                                              BinaryOp::kLE, BinaryOp::kGT, BinaryOp::kGE};
    if (depth <= 0) return Chance(10) ? True() : MakeIndex(DataType::Int(32), 0) < MakeIndex(DataType::Int(32), 0);
    switch (Pick(5)) {
      case 0:
        return Expr(new BinaryNode(BinaryOp::kAnd, MakeCondition(depth - 1), MakeCondition(depth - 1)));
      case 1:
        return Expr(new BinaryNode(BinaryOp::kOr, MakeCondition(depth - 1), MakeCondition(depth - 1)));
      case 2:
        return Not(MakeCondition(depth - 1));
      default: {
        const DataType type = IndexType();
        return Expr(new BinaryNode(One(ops), MakeIndex(type, depth - 1), MakeIndex(type, depth - 1)));
      }
    }
  }
  Expr MakeConstant(DataType type) {
    if (type.is_bool()) return Chance(50) ? True() : False();
    if (type.is_integer()) return Const(type, Chance(20) ? MaxValue(type) : Chance(20) ? MinValue(type) : Pick(100));
    static const std::vector<double> values = {0,
                                               1,
                                               -1.5,
                                               0.1,
                                               1e-30,
                                               3.4e38,
                                               std::numeric_limits<double>::infinity(),
                                               -std::numeric_limits<double>::infinity(),
                                               std::numeric_limits<double>::quiet_NaN()};
    return ConstFloat(type, One(values));
  }
  std::vector<Expr> MakeIndices(const Buffer& buffer) {
    std::vector<Expr> indices;
    for (size_t i = 0; i < buffer->ndim(); ++i) indices.push_back(MakeIndex(IndexType(), 2));
    return indices;
  }
  Expr MakeValue(DataType type, int depth) {
    if (type.is_bool() && Chance(70)) return MakeCondition(depth);
    if (depth <= 0 || Chance(20)) {
      for (const Buffer& buffer : buffers_) {
        if (buffer->dtype == type && Chance(60)) return buffer.Load(MakeIndices(buffer));
      }
      return MakeConstant(type);
    }
    switch (Pick(type.is_bool() ? 4 : 9)) {
      case 0:
        return Select(MakeCondition(1), MakeValue(type, depth - 1), MakeValue(type, depth - 1));
      case 1:
        return IfThenElse(MakeCondition(1), MakeValue(type, depth - 1), MakeValue(type, depth - 1));
      case 2: {
        const DataType from = NumberType();
        return Expr(new CastNode(type, MakeValue(from, depth - 1)));
      }
      case 3: {
        Var var(Name(), IndexType());
        vars_.push_back(var);
        Expr body = MakeValue(type, depth - 1);
        vars_.pop_back();
        return Expr(new LetNode(var, MakeIndex(var.dtype(), 1), body));
      }
      case 4:
        return type.is_float() ? Call(type, "exp", {MakeValue(type, depth - 1)})
                               : Call(type, "bitwise_xor", {MakeValue(type, depth - 1), MakeValue(type, depth - 1)});
      case 5:
        return Call(type, Chance(50) ? "some.intrinsic" : "exp2", {MakeIndex(DataType::Int(32), 1)});
      case 6:
        return Call(type, "call_extern", {String("func\"tion"), MakeValue(type, depth - 1)});
      default: {
        static const std::vector<BinaryOp> ops = {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul,
                                                  BinaryOp::kDiv, BinaryOp::kMin, BinaryOp::kMax};
        return Expr(new BinaryNode(One(ops), MakeValue(type, depth - 1), MakeValue(type, depth - 1)));
      }
    }
  }
  BufferRegion MakeRegion() {
    const Buffer& buffer = One(buffers_);
    BufferRegion region{buffer, {}};
    for (size_t i = 0; i < buffer->ndim(); ++i) {
      const DataType type = IndexType();
      Expr min = MakeIndex(type, 2);
      region.region.push_back({min, Chance(40) ? Const(type, 1 + Pick(3)) : MakeIndex(type, 1)});
      if (auto extent = AsInt(region.region.back().extent); extent && *extent < 0) {
        region.region.back().extent = Const(type, 0);
      }
    }
    return region;
  }

  // --- Statements.
  Stmt MakeStmt(int depth) {
    if (depth == 0) return MakeStore();
    switch (Pick(13)) {
      case 0: {
        std::vector<Stmt> stmts;
        for (int i = Pick(3); i >= 0; --i) stmts.push_back(MakeStmt(depth - 1));
        return Sequence(std::move(stmts));
      }
      case 1:
      case 2:
        return MakeFor(depth);
      case 3:
      case 4:
      case 5:
        return MakeBlock(depth);
      case 6:
        return If(MakeCondition(2), MakeStmt(depth - 1), Chance(50) ? MakeStmt(depth - 1) : Stmt());
      case 7:
        return While(MakeCondition(1), MakeStmt(depth - 1));
      case 8: {
        Var var(Name(), IndexType());
        Expr value = MakeIndex(var.dtype(), 2);
        vars_.push_back(var);
        Stmt body = MakeStmt(depth - 1);
        vars_.pop_back();
        return LetStmt(var, value, body);
      }
      case 9: {
        Buffer buffer = MakeBuffer("local");
        buffers_.push_back(buffer);
        Stmt body = MakeStmt(depth - 1);
        buffers_.pop_back();
        return Stmt(new AllocateNode(buffer, Chance(30) ? MakeAnnotations() : Annotations(), body));
      }
      case 10: {
        BufferNode::Fields fields = MakeBuffer("global")->fields();
        fields.data = One(buffers_)->data;
        Buffer buffer(std::move(fields));
        buffers_.push_back(buffer);
        Stmt body = MakeStmt(depth - 1);
        buffers_.pop_back();
        return Stmt(new DeclBufferNode(buffer, body));
      }
      case 11:
        return Stmt(new AttrStmtNode(Chance(50) ? Expr(One(buffers_)->data) : String("x"), "key",
                                     MakeIndex(DataType::Int(32), 1), MakeStmt(depth - 1)));
      default:
        return MakeSmall();
    }
  }
  Stmt MakeSmall() {
    const Scope shared = Scope::Parse("shared");
    switch (Pick(6)) {
      case 0:
        return Stmt(new AssertNode(MakeCondition(2), "message \"quoted\""));
      case 1:
        return Stmt(new SyncNode(SyncKind::kBarrier, shared, OwnerLevel::kBlock));
      case 2:
        return Stmt(new SyncNode(SyncKind::kAsyncWait, shared, OwnerLevel::kThread, Expr(1)));
      case 3:
        return Stmt(new SyncNode(SyncKind::kArrive, shared, OwnerLevel::kWarp, Expr(2), One(buffers_)->data));
      case 4: {
        // Vectors: a slice, a strided access and a masked store.
        for (const Buffer& buffer : buffers_) {
          if (buffer->ndim() != 1) continue;
          Expr index = Ramp(MakeIndex(DataType::Int(32), 1), 1 + Pick(2), 4);
          if (Chance(50)) return Store(buffer, buffer.Load({index}), {index});
          Expr mask = Broadcast(MakeCondition(0), 4);
          return Store(buffer, buffer.Load({index}, mask), {index}, mask);
        }
        const Expr index = MakeIndex(DataType::Int(32), 2);
        return Evaluate(Call(DataType::Int(32), "shift_left", {index, ShiftBy(index)}));
      }
      default:
        return Evaluate(Call(DataType::Int(32), "call_extern", {String("f"), One(buffers_)->data}));
    }
  }
  Stmt MakeStore() {
    const Buffer& buffer = One(buffers_);
    return Store(buffer, MakeValue(buffer->dtype, 3), MakeIndices(buffer));
  }
  Stmt MakeFor(int depth) {
    ForNode::Fields loop;
    loop.var = Var(Name(), IndexType());
    const DataType type = loop.var.dtype();
    loop.extent = Chance(70) ? Const(type, 1 + Pick(64)) : MakeIndex(type, 2);
    if (Chance(20)) loop.min = MakeIndex(type, 1);
    loop.kind = Chance(60) ? ForKind::kSerial : static_cast<ForKind>(Pick(5));
    if (loop.kind == ForKind::kThreadBound) loop.thread_tag = "threadIdx.x";
    if (Chance(15)) loop.annotations = MakeAnnotations();
    vars_.push_back(loop.var);
    loop_vars_.insert(loop.var.get());
    loop.body = MakeStmt(depth - 1);
    vars_.pop_back();
    return For(std::move(loop));
  }
  Stmt MakeBlock(int depth) {
    BlockNode::Fields block;
    block.name = Chance(90) ? Name() : "";
    std::vector<Expr> bindings;
    const size_t outer_buffers = buffers_.size();
    std::vector<Var> iter_vars;
    for (int i = Pick(4); i > 0; --i) {
      Expr binding = !vars_.empty() && Chance(60) ? Expr(One(vars_)) : MakeIndex(IndexType(), 2);
      const DataType type = binding.dtype();
      Expr min = Chance(80) ? Const(type, 0) : Const(type, Pick(5));
      block.iter_vars.push_back({Var(Name(), type), {min, Const(type, 1 + Pick(64))}, static_cast<IterKind>(Pick(4))});
      bindings.push_back(binding);
    }
    Expr predicate = Chance(30) ? MakeCondition(2) : True();
    // A block uses what its iterators are bound to, no loops around it.
    const std::vector<Var> outside = vars_;
    std::erase_if(vars_, [&](const Var& var) { return loop_vars_.contains(var.get()); });
    for (const IterVar& iter : block.iter_vars) vars_.push_back(iter.var);
    for (int i = Pick(3); i > 0; --i) block.reads.push_back(MakeRegion());
    for (int i = Pick(3); i > 0; --i) block.writes.push_back(MakeRegion());
    if (Chance(20)) block.annotations = MakeAnnotations();
    if (Chance(20)) {
      block.alloc_buffers.push_back(MakeBuffer(Chance(50) ? "global.tag" : "wmma.accumulator"));
      buffers_.push_back(block.alloc_buffers[0]);
    }
    if (Chance(30)) {
      BufferRegion source = MakeRegion();
      Buffer part = MakeSymbolicBuffer(source.region.size(), source.buffer->dtype, source.buffer->scope, false);
      block.match_buffers.push_back({part, source});
      buffers_.push_back(part);
    }
    if (Chance(30)) block.init = MakeStore();
    block.body = MakeStmt(depth - 1);
    vars_ = outside;
    buffers_.resize(outer_buffers);
    return Realize(std::move(bindings), std::move(predicate), Declaring(Block(std::move(block))));
  }

  std::mt19937_64 random_;
  std::vector<Var> vars_;
  std::unordered_set<const VarNode*> loop_vars_;
  std::vector<Buffer> buffers_;
};

}  // namespace

Module RandomProgram(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace tilewright
