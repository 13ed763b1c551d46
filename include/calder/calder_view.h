/// \file calder_view.h
/// The viewer in the browser, and recordings as pages. A library of its own (calder_view).
#pragma once
#include "calder/calder_run.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) // what is declared here is all that a shared library shows
#endif

/// A server that shows a run to browsers and lets them take hold of it.
typedef struct cal_viewer cal_viewer;

/// A model that the page offers in its gallery. Whoever makes the viewer opens what is chosen.
typedef struct cal_viewer_card {
    const char *title, *text, *command; ///< what it is called, what it shows, how one sees it without the gallery
    const char* picture; ///< name of one of the page's own pictures: mobile, stickman, fivebar, figure, avalanche
} cal_viewer_card;

/// How to view; from cal_default_viewer_def. Advice, cards and the path for uploads must outlive the viewer.
typedef struct cal_viewer_def {
    const char* title;  ///< what the page calls the run; NULL: its model's name, or its kind
    const char* listen; ///< address to listen at; NULL: 127.0.0.1, this machine only
    int port;           ///< 0: the first free one from 7878
    bool paused;        ///< wait for somebody to press space
    bool framed;        ///< pages of this machine (notebooks) may show it in a frame
    const char* advice; ///< what may help a run that is too slow, said after what the run itself says; NULL: nothing
    /// Called once, in the run's thread, when the run turns out to be too slow, with what the page says then; NULL: not.
    void (*notice)(void* user, const char* text);
    void* notice_user;
    const cal_viewer_card* cards; ///< of a gallery, card_count of them
    int card_count;               ///< 0: no gallery
    bool gallery;                 ///< the page begins with it
    const char* upload;           ///< folder for models that are dropped onto the page; NULL: none may be
    const char* note;             ///< what the page says when it opens; NULL: nothing
    /// What a page must have to change something (cal_viewer_address): 16 to 64 letters, digits, - or _; NULL: a new random one.
    const char* token;
    uint32_t cookie;
} cal_viewer_def;
cal_viewer_def cal_default_viewer_def(void);

/// Whether this build has the server, and whether it has the page (which needs npm to be built).
bool cal_viewer_available(void);
bool cal_viewer_has_page(void);
/// Starts listening; #CAL_BAD_ARGUMENT when the port is taken. The run must have begun (cal_run_begin), and outlive the
/// viewer.
cal_status cal_viewer_create(cal_run* run, const cal_viewer_def* def, cal_viewer** out, cal_error* error);
void cal_viewer_destroy(cal_viewer* viewer); ///< NULL is allowed
/// The address for a browser, "http://127.0.0.1:7878/?token=…": a page from there may look, select, pull and change. Without its
/// token it may look and select.
const char* cal_viewer_address(const cal_viewer* viewer);
/// Advances the run in a thread of its own, serves in the caller's, until cal_viewer_stop.
cal_status cal_viewer_run(cal_viewer* viewer, cal_error* error);
/// For a program with a loop of its own, which advances the run itself: shows the present state to whoever is connected,
/// takes what the pages sent, and returns at once. Pages can look, select and pull, but not pause or change settings.
cal_status cal_viewer_show(cal_viewer* viewer, cal_error* error);
/// What somebody chose in the gallery, which ended cal_viewer_run: a card's number, or CAL_NONE, and then in *file the path of a
/// dropped model below the folder for uploads; NULL: nothing was chosen.
int cal_viewer_chosen(const cal_viewer* viewer, const char** file);
int cal_viewer_port(const cal_viewer* viewer);          ///< that it listens at
const char* cal_viewer_token(const cal_viewer* viewer); ///< that its address has
void cal_viewer_stop(cal_viewer* viewer);               ///< from any thread, or from a signal's handler

/// A run as one self-contained page that plays it, with plots.
typedef struct cal_html cal_html;

/// Creates or empties the file. The run must outlive the recorder. #CAL_NOT_AVAILABLE when the build has no page.
cal_status cal_html_create(const char* path, cal_run* run, const char* title, cal_html** out, cal_error* error);
/// Adds a frame: the poses and the channels at cal_run_time. Thirty per second are enough: the page interpolates.
cal_status cal_html_write(cal_html* html, cal_error* error);
/// Completes the file and frees the recorder, also when that fails; NULL is allowed.
cal_status cal_html_close(cal_html* html, cal_error* error);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
