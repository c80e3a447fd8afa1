// The IR as JSON, for other programs to look into.
//
//   {"functions": [{"name": "main", "params": [...], "buffers": [...], "body": {"node": "BlockRealize", ...}}]}
//
// Every statement and expression is an object with a "node"; its other members have the names of the IR's fields.
// Variables and buffers are objects with an "id" where they occur; the buffers of a function are described once, in its
// list "buffers", and named elsewhere as {"buffer": id}. Loops and blocks carry their ids of the IR, "loop" and
// "block".
#pragma once

#include <string>

#include "ir/function.h"

namespace tilewright {

// `indent`: spaces per level; negative: one line.
std::string ToJson(const Module& module, int indent = 2);

}  // namespace tilewright
