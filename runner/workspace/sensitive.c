/*
 * Which files speak for themselves: names that betray secrets, and files that later programs
 * outside the sandbox would obey. Tables, in the order in which they are asked.
 */
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "runner/base/array.h"
#include "runner/workspace/diff.h"

bool iso_diff_is_secret(const char *name)
{
	static const char *const names[] = {".env", "id_rsa", "id_ed25519", ".netrc", ".pgpass"};
	static const char *const endings[] = {".pem", ".key"};
	size_t length = strlen(name);
	for (size_t i = 0; i < ISO_COUNT(names); i++) {
		if (strcasecmp(name, names[i]) == 0)
			return true;
	}
	for (size_t i = 0; i < ISO_COUNT(endings); i++) {
		size_t ending = strlen(endings[i]);
		if (length >= ending && strcasecmp(name + length - ending, endings[i]) == 0)
			return true;
	}
	return strncasecmp(name, ".env.", strlen(".env.")) == 0;
}

/* Patterns are matched against the end of a path, component by component; `*` stays within one. */
static const struct {
	const char *pattern, *why;
} sensitive[] = {
	{".git/hooks/*", "git runs it"},
	{".git/config", "git obeys it"},
	{".git/config.worktree", "git obeys it"},
	{".git/info/attributes", "git obeys it"},
	{".git", "it makes a repository"},
	{".gitattributes", "git obeys it"},
	{".gitmodules", "git obeys it"},
	{".gitconfig", "git obeys it"},
	{".husky/*", "git runs it"},
	{".pre-commit-config.yaml", "git hooks obey it"},
	{".bashrc", "shells run it"},
	{".bash_profile", "shells run it"},
	{".bash_login", "shells run it"},
	{".bash_logout", "shells run it"},
	{".profile", "shells run it"},
	{".zshrc", "shells run it"},
	{".zshenv", "shells run it"},
	{".zprofile", "shells run it"},
	{".zlogin", "shells run it"},
	{".envrc", "shells run it"},
	{"config.fish", "shells run it"},
	{".inputrc", "shells obey it"},
	{".vimrc", "editors run it"},
	{".nvimrc", "editors run it"},
	{".exrc", "editors run it"},
	{".nvim.lua", "editors run it"},
	{".emacs", "editors run it"},
	{".dir-locals.el", "editors run it"},
	{".vscode/*", "editors obey it"},
	{".idea/*", "editors obey it"},
	{".devcontainer.json", "editors obey it"},
	{".devcontainer/*", "editors obey it"},
	{".github/workflows/*", "CI runs it"},
	{".github/actions/*/*", "CI runs it"},
	{".gitlab-ci.yml", "CI runs it"},
	{".circleci/*", "CI runs it"},
	{".travis.yml", "CI runs it"},
	{"azure-pipelines.yml", "CI runs it"},
	{"bitbucket-pipelines.yml", "CI runs it"},
	{"Jenkinsfile", "CI runs it"},
	{".woodpecker.yml", "CI runs it"},
	{".woodpecker/*", "CI runs it"},
	{".buildkite/*", "CI runs it"},
	{".drone.yml", "CI runs it"},
	{".mcp.json", "agents run it"},
	{".claude/*", "agents obey it"},
	{".claude/*/*", "agents obey it"},
	{".cursor/*", "agents obey it"},
	{".cursor/*/*", "agents obey it"},
	{".codex/*", "agents obey it"},
	{".continue/*", "agents obey it"},
	{".aider.conf.yml", "agents obey it"},
	{"CLAUDE.md", "agents obey it"},
	{"AGENTS.md", "agents obey it"},
	{".npmrc", "package managers obey it"},
	{".yarnrc", "package managers obey it"},
	{".yarnrc.yml", "package managers obey it"},
	{".pypirc", "package managers obey it"},
	{"pip.conf", "package managers obey it"},
	{".cargo/config", "package managers obey it"},
	{".cargo/config.toml", "package managers obey it"},
	{".gdbinit", "debuggers run it"},
	{".lldbinit", "debuggers run it"},
};

/* The end of `path` that has as many components as `pattern`; NULL when it has fewer. */
static const char *tail_like(const char *path, const char *pattern)
{
	size_t slashes = 0;
	for (const char *at = pattern; (at = strchr(at, '/')) != NULL; at++)
		slashes++;
	for (const char *at = path + strlen(path); at > path; at--) {
		if (at[-1] == '/' && slashes-- == 0)
			return at;
	}
	return slashes == 0 ? path : NULL;
}

const char *iso_diff_sensitive_reason(const char *path)
{
	for (size_t i = 0; i < ISO_COUNT(sensitive); i++) {
		const char *tail = tail_like(path, sensitive[i].pattern);
		if (tail != NULL && fnmatch(sensitive[i].pattern, tail, FNM_PATHNAME) == 0)
			return sensitive[i].why;
	}
	return NULL;
}
