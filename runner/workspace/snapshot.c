/*
 * A depth-first walk with an explicit stack, so that depth costs memory and not C stack.
 *
 * Each frame of the stack holds its directory's descriptor. Trees deeper than the window of open
 * descriptors have those of the outer frames closed; coming back to one, it is opened again from
 * the root by name and compared by identity.
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
#define STANDARD_LIMIT	 20000000

static const char *const standard_skip[] = {".git", ".venv", "node_modules", "__pycache__", NULL};

/* What git obeys inside a .git that is skipped otherwise. */
static const char *const git_obeys[] = {"config", "config.worktree", "hooks", "info", NULL};

const struct iso_snapshot_options iso_snapshot_standard = {
	.skip = standard_skip,
	.entry_limit = STANDARD_LIMIT,
	.threads = 2,
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
};

/* A subtree to walk, handed from one worker to another. */
struct job {
	struct iso_snapshot_entry *place; /* whose `dir` is to be filled */
	int fd;				  /* owned */
	enum depth_rule rule;
};

struct walk {
	const struct iso_snapshot_options *options;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t changed;
	struct job queue[QUEUE_SIZE];
	unsigned int queued, workers, idle;
	uint64_t entry_count;
	bool stop, no_memory;
};

struct worker {
	struct walk *walk;
	struct iso_snapshot_dir *dirs;
	struct frame *frames;
	size_t depth, frame_capacity;
	struct iso_dir_reader reader;
	bool incomplete;
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

/* Count entries for all workers; false when the limit is reached. */
static bool count_entries(struct worker *worker, size_t count)
{
	struct walk *walk = worker->walk;
	pthread_mutex_lock(&walk->lock);
	walk->entry_count += count;
	bool go_on = walk->entry_count <= walk->options->entry_limit;
	if (!go_on) {
		walk->stop = true;
		pthread_cond_broadcast(&walk->changed);
	}
	pthread_mutex_unlock(&walk->lock);
	if (!go_on)
		worker->incomplete = true;
	return go_on;
}

/* Read the directory `fd`; NULL when it cannot be read, or when out of memory. */
static struct iso_snapshot_dir *read_dir(struct worker *worker, int fd, enum depth_rule rule)
{
	struct iso_snapshot_dir *dir = iso_dir_reader_read(
		&worker->reader, fd, rule == TAKE_WHAT_GIT_OBEYS ? git_obeys : NULL);
	if (dir == NULL) {
		if (worker->reader.no_memory)
			(void)fail_memory(worker);
		return NULL;
	}
	dir->next = worker->dirs;
	worker->dirs = dir;
	(void)count_entries(worker, dir->count); /* `stop` is looked at in the walk */
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

static bool push(struct worker *worker, int fd, struct iso_snapshot_dir **ret_dir,
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
		/* The innermost frames stay open; the first one is the way back. */
		struct frame *outer = &worker->frames[worker->depth - OPEN_FRAMES + 1];
		if (outer != &worker->frames[0])
			outer->fd = iso_fd_close(outer->fd);
	}
	worker->frames[worker->depth++] = (struct frame){dir, 0, fd, st.st_dev, st.st_ino, rule};
	return true;
}

/* Open the innermost frame's directory again, by name from the nearest one that is open. */
static bool reopen(struct worker *worker)
{
	size_t open = worker->depth - 1;
	while (worker->frames[open].fd < 0)
		open--;
	for (; open + 1 < worker->depth; open++) {
		struct frame *outer = &worker->frames[open], *inner = &worker->frames[open + 1];
		struct stat st;
		/* `next` is already past the entry that was entered. */
		const char *name = iso_snapshot_name(outer->dir, outer->next - 1);
		inner->fd = iso_fd_above_stdio(openat(outer->fd, name, DIRECTORY_FLAGS));
		if (open > 0)
			outer->fd = iso_fd_close(outer->fd);
		if (inner->fd < 0 || fstat(inner->fd, &st) < 0 || st.st_dev != inner->dev ||
		    st.st_ino != inner->ino) {
			inner->fd = iso_fd_close(inner->fd);
			return false;
		}
	}
	return true;
}

static bool hand_over(struct worker *worker, struct iso_snapshot_entry *place, int fd,
		      enum depth_rule rule)
{
	struct walk *walk = worker->walk;
	bool taken = false;
	if (walk->options->threads < 2 || rule != TAKE_ALL)
		return false;
	pthread_mutex_lock(&walk->lock);
	if (walk->workers > 1 && walk->queued < QUEUE_LOW) {
		walk->queue[walk->queued++] = (struct job){place, fd, rule};
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
		if (frame->fd < 0 && !reopen(worker)) {
			worker->incomplete = true; /* it was moved while we were below it */
			break;
		}
		frame->next++;
		int fd = iso_fd_above_stdio(openat(frame->fd, name, DIRECTORY_FLAGS));
		if (fd < 0) {
			/* Vanished, or replaced by something else: not a directory any more. */
			if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
				worker->incomplete = true;
			continue;
		}
		return hand_over(worker, entry, fd, rule) || push(worker, fd, &entry->dir, rule);
	}
	iso_fd_close(frame->fd);
	worker->depth--;
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

static bool is_stopped(struct walk *walk)
{
	pthread_mutex_lock(&walk->lock);
	bool stopped = walk->stop;
	pthread_mutex_unlock(&walk->lock);
	return stopped;
}

/* Walk what is on the stack to its end; `helper` (or NULL) may be started on the way. */
static void walk_stack(struct worker *worker, struct helper *helper)
{
	while (worker->depth > 0 && !is_stopped(worker->walk) && step(worker)) {
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
			if (push(worker, job.fd, &job.place->dir, job.rule))
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
	if (worker == NULL || iso_dir_reader_init(&worker->reader) < 0) {
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

static void adopt(struct worker *worker, struct worker *other)
{
	while (other->dirs != NULL) {
		struct iso_snapshot_dir *dir = other->dirs;
		other->dirs = dir->next;
		dir->next = worker->dirs;
		worker->dirs = dir;
	}
	worker->incomplete |= other->incomplete || other->reader.incomplete;
	if (other->reader.newest_ctime_ns > worker->reader.newest_ctime_ns)
		worker->reader.newest_ctime_ns = other->reader.newest_ctime_ns;
}

static void walk_all(struct worker *worker, int root_fd, struct iso_snapshot_dir **ret_root)
{
	struct walk *walk = worker->walk;
	struct helper helper = {.considered = walk->options->threads < 2};
	uint64_t saved = iso_sigmask_block(ISO_SIGMASK_ALL); /* the second worker handles none */
	if (push(worker, root_fd, ret_root, TAKE_ALL))
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

int iso_snapshot_take(int root_fd, const struct iso_snapshot_options *options,
		      struct iso_snapshot *ret_snapshot, struct iso_error *err)
{
	struct walk walk = {
		.options = options,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.workers = 1,
	};
	struct worker worker = {.walk = &walk};
	struct iso_snapshot snapshot = {0};
	if (iso_dir_reader_init(&worker.reader) < 0)
		return iso_error_nomem(err);
	/* Not opened by any name: whoever owns it may have taken the right to do so away. */
	int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0) {
		walk_all(&worker, fd, &snapshot.root);
	} else {
		worker.incomplete = true;
		iso_fd_close(fd);
	}
	free_scratch(&worker);
	snapshot.dirs = worker.dirs;
	snapshot.entry_count = walk.entry_count;
	snapshot.newest_ctime_ns = worker.reader.newest_ctime_ns;
	snapshot.incomplete = worker.incomplete || worker.reader.incomplete;
	if (walk.no_memory) {
		iso_snapshot_done(&snapshot);
		return iso_error_nomem(err);
	}
	*ret_snapshot = snapshot;
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
	while (snapshot->dirs != NULL) {
		struct iso_snapshot_dir *dir = snapshot->dirs;
		snapshot->dirs = dir->next;
		free(dir);
	}
	*snapshot = (struct iso_snapshot){0};
}
