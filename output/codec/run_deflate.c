/*
 * Writes blocks in three steps: bytes become tokens, which are literals and lengths of runs; the
 * tokens are counted, and get codes by their counts; the codes are written. A run of a byte is that
 * byte and then a match at distance 1, the only distance there is.
 */
#include "output/codec/run_deflate.h"

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"

enum {
	BLOCK = 64 << 10, /* bytes; a token stands for at least one */
	NR_SYMBOLS = 286, /* literals, the end of the block, lengths */
	END_OF_BLOCK = 256,
	FIRST_LENGTH = 257,
	MAX_BITS = 15,
	RUN_MIN = 3, /* length of a match: a run without its first byte */
	RUN_MAX = 258,
	NR_LENGTH_CODES = 19, /* of the lengths of codes; RFC 1951, 3.2.7 */
	LENGTH_CODE_BITS = 7,
	ZEROS_MIN = 11, /* the shortest run of zeros that symbol 18 stands for */
	ZEROS_MAX = 138,
	HEAD_MAX = 1024, /* bytes of a block besides its tokens: its codes and its end */
};

/* A code. The bit that is written first is the lowest. */
struct code {
	uint16_t bits;
	uint8_t length; /* 0: the symbol does not occur */
};

struct writer {
	char *at;      /* where bytes go; the caller has reserved room */
	uint64_t bits; /* not written yet */
	unsigned nr_bits;
};

struct block {
	uint16_t tokens[BLOCK + 1]; /* a literal, or 256 + the length of a match */
	size_t nr_tokens;
	uint32_t counts[NR_SYMBOLS];
	struct code codes[NR_SYMBOLS];
	/* By length of a match: its symbol, and its further bits. */
	struct {
		uint16_t symbol;
		uint8_t extra, nr_extra;
	} lengths[RUN_MAX + 1];
};

/* Writes `nr` bits, at most 32. */
static inline void put(struct writer *w, uint64_t bits, unsigned nr)
{
	uint32_t word;

	w->bits |= bits << w->nr_bits;
	w->nr_bits += nr;
	if (w->nr_bits < 32)
		return;
	word = htole32((uint32_t)w->bits);
	w->at = mempcpy(w->at, &word, sizeof(word));
	w->bits >>= 32;
	w->nr_bits -= 32;
}

/* The table of RFC 1951, 3.2.5. */
static void init_lengths(struct block *block)
{
	unsigned length = RUN_MIN;

	for (unsigned i = 0; i < 28; i++) {
		unsigned nr_extra = i < 8 ? 0 : i / 4 - 1;

		for (unsigned extra = 0; extra < 1u << nr_extra; extra++, length++) {
			block->lengths[length].symbol = (uint16_t)(FIRST_LENGTH + i);
			block->lengths[length].extra = (uint8_t)extra;
			block->lengths[length].nr_extra = (uint8_t)nr_extra;
		}
	}
	block->lengths[RUN_MAX].symbol = FIRST_LENGTH + 28;
	block->lengths[RUN_MAX].extra = block->lengths[RUN_MAX].nr_extra = 0;
}

static size_t run_length(const uint8_t *data, size_t left)
{
	size_t most = left < RUN_MAX ? left : RUN_MAX, n = 0;
	uint64_t run = data[-1] * UINT64_C(0x0101010101010101), word;

	for (; n + sizeof(word) <= most; n += sizeof(word)) {
		memcpy(&word, data + n, sizeof(word));
		word = htole64(word) ^ run;
		if (word)
			return n + (size_t)__builtin_ctzll(word) / 8;
	}
	while (n < most && data[n] == data[-1])
		n++;
	return n;
}

/* In one comparison: each of three would be guessed wrong now and then. */
static inline bool four_are_equal(const uint8_t *data)
{
	uint32_t word;

	memcpy(&word, data, sizeof(word));
	return word == data[0] * UINT32_C(0x01010101);
}

/*
 * Literals are counted in several tables in turn. Most literals repeat the one before, and adding
 * to the same count again would wait until it is stored.
 */
enum { NR_TABLES = 4 };

static void make_tokens(struct block *block, const uint8_t *data, size_t size)
{
	uint32_t literals[NR_TABLES][256] = { 0 };
	size_t nr = 0;

	memset(block->counts, 0, sizeof(block->counts));
	for (size_t i = 0; i < size;) {
		size_t run;

		literals[i % NR_TABLES][data[i]]++;
		block->tokens[nr++] = data[i++];
		if (i + RUN_MIN > size || !four_are_equal(data + i - 1))
			continue;
		while ((run = run_length(data + i, size - i)) >= RUN_MIN) {
			block->counts[block->lengths[run].symbol]++;
			block->tokens[nr++] = (uint16_t)(256 + run);
			i += run;
		}
	}
	for (int table = 0; table < NR_TABLES; table++)
		for (int i = 0; i < 256; i++)
			block->counts[i] += literals[table][i];
	block->counts[END_OF_BLOCK] = 1;
	block->nr_tokens = nr;
}

/* A symbol that occurs, or a node above two others. */
struct huffman_node {
	uint32_t count;
	uint16_t symbol, parent;
};

static int compare_counts(const void *a, const void *b)
{
	const struct huffman_node *x = a, *y = b;

	return ORDER(x->count, y->count) ?: (int)x->symbol - (int)y->symbol;
}

/*
 * Joins the two rarest nodes until one is left. Symbols are sorted by count; as the nodes above
 * them are made in that order too, the rarest is the first one of either list. Afterwards nr_of[d]
 * is the number of symbols at depth d; those that are deeper than `max_bits` count as of that
 * depth.
 */
static void count_depths(struct huffman_node *nodes, unsigned nr, unsigned max_bits,
			 uint32_t *nr_of)
{
	uint8_t depth[2 * NR_SYMBOLS];
	unsigned leaf = 0, inner = nr;

	for (unsigned next = nr; next < 2 * nr - 1; next++) {
		nodes[next] = (struct huffman_node){ 0 };
		for (int i = 0; i < 2; i++) {
			bool is_leaf = leaf < nr &&
				       (inner >= next || nodes[leaf].count <= nodes[inner].count);
			unsigned least = is_leaf ? leaf++ : inner++;

			nodes[next].count += nodes[least].count;
			nodes[least].parent = (uint16_t)next;
		}
	}
	depth[2 * nr - 2] = 0;
	for (unsigned i = 2 * nr - 2; i-- > 0;) {
		unsigned d = depth[nodes[i].parent] + 1u;

		depth[i] = (uint8_t)d; /* a block has too few tokens for 255 */
		if (i < nr)
			nr_of[d < max_bits ? d : max_bits]++;
	}
}

/*
 * The codes of all symbols may take 2^max_bits of the code space. If cut depths take more, pairs of
 * the deepest symbols are put below shallower ones.
 */
static void fit_depths(uint32_t *nr_of, unsigned max_bits)
{
	uint32_t taken = 0, room = UINT32_C(1) << max_bits;

	for (unsigned d = 1; d <= max_bits; d++)
		taken += nr_of[d] << (max_bits - d);
	for (; taken > room; taken--) {
		unsigned d = max_bits - 1;

		while (!nr_of[d])
			d--;
		nr_of[d]--;
		nr_of[d + 1] += 2;
		nr_of[max_bits]--;
	}
}

static uint16_t reversed(unsigned bits, unsigned nr)
{
	unsigned result = 0;

	for (unsigned i = 0; i < nr; i++)
		result |= (bits >> i & 1) << (nr - 1 - i);
	return (uint16_t)result;
}

/* Numbers the codes in the order of RFC 1951, 3.2.2. */
static void number_codes(struct code *codes, unsigned nr, const uint32_t *nr_of, unsigned max_bits)
{
	unsigned next[MAX_BITS + 2] = { 0 };

	for (unsigned d = 1; d <= max_bits; d++)
		next[d + 1] = (next[d] + nr_of[d]) << 1;
	for (unsigned i = 0; i < nr; i++)
		if (codes[i].length)
			codes[i].bits = reversed(next[codes[i].length]++, codes[i].length);
}

/* Makes a code of at most max_bits bits for each symbol that occurs; a lone one has one bit. */
static void make_codes(const uint32_t *counts, unsigned nr, unsigned max_bits, struct code *codes)
{
	struct huffman_node nodes[2 * NR_SYMBOLS];
	uint32_t nr_of[MAX_BITS + 1] = { 0 };
	unsigned used = 0, at = 0;

	memset(codes, 0, nr * sizeof(*codes));
	for (unsigned i = 0; i < nr; i++)
		if (counts[i])
			nodes[used++] = (struct huffman_node){ counts[i], (uint16_t)i, 0 };
	assert(used);
	qsort(nodes, used, sizeof(*nodes), compare_counts);
	if (used == 1)
		nr_of[1] = 1;
	else
		count_depths(nodes, used, max_bits, nr_of);
	fit_depths(nr_of, max_bits);
	for (unsigned d = max_bits; d > 0; d--) /* the rarest have the longest */
		for (uint32_t i = 0; i < nr_of[d]; i++)
			codes[nodes[at++].symbol].length = (uint8_t)d;
	number_codes(codes, nr, nr_of, max_bits);
}

/* A length of a code, or symbol 18 and the number of zeros that it stands for. */
struct length_token {
	uint8_t symbol, zeros;
};

/* Encodes the lengths of all codes; the last one is that of the only distance. */
static unsigned make_length_tokens(const struct code *codes, struct length_token *tokens)
{
	uint8_t lengths[NR_SYMBOLS + 1];
	unsigned nr = 0, zeros;

	for (unsigned i = 0; i < NR_SYMBOLS; i++)
		lengths[i] = codes[i].length;
	lengths[NR_SYMBOLS] = 1;
	for (unsigned i = 0; i <= NR_SYMBOLS; i += zeros ? zeros : 1) {
		for (zeros = 0; zeros < ZEROS_MAX && i + zeros < NR_SYMBOLS && !lengths[i + zeros];)
			zeros++;
		if (zeros < ZEROS_MIN)
			zeros = 0;
		tokens[nr++] = zeros ? (struct length_token){ 18, (uint8_t)zeros }
				     : (struct length_token){ lengths[i], 0 };
	}
	return nr;
}

static void put_head(struct writer *w, const struct block *block)
{
	static const uint8_t order[NR_LENGTH_CODES] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
							11, 4,	12, 3, 13, 2, 14, 1, 15 };
	struct length_token tokens[NR_SYMBOLS + 1];
	uint32_t counts[NR_LENGTH_CODES] = { 0 };
	struct code codes[NR_LENGTH_CODES];
	unsigned nr = make_length_tokens(block->codes, tokens);

	for (unsigned i = 0; i < nr; i++)
		counts[tokens[i].symbol]++;
	make_codes(counts, NR_LENGTH_CODES, LENGTH_CODE_BITS, codes);
	put(w, 2 << 1, 3); /* not the final block; codes of its own */
	put(w, NR_SYMBOLS - 257, 5);
	put(w, 0, 5); /* one distance */
	put(w, NR_LENGTH_CODES - 4, 4);
	for (unsigned i = 0; i < NR_LENGTH_CODES; i++)
		put(w, codes[order[i]].length, 3);
	for (unsigned i = 0; i < nr; i++) {
		put(w, codes[tokens[i].symbol].bits, codes[tokens[i].symbol].length);
		if (tokens[i].symbol == 18)
			put(w, tokens[i].zeros - ZEROS_MIN, 7);
	}
}

static void put_tokens(struct writer *writer, const struct block *block)
{
	struct writer w = *writer; /* a copy, so that it stays in registers */

	for (size_t i = 0; i < block->nr_tokens; i++) {
		unsigned token = block->tokens[i], run = token - 256;
		struct code code;

		if (token < 256) {
			put(&w, block->codes[token].bits, block->codes[token].length);
			continue;
		}
		code = block->codes[block->lengths[run].symbol];
		put(&w, code.bits, code.length);
		put(&w, block->lengths[run].extra, block->lengths[run].nr_extra + 1u);
	}
	*writer = w;
}

static void put_block(struct writer *w, const struct block *block)
{
	put_head(w, block);
	put_tokens(w, block);
	put(w, block->codes[END_OF_BLOCK].bits, block->codes[END_OF_BLOCK].length);
}

/* Goes on to a byte boundary, by an empty stored block (RFC 1951, 3.2.4). */
static void align(struct writer *w)
{
	put(w, 0, 3);
	put(w, 0, (8 - w->nr_bits % 8) % 8);
	for (; w->nr_bits; w->nr_bits -= 8, w->bits >>= 8)
		*w->at++ = (char)w->bits;
	w->at = mempcpy(w->at, "\0\0\xff\xff", 4);
}

void run_deflate_add(struct buffer *b, const void *data, size_t size)
{
	struct block *block = xmalloc(sizeof(*block));
	struct writer w = { 0 };

	init_lengths(block);
	for (size_t at = 0; at < size; at += BLOCK) {
		size_t n = size - at < BLOCK ? size - at : BLOCK;

		make_tokens(block, (const uint8_t *)data + at, n);
		make_codes(block->counts, NR_SYMBOLS, MAX_BITS, block->codes);
		/* A token takes at most 15 bits, or 15 + 5 and one for the distance. */
		w.at = buffer_reserve(b, HEAD_MAX + 3 * block->nr_tokens);
		put_block(&w, block);
		b->size = (size_t)(w.at - b->data);
	}
	w.at = buffer_reserve(b, HEAD_MAX);
	align(&w);
	b->size = (size_t)(w.at - b->data);
	free(block);
}

void run_deflate_end(struct buffer *b)
{
	buffer_add(b, "\3\0", 2); /* RFC 1951, 3.2.6: codes of the standard, and the end */
}
