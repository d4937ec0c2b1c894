/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blobs of a history database. The first byte selects the kind, and whether the rest is the blob
 * or its content before compression, which a fuzzer would never produce correctly. Decoded rows
 * are encoded and decoded again and must be equal.
 */
#include "store/accounts_blob.h"
#include "store/day_dictionary.h"
#include "store/window_blob.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void write_again(const struct window_rows *rows)
{
	struct window_rows again = { 0 };
	struct window_writer writer;
	struct window_reader reader;
	uint8_t *blob;
	size_t size;

	window_writer_init(&writer);
	for (size_t i = 0; i < rows->count; i++)
		window_writer_add(&writer, &rows->items[i]);
	require(window_writer_finish(&writer, 1, &blob, &size) == 0);
	window_writer_done(&writer);
	require(window_reader_init(&reader, blob, size, UINT32_MAX, UINT32_MAX) == 0);
	require(window_rows_read(&again, &reader) == 0);
	window_reader_done(&reader);
	require(again.count == rows->count);
	for (size_t i = 0; i < rows->count; i++)
		require(again.items[i].thread == rows->items[i].thread &&
			again.items[i].node == rows->items[i].node &&
			again.items[i].count == rows->items[i].count);
	free(blob);
	free(again.items);
}

static void read_window(const uint8_t *blob, size_t size)
{
	struct window_rows rows = { 0 };
	struct window_reader reader;

	if (window_reader_init(&reader, blob, size, 1 << 20, 1 << 20) < 0)
		return;
	if (window_rows_read(&rows, &reader) == 0)
		write_again(&rows);
	window_reader_done(&reader);
	free(rows.items);
}

/* Two in a row: the second must begin where the first ends. */
static void read_tables(const uint8_t *blob, size_t size)
{
	struct day_dictionary dictionary, again;
	struct day_mark none, mark, copied;
	uint8_t *written;
	size_t written_size;

	require(day_dictionary_init(&dictionary) == 0 && day_dictionary_init(&again) == 0);
	none = day_tables_mark(&dictionary.tables);
	if (day_tables_read(&dictionary.tables, blob, size) == 0 &&
		day_dictionary_index(&dictionary, &none) == 0) {
		mark = day_tables_mark(&dictionary.tables);
		require(day_tables_write(&dictionary.tables, &none, 1, &written, &written_size) ==
			0);
		require(day_tables_read(&again.tables, written, written_size) == 0);
		copied = day_tables_mark(&again.tables);
		require(memcmp(&copied, &mark, sizeof(mark)) == 0);
		free(written);
		(void)day_tables_read(&dictionary.tables, blob, size);
	}
	day_dictionary_done(&dictionary);
	day_dictionary_done(&again);
}

static void read_accounts(const uint8_t *bytes, size_t size)
{
	uint8_t written[ACCOUNTS_BLOB_BYTES_MAX];
	struct accounts accounts, again;

	if (accounts_blob_read(&accounts, bytes, size) < 0)
		return;
	require(accounts_blob_read(&again, written, accounts_blob_write(&accounts, written)) == 0);
	require(memcmp(&accounts, &again, sizeof(again)) == 0);
}

static void read_blob(unsigned int sort, const uint8_t *blob, size_t size)
{
	if (sort == 0)
		read_window(blob, size);
	else
		read_tables(blob, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t *blob;
	size_t bound, packed;

	if (size < 1)
		return 0;
	if (bytes[0] % 8 == 2) {
		read_accounts(bytes + 1, size - 1);
		return 0;
	}
	if (bytes[0] & 4) {
		read_blob(bytes[0] & 1, bytes + 1, size - 1);
		return 0;
	}
	bound = ZSTD_compressBound(size);
	blob = malloc(bound + 1);
	require(blob != NULL);
	blob[0] = COLUMN_BLOB_VERSION;
	packed = ZSTD_compress(blob + 1, bound, bytes + 1, size - 1, 1);
	require(!ZSTD_isError(packed));
	read_blob(bytes[0] & 1, blob, packed + 1);
	free(blob);
	return 0;
}
