// printf of a kernel.
#pragma once

namespace tilewright::foreign {

// What the front end makes of printf: the arguments lie in `arguments`, each at a multiple of its size. Prints to
// standard error; returns the number of arguments, as on a GPU.
int DevicePrint(const char* format, const void* arguments);

}  // namespace tilewright::foreign
