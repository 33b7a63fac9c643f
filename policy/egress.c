/*
 * Names are collected generously: what looks like one is one. A name that is too many costs a
 * refusal that the operator can mend in the list; one that is missed is still caught by the wall.
 */
#include "policy/egress.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "policy/shell/words.h"
#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"

#define HOST_MAX 253

/* Letters, digits, dots, hyphens and underscores; no empty label. */
static bool is_plain_name(const char *name)
{
	size_t length = strlen(name);
	if (length == 0 || length > HOST_MAX || name[0] == '.' || name[length - 1] == '.' ||
	    strstr(name, "..") != NULL)
		return false;
	for (const char *at = name; *at != '\0'; at++) {
		if (!isalnum((unsigned char)*at) && strchr(".-_", *at) == NULL)
			return false;
	}
	return true;
}

bool iso_egress_is_pattern(const char *text)
{
	if (strncmp(text, "*.", 2) == 0)
		text += 2;
	for (const char *at = text; *at != '\0'; at++) {
		if (isupper((unsigned char)*at))
			return false;
	}
	return is_plain_name(text);
}

/* All of it digits, dots and x: an address in whichever spelling. */
static bool is_numeric(const char *name)
{
	return name[strspn(name, "0123456789.")] == '\0' ||
	       (name[0] == '0' && (name[1] == 'x' || name[1] == 'X'));
}

/* Four plain decimal numbers: the only spelling of an address that is compared. */
static bool is_dotted_quad(const char *name)
{
	int parts = 0;
	for (const char *at = name; *at != '\0'; parts++) {
		size_t digits = strspn(at, "0123456789");
		if (digits == 0 || digits > 3 || (digits > 1 && *at == '0') ||
		    strtol(at, NULL, 10) > 255)
			return false;
		at += digits;
		if (*at == '.')
			at++;
		else if (*at != '\0')
			return false;
	}
	return parts == 4 && name[strlen(name) - 1] != '.';
}

static bool matches(const char *pattern, const char *name)
{
	if (strncmp(pattern, "*.", 2) != 0)
		return strcmp(pattern, name) == 0;
	size_t suffix = strlen(pattern + 1), length = strlen(name);
	return length > suffix && strcmp(name + length - suffix, pattern + 1) == 0;
}

bool iso_egress_allows(const struct iso_strv *allow, const char *host)
{
	char name[HOST_MAX + 2];
	size_t length = strlen(host);
	if (length == 0 || length >= sizeof(name))
		return false;
	for (size_t i = 0; i <= length; i++)
		name[i] = (char)tolower((unsigned char)host[i]);
	if (name[length - 1] == '.')
		name[length - 1] = '\0';
	if (!is_plain_name(name) || (is_numeric(name) && !is_dotted_quad(name)))
		return false;
	for (size_t i = 0; i < allow->count; i++) {
		if (matches(allow->items[i], name))
			return true;
	}
	return false;
}

/* The loopback is inside, whatever the list says. */
static bool is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
	       strcmp(host, "::1") == 0 || (strncmp(host, "127.", 4) == 0 && is_dotted_quad(host));
}

static int add(struct iso_strv *hosts, const char *host, size_t length, struct iso_error *err)
{
	ISO_AUTO_FREE char *copy = strndup(host, length);
	if (copy == NULL)
		return iso_error_nomem(err);
	if (iso_strv_holds(hosts, copy))
		return 0;
	return iso_strv_add(hosts, copy) < 0 ? iso_error_nomem(err) : 0;
}

/* The host at the start of "user@host:port/path". */
static int add_authority(struct iso_strv *hosts, const char *text, struct iso_error *err)
{
	size_t length = strcspn(text, "/?# \t\"'\\");
	const char *at = memrchr(text, '@', length);
	if (at != NULL) {
		length -= (size_t)(at + 1 - text);
		text = at + 1;
	}
	if (*text == '[') {
		const char *closing = memchr(text, ']', length);
		length = closing != NULL ? (size_t)(closing + 1 - text) : length;
	} else {
		const char *colon = memchr(text, ':', length);
		length = colon != NULL ? (size_t)(colon - text) : length;
	}
	return length == 0 ? 0 : add(hosts, text, length, err);
}

/* Every "scheme://" in a word, wherever it stands. */
static int add_urls(struct iso_strv *hosts, const char *word, bool *ret_found,
		    struct iso_error *err)
{
	for (const char *at = strstr(word, "://"); at != NULL; at = strstr(at + 3, "://")) {
		bool is_scheme = at > word && isalnum((unsigned char)at[-1]);
		bool is_file = at - word >= 4 && strncmp(at - 4, "file", 4) == 0;
		if (!is_scheme || is_file)
			continue;
		*ret_found = true;
		if (add_authority(hosts, at + 3, err) < 0)
			return -1;
	}
	return 0;
}

/* A name with a dot whose last label is letters, so that "a.out" is one and "1.5" is none. */
static bool looks_like_domain(const char *text, size_t length)
{
	char name[HOST_MAX + 1];
	if (length == 0 || length >= sizeof(name))
		return false;
	memcpy(name, text, length);
	name[length] = '\0';
	const char *dot = strrchr(name, '.');
	return is_plain_name(name) && dot != NULL && isalpha((unsigned char)dot[1]);
}

/* "user@host:path" (scp, rsync, git) and "host:port". */
static int add_colon_forms(struct iso_strv *hosts, const char *word, struct iso_error *err)
{
	const char *colon = strchr(word, ':');
	if (colon == NULL || *word == '-' || *word == '/')
		return 0;
	const char *at = memchr(word, '@', (size_t)(colon - word));
	const char *host = at != NULL ? at + 1 : word;
	size_t length = (size_t)(colon - host);
	size_t digits = strspn(colon + 1, "0123456789");
	bool has_port =
		digits > 0 && digits < 6 && (colon[1 + digits] == '\0' || colon[1 + digits] == '/');
	bool names_host = at != NULL ? length > 0 : has_port && looks_like_domain(host, length);
	char quad[sizeof("255.255.255.255")];
	if (has_port && at == NULL && length < sizeof(quad)) {
		memcpy(quad, host, length);
		quad[length] = '\0';
		names_host |= is_dotted_quad(quad);
	}
	return names_host ? add(hosts, host, length, err) : 0;
}

/* Clients whose arguments are hosts, which of their options take a value, and how many of the
 * operands at their end or start are hosts. */
enum operands {
	OPERANDS_FIRST, /* the first operand */
	OPERANDS_ALL,	/* every operand */
	OPERANDS_URLS,	/* every operand that looks like a domain */
};
static const struct {
	const char *name, *with_value;
	enum operands operands;
} clients[] = {
	{"curl", "oXHdAbceFKmTuUxrwyYzEQC", OPERANDS_ALL},
	{"wget", "oOaPUtTQiBeD", OPERANDS_ALL},
	{"ssh", "bcDEeFIiJLlmOopQRSWw", OPERANDS_FIRST},
	{"sftp", "bBcDFiJloPRSsX", OPERANDS_FIRST},
	{"telnet", "elnSX", OPERANDS_FIRST},
	{"ftp", "", OPERANDS_FIRST},
	{"nc", "ceiIOpPqsTVwWxX", OPERANDS_FIRST},
	{"ncat", "cegGimopsw", OPERANDS_FIRST},
	{"netcat", "ceiIOpPqsTVwWxX", OPERANDS_FIRST},
	{"ping", "cIimMlpQsStTwW", OPERANDS_FIRST},
	{"ping6", "cIimMlpQsStTwW", OPERANDS_FIRST},
	{"traceroute", "fgimNpqstwz", OPERANDS_FIRST},
	{"dig", "bcfkpqtxy", OPERANDS_URLS},
	{"host", "ctNRWm", OPERANDS_FIRST},
	{"nslookup", "", OPERANDS_ALL},
	{"whois", "hpgitT", OPERANDS_URLS},
	{"rsync", "efTB", OPERANDS_URLS},
	{"mysql", "uPpDe", OPERANDS_URLS},
	{"psql", "UpdcfvL", OPERANDS_URLS},
	{"redis-cli", "panrid", OPERANDS_URLS},
};

static int add_operand(struct iso_strv *hosts, enum operands operands, const char *word,
		       struct iso_error *err)
{
	if (strstr(word, "://") != NULL || word[0] == '@' || word[0] == '+')
		return 0; /* urls are collected already */
	size_t length = strcspn(word, "/:?#");
	const char *at = memchr(word, '@', length);
	const char *host = at != NULL ? at + 1 : word;
	length -= (size_t)(host - word);
	bool named = operands != OPERANDS_URLS || looks_like_domain(host, length);
	return named && length > 0 ? add_authority(hosts, word, err) : 0;
}

static int add_client_operands(struct iso_strv *hosts, const struct iso_words *words, size_t start,
			       struct iso_error *err)
{
	size_t client = 0;
	const char *base = iso_word_base(words->items[start].text);
	while (client < ISO_COUNT(clients) && strcmp(clients[client].name, base) != 0)
		client++;
	if (client == ISO_COUNT(clients))
		return 0;
	for (size_t i = start + 1; i < words->count; i++) {
		const char *word = words->items[i].text;
		if (word[0] == '-' && word[1] != '\0') {
			bool has_value = word[1] != '-' && word[2] == '\0' &&
					 strchr(clients[client].with_value, word[1]) != NULL;
			i += has_value;
			/* psql -h HOST, mysql -h HOST, curl -x PROXY are hosts, too. */
			bool is_host = (strcmp(word, "-h") == 0 &&
					clients[client].operands == OPERANDS_URLS) ||
				       (strcmp(word, "-x") == 0 && strcmp(base, "curl") == 0);
			if (is_host && !has_value && i + 1 < words->count)
				i++;
			if (is_host && i < words->count &&
			    add_authority(hosts, words->items[i].text, err) < 0)
				return -1;
			continue;
		}
		/* Behind a long option may stand its value. */
		bool is_value = strncmp(words->items[i - 1].text, "--", 2) == 0 &&
				strchr(words->items[i - 1].text, '=') == NULL;
		if (add_operand(hosts, is_value ? OPERANDS_URLS : clients[client].operands, word,
				err) < 0)
			return -1;
		if (clients[client].operands == OPERANDS_FIRST)
			break;
	}
	return 0;
}

static int collect_simple(struct iso_strv *hosts, const struct iso_simple *simple,
			  struct iso_error *err)
{
	size_t start = iso_simple_start(simple);
	for (size_t i = 0; i < simple->words.count; i++) {
		const char *word = simple->words.items[i].text;
		bool is_url = false;
		if (add_urls(hosts, word, &is_url, err) < 0 ||
		    (!is_url && add_colon_forms(hosts, word, err) < 0))
			return -1;
		static const char *const devices[] = {"/dev/tcp/", "/dev/udp/"};
		for (size_t d = 0; d < ISO_COUNT(devices); d++) {
			if (strncmp(word, devices[d], 9) == 0 &&
			    add_authority(hosts, word + 9, err) < 0)
				return -1;
		}
	}
	for (size_t i = 0; i < simple->outputs.count; i++) {
		const char *target = simple->outputs.items[i];
		if ((strncmp(target, "/dev/tcp/", 9) == 0 ||
		     strncmp(target, "/dev/udp/", 9) == 0) &&
		    add_authority(hosts, target + 9, err) < 0)
			return -1;
	}
	return start < simple->words.count ? add_client_operands(hosts, &simple->words, start, err)
					   : 0;
}

int iso_egress_collect(const char *command, struct iso_strv *ret_hosts, struct iso_error *err)
{
	ISO_CLEANUP(iso_line_done) struct iso_line line = {0};
	struct iso_strv hosts = {0};
	if (iso_line_read(command, &line) < 0)
		return iso_error_nomem(err);
	for (size_t i = 0; i < line.count; i++) {
		if (collect_simple(&hosts, &line.commands[i], err) < 0) {
			iso_strv_done(&hosts);
			return -1;
		}
	}
	*ret_hosts = hosts;
	return 0;
}

int iso_egress_check(const struct iso_strv *allow, const char *command, struct iso_error *err)
{
	ISO_CLEANUP(iso_strv_done) struct iso_strv hosts = {0};
	if (iso_egress_collect(command, &hosts, err) < 0)
		return -1;
	for (size_t i = 0; i < hosts.count; i++) {
		if (!is_loopback(hosts.items[i]) && !iso_egress_allows(allow, hosts.items[i]))
			return iso_error_set(err, ISO_ERR_DENIED, 0,
					     "domain %s is outside the egress allowlist",
					     hosts.items[i]);
	}
	return 0;
}
