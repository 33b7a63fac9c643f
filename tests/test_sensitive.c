/* runner/workspace/sensitive: what names say of files (DIFF-3, DIFF-4). */
#include "tests/test.h"

#include "runner/workspace/diff.h"

static void test_which_names_betray_secrets(void **state)
{
	(void)state;
	static const char *const secret[] = {".env",	".ENV",	  ".env.prod",	"a.pem",
					     "A.KEY",	"id_rsa", "ID_ED25519", ".netrc",
					     ".pgpass", ".pem"};
	static const char *const plain[] = {"env",	  ".envrc",    "pem",	 "key",
					    "id_rsa.pub", "a.pem.txt", "monkey", ".environment"};
	for (size_t i = 0; i < ARRAY_SIZE(secret); i++)
		assert_true(iso_diff_is_secret(secret[i]));
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		assert_false(iso_diff_is_secret(plain[i]));
}

static void test_which_files_are_obeyed_later(void **state)
{
	(void)state;
	static const char *const obeyed[] = {
		".git/hooks/pre-push", "sub/.git/config",	".bashrc",
		"home/.bashrc",	       "x/.vscode/tasks.json",	".github/workflows/ci.yml",
		"Jenkinsfile",	       ".claude/settings.json", ".claude/commands/x.md",
		"AGENTS.md",
	};
	static const char *const plain[] = {
		"hooks/pre-push", ".git/index",	       "bashrc",	   "my.bashrc",
		".vscode",	  ".github/README.md", "workflows/ci.yml", "Jenkinsfile.txt",
	};
	for (size_t i = 0; i < ARRAY_SIZE(obeyed); i++) {
		if (iso_diff_sensitive_reason(obeyed[i]) == NULL)
			fail_msg("%s", obeyed[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		if (iso_diff_sensitive_reason(plain[i]) != NULL)
			fail_msg("%s", plain[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which_names_betray_secrets),
		cmocka_unit_test(test_which_files_are_obeyed_later),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
