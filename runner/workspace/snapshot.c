/*
 * A depth-first walk with an explicit stack, so that depth costs memory and not C stack.
 *
 * Each frame of the stack holds its directory's descriptor. Trees deeper than the window of open
 * descriptors have those of the outer frames closed; coming back to one, it is opened again as the
 * parent of the frame that was left, and compared by identity: the same work at any depth.
 *
 * A large tree gets a second worker. Workers hand each other whole subtrees through a short queue:
 * whoever is about to enter a directory while the queue is low puts it there instead.
 */
#include "runner/workspace/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/sigmask.h"
#include "runner/workspace/snapshot_dir.h"

#define READ_BUFFER_SIZE ((size_t)64 * 1024)
#define OPEN_FRAMES	 64 /* descriptors one worker holds at most, besides the root */
#define QUEUE_SIZE	 8
#define QUEUE_LOW	 3
#define SECOND_WORKER_AT 4096 /* entries */
#define NS_PER_S	 INT64_C(1000000000)
#define DIRECTORY_FLAGS	 (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
#define STANDARD_ENTRIES 4000000
#define STANDARD_MEMORY	 ((size_t)1 << 30)
#define STANDARD_DEPTH	 1024

static const char *const standard_skip[] = {".git", ".venv", "node_modules", "__pycache__", NULL};

/* What git obeys inside a .git that is skipped otherwise. */
static const char *const git_obeys[] = {"config", "config.worktree", "hooks", "info", NULL};

const struct iso_snapshot_options iso_snapshot_standard = {
	.skip = standard_skip,
	.entry_limit = STANDARD_ENTRIES,
	.memory_limit = STANDARD_MEMORY,
	.depth_limit = STANDARD_DEPTH,
	.threads = 2,
	.patience = {ISO_NEVER, -1},
};

/* How much of a directory is taken. */
enum depth_rule {
	TAKE_ALL,
	TAKE_WHAT_GIT_OBEYS, /* of .git */
	TAKE_FLAT,	     /* its entries, and nothing below */
};

struct frame {
	struct iso_snapshot_dir *dir;
	uint32_t next; /* entry to look at */
	int fd;	       /* -1: closed to stay in the window */
	uint64_t dev, ino;
	enum depth_rule rule;
	uint32_t depth; /* below the root */
};

/* A subtree to walk, handed from one worker to another. */
struct job {
	struct iso_snapshot_entry *place; /* whose `dir` is to be filled */
	int fd;				  /* owned */
	enum depth_rule rule;
	uint32_t depth;
};

struct walk {
	const struct iso_snapshot_options *options;
	struct iso_arena *arena;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t changed;
	struct job queue[QUEUE_SIZE];
	unsigned int queued, workers, idle;
	uint64_t entry_count;
	bool stop, no_memory;
	bool apart; /* see struct iso_dir_reader */
};

struct worker {
	struct walk *walk;
	struct frame *frames;
	size_t depth, frame_capacity;
	struct iso_dir_reader reader; /* its `incomplete` is the worker's */
};

static bool fail_memory(struct worker *worker)
{
	pthread_mutex_lock(&worker->walk->lock);
	worker->walk->no_memory = true;
	worker->walk->stop = true;
	pthread_cond_broadcast(&worker->walk->changed);
	pthread_mutex_unlock(&worker->walk->lock);
	return false;
}

/* Everybody stops, and `why` is told. */
static void stop(struct worker *worker, const char *why)
{
	struct walk *walk = worker->walk;
	worker->reader.incomplete = why;
	pthread_mutex_lock(&walk->lock);
	walk->stop = true;
	pthread_cond_broadcast(&walk->changed);
	pthread_mutex_unlock(&walk->lock);
}

/* How many entries all workers may still add. */
static uint64_t entries_left(struct walk *walk)
{
	pthread_mutex_lock(&walk->lock);
	uint64_t left = walk->options->entry_limit - walk->entry_count;
	pthread_mutex_unlock(&walk->lock);
	return left;
}

/* Count entries for all workers; false when there are too many. */
static bool count_entries(struct walk *walk, uint64_t count)
{
	pthread_mutex_lock(&walk->lock);
	bool fits = count <= walk->options->entry_limit - walk->entry_count;
	if (fits)
		walk->entry_count += count;
	pthread_mutex_unlock(&walk->lock);
	return fits;
}

/* Read the directory `fd`; NULL when it cannot be read or kept. */
static struct iso_snapshot_dir *read_dir(struct worker *worker, int fd, enum depth_rule rule)
{
	struct walk *walk = worker->walk;
	struct iso_dir_reader *reader = &worker->reader;
	const char *before = reader->incomplete;
	reader->incomplete = NULL;
	struct iso_snapshot_dir *dir =
		iso_dir_reader_read(reader, fd, rule == TAKE_WHAT_GIT_OBEYS ? git_obeys : NULL,
				    entries_left(walk), &walk->options->patience, walk->arena);
	const char *why = reader->incomplete;
	if (why == NULL)
		reader->incomplete = before;
	if (reader->no_memory)
		(void)fail_memory(worker);
	else if (dir == NULL && why != NULL && strcmp(why, ISO_CUT_UNREADABLE) != 0)
		stop(worker, why);
	else if (dir != NULL && !count_entries(walk, dir->count))
		stop(worker, ISO_CUT_ENTRIES);
	return dir;
}

/* Whether, and how much of, the directory `name` below one taken by `rule` is taken. */
static bool rule_below(const struct worker *worker, enum depth_rule rule, const char *name,
		       enum depth_rule *ret_rule)
{
	if (rule == TAKE_FLAT)
		return false;
	if (rule == TAKE_WHAT_GIT_OBEYS) {
		*ret_rule = TAKE_FLAT;
		return true;
	}
	*ret_rule = strcmp(name, ".git") == 0 ? TAKE_WHAT_GIT_OBEYS : TAKE_ALL;
	return *ret_rule == TAKE_WHAT_GIT_OBEYS ||
	       !iso_name_is_listed(worker->walk->options->skip, name);
}

static bool push(struct worker *worker, int fd, uint32_t depth, struct iso_snapshot_dir **ret_dir,
		 enum depth_rule rule)
{
	struct stat st;
	struct iso_snapshot_dir *dir = read_dir(worker, fd, rule);
	if (dir == NULL || fstat(fd, &st) < 0 ||
	    !iso_array_reserve(&worker->frames, &worker->frame_capacity, worker->depth + 1,
			       sizeof(*worker->frames))) {
		iso_fd_close(fd);
		return dir == NULL ? !worker->reader.no_memory : fail_memory(worker);
	}
	*ret_dir = dir;
	if (worker->depth >= OPEN_FRAMES) {
		/* The innermost frames stay open, and the first one, where all ways end. */
		struct frame *outer = &worker->frames[worker->depth - OPEN_FRAMES + 1];
		if (outer != &worker->frames[0])
			outer->fd = iso_fd_close(outer->fd);
	}
	worker->frames[worker->depth++] =
		(struct frame){dir, 0, fd, st.st_dev, st.st_ino, rule, depth};
	return true;
}

/* Leave the innermost frame for the one around it, which may have to be opened again. */
static void pop(struct worker *worker)
{
	struct frame *inner = &worker->frames[--worker->depth];
	struct stat st;
	if (worker->depth > 0 && inner[-1].fd < 0) {
		struct frame *outer = inner - 1;
		outer->fd = iso_fd_above_stdio(openat(inner->fd, "..", DIRECTORY_FLAGS));
		if (outer->fd >= 0 && (fstat(outer->fd, &st) < 0 || st.st_dev != outer->dev ||
				       st.st_ino != outer->ino))
			outer->fd = iso_fd_close(outer->fd);
	}
	iso_fd_close(inner->fd);
	/* It was moved while we were in there: on with the next one that is still held. */
	while (worker->depth > 0 && worker->frames[worker->depth - 1].fd < 0) {
		worker->reader.incomplete = ISO_CUT_UNREADABLE;
		worker->depth--;
	}
}

static bool hand_over(struct worker *worker, struct iso_snapshot_entry *place, int fd,
		      uint32_t depth, enum depth_rule rule)
{
	struct walk *walk = worker->walk;
	bool taken = false;
	if (walk->options->threads < 2 || rule != TAKE_ALL)
		return false;
	pthread_mutex_lock(&walk->lock);
	if (walk->workers > 1 && walk->queued < QUEUE_LOW) {
		walk->queue[walk->queued++] = (struct job){place, fd, rule, depth};
		pthread_cond_signal(&walk->changed);
		taken = true;
	}
	pthread_mutex_unlock(&walk->lock);
	return taken;
}

/* Enter the next directory of the innermost frame, or leave the frame. False: stop. */
static bool step(struct worker *worker)
{
	struct frame *frame = &worker->frames[worker->depth - 1];
	enum depth_rule rule = TAKE_ALL;
	while (frame->next < frame->dir->count) {
		struct iso_snapshot_entry *entry = &frame->dir->entries[frame->next];
		const char *name = iso_snapshot_name(frame->dir, frame->next);
		if (!S_ISDIR(entry->mode) || !rule_below(worker, frame->rule, name, &rule)) {
			frame->next++;
			continue;
		}
		frame->next++;
		if (frame->depth >= worker->walk->options->depth_limit) {
			worker->reader.incomplete = ISO_CUT_DEPTH;
			continue;
		}
		int fd = iso_fd_above_stdio(openat(frame->fd, name, DIRECTORY_FLAGS));
		if (fd < 0) {
			/* Vanished, or replaced by something else: not a directory any more. */
			if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
				worker->reader.incomplete = ISO_CUT_UNREADABLE;
			continue;
		}
		uint32_t depth = frame->depth + 1;
		return hand_over(worker, entry, fd, depth, rule) ||
		       push(worker, fd, depth, &entry->dir, rule);
	}
	pop(worker);
	return true;
}

static void *second_worker(void *argument);

/* A second worker that may be started once. */
struct helper {
	pthread_t thread;
	bool considered, started;
};

/* Start the second worker when the tree has turned out to be large. */
static void consider_helper(struct worker *worker, struct helper *helper)
{
	struct walk *walk = worker->walk;
	pthread_mutex_lock(&walk->lock);
	helper->considered = walk->entry_count > SECOND_WORKER_AT;
	if (helper->considered)
		walk->workers = 2;
	pthread_mutex_unlock(&walk->lock);
	if (!helper->considered)
		return;
	helper->started = pthread_create(&helper->thread, NULL, second_worker, walk) == 0;
	if (!helper->started) {
		pthread_mutex_lock(&walk->lock); /* no thread to be had: one will do */
		walk->workers = 1;
		pthread_mutex_unlock(&walk->lock);
	}
}

static bool is_stopped(struct worker *worker)
{
	struct walk *walk = worker->walk;
	pthread_mutex_lock(&walk->lock);
	bool stopped = walk->stop;
	pthread_mutex_unlock(&walk->lock);
	return stopped;
}

/* Walk what is on the stack to its end; `helper` (or NULL) may be started on the way. */
static void walk_stack(struct worker *worker, struct helper *helper)
{
	while (worker->depth > 0 && !is_stopped(worker) && step(worker)) {
		if (helper != NULL && !helper->considered)
			consider_helper(worker, helper);
	}
	while (worker->depth > 0)
		iso_fd_close(worker->frames[--worker->depth].fd);
}

/* Take subtrees from the queue until every worker is idle. */
static void walk_queue(struct worker *worker)
{
	struct walk *walk = worker->walk;
	pthread_mutex_lock(&walk->lock);
	for (;;) {
		if (walk->queued > 0) {
			struct job job = walk->queue[--walk->queued];
			pthread_mutex_unlock(&walk->lock);
			if (push(worker, job.fd, job.depth, &job.place->dir, job.rule))
				walk_stack(worker, NULL);
			pthread_mutex_lock(&walk->lock);
			continue;
		}
		walk->idle++;
		if (walk->idle == walk->workers || walk->stop) {
			walk->stop = true;
			pthread_cond_broadcast(&walk->changed);
			break;
		}
		while (walk->queued == 0 && !walk->stop)
			pthread_cond_wait(&walk->changed, &walk->lock);
		if (walk->stop && walk->queued == 0)
			break;
		walk->idle--;
	}
	pthread_mutex_unlock(&walk->lock);
}

static void free_scratch(struct worker *worker)
{
	free(worker->frames);
	iso_dir_reader_done(&worker->reader);
}

/* The second worker's findings go to the first through its return value, which that frees. */
static void *second_worker(void *argument)
{
	struct walk *walk = argument;
	struct worker *worker = calloc(1, sizeof(*worker));
	if (worker == NULL || iso_dir_reader_init(&worker->reader, walk->apart) < 0) {
		pthread_mutex_lock(&walk->lock);
		walk->workers--;
		pthread_mutex_unlock(&walk->lock);
		return worker;
	}
	worker->walk = walk;
	walk_queue(worker);
	free_scratch(worker);
	return worker;
}

static void adopt(struct worker *worker, const struct worker *other)
{
	if (other->reader.incomplete != NULL)
		worker->reader.incomplete = other->reader.incomplete;
	if (other->reader.newest_ctime_ns > worker->reader.newest_ctime_ns)
		worker->reader.newest_ctime_ns = other->reader.newest_ctime_ns;
}

static void walk_all(struct worker *worker, int root_fd, struct iso_snapshot_dir **ret_root)
{
	struct walk *walk = worker->walk;
	struct helper helper = {.considered = walk->options->threads < 2};
	uint64_t saved = iso_sigmask_block(ISO_SIGMASK_ALL); /* the second worker handles none */
	if (push(worker, root_fd, 0, ret_root, TAKE_ALL))
		walk_stack(worker, &helper);
	iso_sigmask_restore(saved);
	if (helper.started) {
		void *other;
		walk_queue(worker);
		pthread_join(helper.thread, &other);
		if (other != NULL)
			adopt(worker, other);
		free(other);
	}
	while (walk->queued > 0) /* left there by a limit */
		iso_fd_close(walk->queue[--walk->queued].fd);
}

int iso_snapshot_walk(int fd, bool apart, const struct iso_snapshot_options *options,
		      struct iso_snapshot *snapshot)
{
	struct walk walk = {
		.options = options,
		.arena = &snapshot->arena,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.workers = 1,
		.apart = apart,
	};
	struct worker worker = {.walk = &walk};
	snapshot->root = NULL;
	if (iso_dir_reader_init(&worker.reader, apart) < 0) {
		iso_fd_close(fd);
		return -1;
	}
	if (fd >= 0)
		walk_all(&worker, fd, &snapshot->root);
	else
		worker.reader.incomplete = ISO_CUT_UNREADABLE;
	free_scratch(&worker);
	snapshot->entry_count = walk.entry_count;
	snapshot->newest_ctime_ns = worker.reader.newest_ctime_ns;
	snapshot->incomplete = worker.reader.incomplete;
	return walk.no_memory ? -1 : 0;
}

int iso_snapshot_take(int root_fd, const struct iso_snapshot_options *options,
		      struct iso_snapshot *ret_snapshot, struct iso_error *err)
{
	if (iso_arena_open(&ret_snapshot->arena, options->memory_limit, false) < 0)
		return iso_error_nomem(err);
	/* Not opened by any name: whoever owns it may have taken the right to do so away. */
	int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd >= 0 && lseek(fd, 0, SEEK_SET) < 0)
		fd = iso_fd_close(fd);
	if (iso_snapshot_walk(fd, false, options, ret_snapshot) < 0) {
		iso_snapshot_done(ret_snapshot);
		return iso_error_nomem(err);
	}
	return 0;
}

void iso_snapshot_settle(const struct iso_snapshot *snapshot)
{
	/* A file system that keeps whole seconds only cannot tell changes within one apart. */
	bool whole_seconds = snapshot->newest_ctime_ns % NS_PER_S == 0;
	int64_t safe_after_ns = snapshot->newest_ctime_ns + (whole_seconds ? NS_PER_S : 0);
	for (int round = 0; round < 2000; round++) {
		struct timespec tick;
		clock_gettime(CLOCK_REALTIME_COARSE, &tick);
		int64_t now_ns = (int64_t)tick.tv_sec * NS_PER_S + tick.tv_nsec;
		/* From a clock that was set back nothing can be learned by waiting. */
		if (now_ns > safe_after_ns || now_ns < snapshot->newest_ctime_ns - NS_PER_S)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

void iso_snapshot_done(struct iso_snapshot *snapshot)
{
	iso_arena_close(&snapshot->arena);
	*snapshot = (struct iso_snapshot){0};
}
