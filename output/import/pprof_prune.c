/*
 * Cuts stacks by the rules of Profile.Prune in github.com/google/pprof/profile/prune.go, so that
 * sums agree with go tool pprof. Its expressions are RE2; those that occur are POSIX expressions
 * too.
 */
#include "output/import/pprof_prune.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "output/select/pattern.h"

static bool compile(regex_t *regex, const char *text, const char *file)
{
	char *whole, why[128];
	int err;

	if (!*text)
		return false;
	whole = xasprintf("^(%s)$", text);
	err = pattern_compile_untrusted(regex, whole, why, sizeof(why));
	free(whole);
	if (err)
		log_warning("'%s': its expression for frames to drop or keep is not used: %s", file,
			    why);
	return !err;
}

void pprof_prune_init(struct pprof_prune *prune, const char *drop, const char *keep,
		      const char *file)
{
	*prune = (struct pprof_prune){ 0 };
	prune->drops = compile(&prune->drop, drop, file);
	if (!prune->drops || !*keep)
		return;
	prune->keeps = compile(&prune->keep, keep, file);
	if (!prune->keeps)
		pprof_prune_fini(prune);
}

void pprof_prune_fini(struct pprof_prune *prune)
{
	if (prune->drops)
		regfree(&prune->drop);
	if (prune->keeps)
		regfree(&prune->keep);
	*prune = (struct pprof_prune){ 0 };
}

/* The length of a function's name up to its argument list. */
static size_t without_arguments(const char *name)
{
	static const char *const words[] = { "(anonymous namespace)", "operator()" };
	size_t n = 0;

	while (name[n] && name[n] != '(') {
		size_t skip = 1;

		if (!strncmp(name + n, words[1], strlen(words[1])))
			skip = strlen(words[1]);
		n += skip;
		if (!strncmp(name + n, words[0], strlen(words[0])))
			n += strlen(words[0]);
	}
	return n;
}

bool pprof_prune_drops(const struct pprof_prune *prune, const char *name)
{
	char *bare;
	bool drops;

	if (!prune->drops || !*name)
		return false;
	if (!strncmp(name, "(anonymous namespace)", 21))
		bare = xasprintf("%.*s", (int)(21 + without_arguments(name + 21)), name);
	else
		bare = xasprintf("%.*s", (int)without_arguments(name), name);
	drops = !regexec(&prune->drop, bare, 0, NULL, 0) &&
		!(prune->keeps && !regexec(&prune->keep, bare, 0, NULL, 0));
	free(bare);
	return drops;
}

size_t pprof_prune_stack(const uint8_t *cuts, size_t nr)
{
	bool found_user = false;

	/* Frames at the root that match are kept: they would take the whole stack with them. */
	for (size_t i = nr; i--;) {
		if (cuts[i] == PPROF_CUT_NOTHING)
			found_user = true;
		else if (found_user)
			return cuts[i] == PPROF_CUT_FRAME ? i + 1 : i;
	}
	return 0;
}
