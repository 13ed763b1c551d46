// A table from names to numbers. Keeps pointers to the names, not copies.
#pragma once
#include <stddef.h>

typedef struct cal_name_table cal_name_table;

// A table for at most `capacity` names; NULL when there is no memory.
cal_name_table* cal_names_create(size_t capacity);
void cal_names_destroy(cal_name_table* table); // NULL is allowed
// Adds a name and returns number, or the number under which the name is there already.
int cal_names_add(cal_name_table* table, const char* name, int number);
// CAL_NONE when the name is not there, or there is no table.
int cal_names_find(const cal_name_table* table, const char* name);
