// Functions of the dialect that become calls: how each is spelled and which type its result has.
//
// T.exp(x) has the type of x, T.call_extern("int32", "f", x) names its type first. Parser and printer share this table:
// the printer writes a call in its own spelling when the type that the parser would infer is the call's, and as
// T.call_intrin("type", "name", ...) otherwise, so that every call can be written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.h"

namespace tilewright::script {

enum class ResultRule : uint8_t {
  kFloat,      // all arguments have one floating-point type, the result too
  kNumber,     // all arguments have one number type, the result too
  kInteger,    // all arguments have one integer type, the result too
  kTest,       // a floating-point argument, a boolean result
  kFirst,      // the type of the first argument, whatever the others are
  kHandle,     // a pointer
  kVoid,       // nothing
  kInt32,      // a status
  kBool,       // a boolean
  kUInt32,     // a mask of lanes
  kSecond,     // the type of the second argument, whatever the others are
  kStatus,     // int32, of a call that takes any keyword arguments
  kTypeFirst,  // written as the first argument: T.reinterpret("int32", x)
  kTypeLast,   // written as the last argument: T.tvm_struct_get(handle, 0, 13, "int32")
};

struct CallSpelling {
  std::string_view name;  // after "T."
  std::string_view op;    // of the call node
  ResultRule rule;
  int min_args, max_args;  // of the call node; max_args -1: any number
};

// Null when no function of that name becomes a call.
const CallSpelling* FindSpelling(std::string_view name);
// All names.
std::vector<std::string> SpellingNames();
// The preferred spelling of a call node, or null.
const CallSpelling* SpellingOf(std::string_view op);

// The type of the call with arguments of one type each (the rules kFloat to kTest require equal types); nothing for
// kTypeFirst, kTypeLast and where the arguments do not fit the rule.
std::optional<DataType> ResultType(ResultRule rule, const std::vector<Expr>& args);

}  // namespace tilewright::script
