// Each pass on a small program: what it makes of it, what it leaves alone, what it refuses.
#include <gtest/gtest.h>

#include "codegen/lower/compact_buffers.h"
#include "codegen/lower/flatten_buffers.h"
#include "codegen/lower/loop_partition.h"
#include "codegen/lower/lower_blocks.h"
#include "codegen/lower/lower_init.h"
#include "codegen/lower/lower_match_buffers.h"
#include "codegen/lower/plan_allocations.h"
#include "codegen/lower/simplify.h"
#include "codegen/lower/skip_padding.h"
#include "codegen/lower/substitute_iterators.h"
#include "codegen/lower/unroll.h"
#include "codegen/lower/vectorize.h"
#include "codegen/lower/verify_lowered.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

// Text of a statement, without spaces at the ends of the whole.
std::string Text(const Function& function) {
  std::string text = Print(function);
  return text;
}
bool Has(const Function& function, const std::string& part) { return Text(function).find(part) != std::string::npos; }
