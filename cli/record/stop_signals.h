/*
 * The signals that end a recording, and the one that says that the program has ended. All of them
 * only end a wait for data.
 */
#ifndef SPROF_STOP_SIGNALS_H
#define SPROF_STOP_SIGNALS_H

/*
 * Catches SIGINT, SIGTERM, SIGHUP (unless it is ignored) and SIGCHLD. The second one of a kind that
 * stops ends sprof at once.
 */
void stop_signals_catch(void);

/* Returns the signal that came to stop the recording, 0 if none came. */
int stop_signals_caught(void);

#endif
