// Where nobody asks which ways were taken (replay.c does), what the compiler calls at each of them does nothing.
__attribute__((weak)) void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {}
