#include "tools/interrupt.h"

#include <signal.h>

namespace tilewright {
namespace {

// What a signal handler may write.
volatile sig_atomic_t asked = 0;

void Note(int) { asked = 1; }

void Handle(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  asked = 0;
  Handle(Note, SA_RESETHAND | SA_RESTART);
}
Interrupt::~Interrupt() { Handle(SIG_DFL, 0); }

bool Interrupt::Asked() { return asked != 0; }

}  // namespace tilewright
