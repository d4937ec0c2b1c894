/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/runtime_code.h"

#include "pilotlight/runtime_hotspot.h"
#include "symbol/runtime_lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	WORD_BYTES = 8,
	TABLE_AT = offsetof(struct pilotlight_runtime_code, table),
	UNICODE_MAX = 0x10ffff,
	REPLACEMENT = 0xfffd,
	SEQUENCE_BYTES_MAX = 4,
	MARKED_BYTES = SEQUENCE_BYTES_MAX * (PILOTLIGHT_RUNTIME_TEXT_MAX + 1),
};

static const char ellipsis[] = "…";

static bool is_text_sound(const struct pilotlight_runtime_text *text)
{
	return (text->width == 1 || text->width == 2 || text->width == 4) &&
	       text->bytes <= PILOTLIGHT_RUNTIME_TEXT_MAX && text->bytes % text->width == 0 &&
	       (text->flags & ~(PILOTLIGHT_RUNTIME_TEXT_CUT | PILOTLIGHT_RUNTIME_TEXT_UTF8)) == 0 &&
	       (text->width == 1 || !(text->flags & PILOTLIGHT_RUNTIME_TEXT_UTF8));
}

static bool is_sound(const struct pilotlight_runtime_code *record, size_t size)
{
	size_t words = (record->line_bytes + (size_t)WORD_BYTES - 1) / WORD_BYTES;

	return record->language > 0 && record->language < PILOTLIGHT_RUNTIME_LANGUAGES &&
	       record->lines > 0 && record->lines < PILOTLIGHT_RUNTIME_LINE_TABLES &&
	       record->line_bytes <= PILOTLIGHT_RUNTIME_TABLE_MAX &&
	       record->line_bytes <= record->line_bytes_all && record->reserved == 0 &&
	       size == TABLE_AT + words * WORD_BYTES && is_text_sound(&record->name) &&
	       is_text_sound(&record->file);
}

static uint32_t character_at(const struct pilotlight_runtime_text *text, size_t at)
{
	uint32_t character = 0;

	memcpy(&character, text->characters + at, text->width);
	return character;
}

/* Writes the sequence of a character, also of half a surrogate pair. Returns its length. */
static size_t put_sequence(char *utf8, uint32_t character)
{
	size_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
	static const uint8_t marks[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = bytes; i-- > 1; character >>= 6)
		utf8[i] = (char)(0x80 | (character & 0x3f));
	utf8[0] = (char)(marks[bytes] | character);
	return bytes;
}

/* Writes the first `bytes` of a text. Returns how many that makes. */
static size_t put_characters(char *utf8, const struct pilotlight_runtime_text *text, size_t bytes)
{
	size_t size = 0;

	if (text->flags & PILOTLIGHT_RUNTIME_TEXT_UTF8) {
		memcpy(utf8, text->characters, bytes);
		return bytes;
	}
	for (size_t at = 0; at < bytes; at += text->width) {
		uint32_t character = character_at(text, at);

		size += put_sequence(
			utf8 + size, character <= UNICODE_MAX ? character : REPLACEMENT);
	}
	return size;
}

static void make_text(
	const struct pilotlight_runtime_text *text, bool is_end, char clean[UTF8_CLEAN_BYTES])
{
	bool is_cut = text->flags & PILOTLIGHT_RUNTIME_TEXT_CUT;
	char utf8[MARKED_BYTES];
	size_t size = 0;

	if (is_cut && is_end)
		size = strlen(strcpy(utf8, ellipsis));
	size += put_characters(utf8 + size, text, text->bytes);
	if (is_cut && !is_end) {
		memcpy(utf8 + size, ellipsis, strlen(ellipsis));
		size += strlen(ellipsis);
	}
	(void)utf8_clean(clean, utf8, size);
}

/* A method's class as Java writes it. */
static void put_class(const struct pilotlight_runtime_text *class, char name[MARKED_BYTES])
{
	size_t size = 0;

	if (class->flags & PILOTLIGHT_RUNTIME_TEXT_CUT)
		size = strlen(strcpy(name, ellipsis));
	for (size_t i = 0; i < class->bytes; i++)
		name[size++] = class->characters[i] == '/' ? '.' : (char)class->characters[i];
	name[size] = '\0';
}

/* "java.lang.String.hashCode"; the signature only tells methods of one name. A stub has neither a
 * class nor a signature, but may have a comment: "StubRoutines (1)". */
static void make_method(const struct pilotlight_runtime_code *record, char clean[UTF8_CLEAN_BYTES])
{
	const uint8_t *signature =
		record->file.bytes > 0 ? memchr(record->name.characters, '(', record->name.bytes)
				       : NULL;
	size_t size, bytes = signature ? (size_t)(signature - record->name.characters)
				       : record->name.bytes;
	char name[MARKED_BYTES];

	put_class(&record->file, name);
	size = strlen(name);
	if (size > 0)
		name[size++] = '.';
	memcpy(name + size, record->name.characters, bytes);
	(void)utf8_clean(clean, name, size + bytes);
}

/* The source file in the class's package: "java/lang/String.java". */
static void make_source(const struct pilotlight_runtime_code *record,
	const struct pilotlight_hotspot_table *table, char clean[UTF8_CLEAN_BYTES])
{
	const uint8_t *class = record->file.characters;
	size_t folder = record->file.bytes, size = 0;
	char path[MARKED_BYTES];

	while (folder > 0 && class[folder - 1] != '/')
		folder--;
	if (record->file.flags & PILOTLIGHT_RUNTIME_TEXT_CUT)
		size = strlen(strcpy(path, ellipsis));
	memcpy(path + size, class, folder);
	memcpy(path + size + folder, table->source, table->source_bytes);
	(void)utf8_clean(clean, path, size + folder + table->source_bytes);
	if (table->source_bytes == 0)
		clean[0] = '\0';
}

/* Java's own texts are UTF-8. The source's name is needed no more. */
static int parse_method(const struct pilotlight_runtime_code *record, struct runtime_code *ret_code)
{
	const size_t rest = offsetof(struct pilotlight_hotspot_table, has_no_zeros);
	struct pilotlight_hotspot_table table;

	if (record->lines != PILOTLIGHT_RUNTIME_BYTECODES || record->line_bytes < sizeof(table) ||
		record->name.width != 1 || record->file.width != 1)
		return -EINVAL;
	memcpy(&table, record->table, sizeof(table));
	if (table.source_bytes > PILOTLIGHT_HOTSPOT_SOURCE_MAX || table.has_no_zeros > 1)
		return -EINVAL;
	make_method(record, ret_code->name);
	make_source(record, &table, ret_code->file);
	ret_code->table += rest;
	ret_code->table_bytes -= rest;
	return 0;
}

/* "Shape::area". What follows a zero only tells anonymous classes. */
static void make_function(const struct pilotlight_runtime_text *class,
	const struct pilotlight_runtime_text *function, char clean[UTF8_CLEAN_BYTES])
{
	const struct pilotlight_runtime_text *parts[] = { class, function };
	char name[2 * MARKED_BYTES];
	size_t size = 0;

	for (size_t i = 0; i < 2; i++) {
		size_t bytes = strnlen((const char *)parts[i]->characters, parts[i]->bytes);

		if (size > 0)
			size = (size_t)(stpcpy(name + size, "::") - name);
		size += put_characters(name + size, parts[i], bytes);
		if (parts[i]->flags & PILOTLIGHT_RUNTIME_TEXT_CUT)
			size = (size_t)(stpcpy(name + size, ellipsis) - name);
	}
	(void)utf8_clean(clean, name, size);
}

/* What a file runs outside of functions has no name. An application is made of many files that
 * include each other, so the name says which one it is. An eval of Perl has no file. */
static void make_script(const char *file, char clean[UTF8_CLEAN_BYTES])
{
	const char *slash = strrchr(file, '/');
	bool is_eval = strcmp(file, "(eval)") == 0;
	char name[UTF8_CLEAN_BYTES + sizeof("{main:}")];
	int size = snprintf(name, sizeof(name), "%s%s%s",
		is_eval ? "" : "{main:", slash ? slash + 1 : file, is_eval ? "" : "}");

	(void)utf8_clean(clean, name, (size_t)size);
}

static int parse_function(
	const struct pilotlight_runtime_code *record, struct runtime_code *ret_code)
{
	struct pilotlight_runtime_text class = { .width = 1 };

	if (record->line_bytes > 0)
		memcpy(&class, record->table, sizeof(class));
	if (record->lines != PILOTLIGHT_RUNTIME_LINE_NUMBERS || record->name.width != 1 ||
		(record->line_bytes != 0 && record->line_bytes != sizeof(class)) ||
		!is_text_sound(&class) || class.width != 1)
		return -EINVAL;
	make_text(&record->file, true, ret_code->file);
	if (record->name.bytes == 0)
		make_script(ret_code->file, ret_code->name);
	else
		make_function(&class, &record->name, ret_code->name);
	return 0;
}

int runtime_code_parse(const void *bytes, size_t size, struct runtime_code *ret_code)
{
	const struct pilotlight_runtime_code *record = bytes;

	if (size < TABLE_AT || !is_sound(record, size))
		return -EINVAL;
	ret_code->hash = record->hash;
	ret_code->lines = (enum pilotlight_runtime_lines)record->lines;
	ret_code->first_line = record->first_line;
	ret_code->table = record->table;
	ret_code->table_bytes = record->line_bytes;
	if (record->language == PILOTLIGHT_RUNTIME_HOTSPOT)
		return parse_method(record, ret_code);
	if (record->language == PILOTLIGHT_RUNTIME_PHP ||
		record->language == PILOTLIGHT_RUNTIME_PERL)
		return parse_function(record, ret_code);
	make_text(&record->name, false, ret_code->name);
	if (record->language == PILOTLIGHT_RUNTIME_V8 && record->name.bytes == 0)
		(void)strcpy(ret_code->name, "(anonymous)");
	make_text(&record->file, true, ret_code->file);
	return 0;
}

uint32_t runtime_code_line(const struct runtime_code *code, int32_t unit)
{
	return runtime_lines_find(
		code->lines, code->table, code->table_bytes, code->first_line, unit);
}
