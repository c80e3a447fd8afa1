// Methods of buffers and values: A.access_ptr, A.vload, x.astype.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/builtin.h"
#include "ir/script/reader.h"

namespace tilewright::script {
namespace {

using Kind = PyExpr::Kind;

int AccessMask(std::string_view text) {
  int mask = 0;
  for (char c : text) {
    if (c == 'r') mask |= kAccessRead;
    if (c == 'w') mask |= kAccessWrite;
    if (c != 'r' && c != 'w') return 0;
  }
  return mask;
}

}  // namespace

// x.astype("float32"), A.access_ptr("r"), A.vload, ...
bool FunctionReader::EvalMethod(const PyExpr& e, Value* out, bool* is_method) {
  const PyExpr& callee = *e.items[0];
  *is_method = true;
  if (callee.text == "astype") {
    Arguments args;
    DataType dtype;
    if (!Bind(e, {"dtype"}, &args) || !Require(e, args, "dtype") || !ReadTypeName(*args["dtype"], &dtype)) return false;
    Expr result = ReadCast(*callee.items[0], dtype, e.offset, false);
    out->data = result;
    return static_cast<bool>(result);
  }
  if (callee.text == "access_ptr") {
    Value base;
    if (!Eval(*callee.items[0], &base)) return false;
    const auto* buffer = base.As<Buffer>();
    if (buffer == nullptr) return Fail(callee.offset, "expected a buffer before '.access_ptr'");
    Expr result = ReadAccessPtr(e, *buffer);
    out->data = result;
    return static_cast<bool>(result);
  }
  if (callee.text == "vload") {
    Value base;
    Arguments args;
    if (!Eval(*callee.items[0], &base)) return false;
    const auto* buffer = base.As<Buffer>();
    if (buffer == nullptr) return Fail(callee.offset, "expected a buffer before '.vload'");
    if (!Bind(e, {"indices", "dtype", "predicate"}, &args) || !Require(e, args, "indices")) return false;
    std::vector<Expr> indices;
    Expr predicate;
    if (!ReadVectorAccess(*buffer, *args["indices"], args["predicate"], &indices, &predicate)) return false;
    out->data = buffer->Load(std::move(indices), std::move(predicate));
    return true;
  }
  *is_method = false;
  return true;
}

bool FunctionReader::ReadVectorAccess(const Buffer& buffer, const PyExpr& indices, const PyExpr* predicate,
                                      std::vector<Expr>* out, Expr* mask) {
  // The same as buffer[indices], which checks their number and lanes.
  PyExpr subscript = indices;
  const bool list = indices.kind == Kind::kList || indices.kind == Kind::kTuple;
  if (!list) subscript.items = {std::make_shared<PyExpr>(indices)};
  subscript.items.insert(subscript.items.begin(), nullptr);
  if (!ReadIndices(subscript, buffer, out)) return false;
  if (predicate == nullptr) return true;
  *mask = ReadExpr(*predicate);
  if (!*mask) return false;
  int lanes = 1;
  for (const Expr& index : *out) lanes = std::max(lanes, index.dtype().lanes());
  if (mask->dtype() != DataType::Bool(lanes)) {
    return Fail(predicate->offset, absl::StrCat("expected a mask of type ", DataType::Bool(lanes).ToString(),
                                                ", found ", mask->dtype().ToString()));
  }
  return true;
}

Expr FunctionReader::ExtentOf(const Buffer& buffer, uint32_t offset) {
  if (!buffer->strides.empty()) {
    Expr stride = buffer->strides[0], count = buffer->shape[0];
    if (!Unify(&stride, &count, offset)) return Expr();
    return IsInt(stride, 1) ? count : IsInt(count, 1) ? stride : stride * count;
  }
  Expr extent;
  for (Expr size : buffer->shape) {
    if (!extent) {
      extent = size;
      continue;
    }
    if (!Unify(&extent, &size, offset)) return Expr();
    const auto x = AsInt(extent), y = AsInt(size);
    int64_t product = 0;
    extent = x && y && !__builtin_mul_overflow(*x, *y, &product) ? Const(extent.dtype(), product) : extent * size;
  }
  return extent ? extent : Expr(1);
}

Expr FunctionReader::ReadAccessPtr(const PyExpr& e, const Buffer& buffer) {
  Arguments args;
  if (!Bind(e, {"access_mask", "ptr_type", "content_lanes", "offset", "extent"}, &args) ||
      !Require(e, args, "access_mask")) {
    return Expr();
  }
  Value access;
  if (!Eval(*args["access_mask"], &access)) return Expr();
  int64_t mask = 0;
  if (const auto* text = access.As<std::string>()) {
    mask = AccessMask(*text);
  } else if (!ReadInt(*args["access_mask"], 1, 3, &mask)) {
    return Expr();
  }
  if (mask == 0) {
    Fail(args["access_mask"]->offset, "expected \"r\", \"w\" or \"rw\"");
    return Expr();
  }
  int64_t lanes = 1;
  if (args["content_lanes"] != nullptr && !ReadInt(*args["content_lanes"], 1, 4096, &lanes)) return Expr();
  Expr offset = buffer->elem_offset ? buffer->elem_offset : Expr(0);
  Expr shift;
  if (args["offset"] != nullptr) {
    shift = ReadIndex(*args["offset"]);
    if (!shift) return Expr();
    if (IsInt(shift, 0)) shift = Expr();
  }
  // What the pointer reaches: everything from it to the end of the buffer.
  Expr extent;
  if (args["extent"] != nullptr) {
    extent = ReadIndex(*args["extent"]);
    if (!extent) return Expr();
  } else {
    extent = ExtentOf(buffer, e.offset);
    if (!extent) return Expr();
    if (shift) {
      Expr less = shift;
      if (!Unify(&extent, &less, e.offset)) return Expr();
      extent = extent - less;
    }
  }
  if (shift) {
    if (!Unify(&offset, &shift, e.offset)) return Expr();
    offset = IsInt(offset, 0) ? shift : offset + shift;
  }
  Expr type =
      Call(buffer->dtype.with_lanes(buffer->dtype.lanes() * static_cast<int>(lanes)), std::string(kTypeAnnotation), {});
  return Call(DataType::Handle(), std::string(kAccessPtr), {type, buffer->data, offset, extent, Expr(mask)});
}

}  // namespace tilewright::script
