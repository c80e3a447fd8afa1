// Assertions for bugs in the compiler itself. They stay on in every build.
//
//   TW_CHECK(extent > 0) << "loop " << name << " has extent " << extent;
//
// prints "ir/loop.cc:12: check failed: extent > 0: loop i has extent -1" to standard error and aborts. What a user can
// cause (a bad program, file or flag) is not a bug: return an absl::Status there.
#pragma once

#include <ostream>  // IWYU pragma: export (what callers stream into)

namespace tilewright::internal {

// Collects the message of one failed check; its destructor prints it and ends the program.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure();

  std::ostream& stream() { return *stream_; }

 private:
  const char* file_;
  int line_;
  const char* condition_;
  // Allocated in the .cc file, which keeps <sstream> out of every file that checks something. Never freed: the program
  // ends with this object.
  std::ostream* stream_;
};

// Gives both arms of TW_CHECK's conditional the type void. `&` binds weaker than `<<` and stronger than `?:`.
struct CheckVoidify {
  void operator&(std::ostream&) const {}
};

[[noreturn]] void ReachedUnreachable(const char* file, int line);

}  // namespace tilewright::internal

#define TW_CHECK(condition)                         \
  __builtin_expect(static_cast<bool>(condition), 1) \
      ? static_cast<void>(0)                        \
      : ::tilewright::internal::CheckVoidify() &    \
            ::tilewright::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

// Marks code that no input can reach, such as the end of a switch that handles every kind. Aborts when reached.
#define TW_UNREACHABLE() ::tilewright::internal::ReachedUnreachable(__FILE__, __LINE__)
