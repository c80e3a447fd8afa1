#include "autoschedule/program/access_strides.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/functor.h"
#include "ir/lane_runs.h"

namespace tilewright {
namespace {

class AccessCollector : public Visitor {
 public:
  explicit AccessCollector(const BlockNode& block) : block_(block) {}
  using Visitor::Visit;
  std::vector<Access> accesses;

 protected:
  void VisitLoad(const LoadNode* op) override {
    Add(op->buffer, op->indices, false);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Add(op->buffer, op->indices, true);
    Visitor::VisitStore(op);
  }

 private:
  void Add(const Buffer& buffer, const std::vector<Expr>& indices, bool store) {
    Access access{buffer, store, indices, {}, std::vector<std::vector<int64_t>>(indices.size())};
    for (const IterVar& iter : block_.iter_vars) AddIterator(access, indices, iter.var);
    accesses.push_back(std::move(access));
  }

  void AddIterator(Access& access, const std::vector<Expr>& indices, const Var& var) {
    std::optional<int64_t> stride = 0, elements = 1;  // of one step of the dimension
    for (size_t d = indices.size(); d-- > 0;) {
      std::optional<int64_t> step = 0;
      if (UsesVar(indices[d], var)) {
        const auto linear = arith::DetectLinear(indices[d], {var}, &analyzer_);
        step = linear ? AsInt(linear->coefficients[0]) : std::nullopt;
        stride = step && stride && elements ? std::optional(*stride + *step * *elements) : std::nullopt;
      }
      access.steps[d].push_back(step.value_or(0));
      const auto extent = AsInt(access.buffer->shape[d]);
      elements = elements && extent ? std::optional(*elements * *extent) : std::nullopt;
    }
    access.strides.push_back(stride ? stride : FlatStride(access.buffer, indices, var));
  }

  // The stride of an iterator that runs through several dimensions as one: c // 3 and c % 3 in two dimensions.
  std::optional<int64_t> FlatStride(const Buffer& buffer, const std::vector<Expr>& indices, const Var& var) {
    Expr flat = indices[0];
    for (size_t d = 1; d < indices.size(); ++d) flat = flat * buffer->shape[d] + indices[d];
    const auto linear = arith::DetectLinear(flat, {var}, &analyzer_);
    return linear ? AsInt(linear->coefficients[0]) : std::nullopt;
  }

  const BlockNode& block_;
  arith::Analyzer analyzer_;
};

}  // namespace

std::vector<Access> AccessesOf(const BlockNode& block) {
  AccessCollector collector(block);
  collector.Visit(block.body);
  return std::move(collector.accesses);
}

bool IsStridedAxis(const std::vector<Access>& accesses, size_t iterator) {
  return std::ranges::all_of(accesses, [&](const Access& access) {
    const std::optional<int64_t>& stride = access.strides[iterator];
    return stride && (access.store ? *stride == 1 : 0 <= *stride && *stride <= kLongestStride);
  });
}

int64_t BytesOf(const Buffer& buffer) {
  int64_t bytes = buffer->dtype.bytes();
  for (const Expr& extent : buffer->shape) bytes *= AsInt(extent).value_or(1);
  return bytes;
}

}  // namespace tilewright
