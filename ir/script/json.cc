#include "ir/script/json.h"

#include <cmath>
#include <unordered_map>

#include "base/check.h"
#include "nlohmann/json.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::ordered_json;

const char* OperatorName(BinaryOp op) {
  static constexpr const char* kNames[] = {"add", "sub", "mul", "div", "mod", "floordiv", "floormod", "min", "max",
                                           "eq",  "ne",  "lt",  "le",  "gt",  "ge",       "and",      "or"};
  return kNames[static_cast<int>(op)];
}
const char* OwnerName(OwnerLevel level) {
  static constexpr const char* kNames[] = {"core", "thread", "warp", "warpgroup", "block", "cluster", "device"};
  return kNames[static_cast<int>(level)];
}
const char* SyncName(SyncKind kind) {
  static constexpr const char* kNames[] = {"barrier", "async_commit", "async_wait", "arrive", "wait"};
  return kNames[static_cast<int>(kind)];
}
// JSON has no infinities and no NaN.
Json Number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

class JsonWriter {
 public:
  Json Write(const Function& function) {
    vars_.clear();
    buffers_.clear();
    buffer_list_ = Json::array();
    Json params = Json::array();
    for (const Param& param : function->params) {
      Json item = {{"var", Write(param.var)}};
      if (param.buffer) item["buffer"] = Id(param.buffer);
      params.push_back(std::move(item));
    }
    Json body = Write(function->body);
    Json out = {{"name", function->name}, {"private", function->is_private}, {"params", std::move(params)}};
    out["attrs"] = Write(function->attrs);
    out["buffers"] = std::move(buffer_list_);
    out["body"] = std::move(body);
    return out;
  }
  Json Write(const Annotations& annotations) {
    Json out = Json::object();
    for (const auto& [key, value] : annotations) out[key] = Write(value);
    return out;
  }

 private:
  Json Write(const Annotation& annotation) {
    if (const auto* expr = std::get_if<Expr>(&annotation.value)) return Write(*expr);
    if (const auto* dict = std::get_if<Annotation::Dict>(&annotation.value)) return Write(*dict);
    Json out = Json::array();
    for (const Annotation& item : std::get<Annotation::List>(annotation.value)) out.push_back(Write(item));
    return out;
  }
  Json Write(const std::vector<Expr>& exprs) {
    Json out = Json::array();
    for (const Expr& e : exprs) out.push_back(Write(e));
    return out;
  }
  Json Write(const Var& var) {
    const auto id = vars_.emplace(var.get(), vars_.size()).first->second;
    return {{"node", "Var"}, {"id", id}, {"name", var.name()}, {"dtype", var.dtype().ToString()}};
  }
  Json Write(const Range& range) { return {{"min", Write(range.min)}, {"extent", Write(range.extent)}}; }
  Json Write(const BufferRegion& region) {
    Json ranges = Json::array();
    for (const Range& range : region.region) ranges.push_back(Write(range));
    return {{"buffer", Id(region.buffer)}, {"region", std::move(ranges)}};
  }

  size_t Id(const Buffer& buffer) {
    auto [it, fresh] = buffers_.emplace(buffer.get(), buffers_.size());
    const size_t id = it->second;
    if (!fresh) return id;
    buffer_list_.push_back({});
    Json out = {{"id", id}, {"name", buffer->name}, {"dtype", buffer->dtype.ToString()}};
    out["shape"] = Write(buffer->shape);
    out["strides"] = Write(buffer->strides);
    out["elem_offset"] = Write(buffer->elem_offset);
    out["scope"] = buffer->scope.text();
    out["alignment"] = buffer->alignment;
    out["offset_factor"] = buffer->offset_factor;
    out["data"] = Write(buffer->data);
    if (buffer->layout) {
      Json inputs = Json::array();
      for (const Var& var : buffer->layout.map->inputs) inputs.push_back(Write(var));
      out["layout"] = {{"inputs", std::move(inputs)},
                       {"outputs", Write(buffer->layout.map->outputs)},
                       {"owner_dims", buffer->layout.owner_dims},
                       {"shape", Write(buffer->layout.shape)}};
    }
    buffer_list_[id] = std::move(out);
    return id;
  }

  Json Write(const Expr& e) {
    if (!e) return nullptr;
    switch (e->kind()) {
      case Kind::kIntImm:
        return {{"node", "IntImm"}, {"dtype", e.dtype().ToString()}, {"value", cast<IntImmNode>(e)->value}};
      case Kind::kFloatImm:
        return {{"node", "FloatImm"}, {"dtype", e.dtype().ToString()}, {"value", Number(cast<FloatImmNode>(e)->value)}};
      case Kind::kStringImm:
        return {{"node", "StringImm"}, {"value", cast<StringImmNode>(e)->value}};
      case Kind::kVar:
        return Write(Var(cast<VarNode>(e)));
      case Kind::kBinary: {
        const auto* op = cast<BinaryNode>(e);
        Json out = {{"node", "Binary"}, {"op", OperatorName(op->op)}, {"dtype", e.dtype().ToString()}};
        out["a"] = Write(op->a);
        out["b"] = Write(op->b);
        return out;
      }
      case Kind::kNot:
        return {{"node", "Not"}, {"a", Write(cast<NotNode>(e)->a)}};
      case Kind::kSelect: {
        const auto* op = cast<SelectNode>(e);
        return {{"node", "Select"},
                {"condition", Write(op->condition)},
                {"true_value", Write(op->true_value)},
                {"false_value", Write(op->false_value)}};
      }
      case Kind::kCast:
        return {{"node", "Cast"}, {"dtype", e.dtype().ToString()}, {"value", Write(cast<CastNode>(e)->value)}};
      case Kind::kLoad: {
        const auto* op = cast<LoadNode>(e);
        Json out = {{"node", "Load"}, {"buffer", Id(op->buffer)}, {"indices", Write(op->indices)}};
        if (op->predicate) out["predicate"] = Write(op->predicate);
        return out;
      }
      case Kind::kRamp: {
        const auto* op = cast<RampNode>(e);
        return {
            {"node", "Ramp"}, {"base", Write(op->base)}, {"stride", Write(op->stride)}, {"lanes", e.dtype().lanes()}};
      }
      case Kind::kBroadcast:
        return {{"node", "Broadcast"}, {"value", Write(cast<BroadcastNode>(e)->value)}, {"lanes", e.dtype().lanes()}};
      case Kind::kShuffle: {
        const auto* op = cast<ShuffleNode>(e);
        return {{"node", "Shuffle"}, {"vectors", Write(op->vectors)}, {"indices", op->indices}};
      }
      case Kind::kLet: {
        const auto* op = cast<LetNode>(e);
        return {{"node", "Let"}, {"var", Write(op->var)}, {"value", Write(op->value)}, {"body", Write(op->body)}};
      }
      case Kind::kCall: {
        const auto* op = cast<CallNode>(e);
        return {{"node", "Call"}, {"op", op->op}, {"dtype", e.dtype().ToString()}, {"args", Write(op->args)}};
      }
      default:
        TW_UNREACHABLE();
    }
  }

  Json Write(const ForNode* op) {
    Json out = {{"node", "For"}, {"loop", op->id}, {"var", Write(op->var)}, {"min", Write(op->min)}};
    out["extent"] = Write(op->extent);
    out["kind"] = ForKindName(op->kind);
    if (op->kind == ForKind::kThreadBound) out["thread"] = op->thread_tag;
    out["annotations"] = Write(op->annotations);
    out["body"] = Write(op->body);
    return out;
  }

  Json Write(const StoreNode* op) {
    Json out = {{"node", "Store"}, {"buffer", Id(op->buffer)}, {"indices", Write(op->indices)}};
    out["value"] = Write(op->value);
    if (op->predicate) out["predicate"] = Write(op->predicate);
    return out;
  }

  Json Write(const AttrStmtNode* op) {
    Json out = {{"node", "AttrStmt"}, {"on", Write(op->node)}, {"key", op->key}, {"value", Write(op->value)}};
    out["body"] = Write(op->body);
    return out;
  }

  Json Write(const SyncNode* op) {
    Json out = {{"node", "Sync"}, {"sync", SyncName(op->sync)}, {"memory", op->memory.text()}};
    out["participants"] = OwnerName(op->participants);
    out["operand"] = Write(op->operand);
    out["object"] = Write(op->object);
    return out;
  }

  Json Write(const Stmt& s) {
    if (!s) return nullptr;
    switch (s->kind()) {
      case Kind::kFor:
        return Write(cast<ForNode>(s));
      case Kind::kWhile: {
        const auto* op = cast<WhileNode>(s);
        return {{"node", "While"}, {"condition", Write(op->condition)}, {"body", Write(op->body)}};
      }
      case Kind::kIf: {
        const auto* op = cast<IfNode>(s);
        return {{"node", "If"},
                {"condition", Write(op->condition)},
                {"then", Write(op->then_case)},
                {"else", Write(op->else_case)}};
      }
      case Kind::kSeq: {
        Json stmts = Json::array();
        for (const Stmt& stmt : cast<SeqNode>(s)->stmts) stmts.push_back(Write(stmt));
        return {{"node", "Seq"}, {"stmts", std::move(stmts)}};
      }
      case Kind::kStore:
        return Write(cast<StoreNode>(s));
      case Kind::kEvaluate:
        return {{"node", "Evaluate"}, {"value", Write(cast<EvaluateNode>(s)->value)}};
      case Kind::kLetStmt: {
        const auto* op = cast<LetStmtNode>(s);
        return {{"node", "LetStmt"}, {"var", Write(op->var)}, {"value", Write(op->value)}, {"body", Write(op->body)}};
      }
      case Kind::kAttrStmt:
        return Write(cast<AttrStmtNode>(s));
      case Kind::kAssert: {
        const auto* op = cast<AssertNode>(s);
        return {{"node", "Assert"}, {"condition", Write(op->condition)}, {"message", op->message}};
      }
      case Kind::kAllocate: {
        const auto* op = cast<AllocateNode>(s);
        Json out = {{"node", "Allocate"}, {"buffer", Id(op->buffer)}, {"annotations", Write(op->annotations)}};
        out["body"] = Write(op->body);
        return out;
      }
      case Kind::kDeclBuffer: {
        const auto* op = cast<DeclBufferNode>(s);
        return {{"node", "DeclBuffer"}, {"buffer", Id(op->buffer)}, {"body", Write(op->body)}};
      }
      case Kind::kBlockRealize: {
        const auto* op = cast<BlockRealizeNode>(s);
        Json out = {{"node", "BlockRealize"}, {"bindings", Write(op->bindings)}, {"predicate", Write(op->predicate)}};
        out["block"] = Write(op->block);
        return out;
      }
      case Kind::kSync:
        return Write(cast<SyncNode>(s));
      default:
        TW_UNREACHABLE();
    }
  }

  Json Write(const Block& block) {
    Json iters = Json::array(), reads = Json::array(), writes = Json::array();
    Json allocs = Json::array(), matches = Json::array();
    for (const IterVar& iter : block->iter_vars) {
      iters.push_back({{"var", Write(iter.var)}, {"domain", Write(iter.domain)}, {"kind", IterKindName(iter.kind)}});
    }
    for (const BufferRegion& region : block->reads) reads.push_back(Write(region));
    for (const BufferRegion& region : block->writes) writes.push_back(Write(region));
    for (const Buffer& buffer : block->alloc_buffers) allocs.push_back(Id(buffer));
    for (const MatchBuffer& match : block->match_buffers) {
      matches.push_back({{"buffer", Id(match.buffer)}, {"source", Write(match.source)}});
    }
    Json out = {{"block", block->id}, {"name", block->name}, {"iter_vars", std::move(iters)}};
    out["reads"] = std::move(reads);
    out["writes"] = std::move(writes);
    out["alloc_buffers"] = std::move(allocs);
    out["match_buffers"] = std::move(matches);
    out["annotations"] = Write(block->annotations);
    out["init"] = Write(block->init);
    out["body"] = Write(block->body);
    return out;
  }

  std::unordered_map<const VarNode*, size_t> vars_;
  std::unordered_map<const BufferNode*, size_t> buffers_;
  Json buffer_list_;
};

}  // namespace

std::string ToJson(const Module& module, int indent) {
  JsonWriter writer;
  Json functions = Json::array();
  for (const Function& function : module.functions()) functions.push_back(writer.Write(function));
  Json out = {{"functions", std::move(functions)}, {"attrs", writer.Write(module.attrs())}};
  // Strings of a program may hold bytes that are not UTF-8.
  return out.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tilewright
