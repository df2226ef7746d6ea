/* One table of keys for the screen; sprof-top(1) has the same in its own words. */
#include "cli/top/help.h"

const char help_text[] =
	"\033[1mMoving\033[0m\n"
	"  Up Down j k        another row\n"
	"  PgUp PgDn          a page; Home End g G: the first row, the last one\n"
	"  Enter              the tree below the row; Tab there: what calls it\n"
	"  Esc                back\n"
	"\033[1mWhat is shown\033[0m\n"
	"  Tab Shift-Tab      functions, lines, modules, threads, processes\n"
	"  1 2 3 4 5          the same, one by one\n"
	"  c                  next column: cpu, waiting, gpu, ... that has samples\n"
	"  t                  ranked by self, or by total\n"
	"  f                  only stacks with a function that matches\n"
	"  / n N              search a name; the next one, the one before\n"
	"  i                  waits of idle threads, too, or not\n"
	"\033[1mSampling\033[0m\n"
	"  Space              pause the picture, and go on\n"
	"  r                  forget the samples and begin again\n"
	"  s                  save what is shown as a recording\n"
	"  q ^C               quit;  ^Z: stop, fg goes on;  ^L: draw again\n"
	"\n"
	"\033[1mSelf\033[0m is the time in a function itself, \033[1mTotal\033[0m includes all it "
	"calls.\n"
	"12±3 are 12 samples; the true value lies in the margin 95 times in 100.\n";

const char *help_keys(enum screen_page page, int columns)
{
	if (page == PAGE_HELP)
		return "Esc back  Up Down move";
	if (page == PAGE_DETAIL)
		return columns < 70
			       ? "Tab callers/callees  Esc back  q quit  h help"
			       : "Tab callers or callees  Up Down move  Space pause  Esc back  "
				 "q quit  h help";
	if (columns < 70)
		return "q quit  Space pause  Enter tree  Tab view  h help";
	if (columns < 110)
		return "q quit  Space pause  Enter tree  Tab view  t total  f filter  s save  h "
		       "help";
	return "q quit  Space pause  Enter tree  Tab view  c column  t self/total  f filter  / "
	       "search  "
	       "r reset  s save  h help";
}
