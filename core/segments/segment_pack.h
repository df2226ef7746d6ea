/*
 * Makes a finished segment smaller. While it is recorded, a chunk is written each second, so that
 * little is lost if the recorder is killed; when it is finished, one large chunk does.
 */
#ifndef SPROF_SEGMENT_PACK_H
#define SPROF_SEGMENT_PACK_H

/*
 * Replaces the finished segment of that name, in the folder of that descriptor, with a smaller file
 * of the same content. Readers that have the old one open go on reading it. 0, or -errno where it
 * stays as it is: also where it is gone or damaged, or its file system cannot exchange files.
 */
int segment_pack(int folder, const char *name);

#endif
