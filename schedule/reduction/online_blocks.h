// The blocks that rescale_reduction and rescale_parts (schedule/reduction/rescale_reduction.h) make of a chain that has
// been taken apart: new ones that keep running values, references and corrections, and those of the program with what
// they read of the final value read from a running one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/stmt.h"
#include "ir/substitute.h"
#include "schedule/reduction/divided_chain.h"
#include "schedule/reduction/idle_terms.h"

namespace tilewright {

// Statements are what the shared loops hold, but where it says otherwise.
class OnlineBlocks {
 public:
  // Both must outlive this.
  OnlineBlocks(const DividedChain& divided, const std::optional<IdleTerms>& idle)
      : divided_(divided), idle_(idle), next_id_(divided.function->next_id) {}

  // The value before the first part; it has no iterator of the shared loop.
  Stmt Start();
  // The first reduction's block, with its id: its output holds the running value and at last the final one.
  Stmt Running();
  // From the value before a part to the one after it, for one of the factors.
  Stmt Rescale(size_t factor);
  // rescale_parts: a part's own result, or a constant where the factor cannot be inverted at that.
  Stmt Reference(size_t factor);
  // rescale_parts: from a part's reference to the final value, in a nest of its own. `id` receives the block's.
  Stmt Correction(size_t factor, uint32_t* id);

  // The parts of the first reduction, of another one, and what combines the latter.
  Stmt FirstPart() { return Inner(divided_.parts[0], divided_.chain.first); }
  Stmt Partial(const OnlineBlock& block, uint32_t part);
  Stmt Combined(const OnlineBlock& block) { return Inner(block.id(), block, Combining(block)); }
  // A block that reduces nothing, with an iterator for the shared loop, which references are indexed by.
  Stmt Elementwise(const OnlineBlock& block);

  // The block that combines parts, without loops: corrects the sum so far, or a part that has its own reference.
  Stmt Combining(const OnlineBlock& block) const;

  // Outermost loops of the nests that statements were taken from.
  const std::vector<uint32_t>& emptied() const { return emptied_; }
  uint32_t next_id() const { return next_id_; }

 private:
  // A block that runs once for each partial result of the first reduction.
  struct Fresh {
    std::vector<ForNode::Fields> loops;  // inside of the shared ones
    std::vector<Expr> bindings;
    Expr predicate;
    BlockNode::Fields block;
    VarMap iters;               // of the first reduction, as those of the block
    std::vector<Expr> indices;  // of its partial results
    Expr step, last;            // of the shared loop
  };
  Fresh FreshBlock(const std::string& name) { return FreshBlock(name, divided_.chain.first.outer); }
  // With its own loops from that one on.
  Fresh FreshBlock(const std::string& name, size_t first_own);
  // The last iteration with terms of the block's row.
  Expr LastWithTerms(const Fresh& fresh) const;
  static Stmt Finish(Fresh fresh, std::vector<Stmt> body);

  // What the shared loop holds of the block's nest, with `realize` in place of the block.
  Stmt Inner(uint32_t id, const OnlineBlock& block, const Stmt& realize = {});
  Expr UseReference(const OnlineBlock& block, const Expr& e, const Expr& step) const;
  // An elementwise block takes the reference that its readers' corrections are made with.
  size_t ReferenceOf(const OnlineBlock& block) const;

  const DividedChain& divided_;
  const std::optional<IdleTerms>& idle_;
  std::vector<uint32_t> emptied_;
  uint32_t next_id_;
};

}  // namespace tilewright
