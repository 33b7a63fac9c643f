/*
 * Which operations are common is decided by what they are: a mount that a run can write to, that
 * belongs to its PID namespace or that the caller named is its own, and so is what lies in such a
 * mount or covers one. The rest is the same bytes for the same plan, and those bytes are the key.
 *
 * The namespace is made by a process that shares our memory (see sandbox/child/child.h), reports
 * over a pair as a launch does, and is killed as soon as its namespace has a descriptor.
 */
#include "sandbox/launch/template.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/path.h"
#include "sandbox/launch/spawn.h"

#define OPERATIONS_MAX 4096 /* more are rare, and looking through them costs more than it saves */
#define MAKE_LIMIT_MS  2000
#define REFUSED_MS     60000 /* until it is tried again */

/* --- what is common */

static bool is_container(const struct iso_child_op *op)
{
	return op->kind == ISO_FSOP_BIND || op->kind == ISO_FSOP_TMPFS ||
	       op->kind == ISO_FSOP_PROC || op->kind == ISO_FSOP_DEVPTS;
}

static bool is_a_runs_own(const struct iso_child_op *op)
{
	switch (op->kind) {
	case ISO_FSOP_PROC:
	case ISO_FSOP_DEVPTS:
		return true;
	case ISO_FSOP_TMPFS:
		return !op->closed_later;
	case ISO_FSOP_BIND:
		return op->by_caller;
	default:
		return false;
	}
}

/* Whether `op` comes to lie in the run's own mount at `place`, or would cover it. */
static bool touches(const struct iso_child_op *op, const char *place)
{
	if (iso_path_is_beneath(op->target, place))
		return true;
	bool covers = is_container(op) || op->kind == ISO_FSOP_MASK || op->kind == ISO_FSOP_PROTECT;
	return covers && iso_path_is_beneath(place, op->target);
}

/* Fill `common`; false when the operations cannot be divided. */
static bool divide(const struct iso_child *child, bool *common)
{
	ISO_AUTO_FREE const char **places = malloc((child->op_count + 1) * sizeof(*places));
	size_t place_count = 0;
	if (places == NULL)
		return false;
	for (size_t i = 0; i < child->op_count; i++) {
		const struct iso_child_op *op = &child->ops[i];
		bool own = is_a_runs_own(op);
		for (size_t j = 0; j < place_count && !own && op->kind != ISO_FSOP_READONLY; j++)
			own = touches(op, places[j]);
		if (own && op->kind == ISO_FSOP_COVER)
			return false; /* it needs a root that can still be written to */
		if (own && is_container(op))
			places[place_count++] = op->target;
		common[i] = !own;
	}
	return true;
}

/* --- the key */

struct bytes {
	char *data;
	size_t size, capacity;
	bool failed;
};

static void add(struct bytes *bytes, const void *data, size_t size)
{
	if (bytes->failed)
		return;
	bytes->failed = !iso_array_reserve(&bytes->data, &bytes->capacity, bytes->size + size, 1);
	if (bytes->failed)
		return;
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

static void add_text(struct bytes *bytes, const char *text)
{
	add(bytes, text != NULL ? "+" : "-", 1);
	if (text != NULL)
		add(bytes, text, strlen(text) + 1);
}

static bool make_key(const struct iso_child *child, const bool *common, struct bytes *ret_key)
{
	for (size_t i = 0; i < child->op_count; i++) {
		const struct iso_child_op *op = &child->ops[i];
		if (!common[i])
			continue;
		const uint64_t numbers[] = {
			op->kind,	op->attributes,
			op->flags,	op->mode,
			op->device,	op->give_away ? op->uid + 1ULL : 0,
			op->optional,	op->source_dev,
			op->source_ino, op->give_away ? op->gid + 1ULL : 0,
		};
		add(ret_key, numbers, sizeof(numbers));
		add_text(ret_key, op->target);
		add_text(ret_key, op->source);
		add_text(ret_key, op->options);
	}
	return !ret_key->failed;
}

/* --- making one */

/* The namespace is the host's root's own: elsewhere a procfs could not be mounted in it, because
 * the kernel wants to see an open one there first. */
static bool may_be_made(void)
{
	const ino_t initial_user_namespace = 0xEFFFFFFDu;
	struct stat st;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	return stat("/proc/self/ns/user", &st) == 0 && st.st_ino == initial_user_namespace &&
	       syscall(SYS_capget, &header, data) == 0 &&
	       (data[0].effective & (1U << CAP_SYS_CHROOT)) != 0 && /* setns(2) asks for it */
	       (data[0].effective & (1U << CAP_SYS_ADMIN)) != 0;
}

/* The maker's report: it has built everything and waits. */
static bool has_built(int control_fd)
{
	struct pollfd polled = {.fd = control_fd, .events = POLLIN};
	struct iso_record record;
	while (poll(&polled, 1, MAKE_LIMIT_MS) < 0 && errno == EINTR)
		;
	return recv(control_fd, &record, sizeof(record), MSG_DONTWAIT) == sizeof(record) &&
	       record.type == ISO_RECORD_STARTED;
}

static int launch_maker(struct iso_child *maker, char *stack)
{
	const struct iso_spawn spawn = {
		.flags = CLONE_NEWNS,
		.cgroup_fd = -1,
		.stack = stack,
		.stack_size = ISO_CHILD_STACK_SIZE,
		.entry = iso_child_make_template,
		.argument = maker,
	};
	struct iso_process process;
	if (iso_spawn(&spawn, &process) < 0)
		return -1;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)process.pid);
	int namespace_fd = has_built(maker->descriptors[0])
				   ? iso_fd_above_stdio(open(path, O_RDONLY | O_CLOEXEC))
				   : -1;
	if (!iso_process_abandon(&process)) {
		maker->ops = NULL; /* lost to it, and with it the stack */
		namespace_fd = iso_fd_close(namespace_fd);
	}
	iso_process_close(&process);
	return namespace_fd;
}

/* A descriptor of the new namespace, or -1. */
static int make(const struct iso_child *child, const bool *common)
{
	int pair[2];
	ISO_AUTO_CLOSE int self_fd = iso_fd_above_stdio((int)syscall(SYS_pidfd_open, getpid(), 0));
	struct iso_child_op *ops = malloc((child->op_count + 1) * sizeof(*ops));
	char *stack = aligned_alloc(16, ISO_CHILD_STACK_SIZE);
	struct iso_child *maker = malloc(sizeof(*maker));
	int namespace_fd = -1;
	bool may_free = true;
	if (ops != NULL && stack != NULL && maker != NULL && self_fd >= 0 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
		*maker = *child;
		maker->at = NULL;
		maker->ops = ops;
		maker->op_count = 0;
		for (size_t i = 0; i < child->op_count; i++) {
			if (common[i])
				ops[maker->op_count++] = child->ops[i];
		}
		maker->descriptors[0] = iso_fd_above_stdio(pair[0]);
		maker->descriptors[ISO_INIT_FD_CONTROL] = iso_fd_above_stdio(pair[1]);
		maker->descriptors[ISO_INIT_FD_PARENT] = self_fd;
		namespace_fd = launch_maker(maker, stack);
		may_free = maker->ops != NULL;
		iso_fd_close(maker->descriptors[0]);
		iso_fd_close(maker->descriptors[ISO_INIT_FD_CONTROL]);
	}
	if (may_free) {
		free(ops);
		free(stack);
		free(maker);
	}
	return namespace_fd;
}

/* --- keeping them */

/* All of what follows with the lock held. */

static void drop(struct iso_template *template)
{
	if (template == NULL || --template->users > 0)
		return;
	free(template->key);
	iso_fd_close(template->namespace_fd);
	free(template);
}

static void drop_all(struct iso_template_cache *cache)
{
	for (int i = 0; i < ISO_TEMPLATE_CACHE_SIZE; i++) {
		drop(cache->entries[i]);
		cache->entries[i] = NULL;
	}
	free(cache->last_key);
	cache->last_key = NULL;
	cache->last_key_size = 0;
}

/* Drop what was made before the host's mounts last changed. False when that cannot be known. */
static bool keep_up_with_host(struct iso_template_cache *cache)
{
	if (cache->host_mounts_fd < 0) {
		cache->host_mounts_fd =
			iso_fd_above_stdio(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
		return cache->host_mounts_fd >= 0;
	}
	struct pollfd polled = {.fd = cache->host_mounts_fd, .events = POLLPRI};
	if (poll(&polled, 1, 0) != 0) {
		drop_all(cache);
		cache->outrun_count++;
	}
	return true;
}

static bool is_key(const char *key, size_t size, const struct bytes *other)
{
	return key != NULL && size == other->size && memcmp(key, other->data, size) == 0;
}

/* Put a new template in the place of the oldest; `key` is taken over. NULL: no memory. */
static struct iso_template *keep(struct iso_template_cache *cache, struct bytes *key,
				 int namespace_fd)
{
	struct iso_template *template = malloc(sizeof(*template));
	if (template == NULL) {
		iso_fd_close(namespace_fd);
		return NULL;
	}
	*template = (struct iso_template){
		.key = key->data,
		.key_size = key->size,
		.namespace_fd = namespace_fd,
		.users = 1,
	};
	key->data = NULL;
	struct iso_template **place = &cache->entries[cache->count++ % ISO_TEMPLATE_CACHE_SIZE];
	drop(*place);
	*place = template;
	return template;
}

static struct iso_template *find(const struct iso_template_cache *cache, const struct bytes *key)
{
	for (int i = 0; i < ISO_TEMPLATE_CACHE_SIZE; i++) {
		struct iso_template *known = cache->entries[i];
		if (known != NULL && is_key(known->key, known->key_size, key))
			return known;
	}
	return NULL;
}

/* Whether the launch before this one had the same `key`, which is taken over where it did not. */
static bool comes_again(struct iso_template_cache *cache, struct bytes *key)
{
	if (is_key(cache->last_key, cache->last_key_size, key))
		return true;
	free(cache->last_key);
	cache->last_key = ISO_TAKE_PTR(key->data);
	cache->last_key_size = key->size;
	return false;
}

/* Make the template for `key` and keep it. That takes a while, in which nobody is kept waiting: the
 * lock is given up meanwhile. */
static struct iso_template *make_and_keep(struct iso_template_cache *cache,
					  const struct iso_child *child, const bool *common,
					  struct bytes *key)
{
	unsigned int outrun_count = cache->outrun_count;
	cache->making = true;
	pthread_mutex_unlock(&cache->lock);
	int namespace_fd = make(child, common);
	pthread_mutex_lock(&cache->lock);
	cache->making = false;
	if (namespace_fd >= 0 && cache->outrun_count == outrun_count)
		return keep(cache, key, namespace_fd);
	if (namespace_fd >= 0) {
		iso_fd_close(namespace_fd);
		return NULL;
	}
	/* What is wrong a launch without one says better; it may be right again later. */
	cache->refused_until_ns = iso_deadline_after(iso_clock_mono_ns(), REFUSED_MS);
	return NULL;
}

/* Whether it makes sense to look for one now. */
static bool may_look(struct iso_template_cache *cache)
{
	int64_t now = iso_clock_mono_ns();
	if (now < cache->refused_until_ns)
		return false;
	if (cache->host_mounts_fd < 0 && !may_be_made()) {
		cache->refused_until_ns = iso_deadline_after(now, REFUSED_MS);
		return false;
	}
	return keep_up_with_host(cache);
}

bool iso_template_find(struct iso_template_cache *cache, const struct iso_child *child,
		       struct iso_template **ret_template, bool **ret_is_common)
{
	if (!cache->wanted || child->own_user_namespace || child->op_count > OPERATIONS_MAX)
		return false;
	ISO_AUTO_FREE bool *common = malloc(child->op_count + 1);
	struct bytes key = {0};
	struct iso_template *template = NULL;
	if (common == NULL || !divide(child, common) || !make_key(child, common, &key)) {
		free(key.data);
		return false;
	}
	pthread_mutex_lock(&cache->lock);
	if (may_look(cache)) {
		template = find(cache, &key);
		if (template == NULL && comes_again(cache, &key) && !cache->making)
			template = make_and_keep(cache, child, common, &key);
	}
	if (template != NULL)
		template->users++;
	pthread_mutex_unlock(&cache->lock);
	free(key.data);
	if (template == NULL)
		return false;
	*ret_template = template;
	*ret_is_common = ISO_TAKE_PTR(common);
	return true;
}

void iso_template_put(struct iso_template_cache *cache, struct iso_template *template)
{
	pthread_mutex_lock(&cache->lock);
	drop(template);
	pthread_mutex_unlock(&cache->lock);
}

void iso_template_cache_init(struct iso_template_cache *ret_cache)
{
	*ret_cache = (struct iso_template_cache){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.host_mounts_fd = -1,
	};
}

void iso_template_cache_want(struct iso_template_cache *cache)
{
	cache->wanted = true;
}

void iso_template_cache_done(struct iso_template_cache *cache)
{
	drop_all(cache);
	iso_fd_close(cache->host_mounts_fd);
	pthread_mutex_destroy(&cache->lock);
}
