// What a model keeps for others (model_extras.h).
#include "model/model_extras.h"
#include "base/memory.h"
#include "model/given.h"
#include "model/model.h"
#include <string.h>

enum { SITE_COOKIE = 0x0ca1517e, KEYFRAME_COOKIE = 0x0ca14e7f, PAIR_COOKIE = 0x0ca19a12 };

cal_site_def cal_default_site_def(void) {
    return (cal_site_def){.body = CAL_GROUND, .quaternion = {1.0, 0.0, 0.0, 0.0}, .cookie = SITE_COOKIE};
}

cal_keyframe_def cal_default_keyframe_def(void) { return (cal_keyframe_def){.cookie = KEYFRAME_COOKIE}; }

cal_pair_def cal_default_pair_def(void) {
    return (cal_pair_def){.shape = {CAL_NONE, CAL_NONE}, .friction = 1.0, .cookie = PAIR_COOKIE};
}

// Room for one more item in an array that doubles when its count is a power of two; NULL when there is no memory.
static void* extend(void* array, int count, size_t size) {
    if (count > 0 && (count & (count - 1)) != 0) return array;
    void* grown = cal_allocate(count == 0 ? 1 : 2 * (size_t)count, size);
    if (grown == NULL) return NULL;
    if (count > 0) memcpy(grown, array, (size_t)count * size);
    cal_free(array);
    return grown;
}

// *out is a copy, or NULL for NULL; false when there is no memory.
static bool copy_name(const char* name, const char** out) {
    *out = name != NULL ? cal_copy_text(name) : NULL;
    return name == NULL || *out != NULL;
}

static bool copy_values(const double* values, int count, const double** out) {
    *out = NULL;
    if (values == NULL || count <= 0) return true;
    double* copy = cal_allocate((size_t)count, sizeof *copy);
    if (copy == NULL) return false;
    memcpy(copy, values, (size_t)count * sizeof *copy);
    *out = copy;
    return true;
}

int cal_model_extras_add_site(cal_model_extras* kept, const cal_site_def* def) {
    if (def == NULL || def->cookie != (uint32_t)SITE_COOKIE) return CAL_KEPT_UNINITIALISED;
    cal_site_def* sites = extend(kept->sites, kept->site_count, sizeof *sites);
    if (sites == NULL) return CAL_KEPT_NO_MEMORY;
    kept->sites = sites;
    cal_site_def copy = *def;
    if (!copy_name(def->name, &copy.name)) return CAL_KEPT_NO_MEMORY;
    sites[kept->site_count] = copy;
    return kept->site_count++;
}

static void free_keyframe(cal_keyframe_def* keyframe) {
    cal_free((void*)keyframe->name);
    cal_free((void*)keyframe->q);
    cal_free((void*)keyframe->v);
    cal_free((void*)keyframe->control);
}

int cal_model_extras_add_keyframe(cal_model_extras* kept, const cal_keyframe_def* def) {
    if (def == NULL || def->cookie != (uint32_t)KEYFRAME_COOKIE) return CAL_KEPT_UNINITIALISED;
    cal_keyframe_def* keyframes = extend(kept->keyframes, kept->keyframe_count, sizeof *keyframes);
    if (keyframes == NULL) return CAL_KEPT_NO_MEMORY;
    kept->keyframes = keyframes;
    cal_keyframe_def copy = *def;
    copy.name = NULL;
    copy.q = copy.v = copy.control = NULL;
    if (!copy_name(def->name, &copy.name) || !copy_values(def->q, def->q_count, &copy.q) ||
        !copy_values(def->v, def->v_count, &copy.v) || !copy_values(def->control, def->control_count, &copy.control)) {
        free_keyframe(&copy);
        return CAL_KEPT_NO_MEMORY;
    }
    keyframes[kept->keyframe_count] = copy;
    return kept->keyframe_count++;
}

int cal_model_extras_add_pair(cal_model_extras* kept, const cal_pair_def* def) {
    if (def == NULL || def->cookie != (uint32_t)PAIR_COOKIE) return CAL_KEPT_UNINITIALISED;
    cal_pair_def* pairs = extend(kept->pairs, kept->pair_count, sizeof *pairs);
    if (pairs == NULL) return CAL_KEPT_NO_MEMORY;
    kept->pairs = pairs;
    pairs[kept->pair_count] = *def;
    return kept->pair_count++;
}

int cal_model_extras_add_exclusion(cal_model_extras* kept, int body_a, int body_b) {
    cal_exclusion* exclusions = extend(kept->exclusions, kept->exclusion_count, sizeof *exclusions);
    if (exclusions == NULL) return CAL_KEPT_NO_MEMORY;
    kept->exclusions = exclusions;
    exclusions[kept->exclusion_count] = (cal_exclusion){{body_a, body_b}};
    return kept->exclusion_count++;
}

int cal_model_extras_add_numbers(cal_model_extras* kept, const char* name, const double* values, int count) {
    cal_named_numbers* numbers = extend(kept->numbers, kept->number_count, sizeof *numbers);
    if (numbers == NULL) return CAL_KEPT_NO_MEMORY;
    kept->numbers = numbers;
    const double* copied;
    char* text = cal_copy_text(name);
    if (text == NULL || !copy_values(values, count, &copied)) {
        cal_free(text);
        return CAL_KEPT_NO_MEMORY;
    }
    numbers[kept->number_count] = (cal_named_numbers){text, (double*)copied, count > 0 ? count : 0};
    return kept->number_count++;
}

bool cal_model_extras_copy(const cal_model_extras* from, cal_model_extras* to) {
    bool fine = true;
    to->timestep = from->timestep;
    for (int i = 0; fine && i < from->site_count; i++) fine = cal_model_extras_add_site(to, &from->sites[i]) >= 0;
    for (int i = 0; fine && i < from->keyframe_count; i++)
        fine = cal_model_extras_add_keyframe(to, &from->keyframes[i]) >= 0;
    for (int i = 0; fine && i < from->pair_count; i++) fine = cal_model_extras_add_pair(to, &from->pairs[i]) >= 0;
    for (int i = 0; fine && i < from->exclusion_count; i++) {
        const cal_exclusion* exclusion = &from->exclusions[i];
        fine = cal_model_extras_add_exclusion(to, exclusion->body[0], exclusion->body[1]) >= 0;
    }
    for (int i = 0; fine && i < from->number_count; i++) {
        const cal_named_numbers* numbers = &from->numbers[i];
        fine = cal_model_extras_add_numbers(to, numbers->name, numbers->values, numbers->count) >= 0;
    }
    return fine;
}

void cal_model_extras_free(cal_model_extras* kept) {
    for (int i = 0; i < kept->site_count; i++) cal_free((void*)kept->sites[i].name);
    for (int i = 0; i < kept->keyframe_count; i++) free_keyframe(&kept->keyframes[i]);
    for (int i = 0; i < kept->number_count; i++) {
        cal_free(kept->numbers[i].name);
        cal_free(kept->numbers[i].values);
    }
    cal_free(kept->sites);
    cal_free(kept->keyframes);
    cal_free(kept->pairs);
    cal_free(kept->exclusions);
    cal_free(kept->numbers);
    *kept = (cal_model_extras){0};
}

// --- What callers may ask -----------------------------------------------------------------------------------------------

double cal_model_timestep(const cal_model* model) { return model ? model->kept.timestep : 0.0; }
int cal_model_site_count(const cal_model* model) { return model ? model->kept.site_count : 0; }
int cal_model_keyframe_count(const cal_model* model) { return model ? model->kept.keyframe_count : 0; }
int cal_model_pair_count(const cal_model* model) { return model ? model->kept.pair_count : 0; }
int cal_model_exclusion_count(const cal_model* model) { return model ? model->kept.exclusion_count : 0; }

void cal_model_site(const cal_model* model, int site, cal_site_def* out) {
    if (!cal_has(model ? model->kept.site_count : 0, site, out, sizeof *out)) return;
    *out = model->kept.sites[site];
}
void cal_model_pair(const cal_model* model, int pair, cal_pair_def* out) {
    if (!cal_has(model ? model->kept.pair_count : 0, pair, out, sizeof *out)) return;
    *out = model->kept.pairs[pair];
}
void cal_model_keyframe(const cal_model* model, int keyframe, cal_keyframe_def* out) {
    if (!cal_has(model ? model->kept.keyframe_count : 0, keyframe, out, sizeof *out)) return;
    *out = model->kept.keyframes[keyframe];
}
void cal_model_exclusion(const cal_model* model, int exclusion, int bodies[2]) {
    if (!cal_has(model ? model->kept.exclusion_count : 0, exclusion, bodies, 2 * sizeof *bodies)) return;
    memcpy(bodies, model->kept.exclusions[exclusion].body, 2 * sizeof *bodies);
}

const double* cal_model_numbers(const cal_model* model, const char* name, int* count) {
    if (!model || !name) return NULL;
    for (int i = 0; i < model->kept.number_count; i++) {
        const cal_named_numbers* numbers = &model->kept.numbers[i];
        if (strcmp(numbers->name, name) != 0) continue;
        if (count != NULL) *count = numbers->count;
        return numbers->values;
    }
    if (count != NULL) *count = 0;
    return NULL;
}

const char* cal_model_numbers_name(const cal_model* model, int index) {
    return model && index >= 0 && index < model->kept.number_count ? model->kept.numbers[index].name : NULL;
}

int cal_model_find_site(const cal_model* model, const char* name) {
    if (!model || !name) return CAL_NONE;
    for (int i = 0; i < model->kept.site_count; i++)
        if (model->kept.sites[i].name != NULL && strcmp(model->kept.sites[i].name, name) == 0) return i;
    return CAL_NONE;
}

int cal_model_find_keyframe(const cal_model* model, const char* name) {
    if (!model || !name) return CAL_NONE;
    for (int i = 0; i < model->kept.keyframe_count; i++)
        if (model->kept.keyframes[i].name != NULL && strcmp(model->kept.keyframes[i].name, name) == 0) return i;
    return CAL_NONE;
}
