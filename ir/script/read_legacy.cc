// Spellings of older versions of TVM (0.9 to 0.11) that later ones have replaced.
#include "absl/strings/str_cat.h"
#include "ir/script/reader.h"

namespace tilewright::script {
namespace {

using Kind = PyExpr::Kind;

constexpr size_t kMaxConstants = 65536;

}  // namespace

bool FunctionReader::IsLegacyCovering(const std::string& name) const {
  return name == "let" || name == "Assert" || name == "preflattened_buffer" || name == "allocate_const";
}

bool FunctionReader::ReadLegacyCovering(const PyExpr& call, const std::string& name, const PyExpr* target,
                                        std::function<Stmt(Stmt)>* wrap) {
  Arguments args;
  if (name == "let") {  // with T.let(x, value):
    if (!Bind(call, {"var", "value"}, &args) || !Require(call, args, "var") || !Require(call, args, "value"))
      return false;
    if (args["var"]->kind != Kind::kName) return Fail(args["var"]->offset, "expected a name");
    Expr value = ReadExpr(*args["value"]);
    if (!value) return false;
    Var var(args["var"]->text, value.dtype());
    *wrap = [var, value](Stmt body) { return LetStmt(var, value, std::move(body)); };
    frames_.back().insert_or_assign(args["var"]->text, Value{Expr(var)});
    return true;
  }
  if (name == "Assert") {  // with T.Assert(condition, "message"):
    std::string message;
    if (!Bind(call, {"condition", "message"}, &args) || !Require(call, args, "condition")) return false;
    Expr condition = ReadCondition(*args["condition"]);
    if (!condition || (args["message"] != nullptr && !ReadString(*args["message"], &message))) return false;
    *wrap = [condition, message](Stmt body) {
      return Sequence({Stmt(new AssertNode(condition, message)), std::move(body)});
    };
    return true;
  }
  if (name == "preflattened_buffer") {  // the shape that the caller's argument has, of a parameter that was flattened
    if (!Bind(call,
              {"postflattened", "shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor",
               "buffer_type", "axis_separators"},
              &args) ||
        !Require(call, args, "postflattened") || !Require(call, args, "shape")) {
      return false;
    }
    Value value;
    if (!Eval(*args["postflattened"], &value)) return false;
    const Buffer* buffer = value.As<Buffer>();
    if (buffer == nullptr) return Fail(args["postflattened"]->offset, "expected a buffer");
    DataType dtype = (*buffer)->dtype;
    if (args["dtype"] != nullptr && !ReadTypeName(*args["dtype"], &dtype)) return false;
    std::vector<Expr> description = {Call(dtype, "type_annotation", {})};
    if (!ReadShape(*args["shape"], (*buffer)->name, false, &description)) return false;
    const Expr node((*buffer)->data), shape = Call(DataType::Handle(), "tvm_tuple", std::move(description));
    *wrap = [node, shape](Stmt body) {
      return Stmt(new AttrStmtNode(node, "preflattened_buffer", shape, std::move(body)));
    };
    return true;
  }
  return ReadConstantAllocation(call, target, wrap);
}

// K = T.allocate_const([1.0, 2.0], "float32", [2]): memory that is written before it is used.
bool FunctionReader::ReadConstantAllocation(const PyExpr& call, const PyExpr* target, std::function<Stmt(Stmt)>* wrap) {
  if (target == nullptr) return Fail(call.offset, "expected a name for the result of T.allocate_const");
  Arguments args;
  if (!Bind(call, {"data", "dtype", "shape", "annotations"}, &args) || !Require(call, args, "data") ||
      !Require(call, args, "dtype")) {
    return false;
  }
  const PyExpr& data = *args["data"];
  if (data.kind != Kind::kList) return Fail(data.offset, "expected a list of numbers");
  BufferDefaults defaults;
  defaults.data = Var(target->text, DataType::Handle());  // `data` are the numbers here
  Buffer buffer = ReadBuffer(call, target->text, args, defaults);
  if (!buffer) return false;
  size_t count = 1;
  for (const Expr& extent : buffer->shape) {
    const auto value = AsInt(extent);
    if (!value || *value > static_cast<int64_t>(kMaxConstants)) return Fail(call.offset, "expected a constant shape");
    count *= static_cast<size_t>(*value);
    if (count > kMaxConstants) return Fail(call.offset, "too many constants");
  }
  if (data.items.size() != count) {
    return Fail(data.offset, absl::StrCat("expected ", count, " numbers, found ", data.items.size()));
  }
  Segments stores(1);
  for (size_t i = 0; i < count; ++i) {
    Expr value = ReadExpr(*data.items[i]);
    if (!value) return false;
    std::vector<Expr> indices(buffer->ndim());
    auto rest = static_cast<int64_t>(i);
    for (size_t d = indices.size(); d-- > 0;) {
      const int64_t extent = *AsInt(buffer->shape[d]);
      indices[d] = Const(buffer->shape[d].dtype(), rest % extent);
      rest /= extent;
    }
    if (!StoreTo(buffer, std::move(indices), std::move(value), Expr(), data.items[i]->offset, stores)) return false;
  }
  const std::vector<Stmt> fill = stores.back().stmts;
  *wrap = [buffer, fill](Stmt body) {
    std::vector<Stmt> stmts = fill;
    stmts.push_back(std::move(body));
    return Stmt(new AllocateNode(buffer, {}, Sequence(std::move(stmts))));
  };
  return Define(target->text, target->offset, Value{buffer});
}

// T.attr(T.iter_var(tx, None, "ThreadIndex", "threadIdx.x"), "thread_extent", 32): a launch.
bool FunctionReader::ReadThreadAttribute(const PyExpr& iter_var, const PyExpr& extent,
                                         std::function<Stmt(Stmt)>* wrap) {
  Arguments args;
  ForNode::Fields loop;
  loop.kind = ForKind::kThreadBound;
  if (!Bind(iter_var, {"var", "dom", "iter_type", "thread_tag"}, &args) || !Require(iter_var, args, "thread_tag") ||
      !ReadString(*args["thread_tag"], &loop.thread_tag) || !(loop.extent = ReadIndex(extent))) {
    return false;
  }
  const PyExpr* var = args["var"];
  if (var != nullptr && var->kind != Kind::kName) return Fail(var->offset, "expected a name");
  loop.var = Var(var == nullptr ? "thread" : var->text, loop.extent.dtype());
  loop_ranges_[loop.var.get()] = {Const(loop.extent.dtype(), 0), loop.extent};
  open_loops_.push_back(loop.var);
  if (var != nullptr) frames_.back().insert_or_assign(var->text, Value{Expr(loop.var)});
  *wrap = [loop](Stmt body) {
    ForNode::Fields fields = loop;
    fields.body = std::move(body);
    return For(std::move(fields));
  };
  return true;
}

// T.load("float32", A.data, index, mask) and T.store(A.data, index, value, mask): elements of flat buffers.
bool FunctionReader::ReadFlatAccess(const PyExpr& call, const Arguments& args, Buffer* buffer,
                                    std::vector<Expr>* indices, Expr* mask) {
  const PyExpr* data = args["buffer"];
  if (data->kind == Kind::kAttribute && data->text == "data") data = data->items[0].get();
  Value value;
  if (!Eval(*data, &value)) return false;
  const Buffer* found = value.As<Buffer>();
  if (found == nullptr || (*found)->ndim() != 1) {
    return Fail(call.offset, "expected the data of a buffer with one dimension");
  }
  *buffer = *found;
  if (args["predicate"] != nullptr) {
    *mask = ReadExpr(*args["predicate"]);
    if (!*mask) return false;
    if (IsTrue(*mask)) *mask = Expr();
  }
  Expr index = ReadIndex(*args["index"]);
  if (!index) return false;
  if (*mask && (*mask).dtype() != DataType::Bool(index.dtype().lanes())) {
    return Fail(args["predicate"]->offset, absl::StrCat("expected a mask of ", index.dtype().lanes(), " lanes"));
  }
  if (int64_t{index.dtype().lanes()} * (*buffer)->dtype.lanes() > 65535) return Fail(call.offset, "too many lanes");
  indices->push_back(std::move(index));
  return true;
}

Expr FunctionReader::ReadFlatLoad(const PyExpr& call) {
  Arguments args;
  if (!Bind(call, {"dtype", "buffer", "index", "predicate"}, &args) || !Require(call, args, "buffer") ||
      !Require(call, args, "index")) {
    return Expr();
  }
  Buffer buffer;
  std::vector<Expr> indices;
  Expr mask;
  if (!ReadFlatAccess(call, args, &buffer, &indices, &mask)) return Expr();
  return buffer.Load(std::move(indices), std::move(mask));
}

bool FunctionReader::ReadFlatStore(const PyExpr& call, Segments& out) {
  Arguments args;
  if (!Bind(call, {"buffer", "index", "value", "predicate"}, &args)) return false;
  for (const char* name : {"buffer", "index", "value"}) {
    if (!Require(call, args, name)) return false;
  }
  Buffer buffer;
  std::vector<Expr> indices;
  Expr mask;
  if (!ReadFlatAccess(call, args, &buffer, &indices, &mask)) return false;
  Expr value = ReadExpr(*args["value"]);
  return value && StoreTo(buffer, std::move(indices), std::move(value), std::move(mask), args["value"]->offset, out);
}

}  // namespace tilewright::script
