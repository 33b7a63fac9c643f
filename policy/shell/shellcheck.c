/*
 * Rules look at one simple command, with quotes removed and the line's own variables put in, and at
 * the pipeline it stands in. Each is a function in a table; the first that objects gives the
 * reason.
 */
#include "policy/shell/shellcheck.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "policy/shell/scene.h"
#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"

#define PATH_SIZE  ISO_SCENE_PATH_SIZE
#define NESTED_MAX 4

typedef const char *rule(const struct iso_scene *scene);

static enum iso_vital first_vital(const struct iso_scene *scene, size_t from)
{
	for (size_t i = from; i < scene->words->count; i++) {
		const char *word = scene->words->items[i].text;
		enum iso_vital place =
			*word != '-' ? iso_scene_vital_place(scene, word) : ISO_VITAL_NONE;
		if (place != ISO_VITAL_NONE)
			return place;
	}
	return ISO_VITAL_NONE;
}

/* "echo / | xargs rm -rf": what is echoed are arguments. */
static enum iso_vital first_vital_piped(const struct iso_scene *scene)
{
	static const char *const printers[] = {"echo", "printf", NULL};
	const struct iso_simple *simple = &scene->line->commands[scene->index];
	if (simple->joint != ISO_JOINT_PIPE || scene->index == 0 || scene->start == 0)
		return ISO_VITAL_NONE;
	const struct iso_simple *before = simple - 1;
	if (before->words.count < 2 || !iso_scene_is_one_of(before->words.items[0].text, printers))
		return ISO_VITAL_NONE;
	struct iso_scene echoed = *scene;
	echoed.words = &before->words;
	return first_vital(&echoed, 1);
}

static const char *check_removal(const struct iso_scene *scene)
{
	static const char *const reasons[] = {
		[ISO_VITAL_NONE] = NULL,
		[ISO_VITAL_ROOT] = "recursive removal of /",
		[ISO_VITAL_HOME] = "recursive removal of ~",
		[ISO_VITAL_WORKSPACE] = "recursive removal of the workspace root",
		[ISO_VITAL_SYSTEM] = "recursive removal of a system directory",
	};
	static const char *const long_names[] = {"--recursive", NULL};
	enum iso_vital place = ISO_VITAL_NONE;
	if (strcmp(scene->base, "rm") == 0 && iso_scene_has_flag(scene, "rR", long_names)) {
		place = first_vital(scene, scene->start + 1);
		if (place == ISO_VITAL_NONE)
			place = first_vital_piped(scene);
	} else if (strcmp(scene->base, "find") == 0) {
		bool removes = false;
		for (size_t i = scene->start + 1; i < scene->words->count; i++) {
			const char *word = scene->words->items[i].text;
			removes |= strcmp(word, "-delete") == 0 ||
				   (strcmp(iso_word_base(word), "rm") == 0 &&
				    strncmp(scene->words->items[i - 1].text, "-exec", 5) == 0);
		}
		/* One that selects by name or type removes something in particular. */
		for (size_t i = scene->start + 1; i < scene->words->count && removes; i++)
			removes = strcmp(scene->words->items[i].text, "-name") != 0 &&
				  strcmp(scene->words->items[i].text, "-iname") != 0 &&
				  strcmp(scene->words->items[i].text, "-path") != 0;
		if (removes)
			place = first_vital(scene, scene->start + 1);
	}
	return reasons[place];
}

static const char *check_ownership(const struct iso_scene *scene)
{
	static const char *const tools[] = {"chmod", "chown", "chgrp", NULL};
	static const char *const long_names[] = {"--recursive", NULL};
	if (!iso_scene_is_one_of(scene->base, tools))
		return NULL;
	if (strcmp(scene->base, "chmod") == 0 && scene->start + 1 < scene->words->count) {
		static const char *const setuid[] = {"*+*s*", "[4-7][0-7][0-7][0-7]", NULL};
		for (size_t i = scene->start + 1; i + 1 < scene->words->count; i++) {
			if (iso_scene_matches_one(scene->words->items[i].text, setuid))
				return "making a set-user-ID program";
		}
	}
	enum iso_vital place = iso_scene_has_flag(scene, "R", long_names)
				       ? first_vital(scene, scene->start + 2)
				       : ISO_VITAL_NONE;
	return place != ISO_VITAL_NONE && place != ISO_VITAL_WORKSPACE
		       ? "recursive change of who may use a system directory"
		       : NULL;
}

static bool is_block_device(const char *path)
{
	static const char *const patterns[] = {
		"/dev/sd[a-z]*",   "/dev/hd[a-z]*", "/dev/vd[a-z]*", "/dev/xvd[a-z]*",
		"/dev/nvme[0-9]*", "/dev/mmcblk*",  "/dev/dm-*",     "/dev/mapper/*",
		"/dev/md[0-9]*",   "/dev/loop*",    "/dev/disk/*",   "/dev/mem",
		"/dev/kmem",	   "/dev/port",	    "/dev/zram*",    NULL};
	return iso_scene_matches_one(path, patterns);
}

static const char *check_devices(const struct iso_scene *scene)
{
	static const char *const writers[] = {
		"tee", "cp",	    "mv",     "shred",	  "wipefs", "blkdiscard",
		"dd",  "fdisk",	    "sfdisk", "sgdisk",	  "parted", "install",
		"ln",  "badblocks", "hdparm", "truncate", NULL};
	static const char reason[] = "writing to a block device";
	const struct iso_simple *simple = &scene->line->commands[scene->index];
	for (size_t i = 0; i < simple->outputs.count; i++) {
		if (is_block_device(simple->outputs.items[i]))
			return reason;
	}
	if (!iso_scene_is_one_of(scene->base, writers))
		return NULL;
	bool copies = strcmp(scene->base, "cp") == 0 || strcmp(scene->base, "install") == 0;
	for (size_t i = scene->start + 1; i < scene->words->count; i++) {
		const char *word = scene->words->items[i].text;
		if (strcmp(scene->base, "dd") == 0) {
			if (strncmp(word, "of=", 3) == 0 && is_block_device(word + 3))
				return reason;
		} else if (is_block_device(word) && (!copies || i + 1 == scene->words->count)) {
			return reason;
		}
	}
	return NULL;
}

static const char *check_file_systems(const struct iso_scene *scene)
{
	static const char *const patterns[] = {"mkfs",	 "mkfs.*",  "mke2fs",
					       "mkswap", "mkdosfs", NULL};
	return iso_scene_matches_one(scene->base, patterns) ? "making a file system" : NULL;
}

static bool is_interpreter(const char *base)
{
	static const char *const patterns[] = {
		"sh",	"bash", "dash", "ash",	  "zsh", "ksh",	 "fish",    "busybox", "perl",
		"ruby", "node", "php",	"source", ".",	 "eval", "python*", NULL};
	return iso_scene_matches_one(base, patterns);
}

static const char *base_of(const struct iso_simple *simple)
{
	size_t start = iso_simple_start(simple);
	return start < simple->words.count ? iso_word_base(simple->words.items[start].text) : "";
}

/* Whether an earlier command of the line has downloaded into the file `name`. */
static bool was_downloaded(const struct iso_scene *scene, const char *name)
{
	if (strncmp(name, "./", 2) == 0)
		name += 2;
	for (size_t i = 0; i < scene->index; i++) {
		const struct iso_simple *simple = &scene->line->commands[i];
		if (!iso_simple_downloads(simple))
			continue;
		for (size_t j = 1; j < simple->words.count; j++) {
			const char *word = simple->words.items[j].text;
			bool is_output = strcmp(simple->words.items[j - 1].text, "-o") == 0 ||
					 strcmp(simple->words.items[j - 1].text, "-O") == 0 ||
					 strcmp(simple->words.items[j - 1].text, "--output") == 0;
			bool same_name = strstr(word, "://") != NULL &&
					 strcmp(iso_word_base(word), iso_word_base(name)) == 0;
			if ((is_output && strcmp(word, name) == 0) || same_name)
				return true;
		}
		for (size_t j = 0; j < simple->outputs.count; j++) {
			if (strcmp(simple->outputs.items[j], name) == 0)
				return true;
		}
	}
	return false;
}

static const char *check_download(const struct iso_scene *scene)
{
	static const char reason[] = "piping a download into a shell";
	const struct iso_simple *commands = scene->line->commands;
	if (scene->start < scene->words->count &&
	    was_downloaded(scene, scene->words->items[scene->start].text))
		return reason;
	if (!is_interpreter(scene->base))
		return NULL;
	for (size_t i = scene->start + 1; i < scene->words->count; i++) {
		const struct iso_word *word = &scene->words->items[i];
		if (word->downloads || was_downloaded(scene, word->text))
			return reason;
	}
	for (size_t i = scene->index; i > 0 && commands[i].joint == ISO_JOINT_PIPE; i--) {
		if (iso_simple_downloads(&commands[i - 1]))
			return reason;
	}
	return NULL;
}

static const char *check_kernel(const struct iso_scene *scene)
{
	static const char *const modules[] = {"insmod", "modprobe", "rmmod",
					      "depmod", "kmod",	    NULL};
	static const char *const kexec[] = {"kexec", NULL};
	if (iso_scene_is_one_of(scene->base, modules))
		return "loading kernel modules";
	return iso_scene_is_one_of(scene->base, kexec) ? "loading another kernel" : NULL;
}

static const char *check_escape(const struct iso_scene *scene)
{
	static const char *const tools[] = {"nsenter", "chroot", "pivot_root", "switch_root", NULL};
	static const char *const mounts[] = {"mount",  "umount",  "losetup",
					     "swapon", "swapoff", NULL};
	static const char *const power[] = {"shutdown", "reboot",  "poweroff",
					    "halt",	"telinit", NULL};
	static const char *const engines[] = {"docker", "podman", "nerdctl", "ctr", NULL};
	static const char *const kernel_files[] = {
		"/proc/sys/*",	    "/proc/sysrq-trigger", "/sys/*",	 "*/release_agent",
		"/proc/[0-9]*/mem", "/proc/self/mem",	   "/dev/tcp/*", NULL};
	static const char *const system_files[] = {
		"/etc/*",   "/boot/*",		 "/usr/*",
		"/bin/*",   "/sbin/*",		 "/lib/*",
		"/lib64/*", "/var/spool/cron/*", "*/.ssh/authorized_keys",
		NULL};
	const struct iso_simple *simple = &scene->line->commands[scene->index];
	for (size_t i = 0; i < simple->outputs.count; i++) {
		if (iso_scene_matches_one(simple->outputs.items[i], kernel_files))
			return "writing to the kernel's files";
		if (iso_scene_matches_one(simple->outputs.items[i], system_files))
			return "writing to system files";
	}
	if (strcmp(scene->base, "tee") == 0) {
		for (size_t i = scene->start + 1; i < scene->words->count; i++) {
			if (iso_scene_matches_one(scene->words->items[i].text, kernel_files) ||
			    iso_scene_matches_one(scene->words->items[i].text, system_files))
				return "writing to system files";
		}
	}
	if (iso_scene_is_one_of(scene->base, tools))
		return "entering other namespaces or roots";
	if (iso_scene_is_one_of(scene->base, mounts) && scene->words->count > scene->start + 1)
		return "changing mounts";
	if (iso_scene_is_one_of(scene->base, power))
		return "switching the machine off";
	for (size_t i = scene->start + 1;
	     i < scene->words->count && iso_scene_is_one_of(scene->base, engines); i++) {
		const char *word = scene->words->items[i].text;
		if (strcmp(word, "--privileged") == 0 || strncmp(word, "/:/", 3) == 0)
			return "a container with the host's rights";
	}
	return NULL;
}

/* The path within an argument such as --file=/etc/shadow, @/etc/shadow or file:///etc/shadow. */
static const char *path_in(const char *word)
{
	if (strncmp(word, "file://", 7) == 0)
		return word + 7;
	const char *equals =
		*word == '-' || strncmp(word, "if=", 3) == 0 ? strchr(word, '=') : NULL;
	word = equals != NULL ? equals + 1 : word;
	return *word == '@' ? word + 1 : word;
}

static bool is_credential_file(const struct iso_scene *scene, const char *word)
{
	static const char *const patterns[] = {"/etc/shadow",
					       "/etc/shadow-",
					       "/etc/gshadow",
					       "/etc/gshadow-",
					       "/etc/sudoers",
					       "/etc/sudoers.d/*",
					       "/etc/ssh/ssh_host_*key",
					       "*/.ssh",
					       "*/.ssh/",
					       "*/.ssh/[*]",
					       "*/.ssh/id_*",
					       "*/.ssh/*.pem",
					       "*/.aws/credentials",
					       "*/.netrc",
					       "*/.pgpass",
					       "*/.git-credentials",
					       "*/.docker/config.json",
					       "*/.kube/config",
					       "*/.gnupg",
					       "*/.gnupg/*",
					       "*/.config/gcloud/*",
					       "*/.azure/*",
					       "*/.vault-token",
					       "*/.config/gh/hosts.yml",
					       "/proc/*/environ",
					       "/run/secrets/*",
					       "/var/run/secrets/*",
					       NULL};
	char path[PATH_SIZE];
	const char *named = path_in(word);
	size_t length = strlen(named);
	if (length > 4 && strcmp(named + length - 4, ".pub") == 0)
		return false;
	if (*named == '/' && iso_scene_resolve(scene, named, path))
		named = path;
	return iso_scene_matches_one(named, patterns) || fnmatch("/etc/*shad*", named, 0) == 0;
}

static const char *check_credentials(const struct iso_scene *scene)
{
	static const char *const harmless[] = {"echo", "printf", "ls",	 "stat", "test", "[",
					       "[[",   "git",	 "true", "rm",	 NULL};
	if (iso_scene_is_one_of(scene->base, harmless))
		return NULL;
	for (size_t i = 0; i < scene->words->count; i++) {
		if (is_credential_file(scene, scene->words->items[i].text))
			return "reading a credential file";
	}
	return NULL;
}

static const char *check_interpreted_bomb(const struct iso_scene *scene)
{
	for (size_t i = scene->start + 1; i < scene->words->count && is_interpreter(scene->base);
	     i++) {
		const char *word = scene->words->items[i].text;
		if (strstr(word, "fork while") != NULL || strstr(word, "while fork") != NULL ||
		    (strstr(word, "while") != NULL && strstr(word, "os.fork()") != NULL))
			return "a fork bomb";
	}
	return NULL;
}

static const char *check_kill(const struct iso_scene *scene)
{
	if (strcmp(scene->base, "kill") != 0)
		return NULL;
	for (size_t i = scene->start + 2; i < scene->words->count; i++) {
		if (strcmp(scene->words->items[i].text, "-1") == 0 ||
		    strcmp(scene->words->items[i].text, "1") == 0)
			return "killing every process";
	}
	return NULL;
}

static rule *const rules[] = {
	check_removal, check_ownership, check_devices,	   check_file_systems,	   check_download,
	check_kernel,  check_escape,	check_credentials, check_interpreted_bomb, check_kill,
};

/* Follow "cd DIR" so that what comes after it is judged where it runs. */
static void follow_cd(struct iso_scene *scene, char workdir[PATH_SIZE])
{
	char path[PATH_SIZE];
	if (strcmp(scene->base, "cd") != 0 && strcmp(scene->base, "pushd") != 0)
		return;
	size_t operand = scene->start + 1;
	const char *target =
		operand < scene->words->count ? scene->words->items[operand].text : "/root";
	if (iso_scene_is_home(target))
		target = "/root";
	if (!iso_scene_resolve(scene, target, path)) {
		scene->workdir = NULL;
		return;
	}
	memcpy(workdir, path, strlen(path) + 1);
	scene->workdir = workdir;
}

static int check_line(const char *command, const char *root, const char *workdir, int depth,
		      struct iso_error *err);

/* `sh -c STRING` and `eval STRING` run a command line of their own. */
static int check_nested(const struct iso_scene *scene, int depth, struct iso_error *err)
{
	static const char *const shells[] = {"sh",  "bash", "dash",    "zsh",
					     "ksh", "ash",  "busybox", NULL};
	const char *workdir = scene->workdir != NULL ? scene->workdir : scene->root;
	bool is_eval = strcmp(scene->base, "eval") == 0;
	if (!is_eval && !iso_scene_is_one_of(scene->base, shells))
		return 0;
	for (size_t i = scene->start + 1; i < scene->words->count; i++) {
		const char *word = scene->words->items[i].text;
		const char *before = scene->words->items[i - 1].text;
		bool is_script =
			before[0] == '-' && before[1] != '-' && strchr(before, 'c') != NULL;
		if ((is_eval || is_script) &&
		    check_line(word, scene->root, workdir, depth + 1, err) < 0)
			return -1;
	}
	if (!is_eval)
		return 0;
	/* eval joins its arguments. */
	ISO_AUTO_FREE char *joined = NULL;
	size_t size = 1;
	for (size_t i = scene->start + 1; i < scene->words->count; i++)
		size += strlen(scene->words->items[i].text) + 1;
	joined = calloc(1, size);
	if (joined == NULL)
		return iso_error_nomem(err);
	char *end = joined;
	for (size_t i = scene->start + 1; i < scene->words->count; i++)
		end = stpcpy(stpcpy(end, scene->words->items[i].text), " ");
	return check_line(joined, scene->root, workdir, depth + 1, err);
}

/* NAME(){…NAME|NAME…} with everything between removed. */
static bool has_fork_bomb(const char *command)
{
	ISO_AUTO_FREE char *dense = calloc(1, strlen(command) + 1);
	size_t size = 0;
	if (dense == NULL)
		return false; /* the sandbox has a limit of processes anyway */
	for (const char *at = command; *at != '\0'; at++) {
		if (!isspace((unsigned char)*at))
			dense[size++] = *at;
	}
	for (char *body = strstr(dense, "(){"); body != NULL; body = strstr(body + 1, "(){")) {
		const char *name = body;
		while (name > dense && strchr(";&|(){}", name[-1]) == NULL)
			name--;
		if (strncmp(name, "function", 8) == 0)
			name += 8;
		size_t length = (size_t)(body - name);
		const char *end = strchr(body, '}');
		for (const char *at = body + 3;
		     length > 0 && at < (end != NULL ? end : dense + size); at++) {
			if (strncmp(at, name, length) == 0 && at[length] == '|' &&
			    strncmp(at + length + 1, name, length) == 0)
				return true;
		}
	}
	return false;
}

static int check_line(const char *command, const char *root, const char *workdir, int depth,
		      struct iso_error *err)
{
	ISO_CLEANUP(iso_line_done) struct iso_line line = {0};
	char followed[PATH_SIZE];
	if (depth > NESTED_MAX)
		return 0;
	if (iso_line_read(command, &line) < 0)
		return iso_error_nomem(err);
	if (has_fork_bomb(command))
		return iso_error_set(err, ISO_ERR_DENIED, 0, "a fork bomb");
	struct iso_scene scene = {.line = &line, .root = root, .workdir = workdir};
	for (size_t i = 0; i < line.count; i++) {
		scene.index = i;
		scene.words = &line.commands[i].words;
		scene.start = iso_simple_start(&line.commands[i]);
		scene.base = base_of(&line.commands[i]);
		for (size_t r = 0; r < ISO_COUNT(rules); r++) {
			const char *reason = rules[r](&scene);
			if (reason != NULL)
				return iso_error_set(err, ISO_ERR_DENIED, 0, "%s", reason);
		}
		if (check_nested(&scene, depth, err) < 0)
			return -1;
		follow_cd(&scene, followed);
	}
	return 0;
}

int iso_shell_check(const char *command, const char *root, const char *workdir,
		    struct iso_error *err)
{
	return check_line(command, root, workdir, 0, err);
}
