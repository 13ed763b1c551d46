// What a model keeps for others (model_extras.h).
#include "model/model_extras.h"
#include "base/memory.h"
#include "model/given.h"
#include "model/model.h"
#include <math.h>
#include <string.h>

enum {
    SITE_COOKIE = 0x0ca1517e,
    KEYFRAME_COOKIE = 0x0ca14e7f,
    PAIR_COOKIE = 0x0ca19a12,
    TENDON_COOKIE = 0x0ca17e0d,
    DRAG_COOKIE = 0x0ca1d4a6,
    SENSOR_COOKIE = 0x0ca15e45,
    TEXTURE_COOKIE = 0x0ca17ec5
};

cal_site_def cal_default_site_def(void) {
    return (cal_site_def){.body = CAL_GROUND,
                          .quaternion = {1.0, 0.0, 0.0, 0.0},
                          .kind = CAL_SPHERE,
                          .size = {0.005, 0.005, 0.005}, // MJCF's
                          .cookie = SITE_COOKIE};
}

cal_keyframe_def cal_default_keyframe_def(void) { return (cal_keyframe_def){.cookie = KEYFRAME_COOKIE}; }

cal_texture_def cal_default_texture_def(void) { return (cal_texture_def){.cookie = TEXTURE_COOKIE}; }

cal_tendon_def cal_default_tendon_def(void) {
    return (cal_tendon_def){
        .spring_length = {(double)NAN, (double)NAN}, .limit_damping = 0.5, .cookie = (uint32_t)TENDON_COOKIE};
}

cal_tendon_part cal_default_tendon_part(void) {
    return (cal_tendon_part){.kind = CAL_TENDON_POINT,
                             .joint = CAL_NONE,
                             .factor = 1.0,
                             .body = CAL_GROUND,
                             .quaternion = {1.0, 0.0, 0.0, 0.0},
                             .side_body = CAL_GROUND};
}

cal_drag_def cal_default_drag_def(void) {
    return (cal_drag_def){
        .body = CAL_NONE, .kind = CAL_DRAG_BOX, .quaternion = {1.0, 0.0, 0.0, 0.0}, .cookie = (uint32_t)DRAG_COOKIE};
}

cal_sensor_def cal_default_sensor_def(void) {
    return (cal_sensor_def){.kind = CAL_SENSOR_FRAME_POSITION,
                            .number = CAL_NONE,
                            .body = CAL_GROUND,
                            .quaternion = {1.0, 0.0, 0.0, 0.0},
                            .reference = CAL_NONE,
                            .reference_quaternion = {1.0, 0.0, 0.0, 0.0},
                            .zone = CAL_SPHERE,
                            .zone_size = {0.005, 0.005, 0.005},
                            .cookie = (uint32_t)SENSOR_COOKIE};
}

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

int cal_model_extras_add_tendon(cal_model_extras* kept, const cal_tendon_def* def) {
    if (def == NULL || def->cookie != (uint32_t)TENDON_COOKIE) return CAL_KEPT_UNINITIALISED;
    cal_tendon_def* tendons = extend(kept->tendons, kept->tendon_count, sizeof *tendons);
    if (tendons == NULL) return CAL_KEPT_NO_MEMORY;
    kept->tendons = tendons;
    cal_tendon_def copy = *def;
    copy.part_count = def->parts != NULL && def->part_count > 0 ? def->part_count : 0;
    cal_tendon_part* parts = cal_allocate((size_t)copy.part_count + 1, sizeof *parts);
    if (parts == NULL || !copy_name(def->name, &copy.name)) {
        cal_free(parts);
        return CAL_KEPT_NO_MEMORY;
    }
    for (int i = 0; i < copy.part_count; i++) {
        parts[i] = def->parts[i];
        if (parts[i].kind == CAL_TENDON_CYLINDER) cal_quaternion_normalize(parts[i].quaternion);
    }
    copy.parts = parts;
    tendons[kept->tendon_count] = copy;
    return kept->tendon_count++;
}

int cal_model_extras_add_drag(cal_model_extras* kept, const cal_drag_def* def) {
    if (def == NULL || def->cookie != (uint32_t)DRAG_COOKIE) return CAL_KEPT_UNINITIALISED;
    cal_drag_def* drags = extend(kept->drags, kept->drag_count, sizeof *drags);
    if (drags == NULL) return CAL_KEPT_NO_MEMORY;
    kept->drags = drags;
    drags[kept->drag_count] = *def;
    cal_quaternion_normalize(drags[kept->drag_count].quaternion);
    return kept->drag_count++;
}

int cal_model_extras_add_sensor(cal_model_extras* kept, const cal_sensor_def* def) {
    if (def == NULL || def->cookie != (uint32_t)SENSOR_COOKIE) return CAL_KEPT_UNINITIALISED;
    cal_sensor_def* sensors = extend(kept->sensors, kept->sensor_count, sizeof *sensors);
    if (sensors == NULL) return CAL_KEPT_NO_MEMORY;
    kept->sensors = sensors;
    cal_sensor_def copy = *def;
    if (!copy_name(def->name, &copy.name)) return CAL_KEPT_NO_MEMORY;
    cal_quaternion_normalize(copy.quaternion);
    cal_quaternion_normalize(copy.reference_quaternion);
    sensors[kept->sensor_count] = copy;
    return kept->sensor_count++;
}

static void free_keyframe(cal_keyframe_def* keyframe) {
    cal_free((void*)keyframe->name);
    cal_free((void*)keyframe->q);
    cal_free((void*)keyframe->v);
    cal_free((void*)keyframe->control);
    cal_free((void*)keyframe->activation);
}

int cal_model_extras_add_keyframe(cal_model_extras* kept, const cal_keyframe_def* def) {
    if (def == NULL || def->cookie != (uint32_t)KEYFRAME_COOKIE) return CAL_KEPT_UNINITIALISED;
    cal_keyframe_def* keyframes = extend(kept->keyframes, kept->keyframe_count, sizeof *keyframes);
    if (keyframes == NULL) return CAL_KEPT_NO_MEMORY;
    kept->keyframes = keyframes;
    cal_keyframe_def copy = *def;
    copy.name = NULL;
    copy.q = copy.v = copy.control = copy.activation = NULL;
    if (!copy_name(def->name, &copy.name) || !copy_values(def->q, def->q_count, &copy.q) ||
        !copy_values(def->v, def->v_count, &copy.v) || !copy_values(def->control, def->control_count, &copy.control) ||
        !copy_values(def->activation, def->activation_count, &copy.activation)) {
        free_keyframe(&copy);
        return CAL_KEPT_NO_MEMORY;
    }
    keyframes[kept->keyframe_count] = copy;
    return kept->keyframe_count++;
}

int cal_model_extras_add_texture(cal_model_extras* kept, const cal_texture_def* def) {
    if (def == NULL || def->cookie != (uint32_t)TEXTURE_COOKIE) return CAL_KEPT_UNINITIALISED;
    cal_texture_def* textures = extend(kept->textures, kept->texture_count, sizeof *textures);
    if (textures == NULL) return CAL_KEPT_NO_MEMORY;
    kept->textures = textures;
    cal_texture_def copy = *def;
    uint8_t* bytes = cal_allocate(def->size + 1, 1);
    if (bytes == NULL || !copy_name(def->name, &copy.name)) {
        cal_free(bytes);
        return CAL_KEPT_NO_MEMORY;
    }
    memcpy(bytes, def->bytes, def->size);
    copy.bytes = bytes;
    textures[kept->texture_count] = copy;
    return kept->texture_count++;
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
    to->medium = from->medium;
    memcpy(to->magnetic_field, from->magnetic_field, sizeof to->magnetic_field);
    for (int i = 0; fine && i < from->site_count; i++) fine = cal_model_extras_add_site(to, &from->sites[i]) >= 0;
    for (int i = 0; fine && i < from->tendon_count; i++) fine = cal_model_extras_add_tendon(to, &from->tendons[i]) >= 0;
    for (int i = 0; fine && i < from->drag_count; i++) fine = cal_model_extras_add_drag(to, &from->drags[i]) >= 0;
    for (int i = 0; fine && i < from->sensor_count; i++) fine = cal_model_extras_add_sensor(to, &from->sensors[i]) >= 0;
    for (int i = 0; fine && i < from->keyframe_count; i++)
        fine = cal_model_extras_add_keyframe(to, &from->keyframes[i]) >= 0;
    for (int i = 0; fine && i < from->texture_count; i++)
        fine = cal_model_extras_add_texture(to, &from->textures[i]) >= 0;
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
    for (int i = 0; i < kept->tendon_count; i++) {
        cal_free((void*)kept->tendons[i].name);
        cal_free((void*)kept->tendons[i].parts);
    }
    for (int i = 0; i < kept->sensor_count; i++) cal_free((void*)kept->sensors[i].name);
    for (int i = 0; i < kept->keyframe_count; i++) free_keyframe(&kept->keyframes[i]);
    for (int i = 0; i < kept->texture_count; i++) {
        cal_free((void*)kept->textures[i].name);
        cal_free((void*)kept->textures[i].bytes);
    }
    for (int i = 0; i < kept->number_count; i++) {
        cal_free(kept->numbers[i].name);
        cal_free(kept->numbers[i].values);
    }
    cal_free(kept->sites);
    cal_free(kept->tendons);
    cal_free(kept->drags);
    cal_free(kept->sensors);
    cal_free(kept->keyframes);
    cal_free(kept->textures);
    cal_free(kept->pairs);
    cal_free(kept->exclusions);
    cal_free(kept->numbers);
    *kept = (cal_model_extras){0};
}

// --- What callers may ask -----------------------------------------------------------------------------------------------

double cal_model_timestep(const cal_model* model) { return model ? model->kept.timestep : 0.0; }
int cal_model_site_count(const cal_model* model) { return model ? model->kept.site_count : 0; }
int cal_model_texture_count(const cal_model* model) { return model ? model->kept.texture_count : 0; }
void cal_model_texture(const cal_model* model, int texture, cal_texture_def* out) {
    if (!cal_has(model ? model->kept.texture_count : 0, texture, out, sizeof *out)) return;
    *out = model->kept.textures[texture];
}
int cal_model_keyframe_count(const cal_model* model) { return model ? model->kept.keyframe_count : 0; }
int cal_model_pair_count(const cal_model* model) { return model ? model->kept.pair_count : 0; }
int cal_model_exclusion_count(const cal_model* model) { return model ? model->kept.exclusion_count : 0; }

int cal_model_tendon_count(const cal_model* model) { return model ? model->kept.tendon_count : 0; }
int cal_model_drag_count(const cal_model* model) { return model ? model->kept.drag_count : 0; }
int cal_model_sensor_count(const cal_model* model) { return model ? model->kept.sensor_count : 0; }

void cal_model_medium(const cal_model* model, double* density, double* viscosity, double wind[3]) {
    static const cal_medium none = {0};
    const cal_medium* medium = model ? &model->kept.medium : &none;
    if (density) *density = medium->density;
    if (viscosity) *viscosity = medium->viscosity;
    if (wind) memcpy(wind, medium->wind, sizeof medium->wind);
}
void cal_model_drag(const cal_model* model, int drag, cal_drag_def* out) {
    if (!cal_has(model ? model->kept.drag_count : 0, drag, out, sizeof *out)) return;
    *out = model->kept.drags[drag];
}
void cal_model_sensor(const cal_model* model, int sensor, cal_sensor_def* out) {
    if (!cal_has(model ? model->kept.sensor_count : 0, sensor, out, sizeof *out)) return;
    *out = model->kept.sensors[sensor];
}
void cal_model_tendon(const cal_model* model, int tendon, cal_tendon_def* out) {
    if (!cal_has(model ? model->kept.tendon_count : 0, tendon, out, sizeof *out)) return;
    *out = model->kept.tendons[tendon];
}
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

int cal_model_find_tendon(const cal_model* model, const char* name) {
    if (!model || !name) return CAL_NONE;
    for (int i = 0; i < model->kept.tendon_count; i++)
        if (model->kept.tendons[i].name != NULL && strcmp(model->kept.tendons[i].name, name) == 0) return i;
    return CAL_NONE;
}

int cal_model_find_sensor(const cal_model* model, const char* name) {
    if (!model || !name) return CAL_NONE;
    for (int i = 0; i < model->kept.sensor_count; i++)
        if (model->kept.sensors[i].name != NULL && strcmp(model->kept.sensors[i].name, name) == 0) return i;
    return CAL_NONE;
}

// MJCF's names, how many numbers there are, and of which unit.
static const struct {
    const char* name;
    int size;
    const char* unit;
} sensors[] = {[CAL_SENSOR_JOINT_POSITION] = {"jointpos", 1, ""},
               [CAL_SENSOR_JOINT_VELOCITY] = {"jointvel", 1, ""},
               [CAL_SENSOR_BALL_QUATERNION] = {"ballquat", 4, ""},
               [CAL_SENSOR_BALL_VELOCITY] = {"ballangvel", 3, "rad/s"},
               [CAL_SENSOR_TENDON_LENGTH] = {"tendonpos", 1, ""},
               [CAL_SENSOR_TENDON_VELOCITY] = {"tendonvel", 1, ""},
               [CAL_SENSOR_ACTUATOR_FORCE] = {"actuatorfrc", 1, "N"},
               [CAL_SENSOR_FRAME_POSITION] = {"framepos", 3, "m"},
               [CAL_SENSOR_FRAME_QUATERNION] = {"framequat", 4, ""},
               [CAL_SENSOR_FRAME_X_AXIS] = {"framexaxis", 3, ""},
               [CAL_SENSOR_FRAME_Y_AXIS] = {"frameyaxis", 3, ""},
               [CAL_SENSOR_FRAME_Z_AXIS] = {"framezaxis", 3, ""},
               [CAL_SENSOR_FRAME_VELOCITY] = {"framelinvel", 3, "m/s"},
               [CAL_SENSOR_FRAME_ANGULAR_VELOCITY] = {"frameangvel", 3, "rad/s"},
               [CAL_SENSOR_FRAME_ACCELERATION] = {"framelinacc", 3, "m/s²"},
               [CAL_SENSOR_FRAME_ANGULAR_ACCELERATION] = {"frameangacc", 3, "rad/s²"},
               [CAL_SENSOR_VELOCIMETER] = {"velocimeter", 3, "m/s"},
               [CAL_SENSOR_GYRO] = {"gyro", 3, "rad/s"},
               [CAL_SENSOR_ACCELEROMETER] = {"accelerometer", 3, "m/s²"},
               [CAL_SENSOR_FORCE] = {"force", 3, "N"},
               [CAL_SENSOR_TORQUE] = {"torque", 3, "N m"},
               [CAL_SENSOR_SUBTREE_CENTER] = {"subtreecom", 3, "m"},
               [CAL_SENSOR_SUBTREE_VELOCITY] = {"subtreelinvel", 3, "m/s"},
               [CAL_SENSOR_CLOCK] = {"clock", 1, "s"},
               [CAL_SENSOR_ACTUATOR_LENGTH] = {"actuatorpos", 1, ""},
               [CAL_SENSOR_ACTUATOR_VELOCITY] = {"actuatorvel", 1, ""},
               [CAL_SENSOR_TOUCH] = {"touch", 1, "N"},
               [CAL_SENSOR_RANGEFINDER] = {"rangefinder", 1, "m"},
               [CAL_SENSOR_MAGNETOMETER] = {"magnetometer", 3, ""},
               [CAL_SENSOR_JOINT_ACTUATOR_FORCE] = {"jointactuatorfrc", 1, ""},
               [CAL_SENSOR_TENDON_ACTUATOR_FORCE] = {"tendonactuatorfrc", 1, "N"},
               [CAL_SENSOR_SUBTREE_ANGULAR_MOMENTUM] = {"subtreeangmom", 3, "kg m²/s"}};
enum { SENSOR_KINDS = (int)(sizeof sensors / sizeof sensors[0]) };

int cal_sensor_size(cal_sensor_kind kind) {
    return (int)kind >= 0 && (int)kind < SENSOR_KINDS ? sensors[kind].size : 0;
}
const char* cal_sensor_unit(cal_sensor_kind kind) {
    return (int)kind >= 0 && (int)kind < SENSOR_KINDS ? sensors[kind].unit : "";
}
const char* cal_sensor_kind_name(cal_sensor_kind kind) {
    return (int)kind >= 0 && (int)kind < SENSOR_KINDS ? sensors[kind].name : NULL;
}
int cal_model_sensor_size(const cal_model* model) {
    int size = 0;
    for (int i = 0; model && i < model->kept.sensor_count; i++) size += cal_sensor_size(model->kept.sensors[i].kind);
    return size;
}

int cal_model_find_keyframe(const cal_model* model, const char* name) {
    if (!model || !name) return CAL_NONE;
    for (int i = 0; i < model->kept.keyframe_count; i++)
        if (model->kept.keyframes[i].name != NULL && strcmp(model->kept.keyframes[i].name, name) == 0) return i;
    return CAL_NONE;
}
