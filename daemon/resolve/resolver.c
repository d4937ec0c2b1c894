/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/resolver.h"

#include "base/clock.h"
#include "jit/jit_memory.h"
#include "process/process_scan.h"
#include "resolve/interpreted_stack.h"
#include "resolve/jit_trust.h"
#include "resolve/resolver_cut.h"

#include <errno.h>
#include <string.h>

/* Reading kallsyms costs about 50 ms of CPU time. */
#define KERNEL_RENEWAL_NS (5ULL * NSEC_PER_SEC)

/* Many BPF programs share a block; modules have blocks of their own. */
enum { CHANGED_BLOCKS_MAX = 64, CHANGED_BLOCK_BYTES = 64 << 10 };
/* A bound for offsets into unread files: no file's text reaches this far. */
#define OFFSET_PLAUSIBLE_MAX (1ULL << 40)
enum { REFUSALS_MAX = 1024 }; /* a power of two */
/* perf's markers between kernel and user frames (PERF_CONTEXT_…) are the last 4095 values. */
#define CONTEXT_MARKER_MIN ((uint64_t)-4095)

struct resolver {
	struct broker *broker;
	struct process_table *processes;
	struct kernel_symbols *kernel;
	struct binary_table *binaries;
	resolver_file_function find_file;
	void *find_file_context;
	const struct runtime_names *names; /* NULL: none */
	/* The blocks whose kernel code changed since kallsyms was read. A full array means that
	 * code changed anywhere. */
	uint64_t changed_blocks[CHANGED_BLOCKS_MAX];
	size_t changed_block_count;
	uint64_t kernel_interval_ns, kernel_next_renewal_ns;
	/* Processes whose /proc could not be read in this window, hashed by pid. A collision evicts
	 * an entry, and the resolver asks for that process again. */
	pid_t refusals[REFUSALS_MAX];
	uint64_t ask_left_ns;
	struct jit_trust jit_trust;
	struct resolver_counters counters;
};

/* A stack that is being resolved: leaf first, reversed at the end. */
struct stack {
	const struct raw_sample *sample;
	struct broker_process process;

	struct resolved_frame *frames;
	size_t count;
};

int resolver_new(struct broker *broker, struct process_table *processes,
	struct kernel_symbols *kernel, struct binary_table *binaries,
	struct resolver **ret_resolver)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return -ENOMEM;
	resolver->broker = broker;
	resolver->processes = processes;
	resolver->kernel = kernel;
	resolver->binaries = binaries;
	resolver->kernel_interval_ns = KERNEL_RENEWAL_NS;
	resolver->ask_left_ns = UINT64_MAX;
	*ret_resolver = resolver;
	return 0;
}

void resolver_free(struct resolver *resolver)
{
	free(resolver);
}

void resolver_set_files(struct resolver *resolver, resolver_file_function function, void *context)
{
	resolver->find_file = function;
	resolver->find_file_context = context;
}

void resolver_set_names(struct resolver *resolver, const struct runtime_names *names)
{
	resolver->names = names;
}

void resolver_begin_window(struct resolver *resolver, uint64_t ask_ns)
{
	memset(resolver->refusals, 0, sizeof(resolver->refusals));
	resolver->ask_left_ns = ask_ns;
}

void resolver_counters(const struct resolver *resolver, struct resolver_counters *ret_counters)
{
	*ret_counters = resolver->counters;
}

static void push(struct stack *stack, uint32_t binary, uint64_t address, const char *name)
{
	stack->frames[stack->count++] =
		(struct resolved_frame){ .address = address, .binary = binary, .name = name };
}

static bool has_changed(const struct resolver *resolver, uint64_t ip)
{
	for (size_t i = 0; i < resolver->changed_block_count; i++)
		if (resolver->changed_blocks[i] == ip / CHANGED_BLOCK_BYTES)
			return true;
	return resolver->changed_block_count == CHANGED_BLOCKS_MAX;
}

enum kernel_knowledge { KERNEL_KNOWN, KERNEL_CHANGED, KERNEL_UNKNOWN };

static enum kernel_knowledge know_kernel_stack(
	const struct resolver *resolver, const struct raw_sample *sample)
{
	struct kernel_symbol symbol;

	for (size_t i = 0; i < sample->kernel_count; i++) {
		uint64_t ip = sample->kernel_ips[i];

		if (ip >= CONTEXT_MARKER_MIN)
			continue;
		if (has_changed(resolver, ip))
			return KERNEL_CHANGED;
		if (!kernel_symbols_find(resolver->kernel, ip, &symbol))
			return KERNEL_UNKNOWN;
	}
	return KERNEL_KNOWN;
}

/*
 * Reads kallsyms again if the stack contains changed code or an unknown address. Unknown addresses
 * double the interval, since they may never get a name. Must run before the kernel's frames are
 * made, because they borrow names from the snapshot.
 */
static void follow_kernel(struct resolver *resolver, const struct raw_sample *sample)
{
	enum kernel_knowledge knowledge;
	uint64_t now_ns;

	if (sample->kernel_count == 0)
		return;
	knowledge = know_kernel_stack(resolver, sample);
	if (knowledge == KERNEL_KNOWN)
		return;
	now_ns = clock_monotonic_ns();
	if (now_ns < resolver->kernel_next_renewal_ns)
		return;
	resolver->kernel_interval_ns =
		knowledge == KERNEL_CHANGED ? KERNEL_RENEWAL_NS : 2 * resolver->kernel_interval_ns;
	resolver->changed_block_count = 0;
	resolver->kernel_next_renewal_ns = now_ns + resolver->kernel_interval_ns;
	/* If this fails, kernel frames have no names; doctor reports the cause. */
	(void)kernel_symbols_renew(resolver->kernel);
}

void resolver_kernel_changed(struct resolver *resolver, uint64_t start, uint64_t end)
{
	/* Includes `end`: a return address may be the first address beyond the code. */
	for (uint64_t block = start / CHANGED_BLOCK_BYTES; block <= end / CHANGED_BLOCK_BYTES;
		block++) {
		if (resolver->changed_block_count == CHANGED_BLOCKS_MAX)
			return;
		if (!has_changed(resolver, block * CHANGED_BLOCK_BYTES))
			resolver->changed_blocks[resolver->changed_block_count++] = block;
	}
}

static int resolve_kernel(struct resolver *resolver, struct stack *stack)
{
	const struct raw_sample *sample = stack->sample;
	struct kernel_symbol symbol;
	struct kernel_image image;
	uint32_t binary;
	int r;

	/* A waker's frames go with those of a sample, which borrow names from the snapshot. */
	if (!sample->is_waker)
		follow_kernel(resolver, sample);
	for (size_t i = 0; i < sample->kernel_count; i++) {
		uint64_t ip = sample->kernel_ips[i];

		if (ip >= CONTEXT_MARKER_MIN)
			continue;
		if (stack->count > 0)
			ip--; /* a return address */
		if (!kernel_symbols_find(resolver->kernel, ip, &symbol)) {
			/* An address means nothing on another boot, and would leak KASLR here. */
			push(stack, RESOLVED_SYNTHETIC, 0, "[kernel]");
			continue;
		}
		kernel_symbols_image(resolver->kernel, symbol.image, &image);
		r = binary_table_find_kernel_image(
			resolver->binaries, symbol.image, &image, &binary);
		if (r == -E2BIG) {
			push(stack, RESOLVED_SYNTHETIC, 0, "[kernel]");
			continue;
		}
		if (r < 0)
			return r;
		push(stack, binary, symbol.image_offset, symbol.name);
	}
	return 0;
}

/*
 * Pushes the location of a file offset; `is_return` if it points behind a call. Returns 1; 0 if the
 * offset is not in the file's code; or -errno.
 */
static int push_offset(struct resolver *resolver, struct stack *stack, uint32_t binary,
	uint64_t offset, bool is_return)
{
	struct binary description;
	uint64_t address;
	int r;

	binary_table_get(resolver->binaries, binary, &description);
	if (is_return)
		offset--;
	if (!description.image) {
		if (offset >= OFFSET_PLAUSIBLE_MAX)
			return 0;
		r = binary_table_find_unread(resolver->binaries, binary, &binary);
		if (r < 0)
			return r;
		resolver->counters.files_unread++;
		address = offset;
	} else if (!elf_image_find_vaddr(description.image, offset, &address)) {
		return 0;
	}
	push(stack, binary, address, NULL);
	return 1;
}

static bool find_mapping(struct resolver *resolver, const struct stack *stack, uint64_t ip,
	struct process_mapping *mapping)
{
	return process_table_find(
		resolver->processes, stack->process.pid, stack->sample->first_ns, ip, mapping);
}

static int push_jit(
	struct resolver *resolver, struct stack *stack, uint64_t address, enum jit_memory memory)
{
	uint32_t binary;
	int r;

	r = binary_table_find_jit(
		resolver->binaries, stack->process.pid, stack->sample->process.start_ns, &binary);
	if (r < 0)
		return r;
	push(stack, binary, address, NULL);
	stack->frames[stack->count - 1].jit =
		memory == JIT_MEMORY_PRIVATE ? RESOLVED_JIT : RESOLVED_JIT_SHARED;
	return 1;
}

/* The name of code that the kernel maps into processes, a literal; NULL: it is other code. */
static const char *kernel_page(const char *path)
{
	if (strcmp(path, "[vsyscall]") == 0)
		return "[vsyscall]";
	return strcmp(path, "[uprobes]") == 0 ? "[uprobes]" : NULL;
}

/* Returns 1; 0 if no code can be at `ip`; or -errno. */
static int push_ip(struct resolver *resolver, struct stack *stack, uint64_t ip, bool is_return)
{
	const struct raw_sample *sample = stack->sample;
	struct process_mapping mapping;
	struct mapped_file file;
	struct binary description;
	uint64_t where = ip - is_return;
	enum jit_memory memory;
	uint32_t binary;
	int r;

	if (!find_mapping(resolver, stack, where, &mapping))
		return 0;
	process_table_file(resolver->processes, mapping.file, &file);
	memory = jit_memory_of(&file);
	if (memory == JIT_MEMORY_PRIVATE || memory == JIT_MEMORY_SHARED)
		return push_jit(resolver, stack, where, memory);
	if (kernel_page(file.path)) {
		push(stack, RESOLVED_SYNTHETIC, 0, kernel_page(file.path));
		return 1;
	}
	r = binary_table_find_mapping(
		resolver->binaries, &stack->process, sample->first_ns, &mapping, &binary);
	if (r < 0)
		return r;
	binary_table_get(resolver->binaries, binary, &description);
	if (memory == JIT_MEMORY_MEMFD && !description.image)
		return push_jit(resolver, stack, where, memory);
	return push_offset(resolver, stack, binary, ip - mapping.start + mapping.offset, is_return);
}

static int push_user_frame(struct resolver *resolver, struct stack *stack,
	const struct pilotlight_user_frame *frame, bool is_return)
{
	struct build_id id;
	uint32_t binary;
	int r;

	if (frame->status != PILOTLIGHT_FRAME_BUILD_ID)
		return push_ip(resolver, stack, frame->offset_or_ip, is_return);
	build_id_set_padded(&id, frame->build_id);
	r = binary_table_find_build_id(
		resolver->binaries, &id, &stack->process, stack->sample->first_ns, &binary);
	if (r < 0)
		return r;
	return push_offset(resolver, stack, binary, frame->offset_or_ip, is_return);
}

/* Reads /proc for an unknown process; returns whether that worked. Skips a process that the table
 * knows at any time, since /proc would add nothing. */
static bool ask_of_process(struct resolver *resolver, pid_t pid, uint64_t time_ns)
{
	pid_t *refusal = &resolver->refusals[(uint32_t)pid % REFUSALS_MAX];
	uint64_t begin_ns, took_ns;
	int r;

	if (pid <= 0 || *refusal == pid || resolver->ask_left_ns == 0 ||
		process_table_has(resolver->processes, pid, UINT64_MAX))
		return false;
	begin_ns = clock_monotonic_ns();
	r = process_scan_one(resolver->broker, resolver->processes, pid, time_ns);
	took_ns = clock_monotonic_ns() - begin_ns;
	resolver->ask_left_ns -= took_ns < resolver->ask_left_ns ? took_ns : resolver->ask_left_ns;
	if (r < 0)
		*refusal = pid;
	return r == 0;
}

/* Does the table know the process? Tries /proc for one that no side-band event announced: it ran
 * before, and the scan missed it. */
static bool know_process(struct resolver *resolver, const struct stack *stack)
{
	pid_t pid = stack->process.pid;
	uint64_t time_ns = stack->sample->first_ns;

	return process_table_has(resolver->processes, pid, time_ns) ||
	       (ask_of_process(resolver, pid, time_ns) &&
		       process_table_has(resolver->processes, pid, time_ns));
}

/* Pushes the user frames, and returns why they end. */
static int resolve_user_frames(
	struct resolver *resolver, struct stack *stack, enum resolver_cut *ret_cut)
{
	const struct raw_sample *sample = stack->sample;
	size_t total = sample->user_count ? sample->user_count : sample->user_ip_count;
	bool is_known = know_process(resolver, stack);
	size_t first = stack->count;
	int r;

	*ret_cut = total > 0 && total == sample->depth_max ? RESOLVER_CUT_DEPTH : RESOLVER_CUT_NONE;
	for (size_t i = 0; i < total; i++) {
		const struct pilotlight_user_frame raw = {
			.status = PILOTLIGHT_FRAME_IP,
			.offset_or_ip = sample->user_count ? 0 : sample->user_ips[i],
		};
		const struct pilotlight_user_frame *frame =
			sample->user_count ? &sample->user_frames[i] : &raw;
		bool is_raw = frame->status != PILOTLIGHT_FRAME_BUILD_ID;

		if (is_raw && frame->offset_or_ip >= CONTEXT_MARKER_MIN)
			continue;
		if (is_raw && !is_known) {
			*ret_cut = RESOLVER_CUT_UNKNOWN;
			return 0;
		}
		r = push_user_frame(resolver, stack, frame, stack->count > first);
		if (r == 1)
			continue;
		if (r < 0 && r != -E2BIG)
			return r;
		*ret_cut = r == 0 ? RESOLVER_CUT_GARBAGE : RESOLVER_CUT_FULL;
		return 0;
	}
	return 0;
}

/*
 * Resolves the stack that the kernel walked. A raw one may get a better result from its build-ids
 * if its leaf is in no known mapping, or if a file cannot be read. Further up, an address in no
 * mapping is mostly no return address: the code has no frame pointers.
 */
static int resolve_kernels_walk(struct resolver *resolver, struct stack *stack,
	enum resolver_cut *ret_cut, bool *ret_lacks_build_ids)
{
	uint64_t unread = resolver->counters.files_unread;
	size_t first = stack->count;
	int r = resolve_user_frames(resolver, stack, ret_cut);

	*ret_lacks_build_ids = r == 0 && stack->sample->user_count == 0 &&
			       (stack->count == first || resolver->counters.files_unread > unread);
	return r;
}

static uint32_t find_file(const struct resolver *resolver, uint32_t file_id)
{
	return resolver->find_file ? resolver->find_file(resolver->find_file_context, file_id)
				   : UINT32_MAX;
}

/* Returns 1; 0 if no code can be there; or -errno. */
static int push_walked_frame(struct resolver *resolver, struct stack *stack, uint64_t frame)
{
	bool is_return = !(frame & PILOTLIGHT_FRAME_EXACT);
	uint32_t binary = UINT32_MAX;

	switch (frame >> PILOTLIGHT_FRAME_KIND_SHIFT) {
	case PILOTLIGHT_FRAME_ADDRESS:
		/* Only addresses need the process's mappings. */
		if (!know_process(resolver, stack))
			break;
		return push_ip(resolver, stack, frame & PILOTLIGHT_FRAME_ADDRESS_MASK, is_return);
	case PILOTLIGHT_FRAME_FILE:
		binary = find_file(resolver, (uint32_t)(frame >> PILOTLIGHT_FRAME_FILE_SHIFT) &
						     (PILOTLIGHT_FRAME_FILE_IDS_MAX - 1));
		break;
	default:
		break;
	}
	if (binary == UINT32_MAX) {
		push(stack, RESOLVED_SYNTHETIC, 0, "[unknown]");
		return 1;
	}
	binary_table_use(resolver->binaries, binary);
	return push_offset(
		resolver, stack, binary, frame & PILOTLIGHT_FRAME_OFFSET_MASK, is_return);
}

/* A stack through generated code is whole only if that code keeps frame pointers, or is described.
 */
static void doubt_jit(
	struct resolver *resolver, const struct raw_sample *sample, enum resolver_cut *cut)
{
	bool is_believed = jit_trust_add(&resolver->jit_trust, &sample->process, sample->count,
		*cut == RESOLVER_CUT_NO_FRAME_POINTER);

	if (!is_believed && *cut == RESOLVER_CUT_NONE)
		*cut = RESOLVER_CUT_NO_FRAME_POINTER;
}

static const enum binary_kind interpreted_kinds[PILOTLIGHT_RUNTIME_LANGUAGES] = {
	[PILOTLIGHT_RUNTIME_PYTHON] = BINARY_PYTHON,
	[PILOTLIGHT_RUNTIME_V8] = BINARY_JAVASCRIPT,
	[PILOTLIGHT_RUNTIME_RUBY] = BINARY_RUBY,
	[PILOTLIGHT_RUNTIME_HOTSPOT] = BINARY_JAVA,
	[PILOTLIGHT_RUNTIME_PHP] = BINARY_PHP,
	[PILOTLIGHT_RUNTIME_PERL] = BINARY_PERL,
};

/* Without names or a binary there are none. */
static int begin_interpreted(struct resolver *resolver, const struct raw_sample *sample,
	struct interpreted_stack *ret_interpreted)
{
	const struct runtime_names *names = resolver->names;
	uint32_t native = UINT32_MAX, binary = UINT32_MAX;
	int r = 0;

	if (names && sample->runtime_count > 0)
		native = find_file(resolver, sample->runtime_file);
	if (native != UINT32_MAX) {
		/* What stands for it goes with it. */
		binary_table_use(resolver->binaries, native);
		r = binary_table_find_interpreted(resolver->binaries, native,
			interpreted_kinds[sample->runtime_language], &binary);
	}
	if (r < 0 && r != -E2BIG)
		return r;
	interpreted_stack_init(
		ret_interpreted, sample, binary == UINT32_MAX ? NULL : names, binary);
	if (ret_interpreted->count > 0)
		resolver->counters.interpreted += sample->count;
	return 0;
}

static void push_interpreted(
	struct resolver *resolver, struct stack *stack, struct interpreted_stack *interpreted)
{
	stack->count += interpreted_stack_take(
		interpreted, stack->frames + stack->count, &resolver->counters);
}

static int resolve_walked_frames(
	struct resolver *resolver, struct stack *stack, enum resolver_cut *ret_cut)
{
	const struct raw_sample *sample = stack->sample;
	struct interpreted_stack interpreted;
	size_t first = stack->count;
	bool knows_jit;
	int r = begin_interpreted(resolver, sample, &interpreted);

	if (r < 0)
		return r;
	*ret_cut = resolver_cut_of(sample->walk_end);
	for (size_t i = 0; i < sample->walk_count; i++) {
		if (i < interpreted.callers_end)
			continue;
		if (interpreted.place == i)
			push_interpreted(resolver, stack, &interpreted);
		r = push_walked_frame(resolver, stack, sample->walk_frames[i]);
		if (r == 1)
			continue;
		if (r < 0 && r != -E2BIG)
			return r;
		*ret_cut = r == 0 ? RESOLVER_CUT_GARBAGE : RESOLVER_CUT_FULL;
		break;
	}
	/* Where the callers of generated code are was known. PHP and Ruby have places only then. */
	knows_jit = sample->runtime_language == PILOTLIGHT_RUNTIME_HOTSPOT ||
		    ((sample->runtime_language == PILOTLIGHT_RUNTIME_PHP ||
			     sample->runtime_language == PILOTLIGHT_RUNTIME_RUBY) &&
			    interpreted.frames != sample->runtime_frames);
	resolver->counters.interpreted_unplaced += interpreted.count;
	/* If there is no frame, the end alone. */
	while (interpreted.count > 0 || interpreted.is_lost) {
		push_interpreted(resolver, stack, &interpreted);
		interpreted.is_lost = false;
	}
	if (!knows_jit && resolved_has_jit(stack->frames + first, stack->count - first))
		doubt_jit(resolver, sample, ret_cut);
	return 0;
}

static int resolve_user(struct resolver *resolver, struct stack *stack, bool *ret_lacks_build_ids)
{
	const struct raw_sample *sample = stack->sample;
	enum resolver_cut cut = RESOLVER_CUT_NONE;
	int r;

	if (sample->walker == PILOTLIGHT_WALKER_TABLES)
		r = resolve_walked_frames(resolver, stack, &cut);
	else if (sample->user_count == 0 && sample->user_ip_count == 0)
		return 0;
	else
		r = resolve_kernels_walk(resolver, stack, &cut, ret_lacks_build_ids);
	if (r < 0)
		return r;
	/* The kernel followed frame pointers, but the code may have none. */
	if (cut == RESOLVER_CUT_NONE && sample->walker == PILOTLIGHT_WALKER_KERNEL &&
		resolver->find_file)
		cut = RESOLVER_CUT_NO_TABLE;
	if (cut != RESOLVER_CUT_NONE) {
		resolver->counters.cuts[sample->source][cut] += sample->count;
		push(stack, RESOLVED_SYNTHETIC, 0, resolver_cut_frame(cut));
	}
	return 0;
}

bool resolved_has_jit(const struct resolved_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (frames[i].jit)
			return true;
	return false;
}

int resolver_resolve(struct resolver *resolver, const struct raw_sample *sample,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX], bool *ret_lacks_build_ids)
{
	struct stack stack = {
		.sample = sample,
		.process = {
			.pid = (pid_t)sample->process.tgid,
			.start_ns = sample->process.start_ns,
		},
		.frames = frames,
	};
	int r;

	*ret_lacks_build_ids = false;
	r = resolve_kernel(resolver, &stack);
	if (r < 0)
		return r;
	r = resolve_user(resolver, &stack, ret_lacks_build_ids);
	if (r < 0)
		return r;
	for (size_t i = 0, j = stack.count; i + 1 < j; i++) {
		struct resolved_frame frame = frames[--j];

		frames[j] = frames[i];
		frames[i] = frame;
	}
	return (int)stack.count;
}
