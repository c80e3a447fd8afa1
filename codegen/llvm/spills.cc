#include "codegen/llvm/spills.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright {
namespace {

std::string_view Trim(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}

// A vector register and the stack as operands of one move: "vmovups %zmm3, 64(%rsp)". %rbp is any other register where
// it does not hold the frame.
bool IsVectorSpill(std::string_view line, bool has_frame) {
  const bool is_move = line.starts_with("vmov") || line.starts_with("mova") || line.starts_with("movu");
  const bool vector =
      line.find("%zmm") != line.npos || line.find("%ymm") != line.npos || line.find("%xmm") != line.npos;
  const bool stack = line.find("(%rsp") != line.npos || (has_frame && line.find("(%rbp") != line.npos);
  return is_move && vector && stack;
}

}  // namespace

// An innermost loop is a backward jump with no other backward jump between its target and itself.
int CountInnerLoopVectorSpills(std::string_view assembly) {
  std::unordered_map<std::string, size_t> labels;
  std::vector<size_t> spills_before = {0};  // of each line
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
    has_frame |= line.starts_with("movq\t%rsp, %rbp");
    spills_before.push_back(spills_before.back() + (IsVectorSpill(line, has_frame) ? 1 : 0));
    if (!line.starts_with('j')) continue;
    const size_t target = line.find(".L");
    if (target == line.npos) continue;
    const std::string_view rest = line.substr(target);
    auto label = labels.find(std::string(rest.substr(0, rest.find_first_of(" \t#"))));
    if (label == labels.end()) continue;  // forward
    const size_t loop = label->second;
    if (loop >= last_backward_target) total += static_cast<int>(spills_before[number + 1] - spills_before[loop]);
    last_backward_target = std::max(last_backward_target, loop + 1);
  }
  return total;
}

}  // namespace tilewright
