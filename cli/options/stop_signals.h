/*
 * The signals that end a recording, and SIGCHLD, which says that the program has ended. Their
 * handlers only end a wait for data.
 */
#ifndef SPROF_STOP_SIGNALS_H
#define SPROF_STOP_SIGNALS_H

/*
 * Catches SIGINT, SIGTERM, SIGHUP (unless it is ignored) and SIGCHLD. A stop signal that comes a
 * second time ends sprof at once.
 */
void stop_signals_catch(void);

/* Returns the signal that came to stop the recording, 0 if none came. */
int stop_signals_caught(void);

#endif
