// The C interface of the small loader: the functions of fatctx/fatctx.h that open a container, choose for a device, say
// why, and hand out views. A program that uses only these links fatctx_loader instead of libfatctx, without a change.
//
// docs/loader.md lists the functions, and what the loader refuses: it packs nothing, writes no file, starts no thread,
// and speaks text instead of JSON. A function that these headers declare and the loader lacks is missing at the link.
// fatctx/fatctx.h states the rules of all calls. In a build without exceptions, running out of memory ends the program,
// and callbacks must not throw.
#pragma once

#include "fatctx/c/model.h"
#include "fatctx/c/record.h"
#include "fatctx/c/records.h"
