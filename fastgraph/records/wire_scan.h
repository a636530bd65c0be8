/* Examples in the wire format of protocol buffers: where their features lie, how many values these have, the values.

   Rule: nothing is read beyond the end that the caller gives; what does not fit the format is BAD, never guessed at.
   Source: tensorflow/core/example/feature.proto. */

#include <stdint.h>
#include <string.h>

typedef struct {
    const uint8_t *p; /* NULL: there is none */
    int64_t n;
} fg_slice;

enum { FG_MISSING = -1, FG_BAD = -2, FG_OTHER = -3 /* and less: of kind FG_OTHER - found */ };
enum { FG_BYTES = 1, FG_FLOATS = 2, FG_INTS = 3 }; /* the numbers of Feature's fields */

/* A number of up to ten bytes; NULL if there is none. */
static const uint8_t *fg_varint(const uint8_t *p, const uint8_t *end, uint64_t *value) {
    uint64_t found = 0;
    int shift;
    if (p < end && *p < 128) {
        *value = *p;
        return p + 1;
    }
    for (shift = 0; shift < 70 && p < end; shift += 7) {
        uint64_t byte = *p++;
        found |= (byte & 127) << shift;
        if (byte < 128) {
            *value = found;
            return p;
        }
    }
    return NULL;
}

/* The next field: its number, its wire type, and what it holds if that comes by length. NULL: no field. */
static const uint8_t *fg_field(const uint8_t *p, const uint8_t *end, uint64_t *tag, fg_slice *part) {
    uint64_t size;
    p = fg_varint(p, end, tag);
    if (p == NULL || *tag >> 3 == 0 || *tag >> 32) {
        return NULL;
    }
    part->p = p;
    switch (*tag & 7) {
    case 0:
        p = fg_varint(p, end, &size);
        if (p == NULL) {
            return NULL;
        }
        break;
    case 1:
        if (end - p < 8) {
            return NULL;
        }
        p += 8;
        break;
    case 2:
        p = fg_varint(p, end, &size);
        if (p == NULL || size > (uint64_t)(end - p)) {
            return NULL;
        }
        part->p = p;
        p += size;
        break;
    case 5:
        if (end - p < 4) {
            return NULL;
        }
        p += 4;
        break;
    default:
        return NULL;
    }
    part->n = p - part->p;
    return p;
}

static uint64_t fg_hash(const uint8_t *p, int64_t n) {
    uint64_t head = 0, tail = 0;
    memcpy(&head, p, n < 8 ? n : 8);
    if (n > 8) {
        memcpy(&tail, p + n - 8, 8);
    }
    head = (head ^ tail * 0x9E3779B97F4A7C15u ^ (uint64_t)n << 56) * 0xC2B2AE3D27D4EB4Fu;
    return head >> 32;
}

/* Enter the keys in a table of `mask` + 1 places, more than twice as many: 1 + the number of a key, 0 for none. */
static void fg_enter(const fg_slice *keys, int64_t n, int32_t *table, int64_t mask) {
    int64_t i;
    memset(table, 0, (mask + 1) * sizeof(*table));
    for (i = 0; i < n; i++) {
        int64_t at = fg_hash(keys[i].p, keys[i].n) & mask;
        while (table[at]) {
            at = (at + 1) & mask;
        }
        table[at] = (int32_t)i + 1;
    }
}

static int64_t fg_find(const fg_slice *keys, const int32_t *table, int64_t mask, fg_slice key) {
    int64_t at = fg_hash(key.p, key.n) & mask;
    while (table[at]) {
        const fg_slice *each = keys + table[at] - 1;
        if (each->n == key.n && memcmp(each->p, key.p, key.n) == 0) {
            return table[at] - 1;
        }
        at = (at + 1) & mask;
    }
    return -1;
}

/* Find the features of one message: those of the map in its field `field`; found[i * stride] is that of keys[i], the
   last one where several have a key. FG_BAD for other bytes, else 0. */
static int fg_locate(fg_slice message, uint64_t field, const fg_slice *keys, const int32_t *table, int64_t mask,
                     fg_slice *found, int64_t stride) {
    const uint8_t *p = message.p, *end = p + message.n;
    while (p < end) {
        uint64_t tag;
        fg_slice map;
        const uint8_t *q;
        if ((p = fg_field(p, end, &tag, &map)) == NULL) {
            return FG_BAD;
        }
        if (tag != (field << 3 | 2)) {
            if (tag >> 3 == field) {
                return FG_BAD;
            }
            continue;
        }
        for (q = map.p; q < map.p + map.n;) {
            fg_slice entry, key = {map.p, 0}, value = {map.p, 0};
            const uint8_t *r;
            int64_t i;
            if ((q = fg_field(q, map.p + map.n, &tag, &entry)) == NULL) {
                return FG_BAD;
            }
            if (tag != 10) {
                continue;
            }
            for (r = entry.p; r < entry.p + entry.n;) {
                fg_slice part;
                if ((r = fg_field(r, entry.p + entry.n, &tag, &part)) == NULL) {
                    return FG_BAD;
                }
                if (tag == 10) {
                    key = part;
                } else if (tag == 18) {
                    value = part;
                }
            }
            if ((i = fg_find(keys, table, mask, key)) >= 0) {
                found[i * stride] = value;
            }
        }
    }
    return 0;
}

/* How many values of `kind` a Feature has; FG_MISSING for one of no kind. *begin is where the fields of its kind begin:
   a field of another kind takes the place of those before it. */
static int64_t fg_count(fg_slice feature, int kind, const uint8_t **begin) {
    const uint8_t *p = feature.p, *end = p + feature.n;
    int64_t n = 0;
    uint64_t last = 0;
    if (p == NULL) {
        return FG_MISSING;
    }
    while (p < end) {
        uint64_t tag;
        fg_slice list;
        const uint8_t *q, *at = p;
        if ((p = fg_field(p, end, &tag, &list)) == NULL) {
            return FG_BAD;
        }
        if (tag >> 3 > 3) {
            continue;
        }
        if ((tag & 7) != 2) {
            return FG_BAD;
        }
        if (tag != last) {
            last = tag;
            n = 0;
            *begin = at;
        }
        if (tag >> 3 != (uint64_t)kind) {
            continue;
        }
        for (q = list.p; q < list.p + list.n;) {
            fg_slice part;
            if ((q = fg_field(q, list.p + list.n, &tag, &part)) == NULL) {
                return FG_BAD;
            }
            if (tag >> 3 != 1) {
                continue;
            }
            if ((tag & 7) == 2 && kind == FG_INTS) {
                int64_t i, ends = 0;
                for (i = 0; i < part.n; i++) {
                    ends += part.p[i] < 128;
                }
                if (part.n && part.p[part.n - 1] > 127) {
                    return FG_BAD;
                }
                n += ends;
            } else if ((tag & 7) == 2 && kind == FG_FLOATS) {
                if (part.n & 3) {
                    return FG_BAD;
                }
                n += part.n / 4;
            } else if ((tag & 7) == (kind == FG_BYTES ? 2 : kind == FG_FLOATS ? 5 : 0)) {
                n++;
            } else {
                return FG_BAD;
            }
        }
    }
    return last == 0 ? FG_MISSING : last >> 3 == (uint64_t)kind ? n : FG_OTHER - (int64_t)(last >> 3);
}

/* Write the values of a Feature that fg_count has counted, `begin` from there; bytes as slices. Behind the last one, or
   NULL where a number has more than ten bytes. */
static char *fg_fill(fg_slice feature, const uint8_t *begin, int kind, char *out) {
    const uint8_t *p = begin, *end = feature.p + feature.n;
    while (p < end) {
        uint64_t tag;
        fg_slice list, part;
        const uint8_t *q;
        p = fg_field(p, end, &tag, &list);
        if (tag >> 3 != (uint64_t)kind) {
            continue;
        }
        for (q = list.p; q < list.p + list.n;) {
            q = fg_field(q, list.p + list.n, &tag, &part);
            if (tag >> 3 != 1) {
                continue;
            }
            if (kind == FG_BYTES) {
                memcpy(out, &part, sizeof(part));
                out += sizeof(part);
            } else if (kind == FG_FLOATS) {
                memcpy(out, part.p, part.n);
                out += part.n;
            } else {
                const uint8_t *r = part.p, *stop = part.p + part.n;
                while (r < stop) {
                    uint64_t value;
                    if ((r = fg_varint(r, stop, &value)) == NULL) {
                        return NULL;
                    }
                    memcpy(out, &value, 8);
                    out += 8;
                }
            }
        }
    }
    return out;
}

/* The Features of a FeatureList: how many, and, unless `out` is NULL, where. FG_BAD for other bytes. */
static int64_t fg_members(fg_slice list, fg_slice *out) {
    const uint8_t *p = list.p, *end = p + list.n;
    int64_t n = 0;
    if (p == NULL) {
        return FG_MISSING;
    }
    while (p < end) {
        uint64_t tag;
        fg_slice part;
        if ((p = fg_field(p, end, &tag, &part)) == NULL) {
            return FG_BAD;
        }
        if (tag == 10) {
            if (out != NULL) {
                out[n] = part;
            }
            n++;
        }
    }
    return n;
}
