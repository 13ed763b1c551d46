// All that has a help of its own: what manual pages and completion are made from.
#pragma once
#include "command.h"
#include "options.h"

// The pages by number: "calder", "calder-models", then one per command and benchmark, "calder-sim"; NULL past the last one.
const char* cal_page_name(int index);
// Gives usage and options of a command's page to a printer; returns an exit status.
int cal_page_visit(int index, cal_help_printer* print, void* user);
// The page's command line: {"bench", "forward"}; {NULL, NULL} of the first two.
void cal_page_words(int index, const char* words[2]);
