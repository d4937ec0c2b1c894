/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols/symbols_argument.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hex.h"
#include "symbol/elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { CANDIDATES_SHOWN = 4 };

static bool is_path(const char *text)
{
	struct stat status;

	return strchr(text, '/') || (stat(text, &status) == 0 && !S_ISDIR(status.st_mode));
}

int symbols_argument_open(const char *path, int *ret_fd, struct fault *fault)
{
	/* Opening a pipe without a writer would block. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return fault_set(fault, -errno, "cannot open '%s': %s", path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

static int fault_of_file(const char *path, int r, struct fault *fault)
{
	if (r == -ENOEXEC || r == -EINVAL)
		return fault_set(fault, r, "'%s' is not an ELF file, or a damaged one", path);
	if (r < 0)
		return fault_set(fault, r, "cannot read '%s': %s", path, strerror(-r));
	return 0;
}

static int identity_of_file(
	const char *path, struct symbol_identity *ret_identity, struct fault *fault)
{
	_cleanup_close_ int fd = -1;
	int r = symbols_argument_open(path, &fd, fault);

	return r < 0 ? r : fault_of_file(path, symbol_identity_read_file(fd, ret_identity), fault);
}

static int image_of_file(const char *path, struct elf_image *ret_image, struct fault *fault)
{
	_cleanup_close_ int fd = -1;
	int r = symbols_argument_open(path, &fd, fault);

	return r < 0 ? r : fault_of_file(path, elf_image_read(fd, ret_image), fault);
}

int symbols_argument_build_id(const char *text, struct build_id *ret_id, struct fault *fault)
{
	struct symbol_identity identity;
	struct elf_image image;

	if (is_path(text)) {
		int r = image_of_file(text, &image, fault);

		if (r < 0)
			return r;
		identity = symbol_identity_of_build_id(&image.build_id);
	} else if (symbol_identity_parse(text, &identity) < 0) {
		return fault_set(fault, -EINVAL,
			"'%s' is neither a whole build-id in hex digits nor the path of an ELF "
			"file",
			text);
	}
	if (identity.kind != PILOTLIGHT_SYMBOL_BUILD_ID || identity.id.size == 0)
		return fault_set(fault, -EINVAL,
			"'%s' has no build-id, and servers know nothing else", text);
	*ret_id = identity.id;
	return 0;
}

struct prefix_search {
	const char *prefix;
	size_t length;
	size_t count;
	struct symbol_identity found;
	char candidates[CANDIDATES_SHOWN * (SYMBOL_IDENTITY_TEXT_BYTES + 2)]; /* ", a, b" */
};

static int visit_prefix(void *context, const struct symbol_cache_entry *entry)
{
	struct prefix_search *search = context;
	char text[SYMBOL_IDENTITY_TEXT_BYTES];
	size_t used = strlen(search->candidates);

	(void)symbol_identity_format(&entry->identity, text);
	if (strncasecmp(text, search->prefix, search->length) != 0)
		return 0;
	search->found = entry->identity;
	if (search->count < CANDIDATES_SHOWN)
		(void)snprintf(search->candidates + used, sizeof(search->candidates) - used, "%s%s",
			search->count ? ", " : "", text);
	search->count++;
	return 0;
}

static bool is_prefix(const char *text)
{
	static const char *const kinds[] = { "htlhash:", "owned:" };
	size_t length;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strncasecmp(text, kinds[i], strlen(kinds[i])) == 0) {
			text += strlen(kinds[i]);
			break;
		}
	length = strlen(text);
	return length >= SYMBOLS_PREFIX_DIGITS_MIN && length <= (size_t)2 * BUILD_ID_BYTES &&
	       strspn(text, "0123456789abcdefABCDEF") == length;
}

static int find_prefix(struct symbol_cache *cache, const char *text,
	struct symbol_identity *ret_identity, struct fault *fault)
{
	struct prefix_search search = { .prefix = text, .length = strlen(text) };
	int r;

	if (!is_prefix(text))
		return fault_set(fault, -EINVAL,
			"'%s' is no build-id (at least its first %d hex digits) and no file's path",
			text, SYMBOLS_PREFIX_DIGITS_MIN);
	r = cache ? symbol_cache_each(cache, false, visit_prefix, &search) : 0;
	if (r < 0)
		return fault_set(fault, r, "cannot read the symbol cache '%s': %s",
			symbol_cache_directory(cache), strerror(-r));
	if (search.count > 1)
		return fault_set(fault, -EEXIST,
			"'%s' begins %zu build-ids: %s%s; give more digits", text, search.count,
			search.candidates, search.count > CANDIDATES_SHOWN ? ", …" : "");
	if (search.count == 0)
		return fault_set(fault, -ENOENT,
			"there are no symbols of '%s'; `pilotlight symbols list` names what there "
			"is, `pilotlight symbols add FILE` adds some",
			text);
	*ret_identity = search.found;
	return 0;
}

int symbols_argument_find(struct symbol_cache *cache, const char *text,
	struct symbol_identity *ret_identity, struct fault *fault)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct symbol_identity identity;
	int r;

	if (is_path(text))
		return identity_of_file(text, ret_identity, fault);
	if (symbol_identity_parse(text, &identity) < 0 || !cache)
		return find_prefix(cache, text, ret_identity, fault);
	/* A short build-id may also be a prefix of a longer one, or the padded form of itself. */
	r = symbol_cache_find(cache, &identity, &file);
	if (r == -ENOENT)
		return find_prefix(cache, text, ret_identity, fault);
	if (r == 0)
		identity = symbol_file_identity(file);
	*ret_identity = identity;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

int symbols_argument_address(const char *text, size_t size, uint64_t *ret_address)
{
	uint64_t address = 0;

	while (size > 0 && is_blank(text[size - 1]))
		size--;
	while (size > 0 && is_blank(*text))
		text++, size--;
	if (size >= 2 && text[0] == '0' && (text[1] | 0x20) == 'x')
		text += 2, size -= 2;
	if (size == 0)
		return -EINVAL;
	for (size_t i = 0; i < size; i++) {
		int digit = hex_digit_of_any_case(text[i]);

		if (digit < 0)
			return -EINVAL;
		if (address >> 60)
			return -ERANGE;
		address = address << 4 | (uint64_t)digit;
	}
	*ret_address = address;
	return 0;
}
