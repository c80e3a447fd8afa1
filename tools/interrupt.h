// Ctrl-C as a question: commands that have something to write end by themselves.
//
//   const Interrupt interrupt;
//   while (!Interrupt::Asked()) { ... }
#pragma once

namespace tilewright {

// While there is one, the first SIGINT is noted, and the second ends the process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  // Whether one came since the last Interrupt was made.
  static bool Asked();
};

}  // namespace tilewright
