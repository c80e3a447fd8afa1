// Buffers: multi-dimensional arrays with a scope, a layout and an identity.
//
//   Buffer a("A", {128, 64}, DataType::Float(32));                 // row-major, in global memory
//   Buffer tile("A_shared", {16, 64}, DataType::Float(16), Scope::Parse("shared"));
//   Expr e = a(i, j);                                              // a load
//
// A buffer's identity is its node. `data` is the pointer variable behind it: two buffers with the same `data` look at
// the same memory (declared views); sub-buffers of a block (match_buffer) get a `data` of their own that the block's
// entry binds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.h"
#include "ir/index_map.h"

namespace tilewright {

enum class MemoryKind : uint8_t {
  kGlobal,    // main memory of the host or of the device
  kShared,    // memory of a thread block
  kLocal,     // memory of one thread, addressable
  kRegister,  // vector registers of one thread: every index must be constant after unrolling
  kWarp,      // spread over the lanes of a warp
  kFragment,  // wmma.*, mma fragments, AMX tiles: only intrinsics touch it
};

// Who has its own copy of a buffer.
enum class OwnerLevel : uint8_t { kCore, kThread, kWarp, kWarpgroup, kBlock, kCluster, kDevice };

// A storage scope, parsed once: "global", "shared", "shared.dyn", "local", "register", "warp", "wmma.accumulator",
// "global.A_reg" (global memory with the tag "A_reg", which intrinsics match).
class Scope {
 public:
  Scope() : Scope(Parse("global")) {}
  // Text that names no known memory kind before the first '.' is taken as a fragment scope when it has the form of
  // identifiers joined by dots; `Valid` tells.
  static Scope Parse(std::string_view text);
  static bool Valid(std::string_view text);

  MemoryKind kind() const { return kind_; }
  OwnerLevel owner() const { return owner_; }
  const std::string& tag() const { return tag_; }    // what follows the memory kind: "A_reg", "dyn", "accumulator"
  const std::string& text() const { return text_; }  // as written
  friend bool operator==(const Scope& a, const Scope& b) { return a.text_ == b.text_; }

 private:
  Scope(MemoryKind kind, OwnerLevel owner, std::string tag, std::string text)
      : kind_(kind), owner_(owner), tag_(std::move(tag)), text_(std::move(text)) {}
  MemoryKind kind_;
  OwnerLevel owner_;
  std::string tag_;
  std::string text_;
};

// The place of the element with given logical indices: `map` takes the indices to (owner coordinates..., offsets...);
// the first `owner_dims` results name the lane, warp or warpgroup that holds it, the rest is the position in the
// owner's memory, row-major over `shape`. No layout (the default of a buffer) is row-major with one owner.
struct Layout {
  IndexMap map;
  int owner_dims = 0;
  std::vector<Expr> shape;  // extents of the map's results
  explicit operator bool() const { return static_cast<bool>(map); }
};

class BufferNode : public Node {
 public:
  static constexpr Kind kKind = Kind::kBuffer;
  struct Fields {
    std::string name;
    DataType dtype;
    std::vector<Expr> shape;
    std::vector<Expr> strides;  // in elements; empty: compact row-major
    Expr elem_offset;           // in elements from `data`; null: 0
    Scope scope;
    int alignment = 64;     // of `data`, in bytes
    int offset_factor = 1;  // elem_offset is a multiple of it; 0: unknown (peers print it so)
    Layout layout;
    Var data;  // made from the name when absent
  };
  explicit BufferNode(Fields fields);

  const std::string name;
  const DataType dtype;
  const std::vector<Expr> shape;
  const std::vector<Expr> strides;
  const Expr elem_offset;
  const Scope scope;
  const int alignment;
  const int offset_factor;
  const Layout layout;
  const Var data;

  size_t ndim() const { return shape.size(); }
  Fields fields() const;  // a copy to change and make another buffer from
};

class Buffer : public Ref<BufferNode> {
 public:
  Buffer() = default;
  Buffer(std::string name, std::vector<Expr> shape, DataType dtype, Scope scope = Scope());
  explicit Buffer(const BufferNode* node) : Ref<BufferNode>(node) {}
  explicit Buffer(BufferNode::Fields fields) : Ref<BufferNode>(new BufferNode(std::move(fields))) {}

  // A load of one element.
  template <class... Index>
  Expr operator()(Index... index) const {
    return Load({Expr(index)...});
  }
  Expr Load(std::vector<Expr> indices, Expr predicate = {}) const;
};

// An element of a buffer, or a vector of elements when the last index is a vector (Ramp).
class LoadNode : public ExprNode {
 public:
  static constexpr Kind kKind = Kind::kLoad;
  // `predicate`: null, or a bool vector that masks the lanes.
  LoadNode(Buffer buffer, std::vector<Expr> indices, Expr predicate = {});
  const Buffer buffer;
  const std::vector<Expr> indices;
  const Expr predicate;
};

// The offset in elements of the element at `indices` from `data`, strides and elem_offset included (not simplified).
// Requires no layout.
Expr ElementOffset(const Buffer& buffer, const std::vector<Expr>& indices);

struct Range {
  Expr min;
  Expr extent;
};

// A box of a buffer.
struct BufferRegion {
  Buffer buffer;
  std::vector<Range> region;  // one per dimension

  static BufferRegion Full(const Buffer& buffer);
  static BufferRegion Point(const Buffer& buffer, const std::vector<Expr>& indices);
};

// Whether one of the regions is of this buffer.
bool Mentions(const std::vector<BufferRegion>& regions, const Buffer& buffer);

}  // namespace tilewright
