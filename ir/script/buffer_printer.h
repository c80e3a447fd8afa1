// Descriptions of buffers as text: the arguments of T.Buffer, T.match_buffer, T.alloc_buffer, ... Internal to
// //ir/script:printer.
#pragma once

#include <string>
#include <vector>

#include "ir/script/expr_printer.h"
#include "ir/script/names.h"

namespace tilewright::script {

// What to write although the parser would assume it.
struct BufferTextOptions {
  bool type = false;   // even when it is float32
  bool data = false;   // the pointer, which is another buffer's
  bool scope = false;  // even when it is global
};

class BufferPrinter {
 public:
  BufferPrinter(Names& names, ExprPrinter& exprs) : names_(names), exprs_(exprs) {}

  // Sizes are all known, everything else has its default: T.Buffer((16, 16), "float32") says it all.
  bool IsSimple(const Buffer& buffer);
  // The variables that this buffer defines and that need a line "n = T.int32()" before it. Strides and an offset that
  // are variables of their own, of the type that the parser assumes, are defined in place, unless they are used twice.
  std::vector<const VarNode*> SizesToDefine(const Buffer& buffer);
  // "(16, 16), \"float16\", strides=..., ..."; defines the buffer and sets its name.
  std::string Text(const Buffer& buffer, const BufferTextOptions& options, std::string* name);

 private:
  Names& names_;
  ExprPrinter& exprs_;
};

}  // namespace tilewright::script
