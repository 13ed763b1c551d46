// The pieces of `calder report`: results as JSON, sections as HTML.
#pragma once
#include <jansson.h>
#include <stdio.h>

// One result as a section: a table beside the paper's numbers and, where it has one, a figure. origin says where it comes
// from. Results of a kind that is not known become a plain table.
void cal_report_section(FILE* file, const json_t* result, const char* origin);
