// What MJCF and URDF files are made of, for changes that keep a file one.
#pragma once
#include "change.h"

extern const fuzz_format fuzz_mjcf, fuzz_urdf;
