// The viewer's page, one HTML file with its script and style inside, made from web/ when this was built; size 0: the build
// had no npm.
#pragma once
#include <stddef.h>

extern const unsigned char cal_page[];
extern const size_t cal_page_size;
