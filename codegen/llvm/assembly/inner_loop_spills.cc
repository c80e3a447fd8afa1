#include "codegen/llvm/assembly/inner_loop_spills.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright {
namespace {

std::string_view Trim(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}

// Moves to and from the stack that go with each vector that a loop stores elsewhere: more values than there are
// registers on the way to many results, not sums that are kept there.
constexpr int kSpillsPerStore = 5;

}  // namespace

// An innermost loop is a backward jump with no other backward jump between its target and itself.
int CountInnerLoopVectorSpills(std::string_view assembly, const AssemblySyntax& syntax) {
  std::unordered_map<std::string, size_t> labels;
  std::vector<size_t> spills_before = {0}, stores_before = {0};  // of each line
  size_t last_backward_target = 0;
  int total = 0;
  size_t number = 0;
  bool has_frame = false;
  for (size_t begin = 0; begin < assembly.size(); ++number) {
    size_t end = assembly.find('\n', begin);
    if (end == assembly.npos) end = assembly.size();
    const std::string_view raw = assembly.substr(begin, end - begin);
    const std::string_view line = Trim(raw);
    begin = end + 1;
    const size_t colon = raw.find(':');
    const bool is_label = colon != raw.npos && line.size() == raw.size();
    if (is_label && raw[0] == '.') labels[std::string(raw.substr(0, colon))] = number;
    if (is_label && raw[0] != '.') has_frame = false;  // a function begins
    has_frame |= line.starts_with(syntax.frame_begins);
    const bool is_move = syntax.is_vector_move(line), is_spill = is_move && syntax.uses_stack(line, has_frame);
    spills_before.push_back(spills_before.back() + (is_spill ? 1 : 0));
    stores_before.push_back(stores_before.back() + (is_move && !is_spill && syntax.is_store(line) ? 1 : 0));
    if (!syntax.is_jump(line)) continue;
    const size_t target = line.find(".L");
    if (target == line.npos) continue;
    const std::string_view rest = line.substr(target);
    auto label = labels.find(std::string(rest.substr(0, rest.find_first_of(" \t#/"))));
    if (label == labels.end()) continue;  // forward
    const size_t loop = label->second;
    if (loop >= last_backward_target) {
      const auto spills = static_cast<int>(spills_before[number + 1] - spills_before[loop]);
      const auto stores = static_cast<int>(stores_before[number + 1] - stores_before[loop]);
      total += std::max(0, spills - kSpillsPerStore * stores);
    }
    last_backward_target = std::max(last_backward_target, loop + 1);
  }
  return total;
}

}  // namespace tilewright
