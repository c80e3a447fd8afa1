// Syntax trees of the part of Python that programs and schedules are written in.
//
// This is syntax only: what names mean is the business of the reader (ir/script/parser.h reads programs, schedule/
// reads schedules). Positions are byte offsets into the text; MakeDiagnostic turns them into line and column.
//
// A statement that the parser does not know is kept as kOther: files hold other Python beside programs and schedules.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/script/python/diagnostic.h"

namespace tilewright::script {

struct PyExpr;
using PyExprPtr = std::shared_ptr<const PyExpr>;

struct PyExpr {
  enum class Kind : uint8_t {
    kName,       // text
    kInt,        // integer (not negative: a sign is an operator)
    kFloat,      // real
    kString,     // text
    kBool,       // integer
    kNone,       //
    kAttribute,  // items[0] . text
    kCall,       // items[0] ( items[1], ..., keywords[0] = keyword_values[0], ... )
    kSubscript,  // items[0] [ items[1], ... ]
    kSlice,      // items[0] : items[1] : items[2], each may be null; only as an index
    kList,       // items
    kTuple,      // items
    kDict,       // items: key, value, key, value, ...
    kUnary,      // text ("-", "+", "~", "not") items[0]
    kBinary,     // items[0] text items[1]; text is an operator, a comparison, "and" or "or"
    kLambda,     // keywords: the parameters; items[0]: the body
    kIfElse,     // items[1] if items[0] else items[2]
    kStarred,    // * items[0]
    kFormat,     // f"text"; text holds the braces
    // [items[0] for items[1] in items[2] if items[3]]; items[3] may be null
    kComprehension,
  };
  Kind kind = Kind::kNone;
  uint32_t offset = 0;
  int depth = 1;     // of the tree below, and
  int64_t size = 1;  // the nodes that a walk over it meets; the parser bounds both
  std::string text;
  uint64_t integer = 0;
  double real = 0;
  std::vector<PyExprPtr> items;
  std::vector<std::string> keywords;
  std::vector<PyExprPtr> keyword_values;
  std::vector<uint32_t> keyword_offsets;
};

struct PyParameter {
  std::string name;  // *name and **name take what the others leave
  uint32_t offset = 0;
  PyExprPtr annotation;     // may be null
  PyExprPtr default_value;  // may be null
};

struct PyStmt {
  enum class Kind : uint8_t {
    kExpr,      // value
    kAssign,    // target = value; target may be a tuple; with more_targets: each of them = value, too
    kAugment,   // target text= value ("+", "*", ...)
    kAnnotate,  // target : annotation = value; value may be null
    kFor,       // for target in value: body
    kWith,      // with value as target: body; target may be null
    kIf,        // if value: body else: else_body
    kWhile,     // while value: body
    kAssert,    // assert value, annotation; annotation may be null
    kPass,
    kReturn,    // value may be null
    kBreak,     // break or continue: text
    kFunction,  // decorators, def text(parameters) -> annotation: body
    kClass,     // decorators, class text: body
    kImport,    // from text import names as aliases; or import names as aliases; a name may be *
    kOther,     // decorators; problem: why it is none of these; names: all of its names, aliases: those before '='
  };
  Kind kind = Kind::kPass;
  uint32_t offset = 0;
  std::string text;
  PyExprPtr target, value, annotation;
  std::vector<PyExprPtr> more_targets;
  std::vector<PyStmt> body, else_body;
  std::vector<PyExprPtr> decorators;
  std::vector<PyParameter> parameters;
  std::vector<std::string> names, aliases;
  std::shared_ptr<const Diagnostic> problem;
};

}  // namespace tilewright::script
