// Buffers: parameters, allocations, declared views and parts of other buffers.
#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/functor.h"
#include "ir/script/python/parser.h"
#include "ir/script/reader.h"

namespace tilewright::script {
namespace {

using Kind = PyExpr::Kind;

constexpr int kMaxDimensions = 64;

bool IsPythonName(const std::string& text) {
  const PythonTree tree = ParsePython(text, "");
  return !tree.error && tree.statements.size() == 1 && tree.statements[0].kind == PyStmt::Kind::kExpr &&
         tree.statements[0].value->kind == Kind::kName;
}

}  // namespace

bool FunctionReader::ReadString(const PyExpr& e, std::string* out) {
  Value value;
  if (!Eval(e, &value)) return false;
  const auto* text = value.As<std::string>();
  if (text == nullptr) return Fail(e.offset, "expected a string");
  *out = *text;
  return true;
}

bool FunctionReader::ReadInt(const PyExpr& e, int64_t least, int64_t greatest, int64_t* out) {
  Value value;
  if (!Eval(e, &value)) return false;
  std::optional<Integer> number;
  if (const auto* integer = value.As<Integer>()) number = *integer;
  if (const auto* expr = value.As<Expr>()) {
    if (const auto imm = AsInt(*expr)) number = *imm;
  }
  if (!number || *number < least || *number > greatest) {
    return Fail(e.offset, absl::StrCat("expected an integer from ", least, " to ", greatest));
  }
  *out = static_cast<int64_t>(*number);
  return true;
}

// "float32", T.float32 or T.float32().
bool FunctionReader::ReadTypeName(const PyExpr& e, DataType* out) {
  if (e.kind == Kind::kAttribute && e.text == "ty") return ReadTypeName(*e.items[0], out);  // T.handle("float32").ty
  std::optional<std::string> name = DialectName(e.kind == Kind::kCall ? *e.items[0] : e);
  if (!name) {
    std::string text;
    Value value;
    if (e.kind == Kind::kCall || !Eval(e, &value) || value.As<std::string>() == nullptr) {
      return Fail(e.offset, "expected a type such as \"float32\" or T.int32");
    }
    name = *value.As<std::string>();
  }
  const auto dtype = DataType::Parse(*name);
  if (!dtype) return Fail(e.offset, absl::StrCat("'", *name, "' is not a type"));
  *out = *dtype;
  return true;
}

// A pointer: A.data, the name of an allocation, a handle; or another value.
Expr FunctionReader::ReadData(const PyExpr& e) {
  Value value;
  if (!Eval(e, &value)) return Expr();
  if (const auto* buffer = value.As<Buffer>()) return Expr((*buffer)->data);
  return ToExpr(value, e.offset);
}

// A variable of the function that the description of a buffer mentions before its own line.
bool FunctionReader::DefineSize(const std::string& name, uint32_t offset) {
  if (Lookup(name) != nullptr) return true;
  Var var = Symbol(name, DataType::Int(32), offset);
  if (!var.dtype().is_index()) {
    return Fail(offset, absl::StrCat("expected a size of type int32 or int64, found ", var.dtype().ToString()));
  }
  frames_.front().try_emplace(name, Value{Expr(var)});
  return true;
}

// `every_name`: also those that no line declares.
bool FunctionReader::DefineSizes(const PyExpr& e, bool every_name) {
  if (e.kind == Kind::kName && (every_name || symbols_.contains(e.text))) return DefineSize(e.text, e.offset);
  // The name of a function is not one of a size: T.max(n, 1).
  for (size_t i = e.kind == Kind::kCall ? 1 : 0; i < e.items.size(); ++i) {
    if (e.items[i] && e.kind != Kind::kAttribute && !DefineSizes(*e.items[i], every_name)) return false;
  }
  return std::ranges::all_of(e.keyword_values, [&](const PyExprPtr& value) { return DefineSizes(*value, every_name); });
}

// "n * 4", "T.int64(32) * n": what TVM prints for an extent that is computed from what is defined further on.
Expr FunctionReader::ReadExtentText(const PyExpr& text) {
  const PythonTree tree = ParsePython(text.text, "");
  const bool one = !tree.error && tree.statements.size() == 1 && tree.statements[0].kind == PyStmt::Kind::kExpr;
  if (!one || error_) {
    Fail(text.offset, absl::StrCat("this text is not an extent", tree.error ? ": " + tree.error->message : ""));
    return Expr();
  }
  const PyExpr& e = *tree.statements[0].value;
  Expr size = DefineSizes(e, /*every_name=*/true) ? ReadIndex(e) : Expr();
  if (!size) {  // places in the text of the extent are none of the file
    const std::string message = error_->message;
    error_.reset();
    Fail(text.offset, absl::StrCat("this text is not an extent: ", message));
  }
  return size;
}

bool FunctionReader::ReadShape(const PyExpr& e, const std::string& buffer, bool strides, std::vector<Expr>* out) {
  std::vector<const PyExpr*> items;
  if (e.kind == Kind::kTuple || e.kind == Kind::kList) {
    for (const PyExprPtr& item : e.items) items.push_back(item.get());
  } else {
    items.push_back(&e);
  }
  if (items.size() > kMaxDimensions) return Fail(e.offset, "too many dimensions");
  for (const PyExpr* item : items) {
    const bool unknown = item->kind == Kind::kName && Lookup(item->text) == nullptr && symbols_.contains(item->text);
    if ((item->kind == Kind::kString && IsPythonName(item->text)) || unknown) {
      // A size that the argument defines. Strings of shapes are names in the function, those of strides are not: they
      // are used as A.strides[0].
      if (strides && !unknown) {
        out->push_back(Var(item->text, DataType::Int(32)));
      } else if (const Value* known = Lookup(item->text)) {
        Expr size = ToExpr(*known, item->offset);
        if (!size) return false;
        if (!size.dtype().is_index()) {
          return Fail(item->offset,
                      absl::StrCat("expected a size of type int32 or int64, found ", size.dtype().ToString()));
        }
        out->push_back(std::move(size));
      } else {
        if (!DefineSize(item->text, item->offset)) return false;
        out->push_back(*Lookup(item->text)->As<Expr>());
      }
      continue;
    }
    Expr size;
    if (item->kind == Kind::kString) {
      if (!(size = ReadExtentText(*item))) return false;
    } else if (!strides && !DefineSizes(*item)) {
      return false;
    } else if (const auto name = CalledName(*item); name && item->items.size() == 1 && DataType::Parse(*name)) {
      size = Var(absl::StrCat(buffer, strides ? "_s" : "_d", out->size()), *DataType::Parse(*name));
    } else {
      size = ReadIndex(*item);
    }
    if (!size) return false;
    if (!size.dtype().is_index()) {
      return Fail(item->offset,
                  absl::StrCat("expected a size of type int32 or int64, found ", size.dtype().ToString()));
    }
    if (const auto value = AsInt(size); value && *value < 0 && !strides) {
      return Fail(item->offset, "an extent is not negative");
    }
    out->push_back(std::move(size));
  }
  return true;
}

bool FunctionReader::ReadLayout(const PyExpr& e, const BufferNode::Fields& buffer, Layout* out) {
  if (CalledName(e) != "layout")
    return Fail(e.offset, "expected T.layout(lambda i, j: (...), owner_dims=..., shape=...)");
  Arguments args;
  if (!Bind(e, {"map", "owner_dims", "shape"}, &args) || !Require(e, args, "map") || !Require(e, args, "shape")) {
    return false;
  }
  const PyExpr& map = *args["map"];
  if (map.kind != Kind::kLambda) return Fail(map.offset, "expected a lambda");
  if (map.keywords.size() != buffer.shape.size()) {
    return Fail(map.offset, absl::StrCat("the map has ", map.keywords.size(), " indices, buffer '", buffer.name,
                                         "' has ", buffer.shape.size(), " dimensions"));
  }
  std::vector<Var> inputs;
  frames_.emplace_back();
  bool ok = true;
  for (size_t i = 0; ok && i < map.keywords.size(); ++i) {
    inputs.emplace_back(map.keywords[i], buffer.shape[i].dtype());
    ok = Define(map.keywords[i], map.keyword_offsets[i], Value{Expr(inputs.back())});
  }
  const PyExpr& body = *map.items[0];
  std::vector<Expr> outputs;
  const bool tuple = body.kind == Kind::kTuple || body.kind == Kind::kList;
  for (size_t i = 0; ok && i < (tuple ? body.items.size() : 1); ++i) {
    outputs.push_back(ReadIndex(tuple ? *body.items[i] : body));
    ok = static_cast<bool>(outputs.back());
  }
  LeaveFrame();
  if (!ok || !ReadShape(*args["shape"], buffer.name, false, &out->shape)) return false;
  if (out->shape.size() != outputs.size()) {
    return Fail(args["shape"]->offset, absl::StrCat("the map has ", outputs.size(), " results, the shape has ",
                                                    out->shape.size(), " extents"));
  }
  int64_t owner_dims = 0;
  if (args["owner_dims"] != nullptr &&
      !ReadInt(*args["owner_dims"], 0, static_cast<int64_t>(outputs.size()), &owner_dims)) {
    return false;
  }
  out->map = IndexMap(std::move(inputs), std::move(outputs));
  out->owner_dims = static_cast<int>(owner_dims);
  return true;
}

Buffer FunctionReader::ReadBuffer(const PyExpr& call, const std::string& name, const Arguments& args,
                                  const BufferDefaults& defaults) {
  BufferNode::Fields fields;
  fields.name = name;
  fields.dtype = defaults.dtype;
  std::string scope = defaults.scope;
  if (!Require(call, args, "shape") || !ReadShape(*args["shape"], name, false, &fields.shape)) return Buffer();
  if (args["dtype"] != nullptr && !ReadTypeName(*args["dtype"], &fields.dtype)) return Buffer();
  if (fields.dtype.is_void()) {
    Fail(args["dtype"]->offset, "a buffer holds numbers");
    return Buffer();
  }
  if (const PyExpr* strides = args["strides"]; strides != nullptr) {
    if (!ReadShape(*strides, name, true, &fields.strides)) return Buffer();
    if (!fields.strides.empty() && fields.strides.size() != fields.shape.size()) {
      Fail(strides->offset, absl::StrCat("buffer '", name, "' has ", fields.shape.size(), " dimensions, but ",
                                         fields.strides.size(), " strides"));
      return Buffer();
    }
  }
  if (const PyExpr* text = args["scope"]; text != nullptr) {
    if (!ReadString(*text, &scope)) return Buffer();
    if (!Scope::Valid(scope)) {
      Fail(text->offset, absl::StrCat("'", scope, "' is not a storage scope"));
      return Buffer();
    }
  }
  fields.scope = Scope::Parse(scope);
  int64_t number = 0;
  if (args["align"] != nullptr) {
    if (!ReadInt(*args["align"], -1, 1 << 20, &number)) return Buffer();
    if (number > 0) fields.alignment = static_cast<int>(number);
  }
  const DataType index = fields.shape.empty() ? DataType::Int(32) : fields.shape[0].dtype();
  if (args["offset_factor"] != nullptr) {
    if (!ReadInt(*args["offset_factor"], 0, 1 << 30, &number)) return Buffer();
    if (number > 0) {
      // The offset is known to be a multiple of it, but not known.
      fields.offset_factor = static_cast<int>(number);
      fields.elem_offset = Var(absl::StrCat(name, "_elem_offset"), index);
    }
  }
  if (const PyExpr* offset = args["elem_offset"]; offset != nullptr) {
    // TVM prints a variable that nothing defines where the offset is known when the program runs.
    const bool unknown = offset->kind == Kind::kName && Lookup(offset->text) == nullptr && blocks_.empty();
    if (offset->kind == Kind::kString || unknown) {
      fields.elem_offset = Var(offset->text, index);
    } else if (!(fields.elem_offset = ReadIndex(*offset))) {
      return Buffer();
    }
  }
  fields.data = defaults.data;
  if (const PyExpr* data = args["data"]; data != nullptr && !fields.data) {
    Expr pointer = ReadData(*data);
    if (!pointer) return Buffer();
    const auto* var = dyn_cast<VarNode>(pointer);
    if (var == nullptr || !var->dtype().is_handle()) {
      Fail(data->offset, "expected a pointer such as A.data");
      return Buffer();
    }
    fields.data = Var(var);
  }
  for (const char* unused : {"buffer_type", "axis_separators"}) {
    const PyExpr* value = args[unused];
    if (value == nullptr) continue;
    const bool is_default = (value->kind == Kind::kString && (value->text == "auto" || value->text == "default")) ||
                            (value->kind == Kind::kList && value->items.empty()) || value->text.empty();
    if (!is_default) {
      Fail(value->offset, absl::StrCat("'", unused, "' is not supported"));
      return Buffer();
    }
  }
  if (args["layout"] != nullptr && args["layout"]->kind != Kind::kString &&
      !ReadLayout(*args["layout"], fields, &fields.layout)) {
    return Buffer();
  }
  return Buffer(std::move(fields));
}

// The variables that a parameter or a matched buffer defines.
void FunctionReader::NoteSizes(const Buffer& buffer) {
  if (!buffer) return;
  auto note = [&](const Expr& e) {
    PreOrder(e, [&](const Expr& sub) {
      if (const auto* var = dyn_cast<VarNode>(sub)) sizes_.insert(var);
      return true;
    });
  };
  for (const Expr& extent : buffer->shape) note(extent);
  for (const Expr& stride : buffer->strides) note(stride);
  if (buffer->elem_offset) note(buffer->elem_offset);
}

bool FunctionReader::ReadMatchBuffer(const PyExpr& call, const PyExpr& target) {
  Arguments args;
  if (!Bind(call,
            {"param", "shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor",
             "buffer_type", "axis_separators", "layout"},
            &args) ||
      !Require(call, args, "param")) {
    return false;
  }
  const PyExpr& param = *args["param"];
  if (param.kind == Kind::kName) {
    const Value* value = Lookup(param.text);
    if (value == nullptr) return Fail(param.offset, absl::StrCat("'", param.text, "' is not defined"));
    if (const Expr* handle = value->As<Expr>()) {
      for (Param& parameter : function_.params) {
        if (parameter.var.get() != handle->get() || !parameter.var.dtype().is_handle()) continue;
        if (parameter.buffer) {
          return Fail(param.offset, absl::StrCat("parameter '", param.text, "' is matched already"));
        }
        if (!blocks_.empty()) return Fail(call.offset, "parameters are matched outside of blocks");
        parameter.buffer = ReadBuffer(call, target.text, args, {});
        NoteSizes(parameter.buffer);
        return parameter.buffer && Define(target.text, target.offset, Value{parameter.buffer});
      }
      return Fail(param.offset, absl::StrCat("'", param.text, "' is not a parameter of type T.handle"));
    }
  }
  if (CurrentBlock(call.offset, "match_buffer of a region") == nullptr) return false;
  BufferRegion source;
  if (!ReadRegion(param, &source)) return false;
  if (args["shape"] == nullptr) return Require(call, args, "shape");
  Buffer buffer = ReadBuffer(call, target.text, args, {source.buffer->dtype, source.buffer->scope.text()});
  if (!buffer) return false;
  NoteSizes(buffer);
  blocks_.back()->block.match_buffers.push_back({buffer, std::move(source)});
  return Define(target.text, target.offset, Value{buffer});
}

// Annotations of an allocation, without those that say what holds anyway: no address, the usual alignment.
bool FunctionReader::ReadAllocAnnotations(const PyExpr& e, Annotations* out) {
  if (!ReadAnnotations(e, out)) return false;
  std::erase_if(*out, [](const auto& entry) {
    const auto& [key, annotation] = entry;
    const auto* list = std::get_if<Annotation::List>(&annotation.value);
    const auto* value = std::get_if<Expr>(&annotation.value);
    return (key == "buffer_allocated_addr" && list != nullptr && list->empty()) ||
           (key == "buffer_data_alignment" && value != nullptr && IsInt(*value, 64));
  });
  return true;
}

bool FunctionReader::ReadAllocBuffer(const PyExpr& call, const std::string& name, const PyExpr& target, Segments& out) {
  Arguments args;
  BufferDefaults defaults;
  if (name == "alloc_shared") defaults.scope = "shared";
  if (name == "alloc_local") defaults.scope = "local";
  const bool full = name == "alloc_buffer" || name == "sblock_alloc_buffer";
  const bool ok = full ? Bind(call,
                              {"shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor",
                               "buffer_type", "axis_separators", "layout", "annotations"},
                              &args)
                       : Bind(call,
                              {"shape", "dtype", "scope", "align", "layout", "annotations", "strides", "elem_offset",
                               "offset_factor"},
                              &args);
  Annotations annotations;
  if (!ok || (args["annotations"] != nullptr && !ReadAllocAnnotations(*args["annotations"], &annotations))) {
    return false;
  }
  defaults.data = TakeAnnounced(target.text, DataType::Handle());
  const bool announced = taken_.contains(defaults.data.get());
  if (!announced) defaults.data = Var();
  Buffer buffer = ReadBuffer(call, target.text, args, defaults);
  if (!buffer) return false;
  const bool in_place = !annotations.empty() || announced;  // a block's list of buffers has no room for these
  if (!blocks_.empty() && !in_place) {
    blocks_.back()->block.alloc_buffers.push_back(buffer);
  } else if ((nesting_ == 0 || name == "sblock_alloc_buffer") && !in_place) {
    root_buffers_.push_back(buffer);
  } else {  // in a loop of a program without blocks
    Segment segment;
    segment.wrap = [buffer, annotations](Stmt body) {
      return Stmt(new AllocateNode(buffer, annotations, std::move(body)));
    };
    out.push_back(std::move(segment));
    ++nesting_;
  }
  return Define(target.text, target.offset, Value{buffer});
}

// A.view("int32") of a uint8 buffer has a quarter of the elements in its last dimension.
bool FunctionReader::RescaleShape(const BufferNode& source, uint32_t offset, BufferNode::Fields* view) {
  view->shape = source.shape;
  const int64_t from = int64_t{source.dtype.bits()} * source.dtype.lanes();
  const int64_t to = int64_t{view->dtype.bits()} * view->dtype.lanes();
  const auto extent = AsInt(source.shape.back());
  const auto begin = source.elem_offset ? AsInt(source.elem_offset) : std::optional<int64_t>(0);
  if (from == to) return true;
  if (!extent || !begin || *extent > std::numeric_limits<int32_t>::max() || *extent * from % to != 0 || *begin != 0) {
    return Fail(offset, absl::StrCat("the elements of ", source.dtype.ToString(), " are not a whole number of ",
                                     view->dtype.ToString()));
  }
  view->shape.back() = Const(source.shape.back().dtype(), *extent * from / to);
  return true;
}

// A_1 = A.view(16384): the same memory in another shape, and with dtype= in another type.
bool FunctionReader::ReadView(const PyExpr& call, const PyExpr& target, Segments& out) {
  Value base;
  if (!Eval(*call.items[0]->items[0], &base)) return false;
  const auto* source = base.As<Buffer>();
  if (source == nullptr) return Fail(call.offset, "expected a buffer before '.view'");
  BufferNode::Fields fields;
  fields.name = target.text;
  fields.dtype = (*source)->dtype;
  fields.scope = (*source)->scope;
  fields.alignment = (*source)->alignment;
  fields.elem_offset = (*source)->elem_offset;
  fields.data = (*source)->data;
  for (size_t i = 1; i < call.items.size(); ++i) {
    if (call.items[i]->kind == Kind::kString && DataType::Parse(call.items[i]->text)) {
      fields.dtype = *DataType::Parse(call.items[i]->text);
      continue;
    }
    if (!ReadShape(*call.items[i], target.text, false, &fields.shape)) return false;
  }
  for (size_t i = 0; i < call.keywords.size(); ++i) {
    const PyExpr& value = *call.keyword_values[i];
    if (call.keywords[i] != "dtype") {
      return Fail(call.keyword_offsets[i], absl::StrCat("unexpected argument '", call.keywords[i], "'"));
    }
    if (!ReadTypeName(value, &fields.dtype)) return false;
  }
  if (fields.dtype.is_void()) return Fail(call.offset, "a buffer holds numbers");
  if (fields.shape.empty() && !(*source)->shape.empty() && !RescaleShape(**source, call.offset, &fields)) return false;
  Buffer buffer(std::move(fields));
  Segment segment;
  segment.wrap = [buffer](Stmt body) { return Stmt(new DeclBufferNode(buffer, std::move(body))); };
  out.push_back(std::move(segment));
  ++nesting_;
  return Define(target.text, target.offset, Value{buffer});
}

// T.allocate and T.decl_buffer without data make storage, T.decl_buffer and T.Buffer with data another view of it.
bool FunctionReader::ReadDeclaration(const PyExpr& call, const std::string& name, const PyExpr* target,
                                     std::function<Stmt(Stmt)>* wrap) {
  Arguments args;
  Annotations annotations;
  if (name == "allocate") {
    if (!Bind(call, {"shape", "dtype", "scope", "condition", "annotations", "extents"}, &args)) return false;
  } else if (!Bind(call,
                   {"shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor",
                    "buffer_type", "axis_separators", "layout", "annotations"},
                   &args)) {
    return false;
  }
  BufferDefaults defaults;
  Expr pointer;  // what data= is, when it is not a variable: it gets one
  if (args["data"] == nullptr) {
    defaults.data = TakeAnnounced(target->text, DataType::Handle());
    if (!taken_.contains(defaults.data.get())) defaults.data = Var();
  } else if (args["data"]->kind == Kind::kCall) {
    pointer = ReadData(*args["data"]);
    if (!pointer) return false;
    if (!pointer.dtype().is_handle()) return Fail(args["data"]->offset, "expected a pointer such as A.data");
    defaults.data = TakeAnnounced(target->text, DataType::Handle());
    if (!taken_.contains(defaults.data.get())) {
      defaults.data = Var(absl::StrCat(target->text, "_ptr"), DataType::Handle());
    }
  }
  Buffer buffer = ReadBuffer(call, target->text, args, defaults);
  if (!buffer) return false;
  if (pointer) {
    *wrap = [buffer, pointer](Stmt body) {
      return LetStmt(buffer->data, pointer, Stmt(new DeclBufferNode(buffer, std::move(body))));
    };
  } else if (args["data"] != nullptr) {
    *wrap = [buffer](Stmt body) { return Stmt(new DeclBufferNode(buffer, std::move(body))); };
  } else {
    if (name == "Buffer" || name == "buffer_decl") {
      return Fail(call.offset, absl::StrCat("argument 'data' is missing: T.", name, " in a body is a view"));
    }
    if (args["annotations"] != nullptr && !ReadAllocAnnotations(*args["annotations"], &annotations)) return false;
    *wrap = [buffer, annotations](Stmt body) { return Stmt(new AllocateNode(buffer, annotations, std::move(body))); };
  }
  return Define(target->text, target->offset, Value{buffer});
}

}  // namespace tilewright::script
