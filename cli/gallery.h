// The gallery of `calder view` without a model: the papers' five systems, and models that are dropped onto the page.
#pragma once
#include "calder/calder_view.h"

// The cards, and what the command calls each one's model.
const cal_viewer_card* cal_gallery_cards(int* count);
const char* cal_gallery_model(int card);

// A private folder for what is dropped, below TMPDIR or /tmp; false: it cannot be made.
bool cal_gallery_make_folder(char* path, size_t capacity);
// Removes it with all that is in it.
void cal_gallery_remove_folder(const char* path);
