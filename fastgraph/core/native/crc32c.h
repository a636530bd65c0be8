/* CRC-32C (the polynomial of Castagnoli, reflected): by the CPU's instruction, three streams at once, or by tables; of
 * parts that several threads took; of what a file has. */
#ifndef FASTGRAPH_CRC32C_H
#define FASTGRAPH_CRC32C_H
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define FG_CRC_STREAM 2048 /* bytes of one of the three streams: the instruction takes three cycles, and one may start in each */

static uint32_t fg_crc_table[8][256]; /* [k][b]: the remainder of byte b followed by k bytes of zeros */
static uint32_t fg_crc_shift[4][256]; /* [k][b]: byte k of a remainder, b, after FG_CRC_STREAM bytes of zeros */
static int fg_crc_by_instruction;

static uint32_t fg_crc_by_tables(uint32_t crc, const uint8_t *p, int64_t n) {
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word = 0;
        for (int k = 0; k < 8; k++) word |= (uint64_t)p[k] << 8 * k;
        word ^= crc;
        crc = 0;
        for (int k = 0; k < 8; k++) crc ^= fg_crc_table[7 - k][word >> 8 * k & 255];
    }
    for (; n > 0; n--) crc = crc >> 8 ^ fg_crc_table[0][(crc ^ *p++) & 255];
    return crc;
}

static uint32_t fg_crc_shifted(uint32_t crc) {
    return fg_crc_shift[0][crc & 255] ^ fg_crc_shift[1][crc >> 8 & 255] ^ fg_crc_shift[2][crc >> 16 & 255] ^
           fg_crc_shift[3][crc >> 24];
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
__attribute__((target("sse4.2")))
static uint32_t fg_crc_by_sse(uint32_t crc, const uint8_t *p, int64_t n) {
    uint64_t a = crc, b, c, x, y, z;
    for (; n >= 3 * FG_CRC_STREAM; n -= 3 * FG_CRC_STREAM, p += 3 * FG_CRC_STREAM) {
        b = c = 0;
        for (int i = 0; i < FG_CRC_STREAM; i += 8) {
            memcpy(&x, p + i, 8);
            memcpy(&y, p + FG_CRC_STREAM + i, 8);
            memcpy(&z, p + 2 * FG_CRC_STREAM + i, 8);
            a = __builtin_ia32_crc32di(a, x);
            b = __builtin_ia32_crc32di(b, y);
            c = __builtin_ia32_crc32di(c, z);
        }
        a = fg_crc_shifted(fg_crc_shifted((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
    }
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&x, p, 8);
        a = __builtin_ia32_crc32di(a, x);
    }
    for (; n > 0; n--) a = __builtin_ia32_crc32qi((uint32_t)a, *p++);
    return (uint32_t)a;
}
static int fg_crc_has_instruction(void) { return __builtin_cpu_supports("sse4.2") != 0; }
#else
static uint32_t fg_crc_by_sse(uint32_t crc, const uint8_t *p, int64_t n) { return fg_crc_by_tables(crc, p, n); }
static int fg_crc_has_instruction(void) { return 0; }
#endif

static void fg_crc_begin(void) {
    static const uint8_t zeros[FG_CRC_STREAM];
    for (int byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
        fg_crc_table[0][byte] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = fg_crc_table[k - 1][byte];
            fg_crc_table[k][byte] = before >> 8 ^ fg_crc_table[0][before & 255];
        }
    for (int k = 0; k < 4; k++)
        for (int bit = 0; bit < 8; bit++) {
            fg_crc_shift[k][1 << bit] = fg_crc_by_tables((uint32_t)1 << (8 * k + bit), zeros, FG_CRC_STREAM);
            for (int below = 1; below < 1 << bit; below++)
                fg_crc_shift[k][(1 << bit) + below] = fg_crc_shift[k][1 << bit] ^ fg_crc_shift[k][below];
        }
    fg_crc_by_instruction = fg_crc_has_instruction();
}

/* The CRC of bytes that follow those of which `crc` is the CRC; 0 at the beginning. */
static uint32_t fg_crc32c(uint32_t crc, const uint8_t *p, int64_t n) {
    return ~(fg_crc_by_instruction ? fg_crc_by_sse(~crc, p, n) : fg_crc_by_tables(~crc, p, n));
}

/* The product of two polynomials modulo Castagnoli's; the coefficient of x^0 is the highest bit. */
static uint32_t fg_crc_product(uint32_t a, uint32_t b) {
    uint32_t found = 0;
    for (; a; a <<= 1, b = b >> 1 ^ (b & 1 ? 0x82F63B78u : 0))
        if (a >> 31) found ^= b;
    return found;
}

/* The CRC of bytes and n more, by the CRC of each. */
static uint32_t fg_crc_joined(uint32_t first, uint32_t second, int64_t n) {
    uint32_t power = 1u << 23; /* x^8: a byte of zeros */
    for (; n > 0; n >>= 1, power = fg_crc_product(power, power))
        if (n & 1) first = fg_crc_product(power, first);
    return first ^ second;
}

/* Read n bytes of a file into memory, or piece by piece into its first `piece` bytes; into *crc, where there is one,
 * comes their CRC. Gives how many bytes there were, or -errno. */
static int64_t fg_crc_of_file(int file, int64_t at, int64_t n, uint8_t *to, int64_t piece, int keep, uint32_t *crc) {
    int64_t done = 0;
    while (done < n) {
        uint8_t *here = keep ? to + done : to;
        ssize_t got = pread(file, here, (size_t)(n - done < piece ? n - done : piece), (off_t)(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -errno;
        if (got == 0) break;
        if (crc) *crc = fg_crc32c(*crc, here, got);
        done += got;
    }
    return done;
}
#endif
