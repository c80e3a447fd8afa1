#include "autoschedule/cost/unread_vectors.h"

#include <algorithm>

namespace tilewright {
namespace {

const LoopFacts& LoopOf(const ProgramFacts& facts, const IndexTerm& term) {
  return facts.loops[static_cast<size_t>(term.loop)];
}

bool IsVectorized(const ProgramFacts& facts, const IndexTerm& term) {
  return LoopOf(facts, term).kind == ForKind::kVectorized;
}

// The part of the vectors along an index in which some lane is read.
double ReadShare(const ProgramFacts& facts, const IndexForm& index, const std::pair<int64_t, int64_t>& read) {
  IndexForm to_last = Scale(index, -1), from_first = index;
  to_last.base += read.second;
  from_first.base -= read.first;
  for (const IndexTerm& term : index.terms) {
    if (IsVectorized(facts, term)) from_first.base += std::max<int64_t>(term.scale * (term.extent - 1), 0);
  }
  for (IndexForm* form : {&to_last, &from_first}) {
    const auto vectorized = [&](const IndexTerm& term) { return IsVectorized(facts, term); };
    form->terms.erase(std::remove_if(form->terms.begin(), form->terms.end(), vectorized), form->terms.end());
  }
  return std::max(ShareNotNegative(to_last) + ShareNotNegative(from_first) - 1, 0.0);
}

// Unrolled and vectorized loops that an index moves along.
LoopMask StraightLoops(const ProgramFacts& facts, const IndexForm& index) {
  LoopMask mask = 0;
  for (const IndexTerm& term : index.terms) {
    const LoopFacts& loop = LoopOf(facts, term);
    if (IsVectorized(facts, term) || loop.kind == ForKind::kUnrolled) mask |= LoopMask{1} << std::min(loop.depth, 63);
  }
  return mask;
}

// Along one dimension of the buffer that `sum` writes.
void DropAlong(const AccessFacts& sum, size_t dim, ProgramFacts* facts) {
  const IndexForm& index = sum.index[dim];
  const auto& read = facts->buffers[static_cast<size_t>(sum.buffer)].read[dim];
  if (read.first <= index.Min() && index.Max() <= read.second) return;
  if (std::ranges::none_of(index.terms, [&](const IndexTerm& term) { return IsVectorized(*facts, term); })) return;
  const double share = ReadShare(*facts, index, read);
  const LoopMask along = StraightLoops(*facts, index);
  std::vector<AccessFacts*> loads;
  for (AccessFacts& access : facts->accesses) {
    if (access.loop != sum.loop || access.write || (access.varies & along) == 0) continue;
    const BufferFacts& buffer = facts->buffers[static_cast<size_t>(access.buffer)];
    // A packed operand's padding is known to be zero, so its products are left out already.
    if (buffer.nonzero < 1) return;
    if (access.buffer != sum.buffer) loads.push_back(&access);
  }
  for (AccessFacts* load : loads) load->share *= share;
  for (OperationFacts& operation : facts->operations) {
    if (operation.loop == sum.loop && operation.accumulates) operation.share *= share;
  }
}

}  // namespace

void DropUnreadVectors(ProgramFacts* facts) {
  for (const AccessFacts& access : facts->accesses) {
    const BufferFacts& buffer = facts->buffers[static_cast<size_t>(access.buffer)];
    if (!access.write || !access.accumulates || buffer.read.size() != access.index.size()) continue;
    for (size_t d = 0; d < access.index.size(); ++d) DropAlong(access, d, facts);
  }
}

}  // namespace tilewright
