/* Boxes thinned out: those that overlap a better one go.

   Rule: boxes come in the order of their scores; what is computed, and in which order, is what NumPy's float32 loops do. */

#ifndef FASTGRAPH_SUPPRESSION_H
#define FASTGRAPH_SUPPRESSION_H

#include <stdint.h>

#define FG_LESS(a, b) ((a) < (b) ? (a) : (b))
#define FG_MORE(a, b) ((a) > (b) ? (a) : (b))

/* Tell if two boxes have more than `above` of their union in common; those without an area, or with a NaN, have
   nothing. Kept boxes lie in lines of `room`, so that the loop is one of vectors; it stops after each 64. */
static int fg_overlaps(const float* kept, int64_t room, int64_t count, const float* box, float area, float above) {
    const float *y1 = kept, *x1 = y1 + room, *y2 = x1 + room, *x2 = y2 + room, *areas = x2 + room;
    for (int64_t from = 0; from < count; from += 64) {
        const int64_t to = FG_LESS(from + 64, count);
        int any = 0;
        for (int64_t j = from; j < to; j++) {
            const float h = FG_LESS(y2[j], box[2]) - FG_MORE(y1[j], box[0]);
            const float w = FG_LESS(x2[j], box[3]) - FG_MORE(x1[j], box[1]);
            const float common = FG_MORE(h, 0.0f) * FG_MORE(w, 0.0f);
            const float all = areas[j] + area - common;
            any |= (common / all > above) & (all > 0.0f) & (areas[j] > 0.0f);
        }
        if (any) return area > 0.0f;
    }
    return 0;
}

/* The numbers of the boxes kept, at most `room`, to `numbers`; returns how many. lines: 5 * room floats. */
static int64_t fg_suppress(const float* boxes, int64_t n, int64_t room, float above, float* lines, int32_t* numbers) {
    int64_t count = 0;
    for (int64_t i = 0; i < n && count < room; i++) {
        const float* b = boxes + 4 * i;
        const float box[4] = {FG_LESS(b[0], b[2]), FG_LESS(b[1], b[3]), FG_MORE(b[0], b[2]), FG_MORE(b[1], b[3])};
        const int known = (b[0] == b[0]) & (b[1] == b[1]) & (b[2] == b[2]) & (b[3] == b[3]);
        const float area = known ? (box[2] - box[0]) * (box[3] - box[1]) : 0.0f;
        if (fg_overlaps(lines, room, count, box, area, above)) continue;
        for (int k = 0; k < 4; k++) lines[k * room + count] = box[k];
        lines[4 * room + count] = area;
        numbers[count++] = (int32_t)i;
    }
    return count;
}

#endif
