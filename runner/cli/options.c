/* Reading the options of `run` and `plan` by their table (runner/cli/option_table.c). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/cli/cli.h"

static const struct cli_option *find_option(const char *name, size_t length)
{
	for (size_t i = 0; i < cli_run_option_count; i++) {
		if (strlen(cli_run_options[i].name) == length &&
		    strncmp(cli_run_options[i].name, name, length) == 0)
			return &cli_run_options[i];
	}
	return NULL;
}

/* Apply the option at `argv`; returns how many words it took, or -1. */
static int parse_option(struct cli_run *run, char **argv, struct iso_error *err)
{
	const char *name = strncmp(argv[0], "--", 2) == 0 ? argv[0] + 2 : "";
	size_t length = strcspn(name, "=");
	const struct cli_option *option = find_option(name, length);
	if (option == NULL) {
		iso_error_set(err, ISO_ERR_INVALID, 0,
			      "read option \"%s\": there is no such option", argv[0]);
		return iso_error_hint(
			err, "isorun help run lists the options; the command goes after --");
	}
	const char *value = name[length] == '=' ? name + length + 1 : NULL;
	if (option->argument == NULL) {
		if (value != NULL)
			return iso_error_set(err, ISO_ERR_INVALID, 0,
					     "read option --%s \"%s\": it takes no value",
					     option->name, value);
		return option->apply(run, NULL, err) < 0 ? -1 : 1;
	}
	int words = 1;
	if (value == NULL) {
		value = argv[1];
		words = 2;
	}
	if (value == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read option --%s: its value %s is missing", option->name,
				     option->argument);
	return option->apply(run, value, err) < 0 ? -1 : words;
}

/* After a refused option, where the receipt should go is still worth knowing. */
static void find_receipt(struct cli_run *run, char **argv)
{
	static const char name[] = "--receipt";
	for (; *argv != NULL && strcmp(*argv, "--") != 0; argv++) {
		if (strcmp(*argv, "--json") == 0)
			run->json = true;
		else if (strcmp(*argv, name) == 0 && argv[1] != NULL)
			run->receipt = argv[1];
		else if (strncmp(*argv, name, strlen(name)) == 0 && (*argv)[strlen(name)] == '=')
			run->receipt = *argv + strlen(name) + 1;
	}
}

/* Which terminal it is, the payload must know; only a plain name is taken from outside. */
static int add_term(struct cli_run *run, struct iso_error *err)
{
	const char *term = getenv("TERM");
	if (term == NULL || *term == '\0' || iso_strv_find_variable(&run->env, "TERM") != NULL)
		return 0;
	for (const char *at = term; *at != '\0'; at++) {
		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+._",
			   *at) == NULL)
			return 0;
	}
	return iso_strv_addf(&run->env, "TERM=%s", term) < 0 ? iso_error_nomem(err) : 0;
}

int cli_run_parse(struct cli_run *run, char **argv, char ***ret_rest, struct iso_error *err)
{
	while (*argv != NULL && (*argv)[0] == '-' && (*argv)[1] != '\0') {
		if (strcmp(*argv, "--") == 0) {
			argv++;
			break;
		}
		int words = parse_option(run, argv, err);
		if (words < 0) {
			find_receipt(run, argv);
			return -1;
		}
		argv += words;
	}
	if (run->tty && run->json)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read options --tty and --json: they exclude each other");
	if (run->tty && add_term(run, err) < 0)
		return -1;
	if (run->diff && run->no_diff)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read options --diff and --no-diff: they exclude each other");
	if (run->audit_key != NULL && run->audit == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read option --audit-key: it goes with --audit");
	if (run->request.capabilities != 0 && run->policy == NULL)
		return iso_error_set(err, ISO_ERR_DENIED, 0,
				     "read option --cap: Required permission is disabled: "
				     "PRIVILEGED, which only a policy grants");
	run->request.diff = run->diff || (run->request.capture && !run->no_diff);
	run->request.env = (const char *const *)run->env.items;
	run->request.argv = (const char *const *)argv;
	*ret_rest = argv;
	return 0;
}

void cli_run_init(struct cli_run *run)
{
	*run = (struct cli_run){.stdin_fd = -1};
	iso_request_init(&run->request);
}

void cli_run_done(struct cli_run *run)
{
	if (run->stdin_fd > STDERR_FILENO)
		iso_fd_close(run->stdin_fd);
	free(run->mounts);
	iso_strv_done(&run->env);
	iso_strv_done(&run->strings);
	iso_strv_done(&run->passed);
}
