// A switch there and back by each of three ways: ours (Boost.Context), ucontext, and assembly written by hand.
#include <benchmark/benchmark.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codegen/cuda/emulator/fibers.h"

namespace tilewright::emulator {
namespace {

void BM_BoostContext(benchmark::State& state) {
  Stacks stacks;
  if (!stacks.Reserve(1, 64 << 10)) return state.SkipWithError("no memory for a stack");
  struct Two {
    Fiber main, worker;
  } two;
  two.worker.Prepare(
      stacks[0],
      [](void* argument) {
        Two& t = *static_cast<Two*>(argument);
        while (true) Fiber::Switch(t.worker, t.main);
      },
      &two);
  for (auto _ : state) Fiber::Switch(two.main, two.worker);
}
BENCHMARK(BM_BoostContext);

ucontext_t main_context, worker_context;

void BM_Ucontext(benchmark::State& state) {
  std::vector<char> stack(64 << 10);
  getcontext(&worker_context);
  worker_context.uc_stack.ss_sp = stack.data();
  worker_context.uc_stack.ss_size = stack.size();
  makecontext(
      &worker_context,
      +[] {
        while (true) swapcontext(&worker_context, &main_context);
      },
      0);
  for (auto _ : state) swapcontext(&main_context, &worker_context);
}
BENCHMARK(BM_Ucontext);

#if defined(__x86_64__)
extern "C" void tw_switch_by_hand(void** save, void* load);
asm(R"(
.text
tw_switch_by_hand:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

void* main_stack;
void* worker_stack;

void BM_ByHand(benchmark::State& state) {
  std::vector<char> memory(64 << 10);
  auto* top = reinterpret_cast<uint64_t*>(reinterpret_cast<uintptr_t>(memory.data() + memory.size()) & ~uintptr_t{15});
  *--top = 0;
  void (*entry)() = +[] {
    while (true) tw_switch_by_hand(&worker_stack, main_stack);
  };
  *--top = reinterpret_cast<uint64_t>(entry);
  for (int i = 0; i < 6; ++i) *--top = 0;
  worker_stack = top;
  for (auto _ : state) tw_switch_by_hand(&main_stack, worker_stack);
}
BENCHMARK(BM_ByHand);
#endif

}  // namespace
}  // namespace tilewright::emulator
