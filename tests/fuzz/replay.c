// Runs a fuzz target over files, without libFuzzer: each as it is, cut off anywhere, and with single bytes changed.
#include "fuzz.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 20, CUTS = 40, CHANGES = 200 };

static void try_variants(const uint8_t* bytes, size_t count) {
    // A copy of exactly that size, so that a sanitizer sees what is read beyond it.
    uint64_t random = 1;
    for (int i = 0; i <= CUTS + CHANGES; i++) {
        const size_t size = i < CUTS ? count * (size_t)i / CUTS : count;
        uint8_t* copy = malloc(size > 0 ? size : 1);
        if (copy == NULL) abort();
        memcpy(copy, bytes, size);
        if (i > CUTS && size > 0) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            copy[(random >> 33) % size] = (uint8_t)(random >> 25);
        }
        LLVMFuzzerTestOneInput(copy, size);
        free(copy);
    }
}

static int replay(const char* path) {
    FILE* file = fopen(path, "rb");
    if (file == NULL) return fprintf(stderr, "cannot open %s\n", path), 1;
    uint8_t* bytes = malloc(LARGEST);
    if (bytes == NULL) abort();
    const size_t count = fread(bytes, 1, LARGEST, file);
    fclose(file);
    try_variants(bytes, count);
    free(bytes);
    return 0;
}

int main(int argc, char** argv) {
    int failures = argc != 2, files = 0;
    DIR* folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (folder == NULL) return fprintf(stderr, "usage: %s FOLDER\n", argv[0]), 2;
    for (const struct dirent* entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        failures += replay(path);
        files++;
    }
    closedir(folder);
    printf("%d files\n", files);
    return failures == 0 && files > 0 ? 0 : 1;
}
