// Files of words: checksummed, written beside and renamed over, read by one processor for all.
#define _POSIX_C_SOURCE 200809L
#include "record/checkpoint_buffer.h"

#include "base/beside.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORD = CAL_WORD, CHUNK = 1024 };
// The last letter is that of the processor: words that hold several small numbers, as the solvers' do, mean the same where the order of
// bytes and the place of a double behind a smaller number are. 1: little-endian, aligned; b: big-endian; p: packed, as on i686.
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PROCESSOR 'b'
#else
#define PROCESSOR (offsetof(struct packing, number) == sizeof(double) ? '1' : 'p')
#endif
struct packing {
    char before;
    double number;
};
static const unsigned char MAGIC[WORD] = {'C', 'A', 'L', 'D', 'E', 'R', 'C', PROCESSOR};

static bool is_first(const cal_machine* machine) {
    return machine == NULL || machine->keep == CAL_KEEP_ALL || machine->keep == 0;
}

static void note_problem(cal_checkpoint_buffer* words) {
    if (!words->problem) words->problem = errno ? errno : EIO;
}

// Gives every processor what processor 0 has.
static void share(cal_checkpoint_buffer* words, double* values, int count) {
    if (words->machine == NULL || !words->machine->ops->share || words->status) return;
    words->status = words->machine->ops->share(words->machine, values, count);
}

static cal_status explain(const cal_checkpoint_buffer* words, int problem, cal_error* error) {
    const char* verb = words->writes ? "write" : "read";
    if (words->status)
        return cal_fail(error, words->status, "cannot %s '%.100s': %s", verb, words->path,
                        cal_status_text(words->status));
    if (problem && words->writes) return cal_fail_write(error, words->path, problem);
    if (problem)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cannot %s '%.100s': %s", verb, words->path, strerror(problem));
    return CAL_OK;
}

// --- Words and bytes -------------------------------------------------------------------------------------------------

static uint64_t word_from(const unsigned char* bytes) {
    uint64_t word = 0;
    for (int k = 0; k < WORD; k++) word |= (uint64_t)bytes[k] << 8 * k;
    return word;
}

static void put_bytes(cal_checkpoint_buffer* words, const unsigned char* bytes, size_t count) {
    if (!words->file || words->problem) return;
    words->checksum = cal_hash_bytes(words->checksum, bytes, count);
    errno = 0;
    if (fwrite(bytes, 1, count, words->file) != count) note_problem(words);
}

static void put(cal_checkpoint_buffer* words, const double* numbers, size_t count) {
    unsigned char bytes[CHUNK * WORD];
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, &numbers[i], WORD);
        for (int k = 0; k < WORD; k++) bytes[i * WORD + (size_t)k] = (unsigned char)(word >> 8 * k);
    }
    put_bytes(words, bytes, count * WORD);
}

static void get(cal_checkpoint_buffer* words, double* numbers, size_t count) {
    unsigned char bytes[CHUNK * WORD];
    if (!words->file || words->problem) return;
    errno = 0;
    if (fread(bytes, WORD, count, words->file) != count) {
        note_problem(words);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t word = word_from(bytes + i * WORD);
        memcpy(&numbers[i], &word, WORD);
    }
}

void cal_checkpoint_buffer_move(cal_checkpoint_buffer* words, void* memory, size_t count) {
    for (size_t first = 0; first < count; first += CHUNK) {
        double numbers[CHUNK] = {0};
        const size_t n = count - first < CHUNK ? count - first : CHUNK;
        char* place = memory ? (char*)memory + first * WORD : NULL;
        if (words->writes && place) {
            memcpy(numbers, place, n * WORD);
            put(words, numbers, n);
            continue;
        }
        get(words, numbers, n);
        share(words, numbers, (int)n);
        words->left -= n < words->left ? n : words->left;
        if (place) memcpy(place, numbers, n * WORD);
    }
}

cal_status cal_checkpoint_buffer_check(cal_checkpoint_buffer* words, cal_error* error) {
    double problem = words->problem;
    share(words, &problem, 1);
    return explain(words, (int)problem, error);
}

// --- Writing ---------------------------------------------------------------------------------------------------------

void cal_checkpoint_buffer_create(cal_checkpoint_buffer* words, const char* path, cal_machine* machine) {
    *words = (cal_checkpoint_buffer){.machine = machine, .path = path, .writes = true, .checksum = CAL_HASH_START};
    if (!is_first(machine)) return;
    words->file = cal_beside_open(path, &words->partial);
    if (!words->file) note_problem(words);
    put_bytes(words, MAGIC, WORD);
}

static void finish(cal_checkpoint_buffer* words) {
    double checksum;
    memcpy(&checksum, &words->checksum, WORD);
    put(words, &checksum, 1);
    const bool good = !words->problem && !words->status;
    errno = cal_beside_close(words->file, words->path, words->partial, good, true);
    words->partial = NULL;
    if (errno != 0) note_problem(words);
}

cal_status cal_checkpoint_buffer_close(cal_checkpoint_buffer* words, cal_error* error) {
    if (!words->writes) {
        if (words->file) fclose(words->file);
        return CAL_OK;
    }
    if (words->file) finish(words);
    return cal_checkpoint_buffer_check(words, error);
}

// --- Reading ---------------------------------------------------------------------------------------------------------

typedef enum defect { SOUND, UNREADABLE, FOREIGN, ELSEWHERE, DAMAGED } defect;

// Reads the file to its end and compares checksums; then stands after the magic, with so many words before the checksum.
static defect inspect(FILE* file, double* count) {
    unsigned char bytes[CHUNK * WORD];
    struct stat facts;
    if (fstat(fileno(file), &facts) != 0) return UNREADABLE;
    // A pipe or a device has no size, and may have no end.
    if (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) return FOREIGN;
    if (fread(bytes, 1, WORD, file) != WORD) return ferror(file) ? UNREADABLE : FOREIGN;
    if (memcmp(bytes, MAGIC, WORD - 1) != 0) return FOREIGN;
    if (bytes[WORD - 1] != MAGIC[WORD - 1]) return ELSEWHERE;
    uint64_t sum = cal_hash_bytes(CAL_HASH_START, bytes, WORD);
    int64_t left = (int64_t)facts.st_size - 2 * WORD;
    if (left < 0 || left % WORD != 0) return DAMAGED;
    const int64_t words = left / WORD;
    *count = (double)words;
    while (left > 0) {
        const size_t wanted = left < CHUNK * WORD ? (size_t)left : CHUNK * WORD;
        if (fread(bytes, 1, wanted, file) != wanted) return ferror(file) ? UNREADABLE : DAMAGED;
        sum = cal_hash_bytes(sum, bytes, wanted);
        left -= (int64_t)wanted;
    }
    if (fread(bytes, 1, WORD, file) != WORD) return ferror(file) ? UNREADABLE : DAMAGED;
    if (word_from(bytes) != sum) return DAMAGED;
    return fseek(file, WORD, SEEK_SET) == 0 ? SOUND : UNREADABLE;
}

// Waits for nobody: who opens a pipe without a writer would.
static FILE* open_file(const char* path) {
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE* file = descriptor >= 0 ? fdopen(descriptor, "rb") : NULL;
    if (!file && descriptor >= 0) close(descriptor);
    return file;
}

cal_status cal_checkpoint_buffer_open(cal_checkpoint_buffer* words, const char* path, cal_machine* machine,
                                      cal_error* error) {
    *words = (cal_checkpoint_buffer){.machine = machine, .path = path};
    double found[3] = {UNREADABLE, 0, 0};
    if (is_first(machine)) {
        errno = 0;
        words->file = open_file(path);
        if (words->file) found[0] = inspect(words->file, &found[2]);
        if (found[0] == UNREADABLE) note_problem(words);
        found[1] = words->problem;
    }
    share(words, found, 3);
    words->left = (size_t)found[2];
    cal_status status = explain(words, (int)found[1], error);
    if (!status && found[0] == FOREIGN)
        status = cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "is not a checkpoint of Calder", path);
    if (!status && found[0] == ELSEWHERE)
        status =
            cal_fail(error, CAL_BAD_ARGUMENT,
                     CAL_FROM_FILE "was written on a processor that orders or aligns the bytes of numbers in another "
                                   "way; continue it on one of that kind",
                     path);
    if (!status && found[0] == DAMAGED)
        status =
            cal_fail(error, CAL_BAD_ARGUMENT,
                     CAL_FROM_FILE "is cut off or damaged: its checksum does not fit; use an older checkpoint", path);
    if (status && words->file) fclose(words->file);
    return status;
}
