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

// Makes copies of its own of what an item points to; false when there is no memory, and then the item has nothing.
typedef bool own_function(void* item);

// Appends a copy of an item to the list at `items`, a pointer of its type; own: NULL where it points to nothing.
static int add(void* items, int* count, const void* item, size_t size, own_function* own) {
    void* list;
    memcpy(&list, items, sizeof list);
    list = extend(list, *count, size);
    if (list == NULL) return CAL_KEPT_NO_MEMORY;
    memcpy(items, &list, sizeof list);
    char* copy = (char*)list + (size_t)*count * size;
    memcpy(copy, item, size);
    return own == NULL || own(copy) ? (*count)++ : CAL_KEPT_NO_MEMORY;
}

// NULL stays NULL; false when there is no memory.
static bool own_name(const char** name) {
    if (*name == NULL) return true;
    *name = cal_copy_text(*name);
    return *name != NULL;
}

static bool own_values(const double** values, int count) {
    const double* from = *values;
    *values = NULL;
    if (from == NULL || count <= 0) return true;
    double* copy = cal_allocate((size_t)count, sizeof *copy);
    if (copy == NULL) return false;
    memcpy(copy, from, (size_t)count * sizeof *copy);
    *values = copy;
    return true;
}

static bool own_site(void* item) { return own_name(&((cal_site_def*)item)->name); }

static bool own_tendon(void* item) {
    cal_tendon_def* tendon = item;
    const cal_tendon_part* from = tendon->parts;
    if (from == NULL || tendon->part_count < 0) tendon->part_count = 0;
    cal_tendon_part* parts = cal_allocate((size_t)tendon->part_count + 1, sizeof *parts);
    if (parts == NULL || !own_name(&tendon->name)) {
        cal_free(parts);
        return false;
    }
    for (int i = 0; i < tendon->part_count; i++) {
        parts[i] = from[i];
        if (parts[i].kind == CAL_TENDON_CYLINDER) cal_quaternion_normalize(parts[i].quaternion);
    }
    tendon->parts = parts;
    return true;
}

static bool own_drag(void* item) {
    cal_quaternion_normalize(((cal_drag_def*)item)->quaternion);
    return true;
}

static bool own_sensor(void* item) {
    cal_sensor_def* sensor = item;
    cal_quaternion_normalize(sensor->quaternion);
    cal_quaternion_normalize(sensor->reference_quaternion);
    return own_name(&sensor->name);
}

static void free_keyframe(cal_keyframe_def* keyframe) {
    cal_free((void*)keyframe->name);
    cal_free((void*)keyframe->q);
    cal_free((void*)keyframe->v);
    cal_free((void*)keyframe->control);
    cal_free((void*)keyframe->activation);
}

static bool own_keyframe(void* item) {
    cal_keyframe_def* keyframe = item;
    cal_keyframe_def own = *keyframe;
    // What could not be copied is NULL, and nothing of it is another's.
    const bool copied[] = {own_name(&own.name), own_values(&own.q, own.q_count), own_values(&own.v, own.v_count),
                           own_values(&own.control, own.control_count),
                           own_values(&own.activation, own.activation_count)};
    *keyframe = own;
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++)
        if (!copied[i]) {
            free_keyframe(keyframe);
            return false;
        }
    return true;
}

static bool own_texture(void* item) {
    cal_texture_def* texture = item;
    uint8_t* bytes = cal_allocate(texture->size + 1, 1);
    if (bytes == NULL || !own_name(&texture->name)) {
        cal_free(bytes);
        return false;
    }
    memcpy(bytes, texture->bytes, texture->size);
    texture->bytes = bytes;
    return true;
}

static bool own_numbers(void* item) {
    cal_named_numbers* numbers = item;
    const double* values = numbers->values;
    numbers->name = cal_copy_text(numbers->name);
    if (numbers->name == NULL || !own_values(&values, numbers->count)) {
        cal_free(numbers->name);
        return false;
    }
    numbers->values = (double*)values;
    return true;
}

#define ADD(kind, COOKIE, own)                                                                                         \
    int cal_model_extras_add_##kind(cal_model_extras* kept, const cal_##kind##_def* def) {                             \
        if (def == NULL || def->cookie != (uint32_t)(COOKIE)) return CAL_KEPT_UNINITIALISED;                           \
        return add(&kept->kind##s, &kept->kind##_count, def, sizeof *def, own);                                        \
    }
ADD(site, SITE_COOKIE, own_site)
ADD(tendon, TENDON_COOKIE, own_tendon)
ADD(drag, DRAG_COOKIE, own_drag)
ADD(sensor, SENSOR_COOKIE, own_sensor)
ADD(keyframe, KEYFRAME_COOKIE, own_keyframe)
ADD(texture, TEXTURE_COOKIE, own_texture)
ADD(pair, PAIR_COOKIE, NULL)

int cal_model_extras_add_exclusion(cal_model_extras* kept, int body_a, int body_b) {
    const cal_exclusion exclusion = {{body_a, body_b}};
    return add(&kept->exclusions, &kept->exclusion_count, &exclusion, sizeof exclusion, NULL);
}

int cal_model_extras_add_numbers(cal_model_extras* kept, const char* name, const double* values, int count) {
    const cal_named_numbers numbers = {(char*)name, (double*)values, count > 0 ? count : 0};
    return add(&kept->numbers, &kept->number_count, &numbers, sizeof numbers, own_numbers);
}

bool cal_model_extras_copy(const cal_model_extras* from, cal_model_extras* to) {
    bool fine = true;
    to->timestep = from->timestep;
    to->medium = from->medium;
    memcpy(to->magnetic_field, from->magnetic_field, sizeof to->magnetic_field);
#define COPY(kind)                                                                                                     \
    for (int i = 0; fine && i < from->kind##_count; i++) fine = cal_model_extras_add_##kind(to, &from->kind##s[i]) >= 0;
    COPY(site)
    COPY(tendon)
    COPY(drag)
    COPY(sensor)
    COPY(keyframe)
    COPY(texture)
    COPY(pair)
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

#define COUNT_AND_GET(kind)                                                                                            \
    int cal_model_##kind##_count(const cal_model* model) { return model ? model->kept.kind##_count : 0; }              \
    void cal_model_##kind(const cal_model* model, int kind, cal_##kind##_def* out) {                                   \
        if (cal_has(cal_model_##kind##_count(model), kind, out, sizeof *out)) *out = model->kept.kind##s[kind];        \
    }
COUNT_AND_GET(site)
COUNT_AND_GET(tendon)
COUNT_AND_GET(drag)
COUNT_AND_GET(sensor)
COUNT_AND_GET(keyframe)
COUNT_AND_GET(texture)
COUNT_AND_GET(pair)

double cal_model_timestep(const cal_model* model) { return model ? model->kept.timestep : 0.0; }
int cal_model_exclusion_count(const cal_model* model) { return model ? model->kept.exclusion_count : 0; }

void cal_model_medium(const cal_model* model, double* density, double* viscosity, double wind[3]) {
    static const cal_medium none = {0};
    const cal_medium* medium = model ? &model->kept.medium : &none;
    if (density) *density = medium->density;
    if (viscosity) *viscosity = medium->viscosity;
    if (wind) memcpy(wind, medium->wind, sizeof medium->wind);
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
