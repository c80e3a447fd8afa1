#include "intrin/cuda/fragments.h"

namespace tilewright {

FragmentMap FragmentOf(FragmentOperand operand, int bits, int depth) {
  const std::string group = "tx // 4", pair = "tx % 4 * 2 + e % 2", four = "tx % 4 * 4 + e % 4";
  if (operand != FragmentOperand::kSum && bits == 8 && depth == 32) {
    const std::string near = " + e // 4 % 2 * ", far = " + e // 8 * ";
    return operand == FragmentOperand::kA ? FragmentMap{group + near + "8", four + far + "16", 16}
                                          : FragmentMap{four + near + "16", group + far + "8", 16};
  }
  if (operand != FragmentOperand::kSum && bits == 8) {
    const std::string tiles = group + " + e // 4 * 8";
    return operand == FragmentOperand::kA ? FragmentMap{tiles, four} : FragmentMap{four, tiles};
  }
  if (operand == FragmentOperand::kB) return {pair + " + e // 2 % 2 * 8", group + " + e // 4 * 8"};
  return {group + " + e // 2 % 2 * 8", pair + " + e // 4 * 8"};
}

}  // namespace tilewright
