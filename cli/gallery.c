#define _XOPEN_SOURCE 700
#include "gallery.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CARD(TITLE, TEXT, MODEL, PICTURE)                                                                              \
    { TITLE, TEXT, "calder view " MODEL, PICTURE }
static const cal_viewer_card cards[] = {
    CARD("A hierarchical mobile",
         "Jung: chains of wedges on plateaus, 124 joints. Grab a leaf and drag it; the energy stays.", "mobile",
         "mobile"),
    CARD("A man of ball joints",
         "Armstrong, Marsland, Olafsson, Schaeffer: twelve links and 33 muscles that stand on two feet. Push him.",
         "stickman:muscles=4,start=0", "stickman"),
    CARD("A closed loop", "Bicchi, Pallottino, Bray, Perdomi: a five-bar linkage; its constraint stays closed.",
         "fivebar", "fivebar"),
    CARD("A human figure",
         "Yamane, Nakamura: 34 degrees of freedom, assembled and disassembled; it stumbles on a floor.",
         "figure:dof=34,floor=1", "figure"),
    CARD("An avalanche", "Mirtich: 300 rocks tumble down a mountainside, each with its own clock.", "avalanche",
         "avalanche"),
};
enum { CARDS = sizeof cards / sizeof cards[0] };

const cal_viewer_card* cal_gallery_cards(int* count) {
    *count = CARDS;
    return cards;
}

const char* cal_gallery_model(int card) { return cards[card].command + strlen("calder view "); }

bool cal_gallery_make_folder(char* path, size_t capacity) {
    const char* base = getenv("TMPDIR");
    const int length = snprintf(path, capacity, "%s/calder-view-XXXXXX", base && base[0] ? base : "/tmp");
    return length > 0 && (size_t)length < capacity && mkdtemp(path);
}

static int remove_entry(const char* path, const struct stat* status, int kind, struct FTW* where) {
    (void)status, (void)kind, (void)where;
    return remove(path);
}

void cal_gallery_remove_folder(const char* path) {
    if (path[0]) nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
