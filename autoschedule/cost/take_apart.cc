#include "autoschedule/cost/take_apart.h"

#include <algorithm>

#include "base/math.h"

namespace tilewright {
namespace {

// Cuts of a loop: multiples of its variable at which some index changes, ascending, 1 first; each divides the
// next.
using Cuts = absl::InlinedVector<int64_t, 4>;

std::vector<Cuts> FindCuts(const ProgramFacts& facts) {
  std::vector<Cuts> cuts(facts.loops.size());
  for (const AccessFacts& access : facts.accesses) {
    for (const IndexForm& form : access.index) {
      for (const IndexTerm& term : form.terms) {
        const auto loop = static_cast<size_t>(term.loop);
        const int64_t extent = facts.loops[loop].extent, upper = term.lower * term.extent;
        if (term.lower > 1 && term.lower < extent) cuts[loop].push_back(term.lower);
        if (upper < extent) cuts[loop].push_back(upper);
      }
    }
  }
  for (Cuts& of_loop : cuts) {
    of_loop.push_back(1);
    std::sort(of_loop.begin(), of_loop.end());
    Cuts chain;
    for (int64_t cut : of_loop) {
      if (chain.empty() || (cut != chain.back() && cut % chain.back() == 0)) chain.push_back(cut);
    }
    of_loop = std::move(chain);
  }
  return cuts;
}

// The pieces of each loop of a program: those of loop l are loops first[l] (outermost) to last[l] (innermost).
struct Pieces {
  std::vector<LoopFacts> loops;
  std::vector<int> first, last;

  Pieces(const std::vector<LoopFacts>& whole, const std::vector<Cuts>& cuts);
  int PlaceOf(int loop) const { return loop < 0 ? -1 : last[static_cast<size_t>(loop)]; }
  LoopMask BitOf(int piece) const { return LoopMask{1} << std::min(loops[static_cast<size_t>(piece)].depth, 63); }
};

Pieces::Pieces(const std::vector<LoopFacts>& whole, const std::vector<Cuts>& cuts) {
  for (size_t l = 0; l < cuts.size(); ++l) {
    first.push_back(static_cast<int>(loops.size()));
    for (size_t piece = cuts[l].size(); piece-- > 0;) {
      LoopFacts part = whole[l];
      const int64_t upper = piece + 1 < cuts[l].size() ? cuts[l][piece + 1] : whole[l].extent;
      part.extent = CeilDiv(upper, cuts[l][piece]);
      const bool outermost = piece + 1 == cuts[l].size();
      part.parent = outermost ? PlaceOf(whole[l].parent) : static_cast<int>(loops.size()) - 1;
      part.depth = part.parent < 0 ? 0 : loops[static_cast<size_t>(part.parent)].depth + 1;
      loops.push_back(part);
    }
    last.push_back(static_cast<int>(loops.size()) - 1);
  }
}

// The form with a term for each piece of a loop that it varies with.
IndexForm InPieces(const IndexForm& form, const std::vector<Cuts>& cuts, const Pieces& pieces) {
  IndexForm apart{{}, form.base, form.exact};
  for (const IndexTerm& term : form.terms) {
    const auto l = static_cast<size_t>(term.loop);
    const size_t before = apart.terms.size();
    for (size_t piece = 0; piece < cuts[l].size(); ++piece) {
      const int64_t cut = cuts[l][piece];
      const int number = pieces.last[l] - static_cast<int>(piece);
      const int64_t extent = pieces.loops[static_cast<size_t>(number)].extent;
      if (cut < term.lower || cut >= term.lower * term.extent || extent == 1) continue;
      apart.terms.push_back({number, 1, extent, term.scale * (cut / term.lower)});
    }
    if (apart.terms.size() == before) {  // not cut where the term changes
      apart.exact = false;
      const int64_t outermost = pieces.loops[static_cast<size_t>(pieces.first[l])].extent;
      apart.terms.push_back({pieces.first[l], 1, std::min(term.extent, outermost), term.scale});
    }
  }
  return apart;
}

}  // namespace

void TakeLoopsApart(ProgramFacts* facts) {
  const std::vector<Cuts> cuts = FindCuts(*facts);
  if (std::all_of(cuts.begin(), cuts.end(), [](const Cuts& c) { return c.size() == 1; })) return;

  Pieces pieces(facts->loops, cuts);
  const auto bit_of = [&](int l) { return LoopMask{1} << std::min(facts->loops[static_cast<size_t>(l)].depth, 63); };
  const auto around = [&](int l) { return facts->loops[static_cast<size_t>(l)].parent; };
  const auto new_mask = [&](LoopMask mask, int old_place) {
    LoopMask result = 0;
    for (int l = old_place; l >= 0; l = around(l)) {
      if ((mask & bit_of(l)) == 0) continue;
      const auto whole = static_cast<size_t>(l);
      for (int piece = pieces.first[whole]; piece <= pieces.last[whole]; ++piece) result |= pieces.BitOf(piece);
    }
    return result;
  };
  // Indices tell which pieces of a loop that was cut they vary with.
  const auto cut_loops = [&](int old_place) {
    LoopMask mask = 0;
    for (int l = old_place; l >= 0; l = around(l)) {
      if (cuts[static_cast<size_t>(l)].size() > 1) mask |= bit_of(l);
    }
    return mask;
  };

  for (AccessFacts& access : facts->accesses) {
    access.varies = new_mask(access.varies & ~cut_loops(access.loop), access.loop);
    for (IndexForm& form : access.index) {
      form = InPieces(form, cuts, pieces);
      for (const IndexTerm& term : form.terms) access.varies |= pieces.BitOf(term.loop);
    }
    access.loop = pieces.PlaceOf(access.loop);
  }
  for (OperationFacts& operation : facts->operations) {
    operation.varies = new_mask(operation.varies, operation.loop);
    operation.loop = pieces.PlaceOf(operation.loop);
  }
  facts->loops = std::move(pieces.loops);
}

}  // namespace tilewright
