#include "schedule/fuzz/drawer.h"

#include <algorithm>

#include "ir/functor.h"

namespace tilewright::fuzz {
namespace {

// Names that one block has, the root's left out.
std::vector<std::string> BlockNames(const Function& function) {
  std::map<std::string, int> count;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) ++count[realize->block->name];
    return true;
  });
  std::vector<std::string> names;
  for (const auto& [name, times] : count) {
    if (times == 1 && name != "root") names.push_back(name);
  }
  return names;
}

}  // namespace

bool Drawer::Look() {
  const std::vector<std::string> names = BlockNames(sch_.module().Main());
  if (names.empty()) return false;
  block_ = Pick(names);
  other_block_ = Pick(names);
  const auto loops_of = [&](const std::string& name) {
    const auto loops = sch_.GetLoops(name);
    return loops.ok() ? *loops : std::vector<LoopRv>{};
  };
  loops_ = loops_of(block_);
  other_loops_ = other_block_ == block_ ? loops_ : loops_of(other_block_);
  return true;
}

const BlockNode& Drawer::block_node() const {
  const BlockNode* found = nullptr;
  PreOrder(sch_.module().Main()->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize != nullptr && realize->block->name == block_) found = realize->block.get();
    return found == nullptr;
  });
  return *found;
}

Value::List Drawer::ConsecutiveLoops() {
  Value::List list;
  if (loops_.empty()) return list;
  const size_t first = random_.Below(loops_.size()), count = 1 + random_.Below(3);
  for (size_t i = first; i < std::min(first + count, loops_.size()); ++i) list.push_back(Rv(loops_[i]));
  return list;
}

Value::List Drawer::ShuffledLoops() {
  Value::List list;
  for (LoopRv loop : loops_) {
    if (Coin()) list.insert(list.begin() + Below(std::ssize(list) + 1), Rv(loop));
  }
  return list;
}

IndexMap Drawer::AnyIndexMap(size_t rank) {
  std::vector<Var> inputs;
  for (size_t i = 0; i < rank; ++i) inputs.emplace_back("i" + std::to_string(i));
  std::vector<Expr> outputs(inputs.begin(), inputs.end());
  switch (random_.Below(4)) {
    case 0:
      std::reverse(outputs.begin(), outputs.end());
      break;
    case 1:
      if (rank < 2) break;
      outputs.pop_back();
      outputs.back() = inputs[rank - 2] * static_cast<int>(2 + Below(10)) + inputs[rank - 1];
      break;
    case 2:
      if (rank < 2) break;
      std::rotate(outputs.begin(), outputs.begin() + 1, outputs.end());
      break;
    default:
      if (rank == 0) break;
      outputs[0] = FloorDiv(inputs[0], 2);
      outputs.push_back(FloorMod(inputs[0], 2));
  }
  return IndexMap(std::move(inputs), std::move(outputs));
}

IndexMap Drawer::WholeDimensions() {
  const BlockNode& node = block_node();
  std::vector<Var> inputs;
  for (const IterVar& iter : node.iter_vars) inputs.emplace_back(iter.var.name());
  std::vector<Expr> ends = {Expr(0), Expr(1)};
  if (!node.reads.empty()) {
    ends.clear();
    for (const Expr& extent : node.reads[0].buffer->shape) {
      ends.push_back(Expr(0));
      ends.push_back(extent);
    }
  }
  return IndexMap(std::move(inputs), std::move(ends));
}

bool Drawer::Try(const char* primitive, std::vector<Value> args) {
  const bool applied = sch_.Apply(primitive, std::move(args)).ok();
  ++(applied ? accepted_ : refused_)[primitive];
  return applied;
}

}  // namespace tilewright::fuzz
