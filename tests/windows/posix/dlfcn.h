#pragma once
#include "windows/posix/calls.h"
