/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/heap_reader.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

enum slot_state { SLOT_FREE, SLOT_WAITING, SLOT_READING, SLOT_DONE };

struct slot {
	enum slot_state state;
	int fd;
	struct heap_file file;
};

struct heap_reader {
	int (*enter)(void);
	pthread_t thread;
	bool has_thread;
	int event_fd;

	pthread_mutex_t lock; /* protects the fields below, but not a slot that is being read */
	pthread_cond_t changed;
	struct slot slots[HEAP_READER_FILES];
	bool is_ending, has_entered;
	int enter_error;
};

static struct slot *find_slot(struct heap_reader *reader, enum slot_state state)
{
	for (size_t i = 0; i < HEAP_READER_FILES; i++)
		if (reader->slots[i].state == state)
			return &reader->slots[i];
	return NULL;
}

static void read_slot(struct slot *slot)
{
	slot->file.result = heap_functions_find(slot->fd, slot->file.functions);
	closep(&slot->fd);
	slot->fd = -1;
}

/* malloc() asks for the CPUs before it gives a thread memory of its own. */
static int enter_thread(const struct heap_reader *reader)
{
	void *volatile memory = malloc(1);

	if (!memory)
		return -ENOMEM;
	free(memory);
	(void)prctl(PR_SET_NAME, "pilotlight-heap");
	return reader->enter ? reader->enter() : 0;
}

static void *run(void *context)
{
	struct heap_reader *reader = context;
	const uint64_t one = 1;
	struct slot *slot;
	int r = enter_thread(reader);

	(void)pthread_mutex_lock(&reader->lock);
	reader->has_entered = true;
	reader->enter_error = r;
	(void)pthread_cond_broadcast(&reader->changed);
	while (!reader->is_ending && r == 0) {
		slot = find_slot(reader, SLOT_WAITING);
		if (!slot) {
			(void)pthread_cond_wait(&reader->changed, &reader->lock);
			continue;
		}
		slot->state = SLOT_READING;
		(void)pthread_mutex_unlock(&reader->lock);
		read_slot(slot);
		(void)pthread_mutex_lock(&reader->lock);
		slot->state = SLOT_DONE;
		(void)pthread_cond_broadcast(&reader->changed);
		while (write(reader->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
	}
	(void)pthread_mutex_unlock(&reader->lock);
	return NULL;
}

/* Signals are for the other threads. */
static int start_thread(struct heap_reader *reader)
{
	sigset_t all, before;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&reader->thread, NULL, run, reader);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	reader->has_thread = r == 0;
	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&reader->lock);
	while (!reader->has_entered)
		(void)pthread_cond_wait(&reader->changed, &reader->lock);
	r = reader->enter_error;
	(void)pthread_mutex_unlock(&reader->lock);
	return r;
}

int heap_reader_new(int (*enter)(void), struct heap_reader **ret_reader)
{
	_cleanup_(heap_reader_freep) struct heap_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	reader->enter = enter;
	(void)pthread_mutex_init(&reader->lock, NULL);
	(void)pthread_cond_init(&reader->changed, NULL);
	for (size_t i = 0; i < HEAP_READER_FILES; i++)
		reader->slots[i].fd = -1;
	reader->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reader->event_fd < 0)
		return -errno;
	r = start_thread(reader);
	if (r < 0)
		return r;
	*ret_reader = TAKE_PTR(reader);
	return 0;
}

void heap_reader_free(struct heap_reader *reader)
{
	if (!reader)
		return;
	if (reader->has_thread) {
		(void)pthread_mutex_lock(&reader->lock);
		reader->is_ending = true;
		(void)pthread_cond_broadcast(&reader->changed);
		(void)pthread_mutex_unlock(&reader->lock);
		(void)pthread_join(reader->thread, NULL);
	}
	for (size_t i = 0; i < HEAP_READER_FILES; i++)
		closep(&reader->slots[i].fd);
	closep(&reader->event_fd);
	(void)pthread_cond_destroy(&reader->changed);
	(void)pthread_mutex_destroy(&reader->lock);
	free(reader);
}

int heap_reader_poll_fd(const struct heap_reader *reader)
{
	return reader->event_fd;
}

bool heap_reader_has(struct heap_reader *reader, uint64_t identity)
{
	bool has = false;

	(void)pthread_mutex_lock(&reader->lock);
	for (size_t i = 0; i < HEAP_READER_FILES; i++)
		has |= reader->slots[i].state != SLOT_FREE &&
		       reader->slots[i].file.identity == identity;
	(void)pthread_mutex_unlock(&reader->lock);
	return has;
}

bool heap_reader_is_full(struct heap_reader *reader)
{
	bool is_full;

	(void)pthread_mutex_lock(&reader->lock);
	is_full = !find_slot(reader, SLOT_FREE);
	(void)pthread_mutex_unlock(&reader->lock);
	return is_full;
}

void heap_reader_add(struct heap_reader *reader, uint64_t identity, int fd)
{
	struct slot *slot;

	(void)pthread_mutex_lock(&reader->lock);
	slot = find_slot(reader, SLOT_FREE);
	assert(slot);
	slot->fd = fd;
	slot->file.identity = identity;
	slot->state = SLOT_WAITING;
	(void)pthread_cond_broadcast(&reader->changed);
	(void)pthread_mutex_unlock(&reader->lock);
}

bool heap_reader_take(struct heap_reader *reader, bool waits, struct heap_file *ret_file)
{
	struct slot *slot;
	uint64_t times;

	(void)pthread_mutex_lock(&reader->lock);
	while (!(slot = find_slot(reader, SLOT_DONE)) && waits &&
		(find_slot(reader, SLOT_WAITING) || find_slot(reader, SLOT_READING)))
		(void)pthread_cond_wait(&reader->changed, &reader->lock);
	if (slot) {
		*ret_file = slot->file;
		slot->state = SLOT_FREE;
	}
	/* Under the lock, so that a file read after this makes the descriptor readable again. */
	if (!find_slot(reader, SLOT_DONE))
		(void)!read(reader->event_fd, &times, sizeof(times));
	(void)pthread_mutex_unlock(&reader->lock);
	return slot != NULL;
}
