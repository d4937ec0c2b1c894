/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser visits the parts of a path from the outermost to the innermost, each with its parent.
 *  1. systemd: slices, then the unit. Below a user's manager: its slices, then its unit
 *     (systemd's CGROUP_DELEGATION). Anything deeper belongs to the unit and names no other.
 *  2. Containers: systemd's scopes "RUNTIME-ID.scope", runc's three-part "SLICE:RUNTIME:ID", and
 *     folders of the runtimes, whose children are containers. The innermost container wins.
 *  3. Kubernetes: "podUID", or a slice with that ending.
 */
#include "labels/cgroup_path.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "base/hex.h"

#include <stdbool.h>
#include <string.h>

enum {
	CONTAINER_DIGITS = 64,
	TASK_DIGITS = 32, /* of an ECS task */
	UID_CHARACTERS = 36,
	STATIC_POD_DIGITS = 32, /* digest of its configuration */
	UNIT_NAME_MAX = 255,
};

/* Progress in systemd's part of the path. */
enum unit_state { SYSTEM_SLICES, USER_SLICES, PAST_UNITS };

struct parser {
	struct cgroup_labels labels;
	enum unit_state state;
	struct path_part parent;      /* "" at first */
	struct path_part grandparent; /* "" at first */
	bool is_kubernetes;
};

#define PART(literal) ((struct path_part){ .text = (literal), .size = sizeof(literal) - 1 })

static bool is_equal(const struct path_part *part, const char *text)
{
	return part->size == strlen(text) && memcmp(part->text, text, part->size) == 0;
}

static bool has_prefix(const struct path_part *part, const char *prefix)
{
	size_t size = strlen(prefix);

	return part->size >= size && memcmp(part->text, prefix, size) == 0;
}

static bool has_ending(const struct path_part *part, const char *ending)
{
	size_t size = strlen(ending);

	return part->size >= size && memcmp(part->text + part->size - size, ending, size) == 0;
}

static struct path_part without(const struct path_part *part, size_t front, size_t back)
{
	return (struct path_part){ .text = part->text + front, .size = part->size - front - back };
}

static bool is_hex(char c)
{
	return hex_digit_of_any_case(c) >= 0;
}

static size_t hex_digits(const struct path_part *part)
{
	size_t count = 0;

	while (count < part->size && is_hex(part->text[count]))
		count++;
	return count;
}

static bool is_container_id(const struct path_part *part)
{
	return part->size == CONTAINER_DIGITS && hex_digits(part) == CONTAINER_DIGITS;
}

/* --- units --- */

static bool has_unit_characters(const struct path_part *part)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789:-_.\\@";

	for (size_t i = 0; i < part->size; i++)
		if (!memchr(allowed, part->text[i], sizeof(allowed) - 1))
			return false;
	return part->size <= UNIT_NAME_MAX;
}

static bool is_of_type(const struct path_part *part, const char *ending)
{
	return part->size > strlen(ending) && has_ending(part, ending) && part->text[0] != '.' &&
	       has_unit_characters(part);
}

static bool is_unit(const struct path_part *part)
{
	static const char *const types[] = { ".service", ".scope", ".mount", ".socket", ".swap" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (is_of_type(part, types[i]))
			return true;
	return false;
}

static bool is_user_manager(const struct path_part *unit)
{
	return has_prefix(unit, "user@") && has_ending(unit, ".service");
}

static void note_unit(struct parser *parser, const struct path_part *folder)
{
	struct path_part part = *folder;

	/* systemd prefixes '_' to names that could clash with the kernel's own files. */
	if (part.size > 0 && part.text[0] == '_')
		part = without(&part, 1, 0);
	if (parser->state == PAST_UNITS)
		return;
	if (is_of_type(&part, ".slice")) {
		if (parser->state == SYSTEM_SLICES)
			parser->labels.slice = part;
		return;
	}
	if (parser->state == USER_SLICES) {
		if (is_unit(&part))
			parser->labels.user_unit = part;
		parser->state = PAST_UNITS;
		return;
	}
	parser->state = PAST_UNITS;
	if (!is_unit(&part))
		return;
	parser->labels.unit = part;
	if (is_user_manager(&part))
		parser->state = USER_SLICES;
}

/* --- containers --- */

static void set_container(struct parser *parser, const struct path_part *id, const char *runtime)
{
	parser->labels.container = *id;
	if (parser->labels.outermost.size == 0)
		parser->labels.outermost = *id;
	parser->labels.runtime = runtime;
}

/* The text before the id in a scope's or folder's name, and between the colons. */
static const struct {
	const char *name, *runtime;
} runtimes[] = {
	{ "docker", "docker" },
	{ "cri-containerd", "containerd" },
	{ "containerd", "containerd" },
	{ "nerdctl", "containerd" },
	{ "crio", "cri-o" },
	{ "libpod", "podman" },
	{ "buildkit", "buildkit" },
};

static const char *runtime_of(const struct path_part *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (is_equal(name, runtimes[i].name))
			return runtimes[i].runtime;
	return NULL;
}

/*
 * Parses "docker-ID.scope" or "libpod-ID". The monitors beside them, "crio-conmon-ID", are no
 * containers.
 */
static bool take_named_id(struct parser *parser, const struct path_part *part)
{
	bool is_scope = has_ending(part, ".scope");
	struct path_part name = is_scope ? without(part, 0, strlen(".scope")) : *part;
	struct path_part id;

	if (name.size < CONTAINER_DIGITS + 2)
		return false;
	id = without(&name, name.size - CONTAINER_DIGITS, 0);
	name = without(&name, 0, CONTAINER_DIGITS + 1);
	if (!is_container_id(&id) || name.text[name.size] != '-' || has_ending(&name, "conmon"))
		return false;
	if (!is_scope && !runtime_of(&name))
		return false;
	set_container(parser, &id, runtime_of(&name));
	return true;
}

/* Parses "SLICE:RUNTIME:ID": runc's argument for systemd, and its folder name without systemd. */
static bool take_colons(struct parser *parser, const struct path_part *part)
{
	const char *end = part->text + part->size;
	const char *last = memrchr(part->text, ':', part->size), *first;
	struct path_part name, id;

	if (!last)
		return false;
	first = memrchr(part->text, ':', (size_t)(last - part->text));
	if (!first || last + 1 == end)
		return false;
	name = (struct path_part){ .text = first + 1, .size = (size_t)(last - first - 1) };
	id = (struct path_part){ .text = last + 1, .size = (size_t)(end - last - 1) };
	if (!runtime_of(&name) && !is_container_id(&id))
		return false;
	set_container(parser, &id, runtime_of(&name));
	return true;
}

static bool take_machine(struct parser *parser, const struct path_part *part)
{
	static const char *const libvirt[] = { "qemu\\x2d", "lxc\\x2d", "xen\\x2d" };
	struct path_part name;

	if (has_prefix(part, "systemd-nspawn@") && is_of_type(part, ".service")) {
		name = without(part, strlen("systemd-nspawn@"), strlen(".service"));
	} else if (has_prefix(part, "machine-") && is_of_type(part, ".scope") &&
		   part->size > strlen("machine-") + strlen(".scope")) {
		name = without(part, strlen("machine-"), strlen(".scope"));
	} else {
		return false;
	}
	if (name.size == 0)
		return false;
	set_container(parser, &name, "systemd-nspawn");
	for (size_t i = 0; i < ARRAY_SIZE(libvirt); i++)
		if (has_prefix(&name, libvirt[i]))
			parser->labels.runtime = "libvirt";
	return true;
}

/* A container on Fargate is "ID-NUMBER"; a task is "ID" alone. */
static bool is_ecs_container(const struct path_part *part)
{
	if (is_container_id(part))
		return true;
	if (hex_digits(part) != TASK_DIGITS || part->size < TASK_DIGITS + 2 ||
		part->text[TASK_DIGITS] != '-')
		return false;
	for (size_t i = TASK_DIGITS + 1; i < part->size; i++)
		if (part->text[i] < '0' || part->text[i] > '9')
			return false;
	return true;
}

/* Some runtimes have a folder whose children are containers, with any name. */
static bool take_child(struct parser *parser, const struct path_part *part)
{
	const struct path_part *parent = &parser->parent;

	if (has_prefix(part, "lxc.payload.") && part->size > strlen("lxc.payload.")) {
		struct path_part name = without(part, strlen("lxc.payload."), 0);

		set_container(parser, &name, "lxc");
		return true;
	}
	if (is_equal(parent, "lxc") || is_equal(parent, "lxc.payload")) {
		set_container(parser, part, "lxc");
		return true;
	}
	if (is_equal(parent, "garden") && !is_equal(part, "good") && !is_equal(part, "bad")) {
		set_container(parser, part, "garden");
		return true;
	}
	if (is_equal(&parser->grandparent, "garden") &&
		(is_equal(parent, "good") || is_equal(parent, "bad"))) {
		set_container(parser, part, "garden");
		return true;
	}
	if (is_equal(parent, "buildkit")) {
		set_container(parser, part, "buildkit");
		return true;
	}
	return false;
}

static void note_container(struct parser *parser, const struct path_part *part, bool is_ecs)
{
	if (take_named_id(parser, part) || take_colons(parser, part) ||
		take_machine(parser, part) || take_child(parser, part))
		return;
	if (is_ecs && is_ecs_container(part)) {
		set_container(parser, part, "ecs");
	} else if (is_container_id(part)) {
		set_container(parser, part, NULL);
		if (is_equal(&parser->parent, "docker"))
			parser->labels.runtime = "docker";
		else if (is_equal(&parser->parent, "k8s.io"))
			parser->labels.runtime = "containerd";
	}
}

/* --- pods --- */

/* The groups of digits are separated by dashes, or by underscores in a slice's name. */
static bool copy_uid(char uid[UID_CHARACTERS + 1], const struct path_part *text)
{
	for (size_t i = 0; i < UID_CHARACTERS; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
		char c = text->text[i];

		if (is_dash ? c != '-' && c != '_' : !is_hex(c))
			return false;
		uid[i] = is_dash ? '-' : c;
	}
	uid[UID_CHARACTERS] = '\0';
	return true;
}

/* Finds the last `size` bytes of the name, if the separate word "pod" precedes them. */
static bool uid_of_size(const struct path_part *name, size_t size, struct path_part *ret_text)
{
	struct path_part front;

	if (name->size < size + strlen("pod"))
		return false;
	front = without(name, 0, size);
	if (!is_equal(&front, "pod") && !has_ending(&front, "-pod"))
		return false;
	*ret_text = without(name, front.size, 0);
	return true;
}

/* Parses "podUID" and "kubepods-burstable-podUID.slice", also with ":RUNTIME:ID" appended. */
static void note_pod(struct parser *parser, const struct path_part *part)
{
	char uid[UID_CHARACTERS + 1];
	struct path_part name = *part, text;
	const char *colon = memchr(name.text, ':', name.size);

	if (colon)
		name.size = (size_t)(colon - name.text);
	if (has_ending(&name, ".slice"))
		name = without(&name, 0, strlen(".slice"));
	if (memmem(name.text, name.size, "kubepods", strlen("kubepods")))
		parser->is_kubernetes = true;
	if (uid_of_size(&name, UID_CHARACTERS, &text) && copy_uid(uid, &text)) {
		memcpy(parser->labels.pod_uid, uid, sizeof(uid));
	} else if (parser->is_kubernetes && uid_of_size(&name, STATIC_POD_DIGITS, &text) &&
		   hex_digits(&text) == STATIC_POD_DIGITS) {
		memcpy(parser->labels.pod_uid, text.text, STATIC_POD_DIGITS);
		parser->labels.pod_uid[STATIC_POD_DIGITS] = '\0';
	}
}

/* --- */

void cgroup_path_parse(const char *path, struct cgroup_labels *ret_labels)
{
	struct parser parser = { .parent = PART(""), .grandparent = PART("") };
	bool is_ecs = false;

	while (*path) {
		struct path_part part = { .text = path, .size = strcspn(path, "/") };

		path += part.size + (path[part.size] == '/');
		if (part.size == 0)
			continue;
		note_unit(&parser, &part);
		note_pod(&parser, &part);
		note_container(&parser, &part, is_ecs);
		if (is_equal(&part, "ecs"))
			is_ecs = true;
		parser.grandparent = parser.parent;
		parser.parent = part;
	}
	*ret_labels = parser.labels;
}

bool cgroup_path_is_of_user(const struct cgroup_labels *labels)
{
	return is_user_manager(&labels->unit);
}

static bool is_container(const struct cgroup_labels *labels)
{
	return labels->container.size > 0 && labels->user_unit.size == 0;
}

uint64_t cgroup_path_user(uint32_t uid, const char *path)
{
	struct cgroup_labels labels;

	if (path[0] != '/')
		return uid;
	cgroup_path_parse(path, &labels);
	if (labels.outermost.size == 0 || cgroup_path_is_of_user(&labels))
		return uid;
	return hash_bytes(labels.outermost.text, labels.outermost.size) << 32;
}

uint32_t cgroup_path_owner(uint32_t uid, const char *path)
{
	struct cgroup_labels labels;

	if (path[0] != '/')
		return 0;
	cgroup_path_parse(path, &labels);
	/* No user has the uid -1, which becomes 0. */
	return is_container(&labels) ? 0 : uid + 1;
}

size_t cgroup_unit_unescape(const struct path_part *unit, char *name, size_t room)
{
	size_t length = 0;

	for (size_t i = 0; i < unit->size && length + 1 < room; i++) {
		const char *at = unit->text + i;
		int byte = 0;

		if (unit->size - i >= 4 && at[0] == '\\' && at[1] == 'x' && is_hex(at[2]) &&
			is_hex(at[3]))
			byte = hex_digit_of_any_case(at[2]) << 4 | hex_digit_of_any_case(at[3]);
		/* A decoded NUL would truncate the name, so that escape stays. */
		name[length++] = byte ? (char)byte : *at;
		if (byte)
			i += 3;
	}
	name[length] = '\0';
	return length;
}
