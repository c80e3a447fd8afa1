#include "tools/programs/cautions.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/nearest_names.h"
#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

// Integers in which sums of products are computed; in narrower ones a product of any two values does not fit.
constexpr int kRoomyBits = 32;

bool IsNarrow(DataType type) { return type.is_integer() && type.bits() < kRoomyBits; }

// Products of two narrow integers neither of which is a constant, a caution for each block.
class NarrowProducts : public Visitor {
 public:
  using Visitor::Visit;
  std::vector<Caution> cautions;

 protected:
  void VisitBlock(const BlockNode* op) override {
    const BlockNode* outer = std::exchange(block_, op);
    found_ = false;
    Visitor::VisitBlock(op);
    block_ = outer;
  }
  void VisitBinary(const BinaryNode* op) override {
    Visitor::VisitBinary(op);
    if (op->op != BinaryOp::kMul || !IsNarrow(op->dtype()) || AsInt(op->a) || AsInt(op->b) || found_) return;
    found_ = true;
    const std::string type = op->dtype().ToString();
    const std::string where = block_ == nullptr ? "" : "block " + block_->name + ": ";
    cautions.push_back({block_ == nullptr ? 0 : block_->id,
                        where + Print(Expr(op)) + " is computed in " + type + " and wraps beyond " +
                            Largest(op->dtype()) + "; T.Cast(\"int32\", ...) of both factors multiplies in int32"});
  }

 private:
  static std::string Largest(DataType type) {
    return std::to_string((int64_t{1} << (type.is_int() ? type.bits() - 1 : type.bits())) - 1);
  }

  const BlockNode* block_ = nullptr;
  bool found_ = false;
};

// The outermost loops that hold stores and no block.
class LoopFinder : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  std::vector<const ForNode*> loops;

 protected:
  void VisitFor(const ForNode* op) override {
    // Whoever binds loops to threads has scheduled them.
    if (op->kind == ForKind::kThreadBound) return;
    bool blocks = false, stores = false, threads = false;
    PreOrder(op->body, [&](const Stmt& s) {
      blocks = blocks || isa<BlockRealizeNode>(s);
      stores = stores || isa<StoreNode>(s);
      const auto* loop = dyn_cast<ForNode>(s);
      threads = threads || (loop != nullptr && loop->kind == ForKind::kThreadBound);
      return true;
    });
    if (!blocks && !threads && stores) {
      loops.push_back(op);
    } else {
      StmtVisitor::VisitFor(op);
    }
  }
  // The root block declares nothing and only holds others; what stands in one of these is computed by it.
  void VisitBlock(const BlockNode* op) override {
    const bool root = !std::exchange(inside_, true) && op->reads.empty() && op->writes.empty();
    if (root) StmtVisitor::VisitBlock(op);
  }

 private:
  bool inside_ = false;
};

// "B[0:32, 0:64] of B[0:64, 0:64]" of outputs with elements that surely are not written.
class UnwrittenElements {
 public:
  explicit UnwrittenElements(const Function& function) : regions_(RegionsOf(function)) {}

  std::optional<Caution> Of(const Buffer& buffer) {
    std::vector<const BufferRegion*> written;
    for (const BufferRegion& region : regions_.writes) {
      if (!region.buffer->data.same_as(buffer->data)) continue;
      if (!region.buffer.same_as(buffer)) return std::nullopt;  // another name of it
      written.push_back(&region);
    }
    const auto reads = [&](const BufferRegion& region) { return region.buffer->data.same_as(buffer->data); };
    if (written.empty() || std::ranges::any_of(regions_.reads, reads)) return std::nullopt;
    for (size_t d = 0; d < buffer->shape.size(); ++d) {
      const std::string part = SurelyUnwritten(written, d, buffer->shape[d]);
      if (part.empty()) continue;
      return Caution{0, "output " + buffer->name + ": in dimension " + std::to_string(d) + " " + part +
                            " is not written and keeps what the caller gave"};
    }
    return std::nullopt;
  }

 private:
  // The root block declares nothing.
  static AccessRegions RegionsOf(const Function& function) {
    const auto* root = dyn_cast<BlockRealizeNode>(function->body);
    return root == nullptr ? DetectRegions(function->body) : DetectRegions(*root->block);
  }
  std::string SurelyUnwritten(const std::vector<const BufferRegion*>& written, size_t d, const Expr& extent) {
    const auto all = [&](auto holds) {
      return std::ranges::all_of(written, [&](const BufferRegion* region) { return holds(region->region[d]); });
    };
    if (all([&](const Range& r) { return analyzer_.CanProveLess(r.min + r.extent, extent); })) {
      if (written.size() > 1) return "the end, up to " + Print(extent) + ",";
      const Range& range = written[0]->region[d];
      return "[" + Print(analyzer_.Simplify(range.min + range.extent)) + ", " + Print(extent) + ")";
    }
    if (all([&](const Range& r) { return analyzer_.CanProveLess(Const(r.min.dtype(), 0), r.min); })) {
      return "the beginning";
    }
    return "";
  }

  const AccessRegions regions_;
  arith::Analyzer analyzer_;
};

// The part after the last dot.
std::string LastPart(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// Attributes that are read, misspelt.
std::vector<Caution> MisspeltAttributes(const Function& function) {
  const std::vector<std::string> known = {kConstantParams, kPrepackOf,    kWinograd,
                                          kLikelySizes,    kGlobalSymbol, kNoAlias};
  std::unordered_map<std::string, std::string> full;  // by last part
  std::vector<std::string> parts;
  for (const std::string& name : known) {
    parts.push_back(LastPart(name));
    full[LastPart(name)] = name;
  }
  std::vector<Caution> cautions;
  for (const auto& [name, value] : function->attrs) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::vector<std::string> nearest = NearestNames(LastPart(name), parts, 1);
    if (nearest.empty()) continue;
    cautions.push_back({0, "nobody reads the attribute " + name + "; did you mean " + full.at(nearest[0]) + "?"});
  }
  return cautions;
}

void Append(std::vector<Caution> more, std::vector<Caution>* all) { std::ranges::move(more, std::back_inserter(*all)); }

}  // namespace

std::vector<Caution> LoopsWithoutBlocks(const Function& function) {
  LoopFinder finder;
  finder.Visit(function->body);
  if (finder.loops.empty()) return {};
  const ForNode& loop = *finder.loops[0];
  return {{loop.id, "loop " + loop.var.name() +
                        " holds no block, and no schedule, rule or tuner reaches it: put what it computes into `with "
                        "T.block(\"NAME\"):` with an iterator for each loop (docs/script.md)"}};
}

std::vector<Caution> CautionsOf(const Function& function) {
  NarrowProducts products;
  products.Visit(function->body);
  std::vector<Caution> cautions = std::move(products.cautions);
  Append(LoopsWithoutBlocks(function), &cautions);
  UnwrittenElements unwritten(function);
  for (const Param& param : function->params) {
    if (!param.buffer) continue;
    if (auto caution = unwritten.Of(param.buffer)) cautions.push_back(*std::move(caution));
  }
  Append(MisspeltAttributes(function), &cautions);
  return cautions;
}

}  // namespace tilewright
