// Recording poses for a glTF file.
//
// All frames are kept until the file is closed, since glTF wants a body's numbers together and a simulation gives them
// frame by frame.
#include "record/glb.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static const double MOST_BYTES = 3.5e9; // lengths in the file have 32 bits

static void release(cal_glb* glb) {
    cal_whole_file_close(glb->whole, false, NULL);
    for (int i = 0; glb->surfaces && i < glb->surface_count; i++) cal_surface_release(&glb->surfaces[i]);
    void* arrays[] = {glb->path,   glb->title,  glb->poses, glb->frames, glb->times, glb->surfaces, glb->used,
                      glb->meshes, glb->solids, glb->first, glb->nodes,  glb->moves, glb->images};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_drawing_destroy(glb->drawing);
    cal_free(glb);
}

cal_status cal_glb_create(const char* path, cal_run* run, const char* title, cal_glb** out, cal_error* error) {
    if (!path || !run || !title || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_glb_create: path, run, title and out must not be NULL");
    *out = NULL;
    cal_glb* glb = cal_allocate(1, sizeof *glb);
    if (!glb) return cal_fail(error, CAL_NO_MEMORY, "no memory to record '%s'", path);
    glb->run = run;
    glb->path = cal_copy_text(path);
    glb->title = cal_copy_text(title);
    glb->poses = cal_allocate(CAL_GLB_POSE * (size_t)cal_run_body_count(run), sizeof *glb->poses);
    cal_status status = cal_drawing_create(run, &glb->drawing, error);
    if (!status && (!glb->path || !glb->title || !glb->poses))
        status = cal_fail(error, CAL_NO_MEMORY, "no memory to record '%s'", path);
    if (!status) {
        status = cal_whole_file_create(path, &glb->whole, error);
        if (!status) glb->file = cal_whole_file_stream(glb->whole);
    }
    if (status) {
        release(glb);
        return status;
    }
    *out = glb;
    return CAL_OK;
}

static bool grow(cal_glb* glb) {
    const size_t capacity = 2 * glb->capacity + 64, size = CAL_GLB_POSE * (size_t)glb->drawing->body_count;
    float *frames = cal_allocate(capacity * size, sizeof *frames), *times = cal_allocate(capacity, sizeof *times);
    if (!frames || !times) {
        cal_free(frames);
        cal_free(times);
        return false;
    }
    if (glb->frame_count > 0) {
        memcpy(frames, glb->frames, glb->frame_count * size * sizeof *frames);
        memcpy(times, glb->times, glb->frame_count * sizeof *times);
    }
    cal_free(glb->frames);
    cal_free(glb->times);
    glb->frames = frames;
    glb->times = times;
    glb->capacity = capacity;
    return true;
}

// Keeps what is in `poses` as a frame.
static cal_status keep(cal_glb* glb, double now, cal_error* error) {
    const size_t bodies = (size_t)glb->drawing->body_count;
    if ((double)(glb->frame_count + 1) * (double)bodies * CAL_GLB_POSE * sizeof(float) > MOST_BYTES)
        return cal_fail(error, CAL_BAD_ARGUMENT, "'%s' would be longer than a glTF file can be; record fewer frames",
                        glb->path);
    if (glb->frame_count == glb->capacity && !grow(glb))
        return cal_fail(error, CAL_NO_MEMORY, "no memory for frame %zu of '%s'; record fewer frames", glb->frame_count,
                        glb->path);
    const float time = (float)now;
    // Times must rise, also where floats are too coarse to tell two frames apart.
    if (glb->frame_count > 0 && !(time > glb->times[glb->frame_count - 1])) return CAL_OK;
    float* frame = glb->frames + glb->frame_count * CAL_GLB_POSE * bodies;
    for (size_t i = 0; i < CAL_GLB_POSE * bodies; i++) frame[i] = (float)glb->poses[i];
    glb->times[glb->frame_count++] = time;
    return CAL_OK;
}

cal_status cal_glb_write(cal_glb* glb, cal_error* error) {
    if (!glb) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_glb_write: glb must not be NULL");
    const cal_status status = cal_run_poses(glb->run, glb->poses, error);
    return status ? status : keep(glb, cal_run_time(glb->run), error);
}

cal_status cal_glb_close(cal_glb* glb, cal_error* error) {
    if (!glb) return CAL_OK;
    const cal_status status = cal_glb_write_file(glb, error);
    release(glb);
    return status;
}
