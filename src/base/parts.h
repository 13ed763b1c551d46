// CAL_FOR_PARTS marks what the libraries beside the core (view, mpi) use of its inside. In a shared libcalder these functions are
// visible under the version CALDER_PRIVATE: they are not public, and change with any release (docs/packages.md). cmake/shared.cmake
// finds them by the mark, which stands at the beginning of the line with the function's name.
#pragma once
#if defined(__GNUC__)
#define CAL_FOR_PARTS __attribute__((visibility("default")))
#else
#define CAL_FOR_PARTS
#endif
