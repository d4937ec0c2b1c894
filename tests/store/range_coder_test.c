/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/range_coder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t draw(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Bits that are set one time in `rarity`, and numbers below limits of so many bits. */
struct sequence {
	uint64_t seed, count, rarity;
	unsigned int number_bits; /* 0: no numbers */
};

/* Writes or reads it. What is damaged differs, but stays within the limits. */
static void code(struct range_coder *coder, const struct sequence *sequence, bool is_damaged)
{
	struct coded_bit bits[2] = { 0 };
	uint64_t random = sequence->seed;

	for (uint64_t i = 0; i < sequence->count; i++) {
		const bool bit = draw(&random) % sequence->rarity == 0;
		uint64_t limit = 0, value = 0, coded;

		if (sequence->number_bits > 0)
			limit = draw(&random) >> (64 - sequence->number_bits);
		if (limit > 0)
			value = i % 3 == 0 ? limit - 1 : draw(&random) % limit;
		coded = range_coder_bit(coder, &bits[i % 2], coder->is_reader ? false : bit);
		if (!is_damaged)
			assert_int_equal(coded, bit);
		coded = range_coder_below(coder, limit, coder->is_reader ? 0 : value);
		if (is_damaged)
			assert_true(coded < limit || coded == 0);
		else
			assert_int_equal(coded, value);
	}
}

/* Returns the bytes that the sequence takes. */
static size_t come_back(const struct sequence *sequence)
{
	struct column_writer to;
	struct range_coder coder;
	size_t size;

	column_writer_init(&to, 1);
	range_coder_init_writer(&coder, &to, 0);
	code(&coder, sequence, false);
	range_coder_finish_writing(&coder);
	assert_int_equal(to.error, 0);
	size = to.columns[0].size;
	range_coder_init_reader(&coder, to.columns[0].bytes, size);
	code(&coder, sequence, false);
	assert_true(range_coder_is_whole(&coder));
	for (size_t cut = 0; cut < size; cut++) {
		range_coder_init_reader(&coder, to.columns[0].bytes, cut);
		code(&coder, sequence, true);
		assert_false(range_coder_is_whole(&coder));
	}
	column_writer_done(&to);
	return size;
}

static void values_come_back(void **state)
{
	for (uint64_t seed = 1; seed < 100; seed++)
		for (unsigned int bits = 0; bits <= 64; bits += 8)
			(void)come_back(&(struct sequence){
				.seed = seed * 0x9e3779b97f4a7c15U,
				.count = seed,
				.rarity = 1 + seed % 40,
				.number_bits = bits,
			});
}

/* 4,096 bits of which one in 16 is set are worth 173 bytes; 4,096 numbers below 256, 4,096. */
static void values_take_what_they_are_worth(void **state)
{
	static const uint8_t random[] =
		"any bytes do, because a reader takes all of them for values";
	struct column_writer to;
	struct range_coder coder;
	struct coded_bit bit = { 0 };
	uint64_t seed = 1;

	column_writer_init(&to, 1);
	range_coder_init_writer(&coder, &to, 0);
	for (int i = 0; i < 4096; i++)
		(void)range_coder_bit(&coder, &bit, draw(&seed) % 16 == 0);
	range_coder_finish_writing(&coder);
	assert_in_range(to.columns[0].size, 150, 200);
	range_coder_init_writer(&coder, &to, 0);
	for (int i = 0; i < 4096; i++)
		(void)range_coder_below(&coder, 256, draw(&seed) % 256);
	range_coder_finish_writing(&coder);
	assert_in_range(to.columns[0].size, 150 + 4096, 200 + 4106);
	column_writer_done(&to);
	range_coder_init_reader(&coder, random, sizeof(random));
	code(&coder, &(struct sequence){ .seed = 1, .count = 9999, .rarity = 2, .number_bits = 64 },
		true);
	assert_true(coder.is_damaged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_come_back),
		cmocka_unit_test(values_take_what_they_are_worth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
