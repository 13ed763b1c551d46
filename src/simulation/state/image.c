// Rows of words; see image.h.
#include "simulation/state/image.h"
#include "base/memory.h"
#include <string.h>

enum { WORD = 8, FIRST_CAPACITY = 1024 };
_Static_assert(sizeof(double) == WORD && sizeof(int64_t) == WORD, "numbers are words");

static bool reserve(cal_image* image, size_t count) {
    if (image->status != CAL_OK) return false;
    if (count <= image->capacity - image->count) return true;
    size_t capacity = image->capacity > 0 ? 2 * image->capacity : (size_t)FIRST_CAPACITY;
    if (capacity < image->count + count) capacity = image->count + count;
    uint64_t* words = cal_allocate(capacity, WORD);
    if (words == NULL) {
        image->status = CAL_NO_MEMORY;
        return false;
    }
    if (image->count > 0) memcpy(words, image->words, image->count * WORD);
    cal_free(image->words);
    image->words = words;
    image->capacity = capacity;
    return true;
}

bool cal_image_reserve(cal_image* image, size_t count) {
    return count <= image->count || reserve(image, count - image->count);
}

void cal_image_words(cal_image* image, void* words, size_t count) {
    if (count == 0 || image->status != CAL_OK) return;
    if (!image->writes) {
        if (!cal_image_check(image, count <= image->count - image->at)) return;
        memcpy(words, image->words + image->at, count * WORD);
        image->at += count;
    } else if (reserve(image, count)) {
        memcpy(image->words + image->count, words, count * WORD);
        image->count += count;
    }
}

void cal_image_numbers(cal_image* image, double* numbers, size_t count) { cal_image_words(image, numbers, count); }
void cal_image_number(cal_image* image, double* number) { cal_image_words(image, number, 1); }
void cal_image_long(cal_image* image, int64_t* number) { cal_image_words(image, number, 1); }

void cal_image_int(cal_image* image, int* number) {
    int64_t word = *number;
    cal_image_long(image, &word);
    if (!image->writes && cal_image_check(image, word >= INT32_MIN && word <= INT32_MAX)) *number = (int)word;
}

void cal_image_ints(cal_image* image, int* numbers, size_t count) {
    for (size_t i = 0; i < count; i++) cal_image_int(image, &numbers[i]);
}

void cal_image_bool(cal_image* image, bool* value) {
    int word = *value;
    cal_image_int(image, &word);
    *value = word != 0;
}

void cal_image_count(cal_image* image, int* count) {
    cal_image_int(image, count);
    if (!image->writes && !cal_image_check(image, *count >= 0 && (size_t)*count <= image->count - image->at))
        *count = 0;
}

bool cal_image_list(cal_image* image, void** list, int* count, int* capacity, int least, size_t size) {
    cal_image_count(image, count);
    if (image->status != CAL_OK) return false;
    if (image->writes) return true;
    const int room = *count > least ? *count : least;
    *list = room > 0 ? cal_allocate((size_t)room, size) : NULL;
    if (room > 0 && *list == NULL) image->status = CAL_NO_MEMORY;
    if (image->status != CAL_OK) *count = 0;
    if (capacity != NULL) *capacity = image->status == CAL_OK ? room : 0;
    return image->status == CAL_OK;
}

bool cal_image_check(cal_image* image, bool sound) {
    if (!sound && image->status == CAL_OK) image->status = CAL_BAD_ARGUMENT;
    return image->status == CAL_OK;
}

void cal_image_free(cal_image* image) {
    cal_free(image->words);
    *image = (cal_image){0};
}
