// A list of facts as lines for people, or as one JSON object.
#include "facts.h"

#include <stdio.h>

#include "json.h"

void cal_facts_print(const cal_facts* report) {
    for (int i = 0; i < cal_facts_count(report); i++) {
        const cal_fact* fact = cal_facts_get(report, i);
        if (fact->kind == CAL_FACT_LINE) printf("%-16s %s\n", fact->key, fact->text);
    }
}

static void write_fact(cal_json* json, const cal_fact* fact) {
    switch (fact->kind) {
    case CAL_FACT_LINE: break;
    case CAL_FACT_TEXT: cal_json_text(json, fact->key, fact->text); break;
    case CAL_FACT_NUMBER: cal_json_number(json, fact->key, fact->number); break;
    case CAL_FACT_INTEGER: cal_json_integer(json, fact->key, (int64_t)fact->bits); break;
    case CAL_FACT_BOOLEAN: cal_json_boolean(json, fact->key, fact->bits != 0); break;
    case CAL_FACT_HASH: cal_json_hash(json, fact->key, fact->bits); break;
    case CAL_FACT_NUMBERS: cal_json_numbers(json, fact->key, fact->numbers, (size_t)fact->count); break;
    case CAL_FACT_OPEN: cal_json_open(json, fact->key, fact->text[0]); break;
    case CAL_FACT_CLOSE: cal_json_close(json, fact->text[0]); break;
    }
}

void cal_facts_json(const cal_facts* report) {
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    for (int i = 0; i < cal_facts_count(report); i++) write_fact(&json, cal_facts_get(report, i));
    cal_json_close(&json, '}');
}
