/* Rows of comma-separated values: where their fields lie, the numbers that they say.

   Rule: nothing is read beyond the end that the caller gives. A number that is not written plainly is left to the
   caller. A field in quotes with doubled quotes inside has the length ~n. Source: RFC 4180. */

#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FG_CUT = 1, FG_BARE_QUOTE, FG_OPEN_QUOTE, FG_LONE_QUOTE }; /* what is wrong with a row; CUT: it goes on */
enum { FG_F32, FG_F64, FG_I32, FG_I64 };

typedef struct {
    const int32_t *places; /* the column of each field, -1 of one that is left out */
    int64_t n;             /* fields behind these are counted in `have`, but have no column */
    uint8_t delimiter;
    uint8_t quoted;        /* fields may stand in quotes */
    uint8_t lines;         /* rows end with lines; else each is all the bytes given */
    uint8_t last;          /* no bytes follow */
} fg_rows;

/* One row: its fields to out[column * stride]. Where the next begins; *wrong is what is wrong with this one, *have how
   many fields have a column or are too many. */
static const uint8_t *fg_row(const fg_rows *how, const uint8_t *p, const uint8_t *end, fg_slice *out, int64_t stride,
                             int *wrong, int64_t *have) {
    const uint8_t delimiter = how->delimiter;
    int64_t i;
    *wrong = 0;
    *have = 0;
    for (i = 0;; i++) {
        const uint8_t *begin = p;
        fg_slice field;
        int ended = 0;
        if (how->quoted && p < end && *p == '"') {
            int doubled = 0, fault = 0;
            begin = ++p;
            for (;;) {
                const uint8_t *quote = (const uint8_t *)memchr(p, '"', end - p);
                if (quote == NULL) {
                    *wrong = how->last ? (*wrong ? *wrong : fault ? fault : FG_OPEN_QUOTE) : FG_CUT;
                    return end;
                }
                p = quote + 1;
                field.n = quote - begin;
                if (p == end) {
                    if (!how->last) {
                        *wrong = FG_CUT;
                        return end;
                    }
                    ended = 1;
                    break;
                }
                if (*p == delimiter) {
                    p++;
                    break;
                }
                if (how->lines && (*p == '\n' || *p == '\r')) {
                    ended = 1;
                    break;
                }
                doubled |= *p == '"';
                fault = *p == '"' || fault ? fault : FG_LONE_QUOTE;
                p++;
            }
            *wrong = *wrong ? *wrong : fault;
            field.p = begin;
            field.n = doubled ? ~field.n : field.n;
        } else {
            while (p < end && *p != delimiter && *p != '"' && *p != '\n' && *p != '\r') {
                p++;
            }
            while (p < end && *p != delimiter && !(how->lines && (*p == '\n' || *p == '\r'))) {
                *wrong = how->quoted && !*wrong && (*p == '"' || *p == '\n' || *p == '\r') ? FG_BARE_QUOTE : *wrong;
                p++;
            }
            if (p == end && !how->last) {
                *wrong = FG_CUT;
                return end;
            }
            field.p = begin;
            field.n = p - begin;
            ended = p == end || *p != delimiter;
            p += !ended;
        }
        if (i >= how->n) {
            ++*have;
        } else if (how->places[i] >= 0) {
            out[how->places[i] * stride] = field;
            ++*have;
        }
        if (ended) {
            break;
        }
    }
    if (p < end) { /* at the end of a line */
        if (*p++ == '\r') {
            if (p == end && !how->last) {
                *wrong = FG_CUT;
                return end;
            }
            p += p < end && *p == '\n';
        }
    }
    return p;
}

static const double FG_TENS[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The number that a field says, rounded once; 0 where it is not written plainly, or does not fit. */
static int fg_number(const uint8_t *p, int64_t n, int kind, char *out) {
    const uint8_t *begin = p, *end = p + n;
    int below = n > 0 && *p == '-', digits = 0, seen = 0, scale = 0, power = 0;
    uint64_t whole = 0;
    p += n > 0 && (*p == '-' || *p == '+');
    for (; p < end && (uint8_t)(*p - '0') < 10; p++, seen = 1) {
        whole = 10 * whole + (*p - '0');
        digits += whole != 0;
    }
    if (kind >= FG_I32) {
        int64_t value = below ? -(int64_t)whole : (int64_t)whole;
        if (p != end || !seen || digits > 18) {
            return 0;
        }
        if (kind == FG_I64) {
            memcpy(out, &value, 8);
        } else {
            int32_t narrow = (int32_t)value;
            memcpy(out, &narrow, 4);
            return narrow == value;
        }
        return 1;
    }
    if (p < end && *p == '.') {
        for (p++; p < end && (uint8_t)(*p - '0') < 10; p++, seen = 1) {
            whole = 10 * whole + (*p - '0');
            digits += whole != 0;
            scale--;
        }
    }
    if (seen && p < end && (*p | 32) == 'e') {
        int negative;
        p++;
        negative = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        for (seen = 0; p < end && (uint8_t)(*p - '0') < 10 && power < 1000; p++, seen = 1) {
            power = 10 * power + (*p - '0');
        }
        scale += negative ? -power : power;
    }
    if (p != end || !seen || n > 63) {
        return 0;
    }
    if (digits < 20 && whole >> (kind == FG_F32 ? 24 : 53) == 0 && scale >= (kind == FG_F32 ? -10 : -22) &&
        scale <= (kind == FG_F32 ? 10 : 22)) { /* both are exact, and so what they make is rounded once */
        if (kind == FG_F32) {
            float value = scale < 0 ? (float)whole / (float)FG_TENS[-scale] : (float)whole * (float)FG_TENS[scale];
            value = below ? -value : value;
            memcpy(out, &value, 4);
        } else {
            double value = scale < 0 ? (double)whole / FG_TENS[-scale] : (double)whole * FG_TENS[scale];
            value = below ? -value : value;
            memcpy(out, &value, 8);
        }
        return 1;
    }
#if LDBL_MANT_DIG == 64 && defined(__x86_64__)
    if (digits < 20 && whole && scale >= -22 && scale <= 22) { /* rounded twice, but where the first met no middle */
        long double value = scale < 0 ? (long double)whole / FG_TENS[-scale] : (long double)whole * FG_TENS[scale];
        uint64_t bits, half = kind == FG_F32 ? (uint64_t)1 << 39 : 1 << 10;
        memcpy(&bits, &value, 8);
        if ((bits & (2 * half - 1)) != half) {
            value = below ? -value : value;
            if (kind == FG_F32) {
                float narrow = (float)value;
                memcpy(out, &narrow, 4);
            } else {
                double narrow = (double)value;
                memcpy(out, &narrow, 8);
            }
            return 1;
        }
    }
#endif
    {
        char text[64], *stopped; /* of digits, a point, an exponent alone: the locale's point is the caller's to know */
        memcpy(text, begin, n);
        text[n] = 0;
        if (kind == FG_F32) {
            float value = strtof(text, &stopped);
            memcpy(out, &value, 4);
        } else {
            double value = strtod(text, &stopped);
            memcpy(out, &value, 8);
        }
        return stopped == text + n;
    }
}
