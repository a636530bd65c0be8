/* Fingerprints of strings, as TensorFlow's buckets have them: FarmHash's Fingerprint64 (Pike), SipHash-2-4 (Aumasson and
 * Bernstein 2012), MurmurHash64A (Appleby). Words are read as little-endian CPUs hold them. */
#ifndef FASTGRAPH_FINGERPRINTS_H
#define FASTGRAPH_FINGERPRINTS_H
#include <stdint.h>
#include <string.h>

#define FG_K0 0xC3A5C85C97CB3127u
#define FG_K1 0xB492B66FBE98F273u
#define FG_K2 0x9AE16A3B2F90404Fu

static inline uint64_t fg_word(const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

static inline uint64_t fg_half_word(const uint8_t *p) {
    uint32_t word;
    memcpy(&word, p, 4);
    return word;
}

static inline uint64_t fg_turned(uint64_t x, int right) { return x >> right | x << (64 - right); }
static inline uint64_t fg_shifted_onto(uint64_t x) { return x ^ x >> 47; }

/* Two words as one. */
static inline uint64_t fg_joined(uint64_t u, uint64_t v, uint64_t factor) {
    return fg_shifted_onto((v ^ fg_shifted_onto((u ^ v) * factor)) * factor) * factor;
}

static uint64_t fg_short_print(const uint8_t *p, int64_t n) {
    const uint64_t factor = FG_K2 + 2 * (uint64_t)n;
    if (n >= 8) {
        const uint64_t a = fg_word(p) + FG_K2, b = fg_word(p + n - 8);
        return fg_joined(fg_turned(b, 37) * factor + a, (fg_turned(a, 25) + b) * factor, factor);
    }
    if (n >= 4) return fg_joined((uint64_t)n + (fg_half_word(p) << 3), fg_half_word(p + n - 4), factor);
    if (n == 0) return FG_K2;
    const uint64_t y = p[0] + ((uint64_t)p[n >> 1] << 8), z = (uint64_t)n + ((uint64_t)p[n - 1] << 2);
    return fg_shifted_onto(y * FG_K2 ^ z * FG_K0) * FG_K2;
}

/* Of 17 to 64 bytes. */
static uint64_t fg_middle_print(const uint8_t *p, int64_t n) {
    const uint64_t factor = FG_K2 + 2 * (uint64_t)n;
    const uint64_t a = fg_word(p) * (n <= 32 ? FG_K1 : FG_K2), b = fg_word(p + 8);
    const uint64_t c = fg_word(p + n - 8) * factor, d = fg_word(p + n - 16) * FG_K2;
    const uint64_t y = fg_turned(a + b, 43) + fg_turned(c, 30) + d;
    const uint64_t far = a + fg_turned(b + FG_K2, 18) + c;
    const uint64_t z = fg_joined(y, far, factor);
    if (n <= 32) return z;
    const uint64_t e = fg_word(p + 16) * factor, f = fg_word(p + 24);
    const uint64_t g = (y + fg_word(p + n - 32)) * factor, h = (z + fg_word(p + n - 24)) * factor;
    return fg_joined(fg_turned(e + f, 43) + fg_turned(g, 30) + h, e + fg_turned(f + a, 18) + g, factor);
}

/* 32 bytes into a pair of words. */
static void fg_weak_print(const uint8_t *p, uint64_t a, uint64_t b, uint64_t *out) {
    const uint64_t z = fg_word(p + 24);
    uint64_t first;
    a += fg_word(p);
    b = fg_turned(b + a + z, 21);
    first = a;
    a += fg_word(p + 8) + fg_word(p + 16);
    out[0] = a + z;
    out[1] = b + fg_turned(a, 44) + first;
}

static uint64_t fg_fingerprint(const uint8_t *p, int64_t n) {
    if (n <= 16) return fg_short_print(p, n);
    if (n <= 64) return fg_middle_print(p, n);
    uint64_t y = 81 * FG_K1 + 113, z = fg_shifted_onto(y * FG_K2 + 113) * FG_K2, x = 81 * FG_K2 + fg_word(p);
    uint64_t v[2] = {0, 0}, w[2] = {0, 0}, factor = FG_K1, by = 1;
    const int64_t rest = (n - 1) & 63, whole = n - 1 - rest;
    for (int64_t at = 0; at <= whole; at += 64) {
        const uint8_t *q = p + at;
        if (at == whole) { /* the last 64 bytes, some of them again */
            q = p + n - 64;
            factor = FG_K1 + ((z & 255) << 1);
            by = 9;
            w[0] += (uint64_t)rest;
            v[0] += w[0];
            w[0] += v[0];
        }
        x = fg_turned(x + y + v[0] + fg_word(q + 8), 37) * factor;
        y = fg_turned(y + v[1] + fg_word(q + 48), 42) * factor;
        x ^= w[1] * by;
        y += v[0] * by + fg_word(q + 40);
        z = fg_turned(z + w[0], 33) * factor;
        fg_weak_print(q, v[1] * factor, x + w[0], v);
        fg_weak_print(q + 32, z + w[1], y + fg_word(q + 16), w);
        const uint64_t exchanged = z;
        z = x;
        x = exchanged;
    }
    return fg_joined(fg_joined(v[0], w[0], factor) + fg_shifted_onto(y) * FG_K0 + z, fg_joined(v[1], w[1], factor) + x, factor);
}

static inline void fg_sip_rounds(uint64_t *v, int count) {
    for (; count > 0; count--) {
        v[0] += v[1];
        v[1] = fg_turned(v[1], 51) ^ v[0];
        v[2] += v[3];
        v[3] = fg_turned(v[3], 48) ^ v[2];
        v[0] = fg_turned(v[0], 32);
        v[2] += v[1];
        v[1] = fg_turned(v[1], 47) ^ v[2];
        v[0] += v[3];
        v[3] = fg_turned(v[3], 43) ^ v[0];
        v[2] = fg_turned(v[2], 32);
    }
}

/* The n < 8 bytes at p as a word. */
static inline uint64_t fg_last_word(const uint8_t *p, int64_t n) {
    uint64_t word = 0;
    memcpy(&word, p, (size_t)n);
    return word;
}

static uint64_t fg_keyed(const uint8_t *p, int64_t n, uint64_t first, uint64_t second) {
    uint64_t v[4] = {first ^ 0x736F6D6570736575u, second ^ 0x646F72616E646F6Du, first ^ 0x6C7967656E657261u,
                     second ^ 0x7465646279746573u};
    for (int64_t at = 0; at <= n; at += 8) {
        const uint64_t word = at + 8 <= n ? fg_word(p + at) : fg_last_word(p + at, n - at) | (uint64_t)n << 56;
        v[3] ^= word;
        fg_sip_rounds(v, 2);
        v[0] ^= word;
    }
    v[2] ^= 255;
    fg_sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#define FG_MURMUR 0xC6A4A7935BD1E995u

static uint64_t fg_murmur(const uint8_t *p, int64_t n, uint64_t seed) {
    uint64_t hashed = seed ^ (uint64_t)n * FG_MURMUR;
    for (; n >= 8; n -= 8, p += 8) hashed = (hashed ^ fg_shifted_onto(fg_word(p) * FG_MURMUR) * FG_MURMUR) * FG_MURMUR;
    if (n) hashed = (hashed ^ fg_last_word(p, n)) * FG_MURMUR;
    return fg_shifted_onto(fg_shifted_onto(hashed) * FG_MURMUR);
}
#endif
