/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_padding.h"

size_t code_padding_length(const uint8_t *code, size_t size)
{
	size_t length = 0;

	while (length < size && (code[length] == 0x66 || code[length] == 0x2e))
		length++;
	if (length < size && (code[length] == 0x90 || code[length] == 0xcc))
		return length + 1;
	if (size - length < 3 || code[length] != 0x0f || code[length + 1] != 0x1f)
		return 0;
	switch (code[length + 2]) {
	case 0x00: /* nopl (%rax) */
		return length + 3;
	case 0x40: /* with a displacement of one byte */
		return length + 4;
	case 0x44: /* and an index */
		return length + 5;
	case 0x80: /* with a displacement of four bytes */
		return length + 7;
	case 0x84: /* and an index */
		return length + 8;
	default:
		return 0;
	}
}

bool code_padding_is_all(const uint8_t *code, size_t size)
{
	size_t done = 0, length;

	while (done < size) {
		length = code_padding_length(code + done, size - done);
		if (length == 0 || length > size - done)
			return false;
		done += length;
	}
	return true;
}
