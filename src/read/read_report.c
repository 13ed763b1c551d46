// A list of issues, each once.
#include "read/read_report.h"
#include "base/hash.h"
#include "base/memory.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// A file that is wrong everywhere still makes a report of bounded size.
enum { MOST_ISSUES = 10000, CONSEQUENCE = 200, ELEMENT = 80 };

typedef struct entry {
    cal_issue issue;
    uint64_t hash;
} entry;

struct cal_read_report {
    entry* entries;
    int count, capacity;
    int* table; // open addressing: number of an entry + 1, 0 is empty; twice as large as capacity
    bool no_memory;
};

cal_read_report* cal_report_create(void) { return cal_allocate(1, sizeof(cal_read_report)); }

void cal_read_report_destroy(cal_read_report* report) {
    if (report == NULL) return;
    for (int i = 0; i < report->count; i++) {
        cal_free((void*)report->entries[i].issue.file);
        cal_free((void*)report->entries[i].issue.element);
        cal_free((void*)report->entries[i].issue.consequence);
    }
    cal_free(report->entries);
    cal_free(report->table);
    cal_free(report);
}

static bool same(const entry* e, uint64_t hash, cal_issue_kind kind, const char* what, const char* consequence) {
    return e->hash == hash && e->issue.kind == kind && strcmp(e->issue.element, what) == 0 &&
           strcmp(e->issue.consequence, consequence) == 0;
}

static bool grow(cal_read_report* report) {
    const int capacity = report->capacity == 0 ? 32 : 2 * report->capacity;
    entry* entries = cal_allocate((size_t)capacity, sizeof *entries);
    int* table = cal_allocate(2 * (size_t)capacity, sizeof *table);
    if (entries == NULL || table == NULL) {
        cal_free(entries);
        cal_free(table);
        return false;
    }
    if (report->count > 0) memcpy(entries, report->entries, (size_t)report->count * sizeof *entries);
    for (int i = 0; i < report->count; i++) {
        size_t place = (size_t)entries[i].hash % (2 * (size_t)capacity);
        while (table[place] != 0) place = (place + 1) % (2 * (size_t)capacity);
        table[place] = i + 1;
    }
    cal_free(report->entries);
    cal_free(report->table);
    report->entries = entries;
    report->table = table;
    report->capacity = capacity;
    return true;
}

void cal_report_add(cal_read_report* report, const cal_xml_node* node, cal_issue_kind kind, const char* what,
                    const char* consequence, ...) {
    char text[CONSEQUENCE], element[ELEMENT];
    va_list list;
    va_start(list, consequence);
    vsnprintf(text, sizeof text, consequence, list);
    va_end(list);
    snprintf(element, sizeof element, "%s", what);
    uint64_t hash = cal_hash_bytes(CAL_HASH_START, element, strlen(element));
    hash = cal_hash_bytes(hash, text, strlen(text));
    if (report->count == report->capacity && report->count < MOST_ISSUES && !grow(report)) {
        report->no_memory = true;
        return;
    }
    const size_t size = 2 * (size_t)report->capacity;
    size_t place = (size_t)hash % size;
    for (; report->table[place] != 0; place = (place + 1) % size) {
        entry* e = &report->entries[report->table[place] - 1];
        if (!same(e, hash, kind, element, text)) continue;
        e->issue.count++;
        return;
    }
    if (report->count >= MOST_ISSUES) return;
    entry* e = &report->entries[report->count];
    *e = (entry){{.kind = kind,
                  .file = cal_copy_text(node != NULL ? node->file : ""),
                  .line = node != NULL ? node->line : 0,
                  .count = 1,
                  .element = cal_copy_text(element),
                  .consequence = cal_copy_text(text)},
                 hash};
    report->count++;
    report->table[place] = report->count;
    if (e->issue.file == NULL || e->issue.element == NULL || e->issue.consequence == NULL) {
        report->no_memory = true;
        report->count--;
        report->table[place] = 0;
        cal_free((void*)e->issue.file);
        cal_free((void*)e->issue.element);
        cal_free((void*)e->issue.consequence);
    }
}

cal_status cal_report_status(const cal_read_report* report, bool strict, cal_error* error) {
    if (report->no_memory) return cal_fail(error, CAL_NO_MEMORY, "out of memory for the reader's report");
    for (int i = 0; strict && i < report->count; i++) {
        const cal_issue* issue = &report->entries[i].issue;
        if (issue->kind == CAL_ISSUE_NOTE) continue;
        return cal_fail(error, CAL_BAD_MODEL, "%s:%d: %s: %s (%s; strict)", issue->file, issue->line, issue->element,
                        issue->consequence, cal_issue_kind_name(issue->kind));
    }
    return CAL_OK;
}

int cal_read_report_count(const cal_read_report* report) { return report ? report->count : 0; }

void cal_read_report_issue(const cal_read_report* report, int index, cal_issue* out) {
    if (!report) return;
    *out = report->entries[index].issue;
}
