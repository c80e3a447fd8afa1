// compile_worker: answers requests on standard input (compile_worker.h).
#include "autoschedule/measure/compile_worker.h"
#include "autoschedule/measure/protocol/serve.h"

int main(int argc, char** argv) { return tilewright::ServeLines(argc, argv, tilewright::AnswerCompileRequest); }
