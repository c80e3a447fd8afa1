// Writing programs in C++ so that they read like the script.
//
//   FunctionBuilder f("main");
//   Buffer a = f.Input("A", {m, l}, DataType::Float(32)), b = f.Input("B", {l, n}, DataType::Float(32));
//   ReduceAxis k("k", l);
//   Buffer c = f.Compute("C", {m, n}, [&](Var i, Var j) { return Sum(a(i, k) * b(k, j), k); });
//   Function matmul = f.Build({c});          // parameters A, B, C
//
// is the program
//
//   for i0, i1, k in T.grid(m, n, l):
//       with T.block("C"):
//           v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
//           T.reads(A[v_i0, v_k], B[v_k, v_i1]); T.writes(C[v_i0, v_i1])
//           with T.init():
//               C[v_i0, v_i1] = T.float32(0)
//           C[v_i0, v_i1] = C[v_i0, v_i1] + A[v_i0, v_k] * B[v_k, v_i1]
//
// (the form that TVM's te.create_prim_func gives). Buffers that are computed and not among the outputs of Build are
// allocated by the root block. Loops and blocks that Compute cannot express are written out:
//
//   f.Loop("i", 16, [&](Var i) {
//     f.Block("B", [&](BlockBuilder& block) {
//       Var vi = block.Spatial(16, i);
//       f.Store(b, a(vi) + 1, {vi});
//     });
//   });
//
// Regions that a block does not declare are those its body accesses (ir/regions.h).
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace tilewright {

// An axis from 0 to `extent` that a reduction runs over; used as a variable in the reduced expression.
class ReduceAxis : public Var {
 public:
  ReduceAxis(std::string name, Expr extent) : Var(std::move(name), extent.dtype()), extent_(std::move(extent)) {}
  const Expr& extent() const { return extent_; }

 private:
  Expr extent_;
};

// What Compute stores into an element: an expression, or `combine` folded over `axes`, starting at `identity`.
struct ComputeBody {
  ComputeBody(Expr value) : value(std::move(value)) {}
  ComputeBody(Expr reduced, std::vector<ReduceAxis> axes, Expr identity, Expr (*combine)(Expr, Expr))
      : value(std::move(reduced)), axes(std::move(axes)), identity(std::move(identity)), combine(combine) {}
  Expr value;
  std::vector<ReduceAxis> axes;
  Expr identity;                          // null when nothing is reduced
  Expr (*combine)(Expr, Expr) = nullptr;  // (accumulated, value)
};

ComputeBody Sum(Expr value, std::vector<ReduceAxis> axes);
ComputeBody Product(Expr value, std::vector<ReduceAxis> axes);
// The identities are the least and the greatest finite value of the type.
ComputeBody MaxOver(Expr value, std::vector<ReduceAxis> axes);
ComputeBody MinOver(Expr value, std::vector<ReduceAxis> axes);
inline ComputeBody Sum(Expr value, const ReduceAxis& k) { return Sum(std::move(value), std::vector<ReduceAxis>{k}); }
inline ComputeBody MaxOver(Expr value, const ReduceAxis& k) {
  return MaxOver(std::move(value), std::vector<ReduceAxis>{k});
}

// The least and greatest finite value of a scalar type.
Expr LeastValue(DataType dtype);
Expr GreatestValue(DataType dtype);

// The signature of the block that FunctionBuilder::Block is writing.
class BlockBuilder {
 public:
  // An iterator over [0, extent) that `binding` gives its value.
  Var Spatial(Expr extent, Expr binding, std::string name = "v");
  Var Reduce(Expr extent, Expr binding, std::string name = "v");
  Var Opaque(Expr extent, Expr binding, std::string name = "v");
  Var Iterator(IterKind kind, Range domain, Expr binding, std::string name);
  void Where(Expr predicate) { predicate_ = std::move(predicate); }
  // In place of what the body accesses.
  void Reads(std::vector<BufferRegion> regions);
  void Writes(std::vector<BufferRegion> regions);
  void Init(const std::function<void()>& body);
  void Annotate(const std::string& key, Annotation value) { fields_.annotations[key] = std::move(value); }
  // `buffer`, whose data is fresh, is the part `source` of another buffer.
  void Match(Buffer buffer, BufferRegion source);

 private:
  friend class FunctionBuilder;
  explicit BlockBuilder(class FunctionBuilder* function) : function_(function) {}
  class FunctionBuilder* function_;
  BlockNode::Fields fields_;
  std::vector<Expr> bindings_;
  Expr predicate_ = True();
  bool has_reads_ = false, has_writes_ = false;
};

class FunctionBuilder {
 public:
  explicit FunctionBuilder(std::string name = "main");

  // Parameters, in this order.
  Buffer Input(std::string name, std::vector<Expr> shape, DataType dtype);
  Buffer Input(Buffer buffer);
  Var Scalar(std::string name, DataType dtype = DataType::Int(32));

  // A new buffer whose every element is what `element` gives for its indices, one Var each or all in a vector.
  // `names` are the loops' names ("i0", "i1", ... when absent).
  template <class Element>
  Buffer Compute(std::string name, std::vector<Expr> shape, const Element& element,
                 std::vector<std::string> names = {}) {
    return ComputeImpl(
        std::move(name), std::move(shape),
        [&](const std::vector<Var>& indices) { return ComputeBody(ApplyIndices(element, indices)); }, std::move(names));
  }

  // Statements, each after what was written before at the same level.
  void Add(Stmt stmt) { levels_.back().push_back(std::move(stmt)); }
  void Store(const Buffer& buffer, Expr value, std::vector<Expr> indices);
  void Loop(std::string name, Expr extent, const std::function<void(Var)>& body, ForKind kind = ForKind::kSerial,
            std::string thread_tag = "");
  // A nest of serial loops.
  void Grid(const std::vector<Expr>& extents, const std::function<void(const std::vector<Var>&)>& body);
  void If(Expr condition, const std::function<void()>& then_case, const std::function<void()>& else_case = {});
  void While(Expr condition, const std::function<void()>& body);
  void Block(std::string name, const std::function<void(BlockBuilder&)>& body);
  // Allocated by the innermost block that is being written, or by the root block.
  Buffer Alloc(std::string name, std::vector<Expr> shape, DataType dtype, Scope scope = Scope());

  // What `body` adds, as one statement that is not added itself.
  Stmt Collect(const std::function<void()>& body);

  // The program; `outputs` (computed buffers) become parameters after the inputs. The builder is used up.
  Function Build(const std::vector<Buffer>& outputs = {});

 private:
  Buffer ComputeImpl(std::string name, std::vector<Expr> shape,
                     const std::function<ComputeBody(const std::vector<Var>&)>& element,
                     std::vector<std::string> names);

  // How many variables `Element` takes.
  template <class Element, class... Vars>
  static constexpr size_t Arity() {
    static_assert(sizeof...(Vars) <= 8, "takes neither a vector of variables nor up to 8 variables");
    if constexpr (std::is_invocable_v<Element, Vars...>) {
      return sizeof...(Vars);
    } else {
      return Arity<Element, Vars..., Var>();
    }
  }
  template <class Element>
  static ComputeBody ApplyIndices(const Element& element, const std::vector<Var>& indices) {
    if constexpr (std::is_invocable_v<Element, const std::vector<Var>&>) {
      return element(indices);
    } else {
      constexpr size_t kArity = Arity<Element>();
      CheckRank(kArity, indices.size());
      return [&]<size_t... I>(std::index_sequence<I...>) {
        return ComputeBody(element(indices[I]...));
      }(std::make_index_sequence<kArity>());
    }
  }
  static void CheckRank(size_t arity, size_t rank);

  FunctionNode::Fields fields_;
  std::vector<std::vector<Stmt>> levels_;
  std::vector<std::vector<Buffer>> allocations_;  // one entry per open block, the root's first
};

}  // namespace tilewright
