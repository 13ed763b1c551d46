// Texts in UTF-8 (RFC 3629): names and files come from anywhere, and what is handed on as JSON or XML must be well-formed.
#pragma once

// Bytes of the character that a text begins with; 0: that is none, an end that was cut off, or another encoding.
static inline int cal_utf8_size(const char* text) {
    const unsigned char* p = (const unsigned char*)text;
    const int size = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
    for (int i = 1; i < size; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    // Longer than it must be, a half of two, or beyond the last one.
    const int next = size > 2 ? p[1] : 0x90;
    if ((*p == 0xe0 && next < 0xa0) || (*p == 0xed && next > 0x9f) || (*p == 0xf0 && next < 0x90) ||
        (*p == 0xf4 && next > 0x8f))
        return 0;
    return size;
}
