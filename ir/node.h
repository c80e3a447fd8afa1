// Nodes: immutable, atomically reference-counted trees with a kind tag.
//
// Every expression, statement, buffer and block of a program is a Node. A node never changes after it was made, so
// programs share subtrees freely and forking a program costs one reference count. A rewrite makes new nodes along the
// path from the root to the change and shares everything else.
//
//   Expr e = x + 1;                      // Expr is a Ref<ExprNode>
//   if (const auto* add = dyn_cast<BinaryNode>(e)) Use(add->a);
//   if (isa<IntImmNode>(e)) ...
//
// Identity matters for variables and buffers only (two variables are the same when they are the same node); everything
// else is compared with ir/structural.h.
//
// Rewriting makes and drops small nodes all the time, so their memory comes from free lists, one set for each thread,
// and small constants are shared *immortal* nodes, whose references are not counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace tilewright {

// One tag per concrete node class. Expressions come first, then statements, then the rest.
enum class Kind : uint8_t {
  kIntImm,
  kFloatImm,
  kStringImm,
  kVar,
  kBinary,
  kNot,
  kSelect,
  kCast,
  kLoad,
  kRamp,
  kBroadcast,
  kShuffle,
  kLet,
  kCall,
  // Statements.
  kFor,
  kWhile,
  kIf,
  kSeq,
  kStore,
  kEvaluate,
  kLetStmt,
  kAttrStmt,
  kAssert,
  kAllocate,
  kDeclBuffer,
  kBlockRealize,
  kSync,
  // Neither.
  kBlock,
  kBuffer,
  kIndexMap,
  kFunction,
};

class Node {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

  Kind kind() const { return kind_; }

  static void* operator new(size_t bytes);
  static void operator delete(void* memory, size_t bytes);

 protected:
  explicit Node(Kind kind) : kind_(kind) {}

  // The node is never deleted. Only before anybody else sees it.
  void MakeImmortal() { references_.store(kImmortal, std::memory_order_relaxed); }

 private:
  template <class T>
  friend class Ref;
  static constexpr uint32_t kImmortal = 1u << 31;
  bool IsImmortal() const { return (references_.load(std::memory_order_relaxed) & kImmortal) != 0; }
  void Acquire() const {
    if (!IsImmortal()) references_.fetch_add(1, std::memory_order_relaxed);
  }
  void Release() const {
    if (!IsImmortal() && references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  mutable std::atomic<uint32_t> references_{0};
  const Kind kind_;
};

// A shared pointer to an immutable node; null when default-constructed.
template <class T>
class Ref {
 public:
  using NodeType = T;

  Ref() = default;
  explicit Ref(const T* node) : node_(node) { Acquire(); }
  Ref(const Ref& other) : node_(other.node_) { Acquire(); }
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  // A Ref to a derived node converts to a Ref to its base.
  template <class U, class = std::enable_if_t<std::is_base_of_v<T, U> && !std::is_same_v<T, U>>>
  Ref(const Ref<U>& other) : node_(other.get()) {
    Acquire();
  }
  template <class U, class = std::enable_if_t<std::is_base_of_v<T, U> && !std::is_same_v<T, U>>>
  Ref(Ref<U>&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Ref() {
    if (node_ != nullptr) AsNode()->Release();
  }

  const T* get() const { return node_; }
  const T* operator->() const { return node_; }
  const T& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  // True when nobody else holds this node: a rewrite may then reuse it.
  bool unique() const { return node_ != nullptr && AsNode()->references_.load(std::memory_order_acquire) == 1; }

  // Identity, not structure.
  bool same_as(const Ref& other) const { return node_ == other.node_; }

 private:
  void Acquire() {
    if (node_ != nullptr) AsNode()->Acquire();
  }
  const Node* AsNode() const { return node_; }

  template <class U>
  friend class Ref;
  const T* node_ = nullptr;
};

// Concrete node classes carry `static constexpr Kind kKind`; abstract ones (ExprNode, StmtNode) provide `ClassOf`.
template <class T>
bool isa(const Node* node) {
  if constexpr (requires { T::kKind; }) {
    return node->kind() == T::kKind;
  } else {
    return T::ClassOf(node->kind());
  }
}
template <class T, class U>
bool isa(const Ref<U>& ref) {
  return ref && isa<T>(static_cast<const Node*>(ref.get()));
}

// The node as a T, or null when it is something else (or null itself).
template <class T, class U>
const T* dyn_cast(const Ref<U>& ref) {
  return isa<T>(ref) ? static_cast<const T*>(ref.get()) : nullptr;
}
template <class T>
const T* dyn_cast(const Node* node) {
  return node != nullptr && isa<T>(node) ? static_cast<const T*>(node) : nullptr;
}
// The same when the kind is known.
template <class T, class U>
const T* cast(const Ref<U>& ref) {
  return static_cast<const T*>(ref.get());
}

// Hash and equality by identity, for containers keyed by nodes (variables, buffers). Lookups take plain pointers too.
struct IdentityHash {
  using is_transparent = void;
  size_t operator()(const Node* node) const { return std::hash<const void*>()(node); }
  template <class T>
  size_t operator()(const Ref<T>& ref) const {
    return (*this)(ref.get());
  }
};
struct IdentityEqual {
  using is_transparent = void;
  template <class T, class U>
  bool operator()(const T& a, const U& b) const {
    return AsNode(a) == AsNode(b);
  }

 private:
  static const Node* AsNode(const Node* node) { return node; }
  template <class T>
  static const Node* AsNode(const Ref<T>& ref) {
    return ref.get();
  }
};

}  // namespace tilewright
