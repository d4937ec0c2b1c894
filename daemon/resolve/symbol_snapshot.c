/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/symbol_snapshot.h"

#include "base/array.h"
#include "resolve/kallsyms_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SYMBOLS_MAX = 1 << 20,
	NAME_BYTES_MAX = 64 << 20,
	LAST_SYMBOL_BYTES = 64 * 1024, /* maximum size of an image's last symbol */
};

/* Selects the name if several symbols share an address; the best rank comes first. */
enum rank {
	RANK_GLOBAL,
	RANK_WEAK,
	RANK_LOCAL,
	RANK_MARK,   /* bounds of sections, poor names for code */
	RANK_BOUNDS, /* has no name; marks the end of text */
};

struct symbol {
	uint64_t address;
	uint32_t name; /* offset in names */
	uint16_t image;
	uint8_t rank;
	bool is_image; /* the symbol is an image by itself, and its start */
};
_Static_assert(sizeof(struct symbol) == 16, "there are some 200,000 of them");
_Static_assert(KERNEL_IMAGES_MAX <= UINT16_MAX, "an image's id fits a symbol");

void symbol_snapshot_done(struct symbol_snapshot *snapshot)
{
	free(snapshot->symbols);
	free(snapshot->names);
	free(snapshot->starts);
	*snapshot = (struct symbol_snapshot){ 0 };
}

static bool is_named(const struct kallsyms_line *line, const char *name)
{
	return line->name_size == strlen(name) && memcmp(line->name, name, line->name_size) == 0;
}

static bool starts_with(const char *text, size_t size, const char *prefix)
{
	return size >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

static bool ends_with(const struct kallsyms_line *line, const char *suffix)
{
	size_t size = strlen(suffix);

	return line->name_size >= size &&
	       memcmp(line->name + line->name_size - size, suffix, size) == 0;
}

static enum rank rank_of(const struct kallsyms_line *line)
{
	static const char *const ends[] = { "_etext", "_einittext" };
	static const char *const marks[] = { "_text", "_stext", "_sinittext" };
	bool is_kernel = line->module_size == 0;

	if (!memchr("tTwW", line->type, 4))
		return RANK_BOUNDS;
	for (size_t i = 0; is_kernel && i < ARRAY_SIZE(ends); i++)
		if (is_named(line, ends[i]))
			return RANK_BOUNDS;
	for (size_t i = 0; is_kernel && i < ARRAY_SIZE(marks); i++)
		if (is_named(line, marks[i]))
			return RANK_MARK;
	if (is_kernel && starts_with(line->name, line->name_size, "__") &&
		(ends_with(line, "_text_start") || ends_with(line, "_text_end")))
		return RANK_MARK;
	if (line->type == 'T')
		return RANK_GLOBAL;
	return line->type == 't' ? RANK_LOCAL : RANK_WEAK;
}

/* Is it code that the kernel generates at run time? Its symbols do not belong to a real module. */
static bool is_written_at_run_time(const struct kallsyms_line *line)
{
	return (line->module_size == 3 && memcmp(line->module, "bpf", 3) == 0) ||
	       starts_with(line->module, line->module_size, "__builtin__");
}

static int find_image(
	struct kernel_images *images, const struct kallsyms_line *line, struct symbol *symbol)
{
	uint32_t image = 0;
	int r = 0;

	if (line->module_size > 0 && is_written_at_run_time(line)) {
		symbol->is_image = true;
		r = kernel_images_intern(
			images, KERNEL_IMAGE_SYMBOL, line->name, line->name_size, &image);
	} else if (line->module_size > 0) {
		r = kernel_images_intern(
			images, KERNEL_IMAGE_MODULE, line->module, line->module_size, &image);
	}
	/* Without an image a symbol has no identity; it only marks the end of the one before it. */
	if (r == -E2BIG) {
		symbol->rank = RANK_BOUNDS;
		r = 0;
	}
	symbol->image = (uint16_t)image;
	return r;
}

static int add_name(
	struct symbol_snapshot *snapshot, const struct kallsyms_line *line, uint32_t *ret_name)
{
	int r = ARRAY_RESERVE(snapshot->names, &snapshot->names_capacity,
		snapshot->names_size + line->name_size + 1, NAME_BYTES_MAX);

	if (r < 0)
		return r;
	*ret_name = (uint32_t)snapshot->names_size;
	memcpy(snapshot->names + snapshot->names_size, line->name, line->name_size);
	snapshot->names[snapshot->names_size + line->name_size] = '\0';
	snapshot->names_size += line->name_size + 1;
	return 0;
}

int symbol_snapshot_expect(struct symbol_snapshot *snapshot, const struct symbol_snapshot *last)
{
	int r = ARRAY_RESERVE(
		snapshot->symbols, &snapshot->capacity, last->added_count, SYMBOLS_MAX);

	if (r == 0)
		r = ARRAY_RESERVE(snapshot->names, &snapshot->names_capacity, last->names_size,
			NAME_BYTES_MAX);
	return r;
}

int symbol_snapshot_add(struct symbol_snapshot *snapshot, struct kernel_images *images,
	const char *text, size_t size)
{
	struct symbol symbol = { 0 };
	struct kallsyms_line line;
	int r;

	if (kallsyms_line_parse(text, size, &line) < 0 || line.address == 0)
		return 0;
	if (line.module_size == 0 && is_named(&line, "_text"))
		snapshot->text_start = line.address;
	if (line.module_size == 0 && is_named(&line, "_stext"))
		snapshot->stext_start = line.address;
	symbol.address = line.address;
	symbol.rank = (uint8_t)rank_of(&line);
	r = find_image(images, &line, &symbol);
	if (r < 0)
		return r;
	r = ARRAY_RESERVE(snapshot->symbols, &snapshot->capacity, snapshot->count + 1, SYMBOLS_MAX);
	if (r == 0 && symbol.rank != RANK_BOUNDS)
		r = add_name(snapshot, &line, &symbol.name);
	if (r == 0)
		snapshot->symbols[snapshot->count++] = symbol;
	return r;
}

static int reserve_starts(struct symbol_snapshot *snapshot, size_t count)
{
	int r;

	if (count <= snapshot->starts_count)
		return 0;
	r = ARRAY_RESERVE(snapshot->starts, &snapshot->starts_capacity, count, KERNEL_IMAGES_MAX);
	if (r < 0)
		return r;
	memset(snapshot->starts + snapshot->starts_count, 0,
		(count - snapshot->starts_count) * sizeof(*snapshot->starts));
	snapshot->starts_count = count;
	return 0;
}

int symbol_snapshot_set_start(struct symbol_snapshot *snapshot, uint32_t image, uint64_t start)
{
	int r = reserve_starts(snapshot, (size_t)image + 1);

	if (r == 0)
		snapshot->starts[image] = start;
	return r;
}

static int compare_addresses(const void *first, const void *second)
{
	const struct symbol *a = first, *b = second;

	return (a->address > b->address) - (a->address < b->address);
}

static void sort(struct symbol_snapshot *snapshot)
{
	for (size_t i = 1; i < snapshot->count; i++)
		if (snapshot->symbols[i - 1].address > snapshot->symbols[i].address) {
			qsort(snapshot->symbols, snapshot->count, sizeof(*snapshot->symbols),
				compare_addresses);
			return;
		}
}

/* An image without a known start begins at its lowest text symbol. */
static int find_starts(struct symbol_snapshot *snapshot)
{
	uint64_t kernel_start = snapshot->text_start ? snapshot->text_start : snapshot->stext_start;
	size_t image_count = 1;
	int r;

	for (size_t i = 0; i < snapshot->count; i++)
		if (snapshot->symbols[i].image >= image_count)
			image_count = (size_t)snapshot->symbols[i].image + 1;
	r = reserve_starts(snapshot, image_count);
	if (r < 0)
		return r;
	if (kernel_start)
		snapshot->starts[0] = kernel_start;
	for (size_t i = 0; i < snapshot->count; i++) {
		const struct symbol *symbol = &snapshot->symbols[i];

		if (symbol->rank != RANK_BOUNDS && snapshot->starts[symbol->image] == 0)
			snapshot->starts[symbol->image] = symbol->address;
	}
	return 0;
}

static bool has_better_name(const char *a, const char *b)
{
	size_t size_a = strlen(a), size_b = strlen(b);

	if ((a[0] == '_') != (b[0] == '_'))
		return b[0] == '_';
	if (size_a != size_b)
		return size_a < size_b;
	return strcmp(a, b) < 0;
}

static bool is_better(
	const struct symbol_snapshot *snapshot, const struct symbol *a, const struct symbol *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->rank == RANK_BOUNDS)
		return a->image < b->image;
	return has_better_name(snapshot->names + a->name, snapshot->names + b->name);
}

/* Keeps one symbol an address, and only those bounds that follow a named symbol. */
static void choose(struct symbol_snapshot *snapshot)
{
	struct symbol *symbols = snapshot->symbols;
	size_t kept = 0;

	for (size_t i = 0, next; i < snapshot->count; i = next) {
		struct symbol best = symbols[i];

		for (next = i + 1; next < snapshot->count && symbols[next].address == best.address;
			next++)
			if (is_better(snapshot, &symbols[next], &best))
				best = symbols[next];
		/* A symbol below its image's start, such as a module's init code, has no offset. */
		if (!best.is_image && best.address < snapshot->starts[best.image])
			best.rank = RANK_BOUNDS;
		if (best.rank != RANK_BOUNDS || (kept > 0 && symbols[kept - 1].rank != RANK_BOUNDS))
			symbols[kept++] = best;
	}
	snapshot->count = kept;
}

/* Arrays may be twice too large. */
static int free_unused(struct symbol_snapshot *snapshot)
{
	struct symbol *symbols =
		reallocarray(snapshot->symbols, snapshot->count + 1, sizeof(*symbols));
	char *names;

	if (!symbols)
		return -ENOMEM;
	snapshot->symbols = symbols;
	snapshot->capacity = snapshot->count + 1;
	names = realloc(snapshot->names, snapshot->names_size + 1);
	if (!names)
		return -ENOMEM;
	snapshot->names = names;
	snapshot->names_capacity = snapshot->names_size + 1;
	return 0;
}

int symbol_snapshot_seal(struct symbol_snapshot *snapshot)
{
	int r;

	if (snapshot->count == 0)
		return -EPERM;
	snapshot->added_count = snapshot->count;
	sort(snapshot);
	r = find_starts(snapshot);
	if (r < 0)
		return r;
	choose(snapshot);
	return free_unused(snapshot);
}

/* Counts the symbols at or before `address`. */
static size_t count_up_to(const struct symbol_snapshot *snapshot, uint64_t address)
{
	size_t low = 0, high = snapshot->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (snapshot->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool symbol_snapshot_find(const struct symbol_snapshot *snapshot, uint64_t address,
	const char **ret_name, uint32_t *ret_image, uint64_t *ret_offset)
{
	size_t next = count_up_to(snapshot, address);
	const struct symbol *symbol;
	bool is_last_of_image;

	if (next == 0)
		return false;
	symbol = &snapshot->symbols[next - 1];
	is_last_of_image =
		next == snapshot->count || snapshot->symbols[next].image != symbol->image;
	if (symbol->rank == RANK_BOUNDS ||
		(is_last_of_image && address - symbol->address >= LAST_SYMBOL_BYTES))
		return false;
	*ret_name = snapshot->names + symbol->name;
	*ret_image = symbol->image;
	*ret_offset =
		address - (symbol->is_image ? symbol->address : snapshot->starts[symbol->image]);
	return true;
}

size_t symbol_snapshot_bytes(const struct symbol_snapshot *snapshot)
{
	return snapshot->capacity * sizeof(*snapshot->symbols) + snapshot->names_capacity +
	       snapshot->starts_capacity * sizeof(*snapshot->starts);
}
