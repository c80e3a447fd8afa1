#include "ir/buffer.h"

#include <algorithm>
#include <cctype>

#include "base/check.h"

namespace tilewright {
namespace {

struct KnownScope {
  std::string_view name;
  MemoryKind kind;
  OwnerLevel owner;
};
constexpr KnownScope kKnownScopes[] = {
    {"global", MemoryKind::kGlobal, OwnerLevel::kDevice},     {"shared", MemoryKind::kShared, OwnerLevel::kBlock},
    {"local", MemoryKind::kLocal, OwnerLevel::kThread},       {"register", MemoryKind::kRegister, OwnerLevel::kThread},
    {"warp", MemoryKind::kWarp, OwnerLevel::kWarp},           {"wmma", MemoryKind::kFragment, OwnerLevel::kWarp},
    {"m16n8k8", MemoryKind::kFragment, OwnerLevel::kWarp},    {"mma", MemoryKind::kFragment, OwnerLevel::kWarp},
    {"wgmma", MemoryKind::kFragment, OwnerLevel::kWarpgroup}, {"amx", MemoryKind::kFragment, OwnerLevel::kCore},
};

}  // namespace

bool Scope::Valid(std::string_view text) {
  if (text.empty() || text.front() == '.' || text.back() == '.') return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool word = std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_' ||
                      (text[i] == '-' && text.find('.') < i);  // global.texture-weight
    if (!word && !(text[i] == '.' && text[i - 1] != '.')) return false;
  }
  return true;
}

Scope Scope::Parse(std::string_view text) {
  const size_t dot = text.find('.');
  const std::string_view head = text.substr(0, dot);
  std::string tag(dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1));
  for (const KnownScope& known : kKnownScopes) {
    if (known.name == head) return Scope(known.kind, known.owner, std::move(tag), std::string(text));
    // global2 is global memory with the tag 2.
    const bool numbered =
        head.starts_with(known.name) && head.find_first_not_of("0123456789", known.name.size()) == head.npos;
    if (numbered) return Scope(known.kind, known.owner, std::string(text.substr(known.name.size())), std::string(text));
  }
  return Scope(MemoryKind::kFragment, OwnerLevel::kThread, std::string(text), std::string(text));
}

BufferNode::BufferNode(Fields f)
    : Node(kKind),
      name(std::move(f.name)),
      dtype(f.dtype),
      shape(std::move(f.shape)),
      strides(std::move(f.strides)),
      elem_offset(std::move(f.elem_offset)),
      scope(std::move(f.scope)),
      alignment(f.alignment),
      offset_factor(f.offset_factor),
      layout(std::move(f.layout)),
      data(f.data ? std::move(f.data) : Var(name, DataType::Handle())) {
  TW_CHECK(strides.empty() || strides.size() == shape.size()) << "buffer " << name;
}

BufferNode::Fields BufferNode::fields() const {
  return {name, dtype, shape, strides, elem_offset, scope, alignment, offset_factor, layout, data};
}

Buffer::Buffer(std::string name, std::vector<Expr> shape, DataType dtype, Scope scope)
    : Buffer([&] {
        BufferNode::Fields fields;
        fields.name = std::move(name);
        fields.shape = std::move(shape);
        fields.dtype = dtype;
        fields.scope = std::move(scope);
        return fields;
      }()) {}

namespace {

// The lanes of a load or store: those of the buffer's element times those of the widest index.
DataType AccessType(const Buffer& buffer, const std::vector<Expr>& indices) {
  int lanes = 1;
  for (const Expr& index : indices) lanes = std::max(lanes, index.dtype().lanes());
  return buffer->dtype.with_lanes(buffer->dtype.lanes() * lanes);
}

}  // namespace

LoadNode::LoadNode(Buffer from, std::vector<Expr> at, Expr mask)
    : ExprNode(kKind, AccessType(from, at)),
      buffer(std::move(from)),
      indices(std::move(at)),
      predicate(std::move(mask)) {
  TW_CHECK(indices.size() == buffer->ndim())
      << "buffer " << buffer->name << " has " << buffer->ndim() << " dimensions, " << indices.size() << " indices";
}

Expr Buffer::Load(std::vector<Expr> indices, Expr predicate) const {
  return Expr(new LoadNode(*this, std::move(indices), std::move(predicate)));
}

Expr ElementOffset(const Buffer& buffer, const std::vector<Expr>& indices) {
  TW_CHECK(!buffer->layout) << "buffer " << buffer->name << " has a layout";
  Expr offset;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (buffer->strides.empty()) {
      offset = offset ? offset * buffer->shape[i] + indices[i] : indices[i];
    } else {
      Expr term = indices[i] * buffer->strides[i];
      offset = offset ? offset + term : term;
    }
  }
  if (!offset) offset = Expr(0);
  return buffer->elem_offset ? buffer->elem_offset + offset : offset;
}

BufferRegion BufferRegion::Full(const Buffer& buffer) {
  BufferRegion region{buffer, {}};
  for (const Expr& extent : buffer->shape) region.region.push_back({Const(extent.dtype(), 0), extent});
  return region;
}
BufferRegion BufferRegion::Point(const Buffer& buffer, const std::vector<Expr>& indices) {
  BufferRegion region{buffer, {}};
  for (const Expr& index : indices) region.region.push_back({index, Const(index.dtype(), 1)});
  return region;
}

bool Mentions(const std::vector<BufferRegion>& regions, const Buffer& buffer) {
  return std::ranges::any_of(regions, [&](const BufferRegion& region) { return region.buffer.same_as(buffer); });
}

}  // namespace tilewright
