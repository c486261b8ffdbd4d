// Thin DLCs in memory, with the properties of the system as parameters; tests pass other values.
#pragma once

#include "fatctx/stored_dlc.h"
#include "runtime/view/stitched_view.h"

namespace fatctx {

[[nodiscard]] Result<ThinDlcView> thin_dlc_view(const Container& container, const DlcChoice& choice,
                                                std::string_view layout, const StitchHost& host);

}  // namespace fatctx
