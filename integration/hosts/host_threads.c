/*
 * A threaded host program on libisorun: several engines at once, cancelled runs, and nothing of the
 * host changed or leaked. Speaks TAP.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/isorun.h"

#define THREADS	  8
#define ROUNDS	  10
#define KEPT_EACH 3 /* a lock, a user namespace and who made that */

static int count, failures;

static void check(bool good, const char *name)
{
	failures += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", ++count, name);
}

static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int number = 0;
	while (readdir(dir) != NULL)
		number++;
	closedir(dir);
	return number;
}

static enum iso_status run_once(iso_engine *engine, const char *script, int cancel_fd,
				uint64_t wall_limit_ms, int *ret_code)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	struct iso_request request;
	struct iso_error err = {0};
	iso_result *result = NULL;
	iso_request_init(&request);
	request.argv = argv;
	request.capture = true;
	request.cancel_fd = cancel_fd;
	request.wall_limit_ms = wall_limit_ms;
	request.grace_ms = 200;
	if (iso_engine_run(engine, &request, &result, &err) < 0) {
		printf("# %s\n", err.message);
		return ISO_STATUS_UNSET;
	}
	enum iso_status status = iso_result_status(result);
	*ret_code = iso_result_exit_code(result);
	iso_result_free(result);
	return status;
}

static void *make_engine(void *argument)
{
	(void)iso_engine_new(argument, NULL);
	return NULL;
}

/* The thread ends while the program that it started runs. */
static void *start_isorun(void *argument)
{
	signal(SIGCHLD, SIG_DFL); /* else nobody can wait for it */
	pid_t pid = fork();
	if (pid == 0) {
		const char *program = getenv("ISORUN");
		execl(program, program, "run", "--", "sh", "-c", "sleep 0.5; exit 5", NULL);
		_exit(99);
	}
	*(pid_t *)argument = pid;
	return NULL;
}

static atomic_int wrong;

struct job {
	iso_engine *engine; /* NULL: one of the thread's own */
	int code;	    /* what its runs end with */
};

static void *run_many(void *argument)
{
	const struct job *job = argument;
	struct iso_error err = {0};
	iso_engine *engine = job->engine;
	char script[32];
	snprintf(script, sizeof(script), "exit %d", job->code);
	if (engine == NULL && iso_engine_new(&engine, &err) < 0) {
		printf("# %s\n", err.message);
		atomic_fetch_add(&wrong, 1);
		return NULL;
	}
	for (int round = 0; round < ROUNDS; round++) {
		int code = -1;
		(void)run_once(engine, script, -1, ISO_UNLIMITED, &code);
		if (code != job->code)
			atomic_fetch_add(&wrong, 1);
	}
	if (job->engine == NULL)
		iso_engine_free(engine);
	return NULL;
}

/* Threads with exit codes of their own, all at once, on `engine` or (NULL) on one each. */
static bool run_in_threads(iso_engine *engine)
{
	pthread_t threads[THREADS];
	struct job jobs[THREADS];
	atomic_store(&wrong, 0);
	for (int i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){engine, i};
		pthread_create(&threads[i], NULL, run_many, &jobs[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return atomic_load(&wrong) == 0;
}

static void *cancel_soon(void *argument)
{
	uint32_t signal_number = SIGTERM;
	usleep(300000);
	if (write(*(int *)argument, &signal_number, sizeof(signal_number)) < 0)
		perror("write");
	return NULL;
}

int main(void)
{
	struct iso_error err = {0};
	iso_engine *engine = NULL;
	int code = -1;

	signal(SIGCHLD, SIG_IGN);
	umask(027);
	int at_first = open_descriptors();
	(void)iso_engine_new(&engine, &err);
	check(engine != NULL, "an engine can be made");
	if (engine == NULL) {
		printf("# %s\n1..%d\n", err.message, count);
		return 1;
	}
	check(run_once(engine, "exit 3", -1, ISO_UNLIMITED, &code) == ISO_STATUS_FAILED &&
		      code == 3,
	      "with SIGCHLD ignored the exit code arrives");
	for (int i = 0; i < 3; i++) /* until the engine keeps what it will keep */
		(void)run_once(engine, "true", -1, ISO_UNLIMITED, &code);
	int before = open_descriptors();

	check(run_in_threads(NULL), "8 threads with an engine each keep their exit codes");
	check(run_in_threads(engine), "8 threads on one engine keep their exit codes");
	int kept = open_descriptors();
	check(kept <= before + THREADS * KEPT_EACH,
	      "of runs at the same time an engine keeps ids and their maps for the next ones");

	pthread_t thread;
	iso_engine *made = NULL;
	pthread_create(&thread, NULL, make_engine, &made);
	pthread_join(thread, NULL);
	check(made != NULL &&
		      run_once(made, "exit 6", -1, ISO_UNLIMITED, &code) == ISO_STATUS_FAILED &&
		      code == 6,
	      "an engine outlives the thread that made it");
	iso_engine_free(made);
	pid_t started = -1;
	pthread_create(&thread, NULL, start_isorun, &started);
	pthread_join(thread, NULL);
	int ended = -1;
	signal(SIGCHLD, SIG_DFL);
	check(waitpid(started, &ended, 0) == started && WIFEXITED(ended) && WEXITSTATUS(ended) == 5,
	      "isorun outlives the thread that started it");

	int pipe_fds[2];
	if (pipe(pipe_fds) < 0)
		return 1;
	pthread_create(&thread, NULL, cancel_soon, &pipe_fds[1]);
	enum iso_status status = run_once(engine, "sleep 30", pipe_fds[0], ISO_UNLIMITED, &code);
	pthread_join(thread, NULL);
	check(status == ISO_STATUS_CANCELLED && code == 143,
	      "another thread cancels through a pipe");
	close(pipe_fds[1]);
	status = run_once(engine, "sleep 0.2; exit 4", pipe_fds[0], ISO_UNLIMITED, &code);
	check(status == ISO_STATUS_FAILED && code == 4,
	      "a cancel pipe without writer cancels nothing");
	close(pipe_fds[0]);
	status = run_once(engine, "sleep 30", -1, 200, &code);
	check(status == ISO_STATUS_TIMED_OUT && code == 124, "the wall limit");

	check(open_descriptors() == kept, "runs leave no descriptor open");
	sigset_t blocked;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	check(sigisemptyset(&blocked), "the signal mask is as it was");
	check(umask(0) == 027, "the umask is as it was");
	iso_engine_free(engine);
	check(open_descriptors() == at_first, "nor does an engine");
	printf("1..%d\n", count);
	return failures != 0;
}
