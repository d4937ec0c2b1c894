/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/elf_symbols.h"

#include "dwarf/elf_debugdata.h"
#include "dwarf/elf_sections.h"
#include "extract/demangle.h"
#include "extract/elf_plt.h"
#include "extract/function_bounds.h"
#include "extract/symbol_claims.h"
#include "extract/symbol_table.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
	TABLES_OF_FILE = 3, /* .symtab, .dynsym, and what .gnu_debugdata has */
	TABLES_MAX = ELF_SYMBOLS_FILES_MAX * TABLES_OF_FILE,
	MARKS = 256, /* a power of two */
	CLAIMS_MAX = 64 * 1024 * 1024,
};

/* Flags of a claim. */
enum {
	CLAIM_IS_STUB = 1 << 0,	 /* a stub; `name` is the name of its target */
	CLAIM_HAS_NAME = 1 << 1, /* `name` is the builder's id */
	CLAIM_IS_TABLE = 1 << 2, /* a table of stubs; it is called PLT_NAME */
};

#define PLT_NAME ".plt"

struct elf_symbols {
	struct symbol_builder *builder;
	struct scratch *scratch;
	struct scratch_array claims; /* of struct symbol_claim */
	struct symbol_table tables[TABLES_MAX];
	size_t table_count;
	struct scratch_array debugdata[ELF_SYMBOLS_FILES_MAX]; /* unpacked */
	size_t file_count;

	const struct symbol_table *table; /* the table that is being added */
	bool has_failed;		  /* an error of the builder or scratch, not of the table */
	bool has_symtab;		  /* so all symbols are known, not only exported ones */
	bool has_guesses;
	uint32_t marks[MARKS]; /* offsets of names that are known to be mapping symbols */

	char name[SYMBOL_NAME_BYTES], other_name[SYMBOL_NAME_BYTES]; /* buffers */
};

int elf_symbols_new(
	struct symbol_builder *builder, struct scratch *scratch, struct elf_symbols **ret_symbols)
{
	_cleanup_(elf_symbols_freep) struct elf_symbols *symbols = calloc(1, sizeof(*symbols));
	int r;

	if (!symbols)
		return -ENOMEM;
	symbols->builder = builder;
	symbols->scratch = scratch;
	r = scratch_array_init(&symbols->claims, scratch, sizeof(struct symbol_claim), CLAIMS_MAX);
	if (r < 0)
		return r;
	*ret_symbols = TAKE_PTR(symbols);
	return 0;
}

void elf_symbols_free(struct elf_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->table_count; i++)
		symbol_table_close(&symbols->tables[i]);
	for (size_t i = 0; i < symbols->file_count; i++)
		scratch_array_done(&symbols->debugdata[i]);
	scratch_array_done(&symbols->claims);
	free(symbols);
}

/* Mapping symbols mark code and kinds of data ($a, $d, $t, $x). They are not names of functions. */
static bool is_mapping_symbol(struct elf_symbols *symbols, uint32_t name)
{
	const struct symbol_table *table = symbols->table;
	uint32_t *mark = &symbols->marks[name % MARKS];
	char text[2];

	switch (table->file.machine) {
	case EM_ARM:
	case EM_AARCH64:
	case EM_RISCV:
	case EM_CSKY:
		break;
	default:
		return false;
	}
	/* Linkers write each of these names once or twice, for thousands of symbols. */
	if (*mark == name)
		return true;
	if (table->strings_bytes - name < sizeof(text))
		return false;
	if (elf_file_read(&table->file, table->strings_offset + name, text, sizeof(text)) < 0)
		return false;
	if (text[0] != '$' || !text[1] || !strchr("adtx", text[1]))
		return false;
	*mark = name;
	return true;
}

static uint8_t rank_symbol(const Elf64_Sym *symbol)
{
	uint8_t rank;

	switch (ELF64_ST_TYPE(symbol->st_info)) {
	case STT_OBJECT:
		rank = 0;
		break;
	case STT_NOTYPE:
		rank = 3;
		break;
	default:
		rank = 6;
		break;
	}
	switch (ELF64_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return rank + 3;
	case STB_WEAK:
		return rank + 2;
	default:
		return rank + 1;
	}
}

static int add_claim(struct elf_symbols *symbols, const struct symbol_claim *claim)
{
	int r;

	if (symbols->claims.count == CLAIMS_MAX)
		return -E2BIG;
	r = scratch_array_append(&symbols->claims, claim, sizeof(*claim));
	symbols->has_failed = r < 0;
	return r;
}

/* Ignores symbols that name no code or contradict their section. */
static int add_symbol(void *context, const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);
	struct elf_symbols *symbols = context;
	const struct symbol_table *table = symbols->table;
	const struct symbol_section *section;
	struct symbol_claim claim;
	bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;

	if (!is_function && type != STT_NOTYPE && type != STT_OBJECT)
		return 0;
	/* Index 0 is "undefined"; the reserved ones (SHN_ABS, SHN_COMMON) are not sections. */
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= table->section_count)
		return 0;
	if (symbol->st_name == 0 || symbol->st_name >= table->strings_bytes)
		return 0;
	section = &table->sections[symbol->st_shndx];
	claim = (struct symbol_claim){
		.start = symbol->st_value,
		.end = section->end,
		.name = symbol->st_name,
		.table = (uint8_t)(table - symbols->tables),
		.rank = rank_symbol(symbol),
		.kind = is_function ? SYMBOL_CLAIM_FUNCTION : SYMBOL_CLAIM_LABEL,
	};
	/* The lowest bit marks Thumb code. */
	if (table->file.machine == EM_ARM && is_function)
		claim.start &= ~UINT64_C(1);
	if (claim.start < section->start || claim.start >= section->end)
		return 0;
	if (symbol->st_size == 0)
		claim.kind = SYMBOL_CLAIM_GUESS;
	else if (symbol->st_size < section->end - claim.start)
		claim.end = claim.start + symbol->st_size;
	if (!symbol_builder_has_code(symbols->builder, claim.start, claim.start + 1))
		return 0;
	if (!is_function &&
		(!section->is_executable || is_mapping_symbol(symbols, symbol->st_name)))
		return 0;
	symbols->has_guesses |= claim.kind == SYMBOL_CLAIM_GUESS;
	return add_claim(symbols, &claim);
}

static int add_stub(void *context, uint64_t start, uint64_t end, uint32_t index)
{
	struct elf_symbols *symbols = context;
	const struct symbol_table *table = symbols->table;
	uint8_t bytes[sizeof(Elf64_Sym)];
	size_t symbol_bytes = elf_file_symbol_bytes(&table->file);
	struct symbol_claim claim = {
		.start = start,
		.end = end,
		.table = (uint8_t)(table - symbols->tables),
		.flags = CLAIM_IS_STUB,
		.kind = SYMBOL_CLAIM_LABEL,
	};
	int r;

	if (index >= table->symbol_count || !symbol_builder_has_code(symbols->builder, start, end))
		return 0;
	r = elf_file_read(
		&table->file, table->symbols_offset + index * symbol_bytes, bytes, symbol_bytes);
	if (r < 0)
		return r;
	claim.name = elf_file_decode_symbol(&table->file, bytes).st_name;
	if (claim.name == 0 || claim.name >= table->strings_bytes)
		return 0;
	return add_claim(symbols, &claim);
}

/*
 * Ends a table or a part of the current file. If it failed, removes its claims and counts the
 * loss.
 */
static int end_table(struct elf_symbols *symbols, int r, size_t claims_before, uint32_t contents)
{
	if (r == -ENOMEM || (r < 0 && symbols->has_failed))
		return r;
	if (r < 0) {
		symbols->claims.count = claims_before;
		symbol_builder_count_loss(symbols->builder, SYMBOL_LOSS_SYMBOLS, r);
	} else if (symbols->claims.count > claims_before) {
		symbol_builder_add_contents(symbols->builder, contents);
	}
	return 0;
}

/* Returns 1 if there is such a table, 0 if not or if it was lost; or an error. */
static int add_table(
	struct elf_symbols *symbols, const struct elf_file *file, uint32_t type, uint32_t contents)
{
	size_t before = symbols->claims.count;
	struct symbol_table *table = &symbols->tables[symbols->table_count];
	int r;

	r = symbol_table_open(table, file, type);
	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return end_table(symbols, r, before, 0);
	symbols->table_count++;
	symbols->table = table;
	memset(symbols->marks, 0, sizeof(symbols->marks));
	r = symbol_table_each(table, add_symbol, symbols);
	r = end_table(symbols, r, before, contents);
	return r < 0 ? r : 1;
}

/* Is it an error of the scratch rather than of the data unpacked to it? */
static bool is_scratch_error(int r)
{
	return r == -EFBIG || r == -ENOSPC;
}

static int add_debugdata(struct elf_symbols *symbols, const struct elf_file *file)
{
	size_t before = symbols->claims.count;
	struct elf_file inner;
	int r;

	r = elf_debugdata_open(
		file, symbols->scratch, &symbols->debugdata[symbols->file_count], &inner);
	if (r == -ENODATA)
		return 0;
	symbols->has_failed = is_scratch_error(r);
	if (r < 0)
		return end_table(symbols, r, before, 0);
	r = add_table(symbols, &inner, SHT_SYMTAB, PILOTLIGHT_SYMBOL_HAS_DEBUGDATA);
	return r < 0 ? r : 0;
}

static int add_plt(struct elf_symbols *symbols, const struct elf_file *file)
{
	size_t before = symbols->claims.count;
	int r;

	r = elf_plt_each(file, symbols->scratch, add_stub, symbols);
	symbols->has_failed |= is_scratch_error(r);
	return end_table(symbols, r, before, PILOTLIGHT_SYMBOL_HAS_PLT);
}

/* Names the rest of the table, such as the entry that lazy stubs share. */
static int add_plt_section(struct elf_symbols *symbols, const struct elf_file *file)
{
	struct symbol_claim claim = { .flags = CLAIM_IS_TABLE, .kind = SYMBOL_CLAIM_LABEL };
	size_t before = symbols->claims.count;
	Elf64_Shdr section;

	/* Malformed headers have been counted already. */
	if (elf_sections_find(file, PLT_NAME, &section) < 0)
		return 0;
	if (!(section.sh_flags & SHF_EXECINSTR) || section.sh_size > UINT64_MAX - section.sh_addr)
		return 0;
	claim.start = section.sh_addr;
	claim.end = section.sh_addr + section.sh_size;
	if (!symbol_builder_has_code(symbols->builder, claim.start, claim.end))
		return 0;
	return end_table(symbols, add_claim(symbols, &claim), before, 0);
}

int elf_symbols_add_file(struct elf_symbols *symbols, const struct elf_file *file)
{
	int r;

	assert(symbols->file_count < ELF_SYMBOLS_FILES_MAX);
	r = add_table(symbols, file, SHT_SYMTAB, PILOTLIGHT_SYMBOL_HAS_SYMTAB);
	symbols->has_symtab |= r > 0;
	if (r >= 0)
		r = add_table(symbols, file, SHT_DYNSYM, PILOTLIGHT_SYMBOL_HAS_DYNSYM);
	/* The names of stubs are in .dynsym. */
	if (r > 0)
		r = add_plt(symbols, file);
	if (r >= 0)
		r = add_plt_section(symbols, file);
	if (r >= 0)
		r = add_debugdata(symbols, file);
	symbols->file_count++;
	return r < 0 ? r : 0;
}

bool elf_symbols_need_bounds(const struct elf_symbols *symbols)
{
	return symbols->has_guesses;
}

bool elf_symbols_are_stripped(const struct elf_symbols *symbols)
{
	return !symbols->has_symtab;
}

static uint64_t start_key(const void *item)
{
	return ((const struct symbol_claim *)item)->start;
}

/* Where a symbol without a size ends that begins at `start`, before `limit`. */
static uint64_t bound(const struct elf_symbols *symbols, const struct function_bounds *bounds,
	uint64_t start, uint64_t limit)
{
	bool is_inside;
	uint64_t end = function_bounds_end(bounds, start, &is_inside);

	if (end > limit)
		end = limit;
	/* A stripped file has functions before the next symbol that have no name. */
	return is_inside || symbols->has_symtab ? end
						: function_bounds_guess_end(bounds, start, end);
}

/* Bounds all claims that have one start. A hostile file may give all its symbols one start. */
static void bound_group(struct elf_symbols *symbols, const struct function_bounds *bounds,
	struct symbol_claim *claims, size_t count, uint64_t next)
{
	uint64_t limit = 0;

	for (size_t i = 0; i < count; i++)
		if (claims[i].kind == SYMBOL_CLAIM_GUESS && claims[i].end > limit)
			limit = claims[i].end;
	if (limit == 0)
		return;
	limit = bound(symbols, bounds, claims[0].start, limit < next ? limit : next);
	for (size_t i = 0; i < count; i++)
		if (claims[i].kind == SYMBOL_CLAIM_GUESS && claims[i].end > limit)
			claims[i].end = limit;
}

int elf_symbols_bound(struct elf_symbols *symbols, const struct function_bounds *bounds)
{
	static const scratch_sort_key keys[] = { start_key };
	struct symbol_claim *claims;
	size_t count = symbols->claims.count;
	int r = scratch_sort(&symbols->claims, keys, 1);

	claims = symbols->claims.items;
	for (size_t first = 0, end; r == 0 && first < count; first = end) {
		for (end = first + 1; end < count && claims[end].start == claims[first].start;)
			end++;
		bound_group(symbols, bounds, &claims[first], end - first,
			end < count ? claims[end].start : UINT64_MAX);
	}
	return r;
}

/*
 * Versions look like foo@VERSION or foo@@VERSION. But assembler labels such as ..@5.loop have an @
 * in the name.
 */
static char *find_version(char *text, size_t length)
{
	size_t dots = strspn(text, ".");

	return length > dots + 1 ? memchr(text + dots + 1, '@', length - dots - 1) : NULL;
}

/* Reads the name without its version. Errors as symbol_table_read_name(). */
static int read_name(const struct elf_symbols *symbols, const struct symbol_claim *claim,
	char text[SYMBOL_NAME_BYTES], size_t *ret_length)
{
	size_t length;
	char *version;
	int r;

	r = symbol_table_read_name(&symbols->tables[claim->table], claim->name, text, &length);
	if (r < 0)
		return r;
	version = find_version(text, length);
	if (version) {
		*version = '\0';
		length = (size_t)(version - text);
	}
	*ret_length = length;
	return 0;
}

/* Compilers begin the names that they make up with a dot, such as .LTHUNK12. */
static bool is_made_up(const char *name)
{
	return name[0] == '.';
}

static bool is_preferred(const char *name, size_t length, const char *best, size_t best_length)
{
	size_t underscores = strspn(name, "_"), best_underscores = strspn(best, "_");

	if (length == 0 || best_length == 0)
		return length > 0;
	if (is_made_up(name) != is_made_up(best))
		return is_made_up(best);
	if (underscores != best_underscores)
		return underscores < best_underscores;
	if (length != best_length)
		return length < best_length;
	return strcmp(name, best) < 0;
}

/* A name that is empty or unreadable is never preferred. */
static bool prefer_claim(
	void *context, const struct symbol_claim *claim, const struct symbol_claim *best)
{
	struct elf_symbols *symbols = context;
	size_t length, best_length;

	if ((claim->flags | best->flags) & CLAIM_IS_TABLE)
		return !(claim->flags & CLAIM_IS_TABLE);
	if (read_name(symbols, claim, symbols->name, &length) < 0)
		return false;
	return read_name(symbols, best, symbols->other_name, &best_length) < 0 ||
	       is_preferred(symbols->name, length, symbols->other_name, best_length);
}

static int add_stub_name(struct elf_symbols *symbols, const char *name, uint32_t *ret_name)
{
	static const char suffix[] = "@plt";
	/* Demangles the name first, because the suffix would prevent it later. */
	_cleanup_free_ char *demangled = demangle(name), *whole = NULL;
	size_t length;

	if (demangled)
		name = demangled;
	length = strlen(name);
	whole = malloc(length + sizeof(suffix));
	if (!whole)
		return -ENOMEM;
	memcpy(whole, name, length);
	memcpy(whole + length, suffix, sizeof(suffix));
	return symbol_builder_add_name(
		symbols->builder, whole, length + sizeof(suffix) - 1, ret_name);
}

/* Returns 1; 0 if the name cannot be read; or an error. */
static int name_claim(struct elf_symbols *symbols, struct symbol_claim *claim)
{
	size_t length = strlen(PLT_NAME);
	uint32_t name;
	int r = 0;

	if (claim->flags & CLAIM_HAS_NAME)
		return 1;
	if (claim->flags & CLAIM_IS_TABLE)
		(void)strcpy(symbols->name, PLT_NAME);
	else
		r = read_name(symbols, claim, symbols->name, &length);
	if (r < 0) {
		symbol_builder_count_loss(symbols->builder, SYMBOL_LOSS_NAME, r);
		return 0;
	}
	if (claim->flags & CLAIM_IS_STUB)
		r = add_stub_name(symbols, symbols->name, &name);
	else
		r = symbol_builder_add_name(symbols->builder, symbols->name, length, &name);
	if (r < 0)
		return r;
	claim->name = name;
	claim->flags |= CLAIM_HAS_NAME;
	return 1;
}

static int add_range(void *context, struct symbol_claim *claim, uint64_t start, uint64_t end)
{
	struct elf_symbols *symbols = context;
	int r;

	r = name_claim(symbols, claim);
	if (r <= 0 || claim->name == 0)
		return r < 0 ? r : 0;
	return symbol_builder_add_symbol(
		symbols->builder, start, end, claim->name, claim->kind == SYMBOL_CLAIM_GUESS);
}

int elf_symbols_finish(struct elf_symbols *symbols)
{
	return symbol_claims_each(&symbols->claims, prefer_claim, add_range, symbols);
}
