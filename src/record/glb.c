// Recording poses for a glTF file.
//
// All frames are kept until the file is closed, since glTF wants a body's numbers together and a simulation gives them
// frame by frame.
#include "record/glb.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "drawing/world_drawing.h"

static const double MOST_BYTES = 3.5e9; // lengths in the file have 32 bits

static void release(cal_glb* glb) {
    if (glb->file) fclose(glb->file);
    for (int i = 0; glb->surfaces && i < glb->surface_count; i++) cal_surface_release(&glb->surfaces[i]);
    void* arrays[] = {glb->path, glb->title,  glb->poses,  glb->frames, glb->times, glb->surfaces,
                      glb->used, glb->meshes, glb->solids, glb->first,  glb->nodes, glb->moves};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_drawing_destroy(glb->drawing);
    cal_free(glb);
}

// Of a model or of a world.
static cal_status create(const char* path, const cal_model* model, const cal_world* world, const char* title,
                         cal_glb** out, cal_error* error) {
    *out = NULL;
    cal_glb* glb = cal_allocate(1, sizeof *glb);
    if (!glb) return cal_fail(error, CAL_NO_MEMORY, "no memory to record '%s'", path);
    glb->model = model;
    glb->world = world;
    glb->path = cal_copy_text(path);
    glb->title = cal_copy_text(title);
    const int bodies = model ? cal_model_body_count(model) : cal_world_body_count(world);
    glb->poses = cal_allocate(CAL_GLB_POSE * (size_t)bodies, sizeof *glb->poses);
    cal_status status =
        model ? cal_drawing_create(model, &glb->drawing, error) : cal_world_drawing_create(world, &glb->drawing, error);
    if (!status && (!glb->path || !glb->title || !glb->poses))
        status = cal_fail(error, CAL_NO_MEMORY, "no memory to record '%s'", path);
    if (!status) {
        errno = 0;
        glb->file = fopen(path, "wb");
        if (!glb->file)
            status = cal_fail(error, CAL_BAD_ARGUMENT, "cannot write '%s': %s", path,
                              errno ? strerror(errno) : "unknown error");
    }
    if (status) {
        release(glb);
        return status;
    }
    *out = glb;
    return CAL_OK;
}

cal_status cal_glb_create(const char* path, const cal_model* model, cal_glb** out, cal_error* error) {
    return create(path, model, NULL, cal_model_name(model), out, error);
}

cal_status cal_glb_create_world(const char* path, const cal_world* world, const char* title, cal_glb** out,
                                cal_error* error) {
    return create(path, NULL, world, title, out, error);
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

cal_status cal_glb_write(cal_glb* glb, cal_sim* sim, cal_error* error) {
    const cal_status status = cal_sim_poses(sim, glb->poses);
    if (status) return cal_fail(error, status, "a frame of '%s' failed: %s", glb->path, cal_status_text(status));
    return keep(glb, cal_sim_time(sim), error);
}

cal_status cal_glb_write_world(cal_glb* glb, const cal_world* world, cal_error* error) {
    const cal_status status = cal_world_poses(world, glb->poses);
    if (status) return cal_fail(error, status, "a frame of '%s' failed: %s", glb->path, cal_status_text(status));
    return keep(glb, cal_world_time(world), error);
}

cal_status cal_glb_close(cal_glb* glb, cal_error* error) {
    if (!glb) return CAL_OK;
    const cal_status status = cal_glb_write_file(glb, error);
    release(glb);
    return status;
}
