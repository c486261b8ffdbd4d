/* A walk through the C interface in a file that is compiled as C99. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Packs a container at `path`, opens it, chooses, views and closes. Returns null, or a static error text. */
const char* c99_walk(const char* path);

#ifdef __cplusplus
}
#endif
