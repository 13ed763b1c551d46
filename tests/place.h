// Where tests put files: a folder per process, which is gone when the process is, however it ended.
#pragma once

enum { CAL_TEST_PATH = 512 };

// The folder, below TMPDIR or /tmp; made when it is first asked for. NULL: it cannot be made, and errno says why.
const char* cal_test_folder(void);
// The path of a file in the folder, which is written to path; ends the process where there is no folder.
const char* cal_test_path(char path[CAL_TEST_PATH], const char* name);
