// A plugin of QEMU's that counts the instructions which the emulated program executes.
//
//   qemu-aarch64 -plugin libcount_instructions.so,fd=3 PROGRAM
//   qemu-aarch64 -plugin libcount_instructions.so,counter=PATH PROGRAM
//
// The count stands in the first 8 bytes of the file that is open as `fd`, or of the one at PATH. It grows with each
// translated block that is entered, before its instructions run. A block is left early only by a fault, so the
// difference of two readings is exact to the length of the blocks in which they are taken. Threads that run at the same
// time lose each other's counts.
//
// The few functions of QEMU's plugin interface (version 1) are declared here: no package has their header.
#include <fcntl.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {

struct qemu_plugin_tb;
using QemuTranslated = void (*)(uint64_t id, qemu_plugin_tb* block);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, QemuTranslated translated);
size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* block);
// Operation 0 adds `value` to the 64-bit number at `address` whenever the block is entered.
void qemu_plugin_register_vcpu_tb_exec_inline(qemu_plugin_tb* block, int operation, void* address, uint64_t value);

extern const int qemu_plugin_version;
const int qemu_plugin_version = 1;

int qemu_plugin_install(uint64_t id, const void* machine, int argc, char** argv);
}

namespace {

constexpr int kAdd = 0;
uint64_t* counter = nullptr;  // the interface hands no object to its callbacks

void CountBlock(uint64_t, qemu_plugin_tb* block) {
  qemu_plugin_register_vcpu_tb_exec_inline(block, kAdd, counter, qemu_plugin_tb_n_insns(block));
}

}  // namespace

int qemu_plugin_install(uint64_t id, const void*, int argc, char** argv) {
  for (int i = 0; i < argc; ++i) {
    int file = -1;
    if (std::strncmp(argv[i], "fd=", 3) == 0) file = std::atoi(argv[i] + 3);
    if (std::strncmp(argv[i], "counter=", 8) == 0) file = open(argv[i] + 8, O_RDWR | O_CLOEXEC);
    if (file < 0) continue;
    void* page = mmap(nullptr, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) counter = static_cast<uint64_t*>(page);
  }
  if (counter == nullptr) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, CountBlock);
  return 0;
}
