/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/range_coder.h"

enum {
	RANGE_MIN = 1 << 24,
	CHANCE_BITS = 12,
	CHANCE_MAX = 1 << CHANCE_BITS,
	CHANCE_LEAST = 2, /* of CHANCE_MAX */
	SEEN_MAX = 30,	  /* a chance follows the last bits, more slowly the more it has seen */
	PART_BITS = 16,	  /* of a number, at a time */
};

void range_coder_init_writer(
	struct range_coder *coder, struct column_writer *to, unsigned int column)
{
	*coder = (struct range_coder){ .range = UINT32_MAX, .to = to, .column = column };
}

static uint8_t next_byte(struct range_coder *coder)
{
	if (coder->next < coder->end)
		return *coder->next++;
	coder->is_damaged = true;
	return 0;
}

void range_coder_init_reader(struct range_coder *coder, const uint8_t *bytes, size_t size)
{
	*coder = (struct range_coder){
		.range = UINT32_MAX,
		.is_reader = true,
		.next = bytes,
		.end = bytes + size,
	};
	for (size_t i = 0; i < sizeof(coder->code); i++)
		coder->code = coder->code << 8 | next_byte(coder);
}

bool range_coder_is_whole(const struct range_coder *coder)
{
	return !coder->is_damaged && coder->next == coder->end && coder->code == 0;
}

/* Moves the upper byte of the lower 32 bits out. A carry may still come while all are 0xff. */
static void shift_low(struct range_coder *coder)
{
	const uint8_t carry = (uint8_t)(coder->low >> 32), top = (uint8_t)(coder->low >> 24);

	if (carry > 0 || top < 0xff || coder->pending == 0) {
		for (uint8_t byte = coder->first; coder->pending > 0; coder->pending--) {
			byte = (uint8_t)(byte + carry);
			column_put_bytes(coder->to, coder->column, &byte, 1);
			byte = 0xff;
		}
		coder->first = top;
	}
	coder->pending++;
	coder->low = (coder->low & 0xffffff) << 8;
}

void range_coder_finish_writing(struct range_coder *coder)
{
	/* The first of these moves out what is pending. */
	for (size_t i = 0; i < 1 + sizeof(coder->code); i++)
		shift_low(coder);
}

/* Narrows the range to a part of it. */
static void narrow(struct range_coder *coder, uint32_t start, uint32_t size)
{
	if (coder->is_reader)
		coder->code -= start;
	else
		coder->low += start;
	coder->range = size;
	while (coder->range < RANGE_MIN) {
		coder->range <<= 8;
		if (coder->is_reader)
			coder->code = coder->code << 8 | next_byte(coder);
		else
			shift_low(coder);
	}
}

static uint32_t chance_of(const struct coded_bit *bit)
{
	const int chance = (bit->lean + 32768) >> (16 - CHANCE_BITS);

	if (chance < CHANCE_LEAST)
		return CHANCE_LEAST;
	return chance > CHANCE_MAX - CHANCE_LEAST ? CHANCE_MAX - CHANCE_LEAST : (uint32_t)chance;
}

static void learn(struct coded_bit *bit, bool value)
{
	const int target = value ? INT16_MAX : INT16_MIN;

	bit->lean = (int16_t)(bit->lean + (target - bit->lean) * 2 / (2 * bit->seen + 3));
	if (bit->seen < SEEN_MAX)
		bit->seen++;
}

bool range_coder_bit(struct range_coder *coder, struct coded_bit *bit, bool value)
{
	const uint32_t size = (coder->range >> CHANCE_BITS) * chance_of(bit);

	if (coder->is_reader)
		value = coder->code < size;
	if (value)
		narrow(coder, 0, size);
	else
		narrow(coder, size, coder->range - size);
	learn(bit, value);
	return value;
}

static uint32_t code_part(struct range_coder *coder, uint32_t limit, uint32_t value)
{
	const uint32_t size = coder->range / limit;

	if (coder->is_reader)
		value = coder->code / size;
	if (value >= limit) { /* in what the division leaves */
		coder->is_damaged = true;
		value = limit - 1;
	}
	narrow(coder, value * size, size);
	return value;
}

uint64_t range_coder_below(struct range_coder *coder, uint64_t limit, uint64_t value)
{
	uint64_t high = 0;

	if (limit <= 1)
		return 0;
	if (limit > 1 << PART_BITS) {
		const uint64_t highest = (limit - 1) >> PART_BITS;

		high = range_coder_below(coder, highest + 1, value >> PART_BITS);
		limit = high < highest ? 1 << PART_BITS
				       : ((limit - 1) & ((1 << PART_BITS) - 1)) + 1;
		value &= (1 << PART_BITS) - 1;
	}
	return high << PART_BITS |
	       (limit > 1 ? code_part(coder, (uint32_t)limit, (uint32_t)value) : 0);
}
