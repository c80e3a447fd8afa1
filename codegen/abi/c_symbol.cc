#include "codegen/abi/c_symbol.h"

#include <algorithm>

namespace tilewright {
namespace {

// Keywords of C and of C++, which share the header that is written beside a library.
constexpr std::string_view kKeywords[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "reinterpret_cast",
    "typeof_unqual",
};

// Functions of <math.h> without the f or l that their names for other types end in.
constexpr std::string_view kMath[] = {
    "acos",      "acosh",     "asin",      "asinh",      "atan",        "atan2",     "atanh",  "cbrt",   "ceil",
    "copysign",  "cos",       "cosh",      "drem",       "erf",         "erfc",      "exp",    "exp10",  "exp2",
    "expm1",     "fabs",      "fdim",      "floor",      "fma",         "fmax",      "fmin",   "fmod",   "frexp",
    "gamma",     "hypot",     "ilogb",     "j0",         "j1",          "jn",        "ldexp",  "lgamma", "llrint",
    "llround",   "log",       "log10",     "log1p",      "log2",        "logb",      "lrint",  "lround", "modf",
    "nan",       "nearbyint", "nextafter", "nexttoward", "pow",         "remainder", "remquo", "rint",   "round",
    "roundeven", "scalb",     "scalbln",   "scalbn",     "significand", "sin",       "sincos", "sinh",   "sqrt",
    "tan",       "tanh",      "tgamma",    "trunc",      "y0",          "y1",        "yn",
};

// The rest of the C library, and what it declares in the headers that C++ includes.
constexpr std::string_view kLibrary[] = {
    "abort",    "abs",     "accept",    "access",    "aligned_alloc",  "assert",
    "atexit",   "atof",    "atoi",      "atol",      "atoll",          "bcmp",
    "bcopy",    "bind",    "bsearch",   "bzero",     "calloc",         "clearerr",
    "clock",    "close",   "connect",   "ctime",     "difftime",       "div",
    "dup",      "environ", "errno",     "exit",      "fclose",         "feof",
    "ferror",   "fflush",  "ffs",       "fgetc",     "fgets",          "fopen",
    "fork",     "fprintf", "fputc",     "fputs",     "fread",          "free",
    "freopen",  "fscanf",  "fseek",     "ftell",     "fwrite",         "getc",
    "getchar",  "getenv",  "gets",      "gmtime",    "index",          "ioctl",
    "isalnum",  "isalpha", "isdigit",   "isfinite",  "isinf",          "isnan",
    "isprint",  "isspace", "kill",      "labs",      "ldiv",           "link",
    "listen",   "llabs",   "lldiv",     "localtime", "longjmp",        "lseek",
    "malloc",   "memccpy", "memchr",    "memcmp",    "memcpy",         "memmove",
    "mempcpy",  "memset",  "mkdir",     "mktime",    "mmap",           "munmap",
    "open",     "pause",   "perror",    "pipe",      "posix_memalign", "printf",
    "putc",     "putchar", "puts",      "qsort",     "quick_exit",     "raise",
    "rand",     "random",  "read",      "realloc",   "recv",           "remove",
    "rename",   "rewind",  "rindex",    "scanf",     "select",         "send",
    "setjmp",   "signal",  "sleep",     "snprintf",  "socket",         "sprintf",
    "srand",    "sscanf",  "stat",      "stderr",    "stdin",          "stdout",
    "stpcpy",   "strcat",  "strchr",    "strcmp",    "strcpy",         "strdup",
    "strerror", "strlen",  "strncat",   "strncmp",   "strncpy",        "strstr",
    "strtod",   "strtof",  "strtok",    "strtol",    "strtoul",        "system",
    "time",     "tolower", "toupper",   "truncate",  "ungetc",         "unlink",
    "vfprintf", "vprintf", "vsnprintf", "wait",      "write",
};

template <class Names>
bool Contains(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsOfMath(std::string_view name) {
  if (Contains(kMath, name)) return true;
  return name.size() > 1 && (name.back() == 'f' || name.back() == 'l') &&
         Contains(kMath, name.substr(0, name.size() - 1));
}

}  // namespace

std::string CSymbol(std::string_view function) {
  const bool taken = function == "main" || function.starts_with("tw_") || function.starts_with("Tw") ||
                     function.starts_with("kTw") || function.starts_with("__") ||
                     function.ends_with("_workspace_bytes") || function.ends_with("_unchecked") ||
                     Contains(kKeywords, function) || IsOfMath(function) || Contains(kLibrary, function);
  return (taken ? "tw_" : "") + std::string(function);
}

std::string CIdentifier(std::string text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (char& c : text) {
    if (!is_letter(c) && !is_digit(c)) c = '_';
  }
  if (text.empty() || is_digit(text[0])) text.insert(text.begin(), '_');
  return text;
}

}  // namespace tilewright
