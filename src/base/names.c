// Open addressing with linear probing, never more than half full.
#include "base/names.h"
#include "base/hash.h"
#include "base/memory.h"
#include "calder/calder.h"
#include <string.h>

typedef struct entry {
    const char* name; // NULL: empty
    int number;
} entry;

struct cal_name_table {
    size_t mask;
    entry* entries;
};

cal_name_table* cal_names_create(size_t capacity) {
    size_t size = 4;
    while (size < SIZE_MAX / 4 && size < 2 * capacity) size *= 2;
    cal_name_table* table = cal_allocate(1, sizeof *table);
    if (table == NULL) return NULL;
    table->mask = size - 1;
    table->entries = cal_allocate(size, sizeof *table->entries);
    if (table->entries == NULL) {
        cal_free(table);
        return NULL;
    }
    return table;
}

void cal_names_destroy(cal_name_table* table) {
    if (table == NULL) return;
    cal_free(table->entries);
    cal_free(table);
}

// The entry that holds the name, or the empty one where it belongs.
static entry* entry_of(const cal_name_table* table, const char* name) {
    size_t i = (size_t)cal_hash_bytes(CAL_HASH_START, name, strlen(name)) & table->mask;
    while (table->entries[i].name != NULL && strcmp(table->entries[i].name, name) != 0) i = (i + 1) & table->mask;
    return &table->entries[i];
}

int cal_names_add(cal_name_table* table, const char* name, int number) {
    entry* e = entry_of(table, name);
    if (e->name == NULL) *e = (entry){name, number};
    return e->number;
}

int cal_names_find(const cal_name_table* table, const char* name) {
    if (table == NULL) return CAL_NONE;
    const entry* e = entry_of(table, name);
    return e->name != NULL ? e->number : CAL_NONE;
}
