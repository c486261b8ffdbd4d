// DLC archives: in files, in containers, cut for one chip, and as views.
#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {

Sized<fatctx_dlc_choice>& Program::dlc_choice() {
  static const std::uint32_t kSocs[] = {57, 69, 1};
  static const char* const kEntries[] = {"htp.cache.69.0", "no such entry", nullptr};
  const std::uint8_t choice = input_.byte();
  fatctx_dlc_choice made = {};
  made.struct_size = sizeof made;
  made.qnn_socs = null() ? nullptr : kSocs + (choice >> 2 & 1);
  made.soc_count = choice & 3U;
  if (made.soc_count == 3 && made.qnn_socs != kSocs) made.soc_count = 2;
  made.entries = null() ? nullptr : kEntries;
  made.entry_count = choice >> 3 & 3U;
  made.reserved = choice >> 7;
  const std::uint8_t size = (choice & 64) != 0 ? input_.byte() : std::uint8_t{255};
  return options_.choice.emplace(size, made);
}

void Program::use_dlcs(std::uint8_t which) {
  if (which % 10 < 4) {
    const std::uint8_t choice = input_.byte();
    const char* const file = choice < 128 ? text(files().dlc.c_str()) : path();
    if (which % 10 == 0) {
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_dlc_json(file, buffer, capacity, size, &error_);
      });
    }
    if (which % 10 == 1) {
      std::uint32_t found = 2;
      std::uint32_t* const into = out(found);
      if (ok(fatctx_is_dlc(file, into, &error_))) require(found < 2, "it is a DLC or not");
      return;
    }
    const fatctx_dlc_choice* const entries = out(*dlc_choice().get());
    Sized<fatctx_thin_dlc> report(input_.byte());
    fatctx_thin_dlc* const into = out(*report.get());
    const char* const written = which % 10 == 2 ? nullptr : out_path();
    const std::int32_t code = fatctx_dlc_thin(file, entries, written, choice & 1U, into, &error_);
    if (ok(code) && into != nullptr && report.whole()) {
      require(into->new_bytes <= into->size_bytes && into->copied_bytes == 0, "new bytes are a part of a thin DLC");
    }
    return;
  }
  import_dlc();
}

void Program::import_dlc() {
  fatctx_dlc_import options = {};
  options.struct_size = sizeof options;
  const std::uint8_t choice = input_.byte();
  options.without_layout = choice & 1U;
  if ((choice & 2) != 0) options.group = word();
  if ((choice & 4) != 0) options.unit = word();
  if ((choice & 8) != 0) options.prefix = word();
  Sized<fatctx_dlc_import> given(input_.byte(), options);
  const fatctx_dlc_import* const said = out(*given.get());
  const char* const file = choice < 128 ? text(files().dlc.c_str()) : path();
  const fatctx_packer packer = {handle(kPacker)};
  (void)checked(fatctx_packer_add_dlc(packer, file, said, &error_));
}

void Program::use_stored_dlcs(std::uint8_t which) {
  const fatctx_container of = {handle(kContainer)};
  const std::uint8_t choice = input_.byte();
  // Usually null, which selects the only layout.
  const char* const layout = choice < 192 ? nullptr : word();
  switch (which % 6) {
    case 0:
    case 1:
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_container_dlc_json(of, layout, buffer, capacity, size, &error_);
      });
    case 2:
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_container_dlcs_json(of, buffer, capacity, size, &error_);
      });
    case 3: {
      Work* const watched = work(input_.byte());
      (void)checked(fatctx_container_export_dlc(of, layout, out_path(), choice & 1U, null() ? nullptr : &progress,
                                                watched, &error_));
      return;
    }
    default: {
      fatctx_view view = {kNotWritten, nullptr, 0};
      const fatctx_dlc_choice* const entries = out(*dlc_choice().get());
      Sized<fatctx_thin_dlc> report(input_.byte());
      fatctx_thin_dlc* const into = out(*report.get());
      if (which % 6 == 4) {
        (void)checked(fatctx_container_thin_dlc(of, layout, entries, out_path(), choice & 1U, into, &error_));
        return;
      }
      const std::int32_t code = fatctx_container_thin_dlc_view(of, layout, entries, out(view), into, &error_);
      if (code == FATCTX_OK && into != nullptr && report.whole()) {
        require(view.size == into->size_bytes, "a view of a thin DLC is as long as said");
      }
      return made_view(code, view);
    }
  }
}

}  // namespace fatctx::fuzz
