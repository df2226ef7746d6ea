/* Signals to a flight recorder: SIGHUP begins a new segment, SIGUSR2 keeps the last ones. */
#ifndef SPROF_SEGMENT_SIGNALS_H
#define SPROF_SEGMENT_SIGNALS_H

#include <stdbool.h>

/* Must be called after stop_signals_catch(), where SIGHUP ends a recording. */
void segment_signals_catch(void);
/* Each returns whether its signal has come since the last call. */
bool segment_signals_take_turn(void);
bool segment_signals_take_keep(void);

#endif
