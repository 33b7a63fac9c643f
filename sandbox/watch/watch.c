/*
 * Every slot is armed for one event (EPOLLONESHOT). The kernel watches open file descriptions, and
 * a child that is being set up holds copies of all of ours: a slot that stayed armed when its
 * descriptor was closed here would go on reporting its end for as long as that copy lives.
 *
 * A number may be closed and mean something else before the slot that had it hears of that. What is
 * not wanted any more is therefore forgotten first, all of it, and only then is anything armed.
 */
#include "sandbox/watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"

#define TIMER_SLOT ISO_WATCH_SLOTS
#define BLIND_MS   1

int iso_watch_open(struct iso_watch *ret_watch, struct iso_error *err)
{
	struct iso_watch watch = {
		.fd = iso_fd_above_stdio(epoll_create1(EPOLL_CLOEXEC)),
		.timer_fd = iso_fd_above_stdio(
			timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
		.deadline_ns = ISO_NEVER,
	};
	struct epoll_event timer = {.events = EPOLLIN, .data.u32 = TIMER_SLOT};
	if (watch.fd < 0 || watch.timer_fd < 0 ||
	    epoll_ctl(watch.fd, EPOLL_CTL_ADD, watch.timer_fd, &timer) < 0) {
		iso_error_set(err, ISO_ERR_SYSTEM, errno, "prepare to wait for the run");
		iso_fd_close(watch.fd);
		iso_fd_close(watch.timer_fd);
		return -1;
	}
	for (int i = 0; i < ISO_WATCH_SLOTS; i++)
		watch.slots[i] =
			(struct iso_watch_slot){.wanted_fd = -1, .fd = -1, .polled_fd = -1};
	*ret_watch = watch;
	return 0;
}

void iso_watch_close(struct iso_watch *watch)
{
	if (watch->fd < 0)
		return;
	iso_watch_clear(watch);
	watch->timer_fd = iso_fd_close(watch->timer_fd);
	watch->fd = iso_fd_close(watch->fd);
}

static void forget(const struct iso_watch *watch, struct iso_watch_slot *slot)
{
	if (slot->registered) /* it may be closed already, and is disarmed then */
		(void)epoll_ctl(watch->fd, EPOLL_CTL_DEL, slot->polled_fd, NULL);
	if (slot->polled_fd != slot->fd)
		iso_fd_close(slot->polled_fd);
	slot->fd = slot->polled_fd = -1;
	slot->armed = 0;
	slot->registered = slot->blind = slot->ready = false;
}

void iso_watch_forget(struct iso_watch *watch, unsigned int index)
{
	struct iso_watch_slot *slot = &watch->slots[index];
	forget(watch, slot);
	slot->wanted_fd = -1;
	slot->wanted = 0;
}

void iso_watch_clear(struct iso_watch *watch)
{
	for (unsigned int i = 0; i < ISO_WATCH_SLOTS; i++)
		iso_watch_forget(watch, i);
}

/* Tell the kernel what is wanted of a slot. */
static void arm_slot(const struct iso_watch *watch, struct iso_watch_slot *slot, uint32_t index)
{
	struct epoll_event event = {.events = slot->wanted | EPOLLONESHOT, .data.u32 = index};
	int operation = slot->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	int status = epoll_ctl(watch->fd, operation, slot->polled_fd, &event);
	if (status < 0 && errno == EEXIST) { /* another slot has it: a copy of our own */
		int copy = fcntl(slot->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (copy >= 0)
			slot->polled_fd = copy;
		status = epoll_ctl(watch->fd, EPOLL_CTL_ADD, slot->polled_fd, &event);
	}
	slot->blind = status < 0;
	slot->registered |= status == 0;
	slot->armed = status == 0 ? slot->wanted : 0;
}

void iso_watch_want(struct iso_watch *watch, unsigned int index, int fd, uint32_t events)
{
	watch->slots[index].wanted_fd = fd;
	watch->slots[index].wanted = fd < 0 ? 0 : events;
}

static void arm_slots(struct iso_watch *watch)
{
	for (unsigned int i = 0; i < ISO_WATCH_SLOTS; i++) {
		struct iso_watch_slot *slot = &watch->slots[i];
		if (slot->fd >= 0 &&
		    (slot->fd != slot->wanted_fd || (slot->wanted == 0 && slot->armed != 0)))
			forget(watch, slot);
	}
	for (unsigned int i = 0; i < ISO_WATCH_SLOTS; i++) {
		struct iso_watch_slot *slot = &watch->slots[i];
		if (slot->wanted == 0 || slot->wanted == slot->armed)
			continue;
		if (slot->fd < 0)
			slot->fd = slot->polled_fd = slot->wanted_fd;
		arm_slot(watch, slot, i);
	}
}

/* What the kernel would not watch is asked for itself. */
static bool is_ready_now(const struct iso_watch_slot *slot)
{
	struct pollfd polled = {.fd = slot->wanted_fd};
	if ((slot->wanted & EPOLLIN) != 0)
		polled.events |= POLLIN;
	if ((slot->wanted & EPOLLOUT) != 0)
		polled.events |= POLLOUT;
	if ((slot->wanted & EPOLLPRI) != 0)
		polled.events |= POLLPRI;
	return poll(&polled, 1, 0) > 0;
}

void iso_watch_arm(struct iso_watch *watch, int64_t deadline_ns)
{
	arm_slots(watch);
	for (int i = 0; i < ISO_WATCH_SLOTS; i++) {
		const struct iso_watch_slot *slot = &watch->slots[i];
		if (slot->wanted == 0 || !slot->blind)
			continue;
		int64_t due = is_ready_now(slot)
				      ? 1 /* long ago */
				      : iso_deadline_after(iso_clock_mono_ns(), BLIND_MS);
		deadline_ns = iso_deadline_min(deadline_ns, due);
	}
	if (deadline_ns == watch->deadline_ns)
		return;
	struct itimerspec when = {{0, 0}, {0, 0}}; /* never */
	if (deadline_ns != ISO_NEVER) {
		when.it_value.tv_sec = deadline_ns / 1000000000;
		when.it_value.tv_nsec = deadline_ns > 0 ? deadline_ns % 1000000000 : 1;
	}
	/* It cannot fail: the descriptor and the time are good. */
	(void)timerfd_settime(watch->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
	watch->deadline_ns = deadline_ns;
}

void iso_watch_collect(struct iso_watch *watch, bool wait)
{
	struct epoll_event events[ISO_WATCH_SLOTS + 1];
	int count = epoll_wait(watch->fd, events, ISO_WATCH_SLOTS + 1, wait ? -1 : 0);
	for (int i = 0; i < ISO_WATCH_SLOTS; i++) {
		struct iso_watch_slot *slot = &watch->slots[i];
		slot->ready = slot->wanted != 0 && slot->blind && is_ready_now(slot);
	}
	for (int i = 0; i < count; i++) {
		uint32_t index = events[i].data.u32;
		if (index == TIMER_SLOT) {
			watch->deadline_ns = 0; /* whatever is armed next clears it */
			continue;
		}
		watch->slots[index].ready = true;
		watch->slots[index].armed = 0;
	}
}
