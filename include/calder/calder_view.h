/// \file calder_view.h
/// The viewer in the browser, and recordings as pages. A library of its own (calder_view).
#pragma once
#include "calder/calder_world.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A server that shows a simulation to browsers and lets them take hold of it.
typedef struct cal_viewer cal_viewer;

/// How to view; from cal_default_viewer_def.
typedef struct cal_viewer_def {
    const char* title;  ///< what the page calls the model; NULL: the model's name
    const char* listen; ///< address to listen at; NULL: 127.0.0.1, this machine only
    int port;           ///< 0: the first free one from 7878
    bool paused;        ///< wait for somebody to press space
    const char* solver; ///< as of cal_sim_def, as are the next ones
    const char* algorithm;
    const char* machine; ///< "serial", "threads[:N][,pinned]"
    double relative;
    double step; ///< of the fixed-step solvers, 0: the model's, or 0.001 s; the largest one of the others, 0: no bound
    int lanes, slow_band;
    const char* stabilize; ///< how constraints stay closed, as of cal_sim_def; NULL: its own
    double gain;           ///< of stabilize
    bool project;          ///< move a start that is off the constraints onto them
    const char* advice; ///< said to the user, after what the viewer knows, where the model is too slow; NULL: nothing
    void (*notice)(void* user, const char* text); ///< called once, in the simulation's thread, when it is; NULL: not
    void* notice_user;
    uint32_t cookie;
} cal_viewer_def;
cal_viewer_def cal_default_viewer_def(void);

/// Whether this build has the server, and whether it has the page (which needs npm to be built).
bool cal_viewer_available(void);
bool cal_viewer_has_page(void);
/// Starts listening; #CAL_BAD_ARGUMENT when the port is taken. The model must outlive it.
cal_status cal_viewer_create(const cal_model* model, const cal_viewer_def* def, cal_viewer** out, cal_error* error);
/// Makes a world that was not advanced yet, the same one every time.
typedef cal_status cal_world_function(void* user, cal_world** out, cal_error* error);
/// The same for a world of colliding bodies: make is called now and, in the viewer's thread, whenever somebody starts anew.
/// Of the definition, what is about solvers is not used. What is shown is final; bodies cannot be pulled.
cal_status cal_viewer_create_world(cal_world_function* make, void* user, const cal_viewer_def* def, cal_viewer** out,
                                   cal_error* error);
void cal_viewer_destroy(cal_viewer* viewer); ///< NULL is allowed
/// The address for a browser, "http://127.0.0.1:7878/".
const char* cal_viewer_address(const cal_viewer* viewer);
/// Simulates in a thread of its own, serves in the caller's, until cal_viewer_stop.
cal_status cal_viewer_run(cal_viewer* viewer, cal_error* error);
void cal_viewer_stop(cal_viewer* viewer); ///< from any thread, or from a signal's handler

/// A run as one self-contained page that plays it, with plots.
typedef struct cal_html cal_html;

/// Creates or empties the file. The model must outlive the recorder. #CAL_NOT_AVAILABLE when the build has no page.
cal_status cal_html_create(const char* path, const cal_model* model, const char* title, cal_html** out,
                           cal_error* error);
/// Adds a frame: the poses of a simulation of the same model and its plotted numbers at cal_sim_time. Thirty a second are
/// enough: the page interpolates.
cal_status cal_html_write(cal_html* html, cal_sim* sim, cal_error* error);
/// The same for a world that was advanced to its start, and its frames at cal_world_time.
cal_status cal_html_create_world(const char* path, const cal_world* world, const char* title, cal_html** out,
                                 cal_error* error);
cal_status cal_html_write_world(cal_html* html, cal_world* world, cal_error* error);
/// Completes the file and frees the recorder, also when that fails; NULL is allowed.
cal_status cal_html_close(cal_html* html, cal_error* error);

#ifdef __cplusplus
}
#endif
