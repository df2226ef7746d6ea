/* Which files a program maps from its first instruction on: itself, or its interpreter, and what that is linked to. */
#ifndef SPROF_NEEDED_FILES_H
#define SPROF_NEEDED_FILES_H

/*
 * Calls fn with their paths. `name` is looked up in PATH as exec does. The program's own dynamic linker is asked
 * (ld.so --list), which maps them and runs nothing of theirs; where it does not answer, only the program is named.
 */
void needed_files(const char *name, void (*fn)(void *context, const char *path), void *context);

#endif
